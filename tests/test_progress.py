"""What is told of a fit: bars at a terminal, a line in a notebook, nothing elsewhere."""

import io
import sys
import types

import joblib
import pytest
from rich.console import Console

from pritchel.estimators import progress
from pritchel.infer.trial import Execution, Progress


@pytest.fixture
def notebook(monkeypatch):
    """A kernel, as IPython's shell in a notebook has one."""
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))


def test_a_notebook_has_a_line_that_rewrites_itself(notebook, capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.01)
    with progress.progress_display(True, 2, 100, Execution()) as execution:
        assert execution.on_progress is not None
        wait_for(capsys, "\rcompiling, for fitting: 0 s")
        execution.on_progress(Progress(0, 50, 100, -1.0, None))
        execution.on_progress(Progress(1, 40, 100, -1.0, None))
        wait_for(capsys, "\rfitting: 90 of 200 steps, 0 s left")
    end = capsys.readouterr().out
    assert end.rstrip(" ").endswith("\n")
    assert "\rfitted 2 networks in 0 s" in end


def wait_for(capsys, text):
    out = ""
    for _ in range(500):
        progress.time.sleep(0.01)
        out += capsys.readouterr().out
        if text in out:
            return
    raise AssertionError(out)


def test_time_left_follows_from_the_steps_since_the_first():
    line = progress._Line(2, 1000, "sampling", io.StringIO())
    line.update(Progress(0, 500, 1000, 0.0, None, "sampling"))  # as after a resume
    (since, _) = line.first
    assert line.text(since) == "sampling: 500 of 2,000 steps"
    line.update(Progress(1, 100, 1000, 0.0, None, "sampling"))
    assert line.text(since + 10) == "sampling: 600 of 2,000 steps, 2 min 20 s left"


def test_logs_are_told_nothing(capfd):
    for shell in (None, types.SimpleNamespace()):  # none, and that of a terminal
        sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda shell=shell: shell)
        try:
            with progress.progress_display(True, 1, 100, Execution()) as execution:
                assert execution.on_progress is None
        finally:
            del sys.modules["IPython"]
    assert capfd.readouterr() == ("", "")


def test_bars_say_that_programs_are_compiled_until_there_are_steps():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=200)
    with progress._bars(console, 2, 100, "sampling") as update:
        wait_until(out, "compiling, for sampling member 2", "0/?")
        update(Progress(0, 50, 100, -1.0, None, "sampling"))
        wait_until(out, "sampling member 1", "50/100", "waiting member 2", "log density per row -1.000")
        update(Progress(0, 75, 100, -1.0, None, "sampling"))
        wait_until(out, "s left")


def wait_until(out, *texts):
    for _ in range(500):
        if all(text in out.getvalue() for text in texts):
            return
        progress.time.sleep(0.01)
    raise AssertionError(out.getvalue())


def test_workers_in_other_processes_have_a_line_as_each_member_ends(notebook, capsys):
    with joblib.parallel_config("loky"), progress.progress_display(True, 3, 100, Execution(2)) as execution:
        assert execution.on_progress is not None
        execution.on_progress(Progress(2, 100, 100, -1.5, (4, 2)))
    assert capsys.readouterr().out.splitlines() == [
        "fitting 3 networks on joblib's workers, 2 at a time",
        "fitted member 3 (1 of 3) after 0 s: ELBO per row -1.500, units 4+2",
    ]
