"""The campaign of hard use in short: a few tries of each area, all of which hold; and a broken one is seen."""

import json
import queue
import shutil
import time

import pytest

from pritchel import folder
from tests.soak.campaign import AREAS, report, run, try_area
from tests.soak.saves import Kills

SLOW = ("specs", "folders", "memory", "repeats", "fits")  # which make fits
TRIES = {"specs": 40, "folders": 40, "memory": 5, "repeats": 25, "fits": 3, "kills": 8, "crowds": 2, "disks": 6}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in AREAS])
def test_an_area_holds(name, tmp_path):
    if name in SLOW:  # in a process of its own, which has computed nothing yet
        failures = run([name], 0, 10, TRIES[name], tmp_path / "soak.json")["areas"][name]["failures"]
    else:
        told = queue.SimpleQueue()
        try_area(name, 0, 0, TRIES.get(name, 20), 60, told)
        _, failures, _ = told.get()
    assert failures == []


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "soak.json"
    run(["checkpoints"], 7, 1, 5, path)
    state = run(["checkpoints"], 8, 1, 12, path)
    assert (state["seed"], state["areas"]["checkpoints"]["tries"]) == (7, 12)
    assert json.loads(path.read_text()) == state
    assert "| checkpoints | damaged checkpoints | 12 | 0 |" in report(state)


def test_a_save_that_is_not_at_once_is_found_out(tmp_path, monkeypatch):
    """Remove, then rename: a kill between the two loses the model."""

    def careless(temporary, path):
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(area.seconds)
        temporary.rename(path)

    area = Kills(tmp_path)
    area.seconds = max(area.seconds, 0.3)  # that a busy machine needs to begin with it
    monkeypatch.setattr(folder, "_swap_in", careless)
    told = queue.SimpleQueue()
    monkeypatch.setitem(AREAS, "careless", lambda _folder: area)
    for first in range(0, 100, 10):
        try_area("careless", 0, first, 10, 60, told)
        if told.get()[1]:
            return
    pytest.fail("a careless save held 100 kills")


def test_a_failure_is_told_with_the_number_of_its_try():
    at = {"tries": 9, "failures": [{"try": 4, "error": "Oh"}], "seconds": 1.0, "commits": ["abcdef0"]}
    state = {"seed": 3, "areas": {"checkpoints": at}}
    assert "checkpoints, try 4:\n\n```\nOh\n```" in report(state)
