"""A fit that is cut short, a disk that is full, a checkpoint that is damaged: nothing that was there is lost."""

import contextlib
import errno
import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import typer

from pritchel import HorseshoeRegressor
from pritchel.cli import common
from pritchel.infer import checkpoint as checkpointing
from pritchel.infer import feed as feeding
from pritchel.infer.checkpoint import Checkpoint
from pritchel.infer.run import Run
from pritchel.serial import FileError
from pritchel.tables import messages
from pritchel.writing import owned
from tests.conftest import tiny
from tests.test_cli import run

SHORT = [
    "--family",
    "factorized",
    "--hidden",
    "4",
    "--inference",
    "variational",
    "--num-steps",
    "200",
    "--num-draws",
    "10",
    "--holdout",
    "0",
    "--quiet",
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table, chunks of 50 steps, a checkpoint after each."""
    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 50)
    monkeypatch.setattr(checkpointing, "EVERY_SECONDS", 0.0)
    x = np.random.default_rng(0).normal(size=(40, 2))
    rows = "".join(f"{a:.4f},{b:.4f},{a + 2 * b:.4f}\n" for a, b in x)
    (tmp_path / "t.csv").write_text(f"a,b,y\n{rows}")
    return tmp_path


def fit(place, *words, members=1, code=0):
    return run(
        "fit", place / "t.csv", "-t", "y", "-o", place / "m", "--num-members", members, *SHORT, *words, code=code
    )


def interrupt(monkeypatch, after):
    """Ctrl-C in place of a chunk, once."""
    real, calls = Run.next_chunk, []

    def next_chunk(self, *arguments):
        calls.append(1)
        if len(calls) == after + 1:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(Run, "next_chunk", next_chunk)


def test_an_unfinished_fit_never_takes_a_finished_ones_place(place, monkeypatch):
    fit(place)
    before = (place / "m" / "spec.json").read_bytes()
    interrupt(monkeypatch, after=2)
    result = fit(place, "--overwrite", "--seed", "1", code=130)
    assert "--resume" in result.stderr
    assert (place / "m" / "spec.json").read_bytes() == before
    assert HorseshoeRegressor.load(place / "m.partial" / "model").status_ == ["interrupted"]
    fit(place, "--overwrite", "--resume", "--seed", "1")
    assert HorseshoeRegressor.load(place / "m").status_ == ["finished"]
    assert not (place / "m.partial").exists()


@pytest.mark.parametrize("after", [4, 5], ids=["before the second's first step", "in the second"])
def test_ctrl_c_in_the_second_member_can_be_resumed(place, monkeypatch, after):
    interrupt(monkeypatch, after)
    result = fit(place, "--n-jobs", "1", members=3, code=130)
    assert "holds 1 of 3" in result.stderr
    assert not (place / "m").exists()
    fit(place, "--n-jobs", "1", "--resume", members=3)
    whole = HorseshoeRegressor.load(place / "m")
    run("fit", place / "t.csv", "-t", "y", "-o", place / "n", "--num-members", 3, *SHORT)
    np.testing.assert_array_equal(whole.elbo_, HorseshoeRegressor.load(place / "n").elbo_)


def test_ctrl_c_while_scoring_says_where_the_fit_is(place, monkeypatch):
    def press_ctrl_c(*_args, **_rest):
        time.sleep(0.1)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(messages, "LONG", 0.01)
        patch.setattr(HorseshoeRegressor, "importances", press_ctrl_c)
        told = fit(place, code=130).stderr
    assert "Scoring the fit on" in told
    assert "nothing was written" not in told
    assert f"{place / 'm.partial'}. The same command with --resume goes on" in told.replace("\n", " ")
    monkeypatch.setattr(Run, "next_chunk", press_ctrl_c)  # all steps are there
    fit(place, "--resume")
    assert HorseshoeRegressor.load(place / "m").status_ == ["finished"]


def test_ctrl_c_during_an_import_is_heard_afterwards():
    steps = []
    with pytest.raises(KeyboardInterrupt), common.interrupts_held():
        steps += [os.kill(os.getpid(), signal.SIGINT), "the import goes on"]
    assert len(steps) == 2


def test_ctrl_c_that_an_import_swallows_ends_the_command_all_the_same(monkeypatch):
    def import_module(name):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(common, "importlib", SimpleNamespace(import_module=import_module))
    with pytest.raises(typer.Exit) as ended, common.plain_errors():
        pytest.fail("it goes on")
    assert ended.value.exit_code == 130


def test_a_second_fit_into_the_same_place_is_refused(place):
    said = []

    def other():
        with owned(place / "m"):
            is_owned.set()
            is_done.wait(60)

    is_owned, is_done = threading.Event(), threading.Event()
    thread = threading.Thread(target=other)
    thread.start()
    is_owned.wait(10)
    for words in ([], ["--overwrite"], ["--resume"]):
        said.append(fit(place, *words, code=2).stderr)
    is_done.set()
    thread.join()
    assert all(f"is being written by process {os.getpid()}" in text for text in said)
    assert sorted(path.name for path in place.iterdir()) == ["t.csv"]


def test_somebody_elses_folder_of_that_name_is_left_alone(place):
    (place / "m.partial" / "fit").mkdir(parents=True)
    (place / "m.partial" / "thesis.txt").write_text("mine")
    (place / "m.partial" / "fit" / "photo.jpg").write_text("mine")
    fit(place)
    fit(place, "--overwrite")
    files = sorted(str(path.relative_to(place / "m.partial")) for path in (place / "m.partial").rglob("*"))
    assert files == ["fit", "fit/photo.jpg", "thesis.txt"]


def no_space(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_training_goes_on_without_room_for_checkpoints(table, tmp_path, monkeypatch, n_jobs):
    monkeypatch.setattr(checkpointing, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(checkpointing, "write_arrays", no_space)
    model = tiny(num_members=2, n_jobs=n_jobs, training__num_steps=20, checkpoint=tmp_path / "part")
    with pytest.warns(UserWarning, match="No space left") as heard:
        model.fit(*table)
    assert len(heard) == 1
    assert model.status_ == ["finished", "finished"]


def test_a_final_save_that_fails_says_where_the_fit_is(place, monkeypatch):
    from pritchel import folder

    real = folder.write_bytes

    def full(path, data):
        if path.parent.name.startswith(".m."):
            no_space()
        return real(path, data)

    monkeypatch.setattr(folder, "write_bytes", full)
    said = fit(place, code=1).stderr
    assert "No space left" in said
    assert str(place / "m.partial") in said
    elsewhere = said.split("The model is in ")[1].split(" instead")[0]
    assert HorseshoeRegressor.load(elsewhere).status_ == ["finished"]
    monkeypatch.setattr(folder, "write_bytes", real)
    fit(place, "--resume")
    assert sorted(path.name for path in place.iterdir()) == ["m", "t.csv"]


def test_a_damaged_checkpoint_is_refused(tmp_path):
    """A byte flipped anywhere, a file cut anywhere: no state but the one that was written."""
    state = {"a": np.arange(4.0), "b": (1, "two", None)}
    checkpoint = Checkpoint(tmp_path / "c", "print")
    checkpoint.save(state)
    whole = (tmp_path / "c").read_bytes()
    for place in range(len(whole)):
        for broken in (whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], whole[:place]):
            (tmp_path / "c").write_bytes(broken)
            with pytest.raises(FileError, match=r"Remove it|another fit"):
                checkpoint.load()
    (tmp_path / "c").write_bytes(whole)
    np.testing.assert_array_equal(checkpoint.load()["a"], state["a"])


def test_resuming_from_a_damaged_checkpoint_ends_in_a_sentence(place, monkeypatch):
    interrupt(monkeypatch, after=2)
    fit(place, code=130)
    path = place / "m.partial" / "fit" / "member-1.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 64
    path.write_bytes(data)
    assert "cannot be resumed from" in fit(place, "--resume", code=3).stderr


def test_reading_records_changes_nothing(tmp_path):
    from pritchel.experiments.records import Records

    path = tmp_path / "x.jsonl"
    for text in ("a text that is no record\nat all", '{"key": {"a": 1}, "resu', '[1]\n{"other": 2}\n'):
        path.write_text(text)
        records = Records(path)
        assert records.all() == []
        assert path.read_text() == text
        records.add({"a": 1}, {"b": 2}, 0.0)
        assert path.read_text().startswith(text)
        assert [record["result"] for record in Records(path).all()] == [{"b": 2}]


def test_a_stray_file_of_records_does_not_hide_a_model(fitted, tmp_path):
    path = fitted.save(tmp_path / "m")
    (path / "log.jsonl").write_text("{}\n")
    run("report", path, "-o", tmp_path / "r.html")
    assert "Which units lived" in (tmp_path / "r.html").read_text()
    assert (path / "log.jsonl").read_text() == "{}\n"


@pytest.mark.parametrize("command", ["report", "export", "export numpy"])
def test_a_full_disk_leaves_the_old_file(fitted, tmp_path, monkeypatch, command):
    from pathlib import Path

    path = fitted.save(tmp_path / "m")
    (tmp_path / "old").write_text("old")
    real = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", lambda self, data: (real(self, data[:10]), no_space()))
    name, *kind = command.split()
    words = [name, path, "-o", tmp_path / "old", "--overwrite", *(["--format", *kind] if kind else [])]
    assert "No space left" in run(*words, code=1).stderr
    assert (tmp_path / "old").read_text() == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m", "old"]


def test_what_a_wider_fit_kept_is_the_fits_too(tmp_path):
    """Its states lie a folder deeper; half-written ones begin with a dot; other files are somebody else's."""
    from pritchel.cli.partial import parts_of, remove_partial

    partial = tmp_path / "m.partial"
    kept = ["fit/member-1.safetensors", "fit/200-100/member-2.safetensors", "fold-1/8/chain-1.safetensors"]
    kept += ["fit/8/.member-1.safetensors.abc.tmp"]
    for name in kept:
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).touch()
    assert {str(path.relative_to(partial)) for path in parts_of(partial)} == {*kept}
    (partial / "fit" / "8" / "mine.txt").touch()
    remove_partial(partial)
    assert [str(path.relative_to(partial)) for path in partial.rglob("*") if path.is_file()] == ["fit/8/mine.txt"]
    (partial / "fit" / "8" / "mine.txt").unlink()
    remove_partial(partial)
    assert not partial.exists()


def test_a_sampled_fit_goes_on_where_nothing_can_be_kept(table, tmp_path):
    (tmp_path / "file").touch()
    brief = {
        "inference": "sampled",
        "sampling__num_warmup": 80,
        "sampling__num_samples": 12,
        "training__num_steps": 400,
    }
    with pytest.warns(UserWarning, match="cannot be kept"):
        model = tiny(checkpoint=tmp_path / "file" / "states", num_draws=12, **brief).fit(*table)
    assert model.sampling_report_.inference == "sampled"


def test_no_trial_is_run_where_no_record_can_be_kept(tmp_path):
    from pritchel.experiments.records import Records

    (tmp_path / "file").touch()
    done = []
    with pytest.raises(OSError, match="file"):
        Records(tmp_path / "file" / "x.jsonl").run(
            [{"n": n} for n in range(30)], lambda key: done.append(key) or {}, n_jobs=1
        )
    assert done == []
    result = run("reproduce", "prior_draws", "--quick", "--jobs", "1", "-o", tmp_path / "file", code=2)
    assert "nothing can be kept in" in result.stderr
