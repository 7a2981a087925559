"""CSV and Parquet tables: reading, what each column is, and the numbers a network gets from it.

A plan is made once, from the training table, out of plain values (medians, categories) that a model folder records;
scikit-learn's own transformers, set up from those values, do the work.
"""

# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportCallIssue=false, reportReturnType=false, reportIndexIssue=false, reportOperatorIssue=false
# (stubs of pandas)
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import OneHotEncoder

MISSING = "(missing)"
MAX_CATEGORIES = 30
CHUNK_ROWS = 20_000
MIN_ROWS_FOR_IDS = 20
DATE_SHAPE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2})"


class TableError(ValueError):
    """A table that cannot be used as asked, with the column, the row and the way out."""


class Column(NamedTuple):
    """An input column: what it holds, and what is needed to turn it into numbers."""

    name: str
    kind: Literal["number", "category"]
    fill: float = 0.0  # a number's median, for where it is missing
    is_missing_marked: bool = False  # whether a number has a second input that says "was missing"
    categories: tuple[str, ...] = ()
    summary: dict[str, Any] = {}  # noqa: RUF012 - never changed: what the training rows looked like, for reports


class TablePlan(NamedTuple):
    """How a table's columns become the network's inputs and targets."""

    columns: tuple[Column, ...]
    targets: tuple[str, ...]
    left_out: dict[str, str]  # column: why

    def feature_names(self) -> list[str]:
        """One name an input of the network."""
        numbers = [column.name for column in self._numbers]
        marks = [f"{column.name} is missing" for column in self._marked]
        categories = [f"{column.name} = {value}" for column in self._categories for value in column.categories]
        return numbers + marks + categories

    def column_of_feature(self) -> list[str]:
        """The table's column behind each input of the network."""
        names = [column.name for column in (*self._numbers, *self._marked)]
        return names + [column.name for column in self._categories for _ in column.categories]

    def encode(self, frame: pd.DataFrame, first_row: int = 0) -> np.ndarray:
        """Inputs for the rows of a table, columns matched by name; `first_row` is the number of its first row."""
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if missing:
            raise TableError(
                f"The table has no column {_listed(missing)}, which the model needs. It has {_listed(frame.columns)}."
            )
        ready = pd.DataFrame(index=frame.index)
        for column in self.columns:
            values = frame[column.name]
            ready[column.name] = _numbers(values, first_row) if column.kind == "number" else _texts(values)
        if not self.columns:
            return np.zeros((len(frame), 0))
        return np.asarray(self.transformer().transform(ready), float)

    def transformer(self) -> ColumnTransformer:
        """scikit-learn's transformers, fitted to one row of the recorded values."""
        numbers, marked, categories = self._numbers, self._marked, self._categories
        row = {column.name: column.fill for column in numbers} | {c.name: c.categories[0] for c in categories}
        encoder = OneHotEncoder(
            categories=[list(column.categories) for column in categories],
            handle_unknown="ignore",
            sparse_output=False,
        )
        steps = [
            ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), [c.name for c in numbers]),
            ("was missing", MissingIndicator(features="all"), [c.name for c in marked]),
            ("categories", encoder, [c.name for c in categories]),
        ]
        return ColumnTransformer([step for step in steps if step[2]]).fit(pd.DataFrame([row]))

    @property
    def _numbers(self) -> list[Column]:
        return [column for column in self.columns if column.kind == "number"]

    @property
    def _marked(self) -> list[Column]:
        return [column for column in self._numbers if column.is_missing_marked]

    @property
    def _categories(self) -> list[Column]:
        return [column for column in self.columns if column.kind == "category"]

    def to_json(self) -> dict[str, Any]:
        """Plain values for a model's spec."""
        columns = [{**column._asdict(), "categories": list(column.categories)} for column in self.columns]
        return {"columns": columns, "targets": list(self.targets), "left_out": self.left_out}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "TablePlan":
        """A plan from a spec, its values checked."""
        try:
            columns = []
            for value in values["columns"]:
                column = Column(**{**value, "categories": tuple(value["categories"])})
                is_named = isinstance(column.name, str) and column.kind in ("number", "category")
                is_filled = column.kind == "category" or np.isfinite(float(column.fill))
                is_listed = column.kind == "number" or len(column.categories) > 0
                if (
                    not is_named
                    or not is_filled
                    or not is_listed
                    or not all(isinstance(c, str) for c in column.categories)
                ):
                    raise ValueError("a column")
                columns.append(
                    column._replace(fill=float(column.fill), is_missing_marked=bool(column.is_missing_marked))
                )
            targets = tuple(str(name) for name in values["targets"])
            return cls(tuple(columns), targets, {str(k): str(v) for k, v in values["left_out"].items()})
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(f"The model's description of its table is not sound ({error}).") from None


def plan_table(
    frame: pd.DataFrame, targets: Sequence[str], drop: Sequence[str] = (), keep: Sequence[str] = ()
) -> TablePlan:
    """What to do with each column of a training table; refuses what would go wrong unseen, and says what to do."""
    if frame.columns.duplicated().any():
        raise TableError(f"Column {_listed(frame.columns[frame.columns.duplicated()])} occurs twice. Rename one.")
    for role, names in (("target", targets), ("--drop", drop), ("--keep", keep)):
        unknown = [name for name in names if name not in frame.columns]
        if unknown:
            raise TableError(f"No column {_listed(unknown)} ({role}). The table has {_listed(frame.columns)}.")
    columns, left_out = [], {}
    for name in frame.columns:
        if name in targets:
            continue
        if name in drop:
            left_out[name] = "as told"
            continue
        values = frame[name]
        reason = None if name in keep else _reason_to_leave_out(name, values)
        if reason is None:
            columns.append(_plan_column(name, values))
        else:
            left_out[name] = reason
    if not columns:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items()) or "it has only targets"
        raise TableError(f"No column is left to predict from ({reasons}). Use --keep to use one all the same.")
    return TablePlan(tuple(columns), tuple(targets), left_out)


def target_values(frame: pd.DataFrame, targets: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The targets as numbers, one column each, and which rows have them all."""
    values = np.column_stack([_numbers(frame[name], 0) for name in targets])
    return values, np.isfinite(values).all(1)


def has_classes(frame: pd.DataFrame, targets: Sequence[str]) -> bool:
    """Whether the target is one column of texts or of yes and no: classes rather than numbers."""
    if len(targets) != 1 or targets[0] not in frame.columns:
        return False
    values = frame[targets[0]]
    is_number = pd.api.types.is_numeric_dtype(values) or _share_of_numbers(values.dropna()) > 0.8
    return pd.api.types.is_bool_dtype(values) or not (is_number or _looks_like_dates(values))


def class_labels(frame: pd.DataFrame, target: str) -> tuple[np.ndarray, np.ndarray]:
    """The target as texts, (rows, 1), and which rows have it."""
    return _texts(frame[target]).to_numpy(object)[:, None], frame[target].notna().to_numpy()


def _reason_to_leave_out(name: str, values: pd.Series) -> str | None:
    present = values.dropna()
    num_distinct = present.nunique()
    if num_distinct <= 1 and len(present) == len(values):
        return "constant"
    if len(present) == 0:
        return "empty"
    is_text = not pd.api.types.is_numeric_dtype(values) and _share_of_numbers(present) < 0.8
    is_unique = num_distinct == len(values) and len(values) >= MIN_ROWS_FOR_IDS
    if is_unique and is_text and not _looks_like_dates(values):
        return "every row has its own value, like an id"
    if is_unique and pd.api.types.is_integer_dtype(values):
        gaps = np.diff(np.sort(np.asarray(present)))
        is_named_id = name.lower() in ("id", "index", "row", "key") or name.lower().endswith(
            ("_id", " id", "unnamed: 0")
        )
        if np.all(gaps == 1) or is_named_id:
            return "counts the rows, like an id"
    return None


def _looks_like_dates(values: pd.Series) -> bool:
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return True
    present = values.dropna()
    if pd.api.types.is_numeric_dtype(values) or len(present) == 0:
        return False
    return bool(present.astype(str).str.match(DATE_SHAPE).mean() > 0.9)


def _plan_column(name: str, values: pd.Series) -> Column:
    if _looks_like_dates(values):
        raise TableError(
            f"Column {name!r} holds dates or times (such as {values.dropna().iloc[0]}). Turn it into numbers that mean "
            f"something to the target, such as days since a start, month or hour, or leave it out with --drop {name!r}."
        )
    num_missing = int(values.isna().sum())
    if pd.api.types.is_numeric_dtype(values) or _share_of_numbers(values.dropna()) == 1:
        numbers = _numbers(values, 0)
        present = numbers[~np.isnan(numbers)]
        quantiles = np.quantile(present, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
        summary = {"missing": num_missing, "quantiles": [float(q) for q in quantiles], "mean": float(present.mean())}
        return Column(str(name), "number", float(np.median(present)), num_missing > 0, (), summary)
    _refuse_half_numbers(name, values)
    texts = _texts(values)
    counts = texts.value_counts()
    kept = counts.index[:MAX_CATEGORIES]
    summary = {
        "missing": num_missing,
        "distinct": len(counts),
        "counts": {str(value): int(counts[value]) for value in kept[:10]},
    }
    return Column(str(name), "category", 0.0, False, tuple(sorted(map(str, kept))), summary)


def _share_of_numbers(present: pd.Series) -> float:
    return float(pd.to_numeric(present, errors="coerce").notna().mean())


def _refuse_half_numbers(name: str, values: pd.Series) -> None:
    """A column of numbers with a few words in it is a slip, not a set of categories."""
    present = values.dropna()
    is_number = pd.to_numeric(present, errors="coerce").notna()
    if 0.8 < is_number.mean() < 1:
        where = present.index[~is_number][0]
        raise TableError(
            f"Column {name!r} holds numbers, but row {int(where) + 1} is {present[where]!r}. Mend it, or say with "
            f"--na-value {present[where]!r} that this means missing."
        )


def _numbers(values: pd.Series, first_row: int) -> np.ndarray:
    """Floats, NaN where missing."""
    try:
        numbers = pd.to_numeric(values).to_numpy(dtype=float, na_value=np.nan)
    except (ValueError, TypeError):
        is_bad = pd.to_numeric(values, errors="coerce").isna() & values.notna()
        where = int(np.flatnonzero(is_bad)[0])
        raise TableError(
            f"Column {values.name!r} must hold numbers; row {first_row + where + 1} is {values.iloc[where]!r}."
        ) from None
    if np.isinf(numbers).any():
        where = int(np.flatnonzero(np.isinf(numbers))[0])
        raise TableError(f"Column {values.name!r} is infinite in row {first_row + where + 1}. Mend it or drop the row.")
    return numbers


def _texts(values: pd.Series) -> pd.Series:
    """Categories as text, missing ones by name."""
    texts = values.astype(object)
    return texts.where(values.notna(), MISSING).map(_text).astype(object)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _listed(names: Any) -> str:
    names = [repr(str(name)) for name in names]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def read_table(source: str, na_values: Sequence[str] = ()) -> pd.DataFrame:
    """A whole table: a CSV (also compressed), a Parquet file, or `-` for CSV on standard input."""
    return pd.concat(iter_table(source, na_values, chunk_rows=None), ignore_index=True)


def iter_table(
    source: str, na_values: Sequence[str] = (), chunk_rows: int | None = CHUNK_ROWS
) -> Iterator[pd.DataFrame]:
    """A table in pieces of so many rows (None: in one), so that it need not fit into memory."""
    if source != "-" and not Path(source).exists():
        raise TableError(f"There is no file {source}.")
    try:
        if source != "-" and Path(source).suffix.lower() in (".parquet", ".pq"):
            yield from _iter_parquet(source, na_values, chunk_rows)
            return
        options: dict[str, Any] = {"na_values": list(na_values), "skipinitialspace": True}
        where = sys.stdin.buffer if source == "-" else source
        if chunk_rows is None:
            yield _named(pd.read_csv(where, low_memory=False, **options), source)
            return
        with pd.read_csv(where, chunksize=chunk_rows, low_memory=False, **options) as pieces:
            for piece in pieces:
                yield _named(piece, source)
    except pd.errors.EmptyDataError:
        raise TableError(f"{source} is empty.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError) as error:
        raise TableError(f"{source} is not a CSV that can be read: {error}.") from None
    except OSError as error:
        raise TableError(f"{source} cannot be read: {error.strerror or error}.") from None


def _iter_parquet(source: str, na_values: Sequence[str], chunk_rows: int | None) -> Iterator[pd.DataFrame]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise TableError("Reading Parquet needs pyarrow: pip install 'pritchel[parquet]'.") from None
    try:
        file = parquet.ParquetFile(source)
        start = 0
        for batch in file.iter_batches(chunk_rows or max(file.metadata.num_rows, 1)):
            piece = batch.to_pandas().replace(list(na_values), np.nan) if na_values else batch.to_pandas()
            piece.index = pd.RangeIndex(start, start + len(piece))
            start += len(piece)
            yield _named(piece, source)
    except pyarrow.ArrowException as error:
        raise TableError(f"{source} is not a Parquet file that can be read: {error}.") from None


def _named(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    if len(frame) == 0 and len(frame.columns) == 0:
        raise TableError(f"{source} is empty.")
    return frame.rename(columns=str)
