"""Processes that share a fit: the fit of one, to rounding; one decision for all; a word when one is gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from pritchel import HorseshoeRegressor, fit_groups, jobs, processes
from pritchel.cli import launch
from pritchel.crew import Crew
from pritchel.data.dataset import prepare
from pritchel.infer.feed import Feed
from pritchel.infer.trial import FitSettings, Trial
from tests import processes as worker
from tests.pages import ROOT
from tests.test_cli import run

SECONDS = 900  # that anything may take, on a busy machine


def free_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


def start(number, count, port, *words, env=None):
    """One of several processes, told of the others as Slurm does it."""
    slurm = {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_NTASKS": str(count)}
    slurm |= {"SLURM_PROCID": str(number), "SLURM_LOCALID": str(number), "JAX_COORDINATOR_PORT": str(port)}
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        env=os.environ | (slurm if count > 1 else {}) | (env or {}),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_in(count, cases, folder, env=None):
    """What each case comes to, by the number of the process."""
    port = free_port()
    words = ("-m", "tests.processes", cases, folder)
    started = [start(number, count, port, *words, env=env) for number in range(count)]
    said = [own.communicate(timeout=SECONDS)[1] for own in started]
    assert [own.returncode for own in started] == [0] * count, said
    return {
        case: [dict(np.load(folder / f"{case}-{number}.npz")) for number in range(count)] for case in cases.split(",")
    }


def assert_same(case, alone, shared, rtol=1e-3):
    for number, found in enumerate(shared):
        for name, value in alone.items():
            message = f"{case} {name} in process {number}"
            assert np.shape(found[name]) == np.shape(value), message
            np.testing.assert_allclose(found[name], value, rtol=rtol, atol=rtol, err_msg=message)


def test_two_processes_give_the_fit_of_one(tmp_path):
    shared = run_in(2, "passes", tmp_path)
    assert_same("passes", worker.fit("passes"), shared["passes"], rtol=1e-5)


SHARED = ("whole", "sampled", "batch_sampled", "structured", "average", "early", "dead", "vmg", "stream", "chains")
LOOSE = {"early": 1e-2, "dead": 1e-2, "vmg": 3e-2}  # of many steps, or of gradients that are nothing but rounding


@pytest.mark.slow
def test_every_kind_of_fit_is_that_of_one_process(tmp_path):
    cases = ",".join((*SHARED, "seedless", "other_rows"))
    shared = run_in(2, cases, tmp_path)
    (tmp_path / "alone").mkdir()
    alone = run_in(1, ",".join(SHARED), tmp_path / "alone")
    for case in SHARED:
        if case != "chains":
            assert_same(case, alone[case][0], shared[case], LOOSE.get(case, 1e-4))
    assert shared["dead"][0]["widths"].max() < 40, "units have left"
    assert shared["early"][0]["steps"] < 3000, "it has stopped early"
    for name, value in alone["chains"][0].items():
        for found in shared["chains"]:
            np.testing.assert_array_equal(found[name], value, err_msg=name)
    np.testing.assert_array_equal(*(found["elbo"] for found in shared["seedless"]))
    for found in shared["other_rows"]:
        assert "Process 1 has other rows, options or seeds" in str(found["said"])


@pytest.mark.slow
def test_three_processes_share_batches_that_three_does_not_divide(tmp_path):
    shared = run_in(3, "passes,sampled,chains", tmp_path)
    for case in ("passes", "sampled"):
        assert_same(case, worker.fit(case), shared[case], 1e-4)
    for found in shared["chains"][1:]:
        for name, value in shared["chains"][0].items():
            np.testing.assert_array_equal(found[name], value)


@pytest.mark.slow
def test_each_process_may_have_several_devices(tmp_path):
    shared = run_in(2, "passes,sampled,seedless", tmp_path, {"JAX_NUM_CPU_DEVICES": "2"})
    for case in ("passes", "sampled"):
        assert_same(case, worker.fit(case), shared[case], 1e-4)


def crew_of(index, count):
    """What `Feed` asks of a crew."""
    crew = Crew.__new__(Crew)
    crew.index, crew.count, crew.num_local, crew.mesh = index, count, 1, SimpleNamespace(size=count)
    return crew


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("batch_size", [4, 32, 128])
def test_shares_put_together_are_the_batch(fitted, count, batch_size):
    data, _ = prepare(*worker.rows()[:1], worker.rows()[1][:, None])
    settings = FitSettings(num_steps=7, batch_size=batch_size, objective="sampled")
    guide = fitted.posterior_.members[0].guide
    trial = Trial(fitted.posterior_.members[0].model, guide, data, 0)
    whole = Feed(trial, settings, guide).chunk(0)[0]
    shares = [Feed(trial, settings, guide, crew=crew_of(index, count)).chunk(0)[0] for index in range(count)]
    num = whole.batch.weights.shape[1]
    for get in (lambda s: s.batch.inputs, lambda s: s.batch.weights, lambda s: s.noise.projections[0]):
        joined = np.concatenate([get(share) for share in shares], 1)
        np.testing.assert_array_equal(joined[:, :num], get(whole))
        assert not joined[:, num:].any(), "padding"
        assert joined.shape[1] < num + count


def test_noise_that_rows_share_is_every_process_s(fitted):
    data, _ = prepare(*worker.rows()[:1], worker.rows()[1][:, None])
    settings = FitSettings(num_steps=7, batch_size=32, objective="batch_sampled")
    guide = fitted.posterior_.members[0].guide
    trial = Trial(fitted.posterior_.members[0].model, guide, data, 0)
    (whole,) = Feed(trial, settings, guide).chunk(0)[0].noise.log_unit_scales
    for index in range(2):
        (own,) = Feed(trial, settings, guide, crew=crew_of(index, 2)).chunk(0)[0].noise.log_unit_scales
        np.testing.assert_array_equal(own, np.repeat(whole, 16, 1))


SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_NODELIST": "node[1-4]",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}


@pytest.fixture
def environment(monkeypatch):
    for name in [*os.environ]:
        if name.startswith(("SLURM_", "OMPI_", "JAX_COORD", "PRITCHEL_PROCESSES")):
            monkeypatch.delenv(name)
    return lambda told: [monkeypatch.setenv(name, value) for name, value in told.items()]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({}, None),
        ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}, None),  # in a batch script, outside srun
        (SLURM, processes.Place(count=4, index=2)),
        (OPEN_MPI | {"OMPI_MCA_orte_hnp_uri": "1.0;tcp://10.0.0.1:1"}, processes.Place(count=4, index=3)),
        (OPEN_MPI | {"JAX_COORDINATOR_ADDRESS": "node1:4321"}, processes.Place(count=4, index=3)),
        (SLURM | {"PRITCHEL_PROCESSES": "127.0.0.1:9,2,1"}, processes.Place("127.0.0.1:9", 2, 1)),
    ],
)
def test_who_started_a_process_says_where_it_stands(environment, told, found):
    environment(told)
    assert processes.place() == found


@pytest.mark.parametrize(
    ("told", "message"),
    [(OPEN_MPI, "JAX_COORDINATOR_ADDRESS=node1:4321"), ({"PRITCHEL_PROCESSES": "2"}, "host:port,count,index")],
)
def test_a_start_that_does_not_say_enough(environment, told, message):
    environment(told)
    with pytest.raises(processes.ProcessError, match=message):
        processes.place()


def test_join_says_what_is_missing(environment):
    with pytest.raises(processes.ProcessError, match="srun"):
        processes.join()
    with pytest.raises(ValueError, match="all of coordinator"):
        processes.join("127.0.0.1:9", 2)


@pytest.mark.parametrize(
    ("told", "asked", "count"), [({}, None, 0), ({}, "1", 0), ({}, "3", 3), (SLURM, "auto", 0), (SLURM, "4", 0)]
)
def test_processes_to_start(environment, told, asked, count):
    environment(told)
    assert launch.num_to_launch(asked, "t.csv") == count


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--processes", "auto"], "srun or mpirun"),
        (["--processes", "0"], "must be a number"),
        (["--processes", "two"], "must be a number"),
        (["--processes", "2", "--by", "a"], "leave --processes out"),
    ],
)
def test_what_cannot_be_shared_is_refused(environment, tmp_path, words, message):
    (tmp_path / "t.csv").write_text("a,y\n1,2\n2,3\n")
    assert message in run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m", *words, code=2).stderr


def test_standard_input_and_other_numbers_are_refused(environment):
    with pytest.raises(ValueError, match="standard input"):
        launch.num_to_launch("2", "-")
    environment(SLURM)
    with pytest.raises(ValueError, match="4 were started"):
        launch.num_to_launch("2", "t.csv")


def test_joblibs_workers_and_groups_need_a_process_of_their_own(monkeypatch, tmp_path):
    import joblib
    import pandas as pd

    monkeypatch.setattr(processes, "_crew", crew_of(0, 2))
    with pytest.raises(processes.ProcessError, match="One model a group"):
        fit_groups(pd.DataFrame({"a": [1, 2], "y": [1, 2]}), "y", "a", tmp_path / "m")
    with (
        joblib.parallel_config("loky", n_jobs=2),
        pytest.raises(processes.ProcessError, match=r"joblib\.parallel_config"),
    ):
        jobs.is_elsewhere()


LONG = [
    "--family",
    "factorized",
    "--hidden",
    4,
    "--inference",
    "variational",
    "--num-draws",
    10,
    "--holdout",
    0,
    "--quiet",
]


def command(place, output, *words, num_steps=3000):
    fit = ["fit", place / "t.csv", "-t", "y", "-o", place / output, "--num-members", 2, "--num-steps", num_steps]
    return [sys.executable, "-m", "pritchel", *map(str, (*fit, *LONG, *words))]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table, and processes that keep their state all the time."""
    monkeypatch.setenv("PRITCHEL_CHECKPOINT_SECONDS", "0.05")
    X, y = worker.rows(300)
    np.savetxt(tmp_path / "t.csv", np.column_stack([X, y]), "%.5f", ",", header="a,b,c,y", comments="")
    return tmp_path


def begun(place, output):
    """A command with two processes that has kept something of its fit, and those processes."""
    own = subprocess.Popen(command(place, output, "--processes", 2), cwd=ROOT, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + SECONDS
    while not (place / f"{output}.partial" / "fit" / "member-1.safetensors").exists():
        assert own.poll() is None, own.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    children = psutil.Process(own.pid).children()
    numbers = {child.environ()["PRITCHEL_PROCESSES"].split(",")[2]: child for child in children}
    return own, [numbers["0"], numbers["1"]]


def run_to_end(words):
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
def test_after_kill_9_of_a_process_the_fit_goes_on_from_where_it_was(place, lost):
    command_of_two, children = begun(place, "m")
    start = time.monotonic()
    children[lost].send_signal(signal.SIGKILL)
    _, said = command_of_two.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert command_of_two.returncode == 1
    assert f"process {lost} of 2 (counted from 0; pid {children[lost].pid})" in said
    assert "signal 9 (SIGKILL" in said
    assert f"{place / 'm.partial'}. The same command with --resume goes on" in said
    assert not children[1 - lost].is_running()
    assert not (place / "m").exists()
    run_to_end(command(place, "m", "--processes", 2, "--resume"))
    run_to_end(command(place, "whole", "--processes", 2))
    run_to_end(command(place, "one"))
    models = [HorseshoeRegressor.load(place / name) for name in ("m", "whole", "one")]
    np.testing.assert_array_equal(models[0].elbo_, models[1].elbo_)
    X = worker.rows()[0]
    np.testing.assert_allclose(models[0].predict(X), models[2].predict(X), rtol=1e-3)


@pytest.mark.slow
def test_ctrl_c_stops_all_processes_after_the_same_step(place):
    command_of_two, children = begun(place, "m")
    command_of_two.send_signal(signal.SIGINT)
    _, said = command_of_two.communicate(timeout=60)
    assert command_of_two.returncode == 130, said
    assert "--resume" in said
    assert not any(child.is_running() for child in children)
    assert HorseshoeRegressor.load(place / "m.partial" / "model").status_ == ["interrupted"]
    run_to_end(command(place, "m", "--processes", 2, "--resume"))
    run_to_end(command(place, "whole", "--processes", 2))
    models = [HorseshoeRegressor.load(place / name) for name in ("m", "whole")]
    np.testing.assert_array_equal(models[0].elbo_, models[1].elbo_)


@pytest.mark.slow
def test_processes_end_with_the_command_that_started_them(place):
    own, children = begun(place, "m")
    own.kill()
    own.communicate()
    gone, alive = psutil.wait_procs(children, timeout=60)
    assert len(gone) == 2, alive


@pytest.mark.slow
def test_a_lost_process_is_told_of_where_nobody_has_launched_them(place):
    """As under srun: the survivor says it."""
    port, words = free_port(), command(place, "m", "--processes", "auto")[1:]
    started = [start(number, 2, port, *words) for number in range(2)]
    until = time.monotonic() + SECONDS
    while not (place / "m.partial" / "fit" / "member-1.safetensors").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    started[1].kill()
    said = started[0].communicate(timeout=60)[1]
    started[1].communicate()
    assert started[0].returncode == 1
    assert f"Process 1 (pid {started[1].pid} on" in said
    assert "the same fit goes on from there (on the command line with --resume)" in said
