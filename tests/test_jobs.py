"""Tasks on workers outside the process, here joblib's own: the same bits, whatever becomes of the workers."""

import os
import signal
import sys
import time
import warnings

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest

from pritchel import FitWarning, TableModel, jobs
from pritchel.experiments.records import Records
from pritchel.infer import checkpoint, trials
from tests.conftest import tiny

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not find the tests
SAMPLED = {"inference": "sampled", "sampling__num_warmup": 20, "sampling__num_samples": 20, "num_draws": 10}


@pytest.fixture
def workers():
    """Two processes of loky's; they stay from test to test, with what they have compiled."""
    with joblib.parallel_config("loky", n_jobs=2):
        yield


def dying_once(marker):
    """`jobs.answers`, but for the first worker that gets to a task."""

    def answers(function, tasks, n_jobs):
        def dying(*arguments):
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return function(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        return jobs.answers(dying, tasks, n_jobs)

    return answers


def same_fits(one, other, X):
    return np.array_equal(one.elbo_, other.elbo_) and np.array_equal(one.predict(X), other.predict(X))


def test_members_and_chains_are_the_same_to_the_bit(table, workers):
    told = []
    make = {"num_members": 2, "training__num_steps": 100, **SAMPLED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        there = tiny(**make, progress=told.append).fit(*table)
        with joblib.parallel_config("threading"):
            here = tiny(**make).fit(*table)
    assert same_fits(here, there, table[0])
    ends = {(state.stage, state.trial, state.step) for state in told}
    assert ends == {("fitting", 0, 100), ("fitting", 1, 100), ("sampling", 0, 40), ("sampling", 1, 40)}
    assert len(told) == 4


def test_an_interrupt_keeps_the_members_that_have_ended(table, workers, monkeypatch):
    def answers(function, tasks, n_jobs):
        yield 1, function(*tasks[1])
        raise KeyboardInterrupt

    monkeypatch.setattr(trials, "answers", answers)
    with pytest.warns(FitWarning, match="Interrupted: the estimator holds 1 of 2"):
        model = tiny(num_members=2, training__num_steps=100).fit(*table)
    assert model.status_ == ["interrupted"]
    with joblib.parallel_config("threading"):
        both = tiny(num_members=2, training__num_steps=100).fit(*table)
    assert np.array_equal(model.elbo_[0], both.elbo_[1])


def test_a_worker_without_the_folder_leaves_checkpoints_to_who_asked(table, workers, tmp_path, monkeypatch):
    make = {"num_members": 2, "training__num_steps": 100, "checkpoint": tmp_path}
    monkeypatch.setattr(checkpoint.SharedFolder, "of", lambda path: checkpoint.SharedFolder(tmp_path, -1))
    there = tiny(**make).fit(*table)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["member-1.safetensors", "member-2.safetensors"]
    told = []
    with joblib.parallel_config("threading"):
        again = tiny(**make, progress=told.append).fit(*table)
    assert not told  # no step was left to do
    assert same_fits(there, again, table[0])


def test_a_worker_with_the_folder_writes_there(tmp_path):
    folder = checkpoint.SharedFolder.of(tmp_path / "new")
    assert folder.here() == tmp_path / "new"
    assert folder._replace(number=folder.number + 1).here() is None
    assert checkpoint.SharedFolder(tmp_path / "none", folder.number).here() is None


def fit_folds(table, backend, n_jobs):
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"]).assign(y=table[1])
    said = []
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        model = TableModel(tiny(training__num_steps=100), folds=2).fit(
            frame, "y", say=lambda text: said.append(str(text))
        )
    return {**model.notes_, "seconds": 0}, {name: array.tolist() for name, array in model.arrays_.items()}, said


def test_folds_are_tasks(table):
    there, here = fit_folds(table, "loky", 1), fit_folds(table, "threading", None)
    assert there[:2] == here[:2]
    assert there[2][-3:] == ["Fold 1 is done, 1 of 2.", "Fold 2 is done, 2 of 2.", "Fitting to all rows ..."]


@pytest.mark.slow
def test_folds_in_other_processes_are_the_same_to_the_bit(table):
    assert fit_folds(table, "loky", 2)[:2] == fit_folds(table, "threading", None)[:2]


def test_trials_of_experiments_are_tasks(workers, tmp_path, monkeypatch):
    list(jobs.answers(time.sleep, [(0,)] * 4, 2))  # the workers are there before the variable is
    monkeypatch.setenv("PRITCHEL_DATA", "there")
    records, keys = Records(tmp_path / "own.jsonl"), [{"seed": seed} for seed in range(4)]

    def run(key):
        if key["seed"] == 2:
            raise ValueError("no such seed")
        return {"process": os.getpid(), "data": os.environ["PRITCHEL_DATA"]}

    failures = records.run(keys, run)
    assert failures == ['{"seed": 2}: ValueError: no such seed']
    results = [record["result"] for record in records.of(keys)]
    assert len(results) == 3
    assert os.getpid() not in {result["process"] for result in results}
    assert {result["data"] for result in results} == {"there"}


def test_warnings_and_errors_come_back(workers):
    def warn():
        warnings.warn("in a worker", FitWarning, stacklevel=1)
        return os.getpid()

    with pytest.warns(FitWarning, match="in a worker"):
        ((number, process),) = jobs.answers(warn, [()], 2)
    assert number == 0
    assert process != os.getpid()
    with pytest.raises(ZeroDivisionError):
        list(jobs.answers(lambda: 1 / 0, [()], 2))


@pytest.mark.filterwarnings("always::pritchel.FitWarning")
def test_warnings_kept_within_a_task_stay_there():
    with jobs.kept_warnings() as outer:
        with jobs.kept_warnings() as inner:
            warnings.warn("inside", FitWarning, stacklevel=1)
        warnings.warn("outside", FitWarning, stacklevel=1)
    assert ([text for text, _ in outer], [text for text, _ in inner]) == (["outside"], ["inside"])


def test_a_worker_with_other_versions_is_named(workers, monkeypatch):
    told = jobs.circumstances() | {"jax": "0.0.1", "XLA_FLAGS": ""}
    monkeypatch.setattr(jobs, "circumstances", lambda: told)
    with pytest.raises(jobs.WorkerError, match=r"process \d+ on .* has jax .* instead of 0.0.1, XLA_FLAGS --.*unset"):
        list(jobs.answers(time.sleep, [(0,)], 2))


def test_a_worker_without_pritchel_is_named(workers):
    def fail():
        raise ModuleNotFoundError("No module named 'pritchel.jobs'", name="pritchel.jobs")

    with pytest.raises(jobs.WorkerError, match=r"A worker has no pritchel, or another version of it.*Install"):
        list(jobs.answers(fail, [()], 2))


def test_how_many_at_once():
    cores = jobs.num_cores()
    assert not jobs.is_elsewhere()
    assert (jobs.num_at_once(None), jobs.num_at_once(-1), jobs.num_at_once(7)) == (cores, cores, 7)
    with joblib.parallel_config(n_jobs=3):  # no backend is named: threads stay
        assert not jobs.is_elsewhere()
        assert (jobs.num_at_once(None), jobs.num_at_once(7)) == (3, 7)
    with joblib.parallel_config("threading"):
        assert (jobs.is_elsewhere(), jobs.num_at_once(None)) == (False, cores)
    with joblib.parallel_config("multiprocessing", n_jobs=2):  # forked: JAX would wait for ever
        assert (jobs.is_elsewhere(), jobs.num_at_once(None)) == (False, 2)
    with joblib.parallel_config("loky"):
        assert (jobs.is_elsewhere(), jobs.num_at_once(None)) == (True, joblib.cpu_count())
        assert jobs.num_at_once(3) == 3


def test_within_a_task_fits_are_threads(workers):
    ((_, is_elsewhere),) = jobs.answers(jobs.is_elsewhere, [()], 2)
    assert not is_elsewhere


def test_an_array_of_many_tasks_is_sent_once():
    rows, packed = np.arange(10.0), jobs._Sent()
    (_, one), (_, other) = (packed.pack((len, (rows, number))) for number in range(2))
    assert one is other


def test_tasks_of_a_lost_worker_are_begun_anew(workers, tmp_path):
    answers = dying_once(str(tmp_path / "died"))
    with pytest.warns(UserWarning, match="A worker was lost"):
        assert dict(answers(np.sqrt, [(number**2,) for number in range(5)], 2)) == {n: n for n in range(5)}


@pytest.mark.slow
def test_a_lost_worker_costs_time_and_nothing_else(table, workers, tmp_path, monkeypatch):
    make = {"num_members": 2, "training__num_steps": 100}
    with joblib.parallel_config("threading"):
        here = tiny(**make).fit(*table)
    monkeypatch.setattr(trials, "answers", dying_once(str(tmp_path / "died")))
    with pytest.warns(UserWarning, match="A worker was lost"):
        there = tiny(**make).fit(*table)
    assert same_fits(here, there, table[0])


def test_workers_that_are_lost_again_and_again_are_given_up(workers, monkeypatch):
    monkeypatch.setattr(jobs, "MAX_LOST", 0)
    with pytest.raises(jobs.WorkerError, match=r"lost 1 times.*1 of 1 tasks are not done.*n_jobs"):
        list(jobs.answers(lambda: os.kill(os.getpid(), signal.SIGKILL), [()], 2))


def test_an_interrupt_waits_for_nobody(workers):
    start = time.monotonic()
    for number, _ in jobs.answers(time.sleep, [(0,), (100,)], 2):
        assert number == 0
        break
    with pytest.raises(KeyboardInterrupt):
        list(jobs.answers(interrupted, [()], 2))
    assert time.monotonic() - start < 50


def interrupted():
    raise KeyboardInterrupt
