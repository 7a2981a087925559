"""Tables of odd cells in odd layouts, packed and damaged: refused by name, or each row means what it says."""

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np

from pritchel.tables.columns import TablePlan
from pritchel.tables.encode import encode_inputs
from pritchel.tables.messages import TableError
from pritchel.tables.plan import plan_table
from pritchel.tables.read import read_table
from tests.soak.area import Area
from tests.soak.saves import damaged

PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
NUMBERS = ("0", "1", "-3.5", "1e3", "007", "1,5", "9,231", "12 000", "nan", "inf", "1e308", " 4 ", "+2", "0x1f", "9999")
WORDS = (
    "",
    "NA",
    "?",
    "TRUE",
    "False",
    "yes",
    "Ayr",
    "ayr ",
    "é",
    "=1+1",
    "[b]",
    "$x$",
    "\u200b",
    "2020-01-31",
    "x" * 200,
)
NAMES = ("x", "y", "y.1", "", "mean", "a b", "[/s]", "$", "id", "é", "x" * 90, "1", "None", "target")


def odd_table(rng: np.random.Generator) -> tuple[bytes, str]:
    """The bytes of a table, and the name of one of its columns."""
    num_columns, num_rows = int(rng.integers(1, 9)), int(rng.choice([0, 1, 2, 5, 40, 40, 40]))
    names = [str(name) for name in rng.choice(NAMES, num_columns, replace=rng.random() < 0.1)]
    sep, end = str(rng.choice([",", ";", "\t", "|"])), str(rng.choice(["\n", "\r\n"]))
    columns = []
    for _ in range(num_columns):
        cells = rng.normal(size=num_rows).round(3).astype(str) if rng.random() < 0.5 else np.full(num_rows, "3")
        odd = NUMBERS if rng.random() < 0.5 else NUMBERS + WORDS
        is_odd = rng.random(num_rows) < rng.choice([0, 0.1, 1])
        columns.append(
            [str(rng.choice(odd)) if replace else str(cell) for cell, replace in zip(cells, is_odd, strict=True)]
        )
    quoted = [[f'"{cell}"' if rng.random() < 0.05 or sep in cell else cell for cell in column] for column in columns]
    lines = [sep.join(names), *(sep.join(row) for row in zip(*quoted, strict=True))]
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    return (end.join(lines) + end).encode(encoding, errors="replace"), str(rng.choice(names))


class Tables(Area):
    """Tables that are read, planned and encoded, whole and row by row."""

    about = "odd tables: read, planned, encoded whole and row by row"

    def attempt(self, rng: np.random.Generator) -> None:
        """A cell means the same whatever stands around it, also after the plan has been through JSON."""
        data, target = odd_table(rng)
        path = _written(self.folder / "t.csv", data)
        try:
            frame = read_table(path)
            plan = plan_table(frame, [target])
            whole = encode_inputs(plan, frame)
        except TableError:
            return
        plan = TablePlan.from_json(plan.to_json())
        for row in rng.integers(0, len(frame), 3):
            alone = encode_inputs(plan, frame.iloc[[row]])
            np.testing.assert_array_equal(alone, whole[[row]])


class Archives(Area):
    """Packed tables with damaged bytes."""

    about = "packed tables (gz, bz2, xz) and Parquet with damaged bytes"

    def attempt(self, rng: np.random.Generator) -> None:
        """Refused by name, or read."""
        suffix = str(rng.choice([*PACKED, ".parquet"]))
        if suffix == ".parquet":
            import pandas as pd

            path = self.folder / "t.parquet"
            pd.DataFrame({"x": rng.normal(size=50), "town": rng.choice(["a", "b"], 50)}).to_parquet(path)
            whole = path.read_bytes()
        else:
            path = self.folder / f"t.csv{suffix}"
            whole = PACKED[suffix](odd_table(rng)[0])
        path.write_bytes(damaged(whole, rng))
        refusal = path.name
        try:
            read_table(str(path))
        except TableError as error:
            refusal = str(error)
        assert path.name in refusal or "olumn" in refusal, refusal


def _written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)
