"""A model folder outlives interrupts, other writers and readers; a file is written whole or not at all."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pritchel import folder, writing
from pritchel.folder import read_folder, write_folder
from pritchel.serial import FileError
from pritchel.writing import owned, write_text

LINES_OF = {folder.__file__, writing.__file__}


def put(path, number, **options):
    """A little model folder that is all about one number."""
    return write_folder(path, {"number": number}, {"a": np.full(3, float(number))}, f"card {number}", **options)


def number_in(path):
    """The number, seen to be the same in every part."""
    spec, arrays = read_folder(path)
    assert (arrays["a"] == spec["number"]).all()
    return spec["number"]


def interrupted_after(num_lines, action):
    """Run with a Ctrl-C after so many lines of the writing code; whether it came."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename not in LINES_OF:
            return None
        if event == "line":
            count += 1
            if count == num_lines:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a lock file that is dropped open
@pytest.mark.parametrize("at_once", [True, False], ids=["exchanged at once", "by three names"])
def test_a_save_interrupted_anywhere_leaves_the_old_model_or_the_new(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(writing, "sync", lambda path: None)
    monkeypatch.setattr(folder, "sync", lambda path: None)
    if not at_once:
        monkeypatch.setattr(writing, "_exchange_at_once", lambda first, second: False)
    path, number, num_lines = tmp_path / "m", 0, 0
    put(path, number)
    (path / "notes.txt").write_text("mine")
    while True:
        num_lines += 1
        number += 1
        before = number_in(path)
        came = interrupted_after(num_lines, lambda number=number: put(path, number, overwrite=True))
        assert number_in(path) in (before, number)
        assert (path / "notes.txt").read_text() == "mine"
        if not came:
            break
    assert num_lines > 50
    assert [each.name for each in tmp_path.iterdir()] == ["m"]


def test_what_a_killed_writer_left_is_cleared(tmp_path):
    """Of a kill between two renames, as drives without an exchange have them, the model itself is left aside."""
    path = put(tmp_path / "m", 1)
    (tmp_path / ".m.abcdefgh.old").mkdir()
    os.rename(path, tmp_path / ".m.abcdefgh.old" / "m")
    (tmp_path / ".m.abcdefg_.tmp").mkdir()
    (tmp_path / ".m.mine.tmp").mkdir()
    (tmp_path / ".m.lock").touch()
    with pytest.raises(FileExistsError, match="overwritten"):
        put(path, 2)
    assert number_in(path) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == [".m.mine.tmp", "m"]


def test_what_a_user_keeps_in_a_model_folder_stays(tmp_path):
    path = put(tmp_path / "m", 1)
    (path / "report.html").write_text("page")
    (path / "figures").mkdir()
    (path / "figures" / "one.png").write_bytes(b"png")
    (path / "link").symlink_to("report.html")
    put(path, 2, overwrite=True)
    assert number_in(path) == 2
    assert (path / "report.html").read_text() == "page"
    assert (path / "figures" / "one.png").read_bytes() == b"png"
    assert (path / "link").is_symlink()


def test_a_link_to_a_model_stays_a_link(tmp_path):
    put(tmp_path / "m", 1)
    (tmp_path / "latest").symlink_to("m")
    put(tmp_path / "latest", 2, overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert number_in(tmp_path / "m") == 2


def write_in_a_loop(path, first):
    for number in range(first, first + 25):
        put(path, number, overwrite=True)


def test_readers_and_writers_at_once(tmp_path):
    """Two processes that overwrite one model, while it is read: every read is of one whole model."""
    path = put(tmp_path / "m", 0)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_in_a_loop, args=(path, 100 * k)) for k in (1, 2)]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(number_in(path))
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(seen) > 2
    assert [each.name for each in tmp_path.iterdir()] == ["m"]


def test_a_digest_is_taken_of_what_is_parsed(tmp_path, monkeypatch):
    """Another model comes between the reading of the spec and of the arrays: it is read again, not mixed."""
    path = put(tmp_path / "m", 1)
    real, left = folder.read_json, [1]

    def then_overwrite(text):
        spec = real(text)
        if left and left.pop():
            put(path, 2, overwrite=True)
        return spec

    monkeypatch.setattr(folder, "read_json", then_overwrite)
    assert number_in(path) == 2


def test_a_second_owner_is_refused_until_the_first_is_gone(tmp_path):
    with owned(tmp_path / "m"):
        with owned(tmp_path / "m"):  # who has it may ask again
            pass
        refusals = []

        def other():
            try:
                with owned(tmp_path / "m"):
                    refusals.append(None)
            except FileExistsError as error:
                refusals.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert f"process {os.getpid()}" in refusals[0]
    with owned(tmp_path / "m"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_dies_with_its_process(tmp_path):
    code = "import sys, time; from pathlib import Path; from pritchel.writing import owned\n"
    code += "with owned(Path(sys.argv[1])): print('mine', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "m"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "mine\n"
    with pytest.raises(FileExistsError, match=f"process {process.pid}"), owned(tmp_path / "m"):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with owned(tmp_path / "m", 5):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_that_has_lost_its_name_is_no_lock(tmp_path, monkeypatch):
    """The holder before removes it between its being opened and its being locked: nobody else would meet it."""
    real, left = writing._is_locked, [tmp_path / ".m.lock"]

    def once_removed(file):
        if left:
            left.pop().unlink()
        return real(file)

    monkeypatch.setattr(writing, "_is_locked", once_removed)
    with owned(tmp_path / "m"):
        assert (tmp_path / ".m.lock").exists()


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = write_text(tmp_path / "page.html", "old")

    def full(path, data):
        path.open("wb").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_pipe_is_written_to_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join()
    assert heard == ["through"]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("version", [True, -5, 0, "2", None, 1.0])
def test_what_is_no_version_is_refused(tmp_path, version):
    path = put(tmp_path / "m", 1)
    spec = json.loads((path / "spec.json").read_text()) | {"format_version": version}
    (path / "spec.json").write_text(json.dumps(spec | {"spec_sha256": folder.spec_digest(spec)}))
    with pytest.raises(FileError, match="which is none"):
        read_folder(path)


def test_a_missing_folder_is_said_soon(tmp_path):
    start = time.monotonic()
    with pytest.raises(FileError, match="no such folder"):
        read_folder(tmp_path / "nowhere")
    assert time.monotonic() - start < 1
