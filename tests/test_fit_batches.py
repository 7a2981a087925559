"""Fits from batches: arrays in pieces, Parquet files, lazy tables; and batches that will not do."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

from pritchel import FileError, HorseshoeClassifier, HorseshoeRegressor
from pritchel.data.parts import Part, Parts, SourceError, open_parts
from pritchel.estimators.batches import is_source
from pritchel.infer import checkpoint as checkpoints
from pritchel.infer import feed as feeding
from tests.conftest import tiny

BRIEF = {"training__num_steps": 100}


class Pieces:
    """A table in batches, each time that it is iterated over."""

    def __init__(self, *table, size=100):
        self.table, self.size = table, size

    def __iter__(self):
        for start in range(0, len(self.table[0]), self.size):
            yield tuple(part[start : start + self.size] for part in self.table)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    return X, 10 + 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=2000)


@pytest.fixture
def folder(rows, tmp_path):
    """Four files of 500 rows, sorted by y, in row groups of 125."""
    frame = pd.DataFrame(rows[0], columns=["a", "b", "c"]).assign(y=rows[1]).sort_values("y")
    for index in range(4):
        part = frame.iloc[500 * index : 500 * (index + 1)]
        part.to_parquet(tmp_path / f"part-{index}.parquet", index=False, row_group_size=125)
    return tmp_path


def test_batches_are_fitted_as_the_table_is(rows):
    """Of the same rows, shuffled through a buffer of a tenth of them."""
    whole = tiny().fit(*rows)
    model = tiny(inference="auto", training__buffer_rows=200).fit(Pieces(*rows))
    for own, other in zip(model.posterior_.standardizer, whole.posterior_.standardizer, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9)
    errors = [np.mean((fitted.predict(rows[0]) - rows[1]) ** 2) for fitted in (model, whole)]
    assert errors[0] < 1.3 * errors[1]
    assert model.sampling_report_.inference == "variational"
    assert "came in batches" in model.sampling_report_.why
    assert model.n_features_in_ == 3
    assert not model.is_collapsed_
    assert model.noise_report_ is not None
    assert model.feature_importances_.argmax() == 0
    assert model.predict(rows[0]).shape == (2000,)
    assert model.prune(fine_tune_steps=5).predict(rows[0][:2]).shape == (2,)


def test_few_rows_are_used_whole(rows):
    few = [part[:50] for part in rows]
    own, whole = tiny(**BRIEF).fit(Pieces(*few, size=7)), tiny(**BRIEF).fit(*few)
    np.testing.assert_allclose(own.predict(few[0]), whole.predict(few[0]), rtol=1e-2)


def test_weights_and_several_targets_come_with_the_batches(rows):
    X, y = rows
    twice = tiny(**BRIEF).fit(Pieces(X, np.column_stack([y, -y]), np.full(len(y), 2.0)))
    assert twice.predict(X[:5]).shape == (5, 2)
    assert twice.posterior_.members[0].model.likelihood is not None
    idle = np.r_[np.ones(1000), np.zeros(1000)]
    half = tiny(**BRIEF).fit(Pieces(X, y, idle))
    np.testing.assert_allclose(half.posterior_.standardizer.input_mean, X[:1000].mean(0), rtol=1e-9)


def test_classes_are_known_in_their_order_wherever_they_are_first_met(rows):
    X, y = rows
    labels = np.where(y > 10, "up", "down").astype(object)
    order = np.argsort(labels == "up")[::-1]  # the last label comes first, and the first in the last batches alone
    model = tiny(HorseshoeClassifier).fit(Pieces(X[order], labels[order]))
    assert model.classes_.tolist() == ["down", "up"]
    assert model.score(X, labels) > 0.9
    assert model.predict_proba(X).shape == (2000, 2)


def test_early_stopping_and_calibration_keep_rows_aside(rows):
    settings = {"training__early_stopping": True, "training__num_steps": 300, "calibration": "spread"}
    model = tiny(**settings).fit(Pieces(*rows))
    assert model.calibration_ is not None
    assert np.isfinite(model.predict(rows[0])).all()


@pytest.mark.parametrize("buffer", ["auto", 300])
def test_a_fit_from_batches_resumes_to_the_same_bits(rows, tmp_path, monkeypatch, buffer):
    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 10)
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0)
    settings = BRIEF | {"training__buffer_rows": buffer, "num_members": 2, "n_jobs": 2}
    whole = tiny(**settings).fit(Pieces(*rows))

    def press(progress):
        if progress.stage == "fitting" and progress.step >= 50:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="Interrupted"):
        tiny(**settings | {"n_jobs": 1}, progress=press, checkpoint=tmp_path).fit(Pieces(*rows))
    resumed = tiny(**settings, checkpoint=tmp_path).fit(Pieces(*rows))
    np.testing.assert_array_equal(resumed.elbo_, whole.elbo_)
    np.testing.assert_array_equal(resumed.predict(rows[0]), whole.predict(rows[0]))
    with pytest.raises(ValueError, match="belongs to another fit"):
        tiny(**settings, checkpoint=tmp_path).fit(Pieces(rows[0], rows[1] + np.eye(2000)[3]))


def test_progress_is_told_while_rows_are_read(rows):
    told = []
    tiny(**BRIEF, progress=told.append).fit(Pieces(*rows))
    reading = [state.step for state in told if state.stage == "reading"]
    assert reading == list(range(100, 2100, 100))
    assert told[-1].stage == "fitting"


def test_what_is_a_source(rows, folder):
    X, y = rows
    assert is_source(Pieces(X, y))
    assert is_source([(X, y)])
    assert is_source(folder)
    assert is_source([str(folder / "part-0.parquet")])
    for table in (X, X.tolist(), pd.DataFrame(X), [(1.0, 2.0)], [], {"a": 1}):
        assert not is_source(table)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask's calls to pandas
@pytest.mark.parametrize("kind", ["folder", "pattern", "files", "dataset", "lazy frame", "Dask frame"])
def test_tables_of_other_engines(folder, rows, kind):
    pl, dd = (pytest.importorskip(name) for name in ("polars", "dask.dataframe"))
    source = {
        "folder": folder,
        "pattern": str(folder / "part-*.parquet"),
        "files": sorted(folder.glob("*.parquet")),
        "dataset": pyarrow.dataset.dataset(folder),
        "lazy frame": pl.scan_parquet(folder / "*.parquet"),
        "Dask frame": dd.read_parquet(folder),
    }[kind]
    model = tiny(**BRIEF).fit(source, "y")
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.posterior_.standardizer.input_mean, rows[0].mean(0), rtol=1e-9)


def test_columns_are_targets_weights_or_inputs(folder, rows):
    frame = pd.read_parquet(folder).assign(w=2.0)
    frame.to_parquet(folder / "one.parquet")
    model = tiny(**BRIEF).fit(folder / "one.parquet", ["y", "c"], sample_weight="w")
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(frame[["a", "b"]].head(4)).shape == (4, 2)


def test_sorted_files_do_not_ruin_a_fit(folder, rows):
    """Sorted by y, and a buffer of a quarter: parts are read in random order, several by turns."""
    X = pd.DataFrame(rows[0], columns=["a", "b", "c"])
    whole = tiny().fit(X, rows[1])
    for buffer in ("auto", 500):
        model = tiny(training__buffer_rows=buffer).fit(folder, "y")
        errors = [np.mean((fitted.predict(X) - rows[1]) ** 2) for fitted in (model, whole)]
        assert errors[0] < 2 * errors[1]


def test_parts_are_read_in_random_order_and_by_turns(folder):
    parts = open_parts(folder)
    assert len(parts.parts) == 16
    assert parts.num_rows == 2000
    places = [
        [(where, row) for where, row, _ in parts.read(rng)] for rng in (None, *map(np.random.default_rng, (0, 0, 1)))
    ]
    assert places[0] == sorted(places[0])
    assert places[1] == places[2]
    assert sorted(places[1]) == sorted(places[3]) == places[0]
    assert places[1] != places[0]
    assert places[1] != places[3]
    rows = pa.Table.from_pydict({"a": np.arange(100_000.0)})
    long = Parts(("a",), tuple(Part(name, lambda: iter(rows.to_batches(1000))) for name in "abcdef"))
    first = [where for where, _, _ in long.read(np.random.default_rng(0))][:40]
    assert len(set(first)) == 4
    assert first[:4] * 10 == first


def fit_folder(folder):
    tiny(**BRIEF).fit(folder, "y")


def test_a_file_with_other_columns_is_named(folder):
    path = folder / "part-2.parquet"
    frame = pd.read_parquet(path)
    for change, column in (
        (frame.assign(b="text"), "column 'b' holds texts; in .*part-0.parquet it holds numbers"),
        (frame.drop(columns="b"), "no column 'b', which .*part-0"),
        (frame.assign(z=1.0), "has a column 'z', which .*part-0.parquet has not"),
    ):
        change.to_parquet(path, index=False)
        with pytest.raises(SourceError, match=f"part-2.parquet.*{column}"):
            fit_folder(folder)


def test_a_file_cut_short_or_damaged_is_named(folder):
    path = folder / "part-1.parquet"
    data = path.read_bytes()
    for wrong in (data[: len(data) // 2], b"", b"PAR1" + bytes(1000) + data[1004:]):
        path.write_bytes(wrong)
        with pytest.raises(SourceError, match=r"part-1\.parquet"):
            fit_folder(folder)


def test_a_file_without_rows_is_passed_over(folder, rows):
    pd.read_parquet(folder / "part-0.parquet").iloc[:0].to_parquet(folder / "part-1b.parquet", index=False)
    model = tiny(**BRIEF).fit(folder, "y")
    np.testing.assert_allclose(model.posterior_.standardizer.input_mean, rows[0].mean(0), rtol=1e-9)
    for path in folder.glob("*.parquet"):
        pd.read_parquet(path).iloc[:0].to_parquet(path, index=False)
    with pytest.raises(SourceError, match=r"gave 0 row"):
        fit_folder(folder)


def test_gaps_and_texts_are_named_by_file_column_and_row(folder):
    path = folder / "part-3.parquet"
    frame = pd.read_parquet(path)
    frame.loc[frame.index[300], "c"] = np.nan
    frame.to_parquet(path, index=False)
    with pytest.raises(SourceError, match=r"part-3\.parquet: column 'c' has no value in row 300.*TableModel"):
        fit_folder(folder)
    frame["c"] = np.inf
    frame.to_parquet(path, index=False)
    with pytest.raises(SourceError, match=r"part-3\.parquet: X holds inf in row 0, .* column 'c'"):
        fit_folder(folder)
    frame.assign(town="Ulm").to_parquet(folder / "one.parquet")
    with pytest.raises(SourceError, match=r"column 'town' holds texts, not numbers.*TableModel"):
        tiny().fit(folder / "one.parquet", "y")
    with pytest.raises(SourceError, match=r"no column 'price'\. The table has 'a'"):
        tiny().fit(folder / "one.parquet", "price")
    with pytest.raises(SourceError, match="no Parquet file"):
        tiny().fit(str(folder / "none-*.parquet"), "y")
    with pytest.raises(ValueError, match="y must name its target column"):
        tiny().fit(folder / "one.parquet")


def test_batches_that_will_not_do_are_named(rows):
    X, y = rows
    good = (X[:100], y[:100])
    wrong = {
        "batch 3 has 2 column.*had 3": (X[:100, :2], y[:100]),
        "batch 3: X has 99 rows, and y 100": (X[:99], y[:100]),
        "batch 3: X holds nan in row 0.*column 1": (np.where(np.arange(3) == 1, np.nan, X[:100]), y[:100]),
        "batch 3: y must hold numbers": (X[:100], np.full(100, "high")),
        "batch 3: y has the shape": (X[:100], y[:100, None]),
        "batch 3: a weight is zero or more": (X[:100], y[:100], np.full(100, -1.0)),
        "batch 3 must be .X, y.": np.zeros((4, 4)),
        "batch 3: X must have two dimensions": (y[:100], y[:100]),
    }
    for text, batch in wrong.items():
        with pytest.raises(SourceError, match=text):
            tiny(**BRIEF).fit([good, good, batch])
    named = pd.DataFrame(X[:100], columns=["a", "b", "c"])
    with pytest.raises(SourceError, match=r"batch 2: its columns are not those of the first.*'b'"):
        tiny(**BRIEF).fit([(named, y[:100]), (named[["b", "a", "c"]], y[:100])])
    with pytest.raises(SourceError, match="gave 1 row"):
        tiny(**BRIEF).fit([(X[:1], y[:1])])


def test_what_can_be_read_only_once_is_refused(rows):
    with pytest.raises(SourceError, match="generator gives its batches once"):
        tiny(**BRIEF).fit(batch for batch in Pieces(*rows))

    class Once(Pieces):
        is_read = False

        def __iter__(self):
            batches = () if self.is_read else super().__iter__()
            self.is_read = True
            return iter(batches)

    model = tiny(**BRIEF)
    with pytest.raises(SourceError, match="2,000 rows when it was first read and 0 when it was read again"):
        model.fit(Once(*rows))
    assert not hasattr(model, "posterior_")


def test_options_that_need_all_rows_are_refused(rows):
    with pytest.raises(ValueError, match="inference='sampled' needs all rows in memory"):
        tiny(inference="sampled").fit(Pieces(*rows))
    with pytest.raises(ValueError, match="class_weight is for arrays"):
        tiny(HorseshoeClassifier, class_weight="balanced").fit(Pieces(rows[0], rows[1] > 10))
    with pytest.raises(ValueError, match="comes with them"):
        tiny().fit(Pieces(*rows), sample_weight=np.ones(2000))
    with pytest.raises(ValueError, match="one class only"):
        tiny(HorseshoeClassifier).fit(Pieces(rows[0], np.zeros(2000, int)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_a_dask_frame_says_when_a_partition_fails_is_told(folder):
    dd = pytest.importorskip("dask.dataframe", reason="pip install 'pritchel[dask]'")
    frame = dd.read_parquet(folder)
    (folder / "part-2.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"partition 2 cannot be read: .*Mend it") as told:
        tiny(**BRIEF).fit(frame, "y")
    assert told.value.__cause__ is not None


def test_a_dataset_of_files_that_differ_names_file_and_column(folder):
    path = folder / "part-2.parquet"
    dataset = pyarrow.dataset.dataset(folder)
    pd.read_parquet(path).assign(b="text").to_parquet(path, index=False)
    with pytest.raises(SourceError, match=r"part-2\.parquet: column 'b' holds texts; in the dataset it holds numbers"):
        tiny(**BRIEF).fit(dataset, "y")


def test_what_polars_says_is_told(folder):
    pl = pytest.importorskip("polars")
    frame = pl.scan_parquet(folder / "*.parquet")
    (folder / "part-2.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"the lazy frame cannot be read: "):
        tiny(**BRIEF).fit(frame, "y")
    with pytest.raises(SourceError, match=r"The polars table cannot be opened: .*none"):
        tiny(**BRIEF).fit(pl.scan_parquet(folder / "none.parquet"), "y")


def test_a_fit_goes_on_from_batches(rows):
    model = tiny(**BRIEF, warm_start=True).fit(Pieces(*rows))
    before = model.posterior_.standardizer.input_mean
    model.fit(Pieces(rows[0] + 1, rows[1]))
    np.testing.assert_array_equal(model.posterior_.standardizer.input_mean, before)
    assert isinstance(model, HorseshoeRegressor)


@pytest.mark.parametrize(
    "labels", [np.array(["2020-01-01", "2021-01-01"], "datetime64[ns]"), np.array([3, 70]), [True, False]]
)
def test_labels_keep_their_type(labels):
    X = np.random.default_rng(0).normal(size=(60, 1))
    y = np.asarray(labels)[(X[:, 0] > 0).astype(int)]
    found, whole = (tiny(HorseshoeClassifier, **BRIEF).fit(*given) for given in ([Pieces(X, y, size=30)], (X, y)))
    assert found.classes_.dtype == whole.classes_.dtype
    np.testing.assert_array_equal(found.classes_, whole.classes_)
    assert found.score(X, y) > 0.5
    with pytest.raises(ValueError, match="y holds 1 as an object"):
        tiny(HorseshoeClassifier, **BRIEF).fit(Pieces(X, np.array([1, 0] * 30, object)))


def test_a_state_is_not_that_of_other_labels(tmp_path):
    """Classes that come in the same order and sort the other way are another fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + np.repeat([3.0, -3.0], 30)[:, None]

    def batches(first: str, second: str) -> list:
        return [(X[:30], np.full(30, first)), (X[30:], np.full(30, second))]

    brief = {**BRIEF, "checkpoint": tmp_path / "states"}
    tiny(HorseshoeClassifier, **brief).fit(batches("well", "ill"))
    with pytest.raises(FileError, match="belongs to another fit"):
        tiny(HorseshoeClassifier, **brief).fit(batches("healthy", "sick"))
