"""Fits in processes of their own, with limits, one record each: what came out, or why nothing did."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from prediction import Method
from scores import LEVELS, score_classes, score_numbers
from tables import Split, Table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAUSE = 0.2  # seconds between looks at a running fit
MEGABYTE = 2**20
START_SECONDS = 3.0  # of a process


class Limits(NamedTuple):
    """What a fit with its predictions may take."""

    seconds: float = 1200.0
    megabytes: float = 8000.0


def python_of(environment: str) -> Path:
    """The interpreter that a method runs in; it may not be there."""
    return ROOT / f".venv-{environment}" / "bin" / "python"


def reason_to_skip(method: Method, table: Table, turn: int) -> str | None:
    """Why a method does not take part in a table's first split, or its next, ..., or None."""
    num_rows = table.rows
    if (method.fit_numbers if table.kind == "regression" else method.fit_classes) is None:
        return f"not for {table.kind}"
    if method.num_splits is not None and turn >= method.num_splits:
        return f"on {method.num_splits} of a table's splits only"
    if method.max_rows is not None and num_rows > method.max_rows:
        return f"not for more than {method.max_rows:,} rows"
    if not python_of(method.environment).exists():
        return f"no environment .venv-{method.environment}"
    return None


def _memory(process: psutil.Process) -> float:
    """Megabytes of a process and its children; nothing once it has ended."""
    try:
        return sum(own.memory_info().rss for own in (process, *process.children(recursive=True))) / MEGABYTE
    except psutil.NoSuchProcess:
        return 0.0


def _end(process: psutil.Process) -> None:
    """End a process that this one started, and what it started."""
    for own in (*process.children(recursive=True), process):
        try:
            own.kill()
        except psutil.NoSuchProcess:
            continue


def end_children() -> None:
    """End the fits under way, whose threads are not asked."""
    for child in psutil.Process().children():
        _end(child)


def _watched(command: list[str], errors: Path, limits: Limits) -> tuple[str, float]:
    """Run a command within limits: how it ended ("ok" or a reason) and the most memory that was seen."""
    with errors.open("w") as file:
        cold = {**os.environ, "PRITCHEL_CACHE": "off"}  # a first fit, as everybody else's
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file, cwd=HERE, env=cold)
    process, start, peak = psutil.Process(child.pid), time.monotonic(), 0.0
    try:
        while child.poll() is None:
            peak = max(peak, _memory(process))
            if peak > limits.megabytes:
                return f"over {limits.megabytes:,.0f} MB", peak
            if time.monotonic() - start > limits.seconds:
                return f"over {limits.seconds:,.0f} s", peak
            time.sleep(PAUSE)
    finally:
        if child.poll() is None:
            _end(process)
            child.wait()
    if child.returncode:
        last = errors.read_text(errors="replace").strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        return f"failed: {last[0][:300]}", peak
    return "ok", peak


def run_cell(method: Method, table: Table, index: int, split: Split, limits: Limits) -> dict[str, Any]:
    """Fit one method to one split and score it."""
    record: dict[str, Any] = {"table": table.name, "split": index, "method": method.name, "rows": len(split.y)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = {"X": split.X, "y": split.y, "test_X": split.test_X, "test_y": split.test_y}
        np.savez(folder / "in.npz", **given)
        places = [str(folder / "in.npz"), str(folder / "out.npz")]
        command = [str(python_of(method.environment)), "worker.py", method.name, table.kind, str(index), *places]
        status, peak = _watched(command, folder / "errors.txt", limits)
        record |= {"status": status, "megabytes": round(peak), "load": round(os.getloadavg()[0], 1)}
        if status != "ok":
            return record
        with np.load(folder / "out.npz", allow_pickle=False) as file:
            answer = dict(file)
    notes = json.loads(str(answer.pop("notes")))
    try:
        scores = (
            score_numbers(split.test_y, answer["mean"], answer["quantiles"], answer.get("log_density"))
            if table.kind == "regression"
            else score_classes(split.test_y, answer["probabilities"])
        )
    except ValueError as error:
        return record | {"status": f"failed: {error}"}
    return record | scores | notes


def truth_record(table: Table, index: int, split: Split) -> dict[str, Any] | None:
    """What the law that a made-up table was drawn from would have scored."""
    if split.truth is None:
        return None
    if table.kind == "regression":
        assert split.truth.draws is not None
        quantiles = np.quantile(split.truth.draws, LEVELS, axis=1).T
        scores = score_numbers(split.test_y, split.truth.mean, quantiles, split.truth.log_density)
    else:
        scores = score_classes(split.test_y, split.truth.mean)
    return {"table": table.name, "split": index, "method": "Truth", "rows": len(split.y), "status": "ok", **scores}


class Records:
    """Lines of a file, one a (table, split, method), written as its fit ends; the last of a key counts."""

    def __init__(self, path: Path):
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.by_key = {self.key(record): record for record in map(json.loads, lines)}

    @staticmethod
    def key(record: dict[str, Any]) -> tuple[str, int, str]:
        """What a record is of."""
        return record["table"], record["split"], record["method"]

    def add(self, record: dict[str, Any]) -> None:
        """Write a line and remember it."""
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self.by_key[self.key(record)] = record

    def forget(self, method: str, tables: Collection[str]) -> None:
        """Leave out a method's lines of some tables, in the file too."""
        self.by_key = {
            key: record
            for key, record in self.by_key.items()
            if record["method"] != method or record["table"] not in tables
        }
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text("".join(json.dumps(record) + "\n" for record in self))
        temporary.replace(self.path)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.by_key.values())


def typical_seconds(records: Records, method: str, num_rows: int) -> float:
    """About what a fit takes with its predictions: as the one on record, of the same method if there is one, whose
    table is nearest in size.
    """
    known = [record for record in records if "fit_seconds" in record]
    known = [record for record in known if record["method"] == method] or known
    if not known:
        return START_SECONDS
    nearest = min(known, key=lambda record: abs(np.log(record["rows"] / num_rows)))
    return START_SECONDS + nearest["fit_seconds"] + nearest["predict_seconds"]
