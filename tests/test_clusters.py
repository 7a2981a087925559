"""Fits on a Dask cluster and on a Ray instance of two workers each, and from their tables: the same bits, also when a
worker is lost."""

import contextlib
import gc
import logging
import os
import sys
import warnings

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import psutil
import pytest

from pritchel import TableModel, jobs
from pritchel.data.parts import SourceError, open_parts
from pritchel.infer import trials
from tests.conftest import tiny
from tests.test_jobs import dying_once, same_fits

cloudpickle.register_pickle_by_value(sys.modules["tests.test_jobs"])  # workers need not find the tests
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # what engines leave open is theirs
MAKE = {"num_members": 2, "training__num_steps": 100}


@pytest.fixture(scope="module")
def dask():
    """Two processes on this machine; nothing else can reach them."""
    distributed = pytest.importorskip("distributed", reason="pip install 'pritchel[dask]'")
    with contextlib.ExitStack() as stack:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a machine that is slow to start things
            quiet = {"dashboard_address": None, "worker_dashboard_address": None}
            local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", **quiet)
            client = stack.enter_context(distributed.Client(stack.enter_context(local)))
        require_loopback()
        yield client


def require_loopback():
    own = {child.pid for child in psutil.Process().children(recursive=True)} | {os.getpid()}
    heard = {found.laddr.ip for found in psutil.net_connections("tcp") if found.pid in own and found.status == "LISTEN"}
    assert heard <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


@pytest.fixture(scope="module")
def ray():
    """An instance on this machine; nothing else can reach it."""
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}  # before it is imported
    engine = pytest.importorskip("ray", reason="pip install 'pritchel[ray]'")
    from ray.util.joblib import register_ray

    register_ray()
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of a fork, after which another program is run at once
        engine.init(num_cpus=2, object_store_memory=10**8, **quiet)
        import ray.data as tables

        tables.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    require_loopback()
    yield engine
    engine.shutdown()
    gc.collect()


@pytest.fixture(scope="module")
def here(table):
    """What threads make of it."""
    return tiny(**MAKE).fit(*table)


def fit_dying_once(table, marker, monkeypatch):
    """A fit whose first worker is killed with SIGKILL."""
    monkeypatch.setattr(trials, "answers", dying_once(str(marker)))
    model = tiny(**MAKE).fit(*table)
    assert marker.exists()
    return model


def test_dask_gives_the_same_bits(table, here, dask):
    with joblib.parallel_config("dask"):
        assert jobs.num_at_once(None) == 2
        assert same_fits(here, tiny(**MAKE).fit(*table), table[0])
        assert dict(jobs.answers(jobs.is_elsewhere, [()], 2)) == {0: False}  # a task's own fits are threads


def test_dask_workers_with_other_versions_are_named(dask, monkeypatch):
    told = jobs.circumstances() | {"jax": "0.0.1"}
    monkeypatch.setattr(jobs, "circumstances", lambda: told)
    with joblib.parallel_config("dask"), pytest.raises(jobs.WorkerError, match=r"has jax .* instead of 0.0.1"):
        list(jobs.answers(np.sqrt, [(4.0,)], 2))


def test_dask_begins_the_tasks_of_a_lost_worker_anew(table, here, dask, tmp_path, monkeypatch):
    with joblib.parallel_config("dask"):
        assert same_fits(here, fit_dying_once(table, tmp_path / "died", monkeypatch), table[0])


@pytest.mark.slow  # it takes Ray a quarter of a minute to start
def test_ray_gives_the_same_bits(table, here, ray):
    with joblib.parallel_config("ray"):
        assert jobs.num_at_once(None) == 2
        assert same_fits(here, tiny(**MAKE).fit(*table), table[0])


@pytest.mark.slow  # it takes Ray a quarter of a minute to start
def test_rounds_of_an_engine_without_answers_as_they_come(ray, monkeypatch):
    monkeypatch.setattr(jobs, "TASKS_A_ROUND", 2)
    with joblib.parallel_config("ray"):
        assert dict(jobs.answers(np.sqrt, [(number**2,) for number in range(7)], 2)) == {n: n for n in range(7)}


@pytest.mark.slow
def test_tasks_of_a_lost_ray_worker_are_begun_anew(table, here, ray, tmp_path, monkeypatch):
    with joblib.parallel_config("ray"), pytest.warns(UserWarning, match="A worker was lost"):
        model = fit_dying_once(table, tmp_path / "died", monkeypatch)
    assert same_fits(here, model, table[0])


@pytest.fixture
def shards(tmp_path):
    """Six Parquet files with a category, told apart by the target."""
    rng = np.random.default_rng(0)
    for index in range(6):
        frame = pd.DataFrame({"a": rng.normal(size=400), "town": rng.choice(["Ulm", "Ham"], 400)})
        frame["y"] = np.sin(frame["a"]) + (frame["town"] == "Ulm") + index
        frame.to_parquet(tmp_path / f"part-{index}.parquet", index=False)
    return tmp_path


def answers(source, shards):
    """What a fit from there says of the rows, which depends on their order."""
    told = {"num_members": 1, "training__num_steps": 40}
    model, rows = TableModel(tiny(**told)).fit(source, "y"), pd.read_parquet(shards)
    assert model.notes_["source"]["rows"] == len(rows)
    assert [column.name for column in model.plan_.columns] == ["a", "town"]
    return model.predict(rows)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask's calls to pandas
@pytest.mark.slow
def test_a_dask_frame_is_read_by_a_cluster(dask, shards):
    import dask.dataframe as dd

    found = answers(dd.read_parquet(shards), shards)
    pd.testing.assert_frame_equal(found, answers(shards, shards))  # a partition is a file, and here a row group


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray", "ignore::UserWarning:ray")
@pytest.mark.slow
def test_a_ray_dataset_is_read_in_its_order(ray, shards):
    import ray.data as tables

    table = tables.read_parquet(str(shards)).map_batches(lambda batch: batch, batch_format="pyarrow")
    passes = [np.concatenate([batch["y"] for _, _, batch in open_parts(table).read()]) for _ in range(2)]
    for own in passes:
        np.testing.assert_array_equal(own, pd.read_parquet(shards)["y"])
    assert not table.context.execution_options.preserve_order  # it is left as it was
    pd.testing.assert_frame_equal(answers(table, shards), answers(table, shards))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray", "ignore::UserWarning:ray")
@pytest.mark.slow
def test_what_goes_wrong_on_a_ray_worker_is_told(ray, shards):
    import ray.data as tables

    def fail(batch):
        raise ZeroDivisionError("of mine")

    for broken in (tables.read_parquet(str(shards)).map_batches(fail), tables.from_items([])):
        with pytest.raises(SourceError, match=r"[Rr]ay"):
            tiny(**MAKE).fit(broken, "y")
