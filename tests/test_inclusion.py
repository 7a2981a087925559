"""The experiment with inclusion variables: a rehearsal, and verdicts from records made up to deserve them."""

import itertools

import numpy as np
import pytest

from pritchel.experiments import inclusion
from pritchel.experiments.inclusion import CUTS, EXPERIMENT, SPIKE_SLAB, STRUCTURED, THRESHOLD, find, trials
from pritchel.experiments.reproduce import run_experiment
from pritchel.report.experiment_figures import draw_figures
from tests.test_reproduce import small_table


def test_a_rehearsal_goes_on_record_and_is_drawn(monkeypatch, tmp_path):
    make = inclusion.make_estimator
    few = {"hidden": (4,), "family": "factorized", "num_draws": 25, "training__batch_size": 16}
    monkeypatch.setattr(inclusion, "make_estimator", lambda *args: make(*args).set_params(**few))
    monkeypatch.setattr(inclusion, "load_uci", small_table)
    monkeypatch.setattr(inclusion, "QUICK_STEPS", 20)
    chosen = [key for key in trials(True) if key["with"] in ({"layer_scale": 1e-5}, inclusion._spike_slab()["with"])]
    monkeypatch.setattr(inclusion, "EXPERIMENT", EXPERIMENT._replace(trials=lambda quick: chosen))
    outcome = run_experiment("inclusion", tmp_path, quick=True, n_jobs=1)
    assert outcome.failures == []
    assert len(outcome.records) == len(chosen) == 2
    for record in outcome.records:
        assert list(record["result"]["cut"]) == [f"{cut:g}" for cut in CUTS[record["key"]["prior"]]]
    assert outcome.finding.verdict == "unclear"  # of one split nothing can be said
    assert all(len(row) == len(outcome.finding.columns) for row in outcome.finding.rows)
    (path,) = draw_figures("inclusion", outcome.records, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")


def made_up(ll, kept):
    """Records of the full set whose scores and units are functions of the key and of the cut."""
    rng = np.random.default_rng(0)
    records = []
    for key in trials(False):
        noise = 0.001 * rng.normal()
        cuts = {
            f"{cut:g}": {"ll": ll(key, cut) + noise, "rmse": 1.0, "kept": kept(key, cut)} for cut in CUTS[key["prior"]]
        }
        records.append({"key": key, "result": {"train_rows": 100, "ll": -1.0, "cut": cuts}, "seconds": 1.0})
    return records


def verdicts(records):
    """By the first words of a claim."""
    checks = find(records).checks
    assert {check.settings for check in checks} == {"ours"}
    return {check.claim: check.verdict for check in checks}


def test_the_full_set_is_every_number_on_every_table():
    keys = trials(False)
    assert len(keys) == 13 * 5 * 3
    for data, split in itertools.product(inclusion.TABLES, range(3)):
        own = [key for key in keys if (key["data"], key["split"], key["family"]) == (data, split, STRUCTURED)]
        assert [key["prior"] for key in own].count(THRESHOLD) == 3
        assert [key["prior"] for key in own].count(SPIKE_SLAB) == 7


@pytest.mark.parametrize("is_good", [True, False])
def test_verdicts_follow_the_records(is_good):
    """One method is steady, as good and as small; the other depends on its number, predicts worse and keeps more."""
    steady, other = (SPIKE_SLAB, THRESHOLD) if is_good else (THRESHOLD, SPIKE_SLAB)

    def moved(key, cut):
        return np.log10(key["with"].get("layer_scale", key["with"].get("inclusion")) * cut)

    found = verdicts(
        made_up(
            lambda key, cut: -1.0 if key["prior"] == steady else -1.5 + 0.1 * moved(key, cut),
            lambda key, cut: 10 if key["prior"] == steady else 60 + 5 * moved(key, cut) + key["split"],
        )
    )
    assert len(found) == 8
    assert set(found.values()) == ({"holds"} if is_good else {"does not hold"})
    assert find(made_up(lambda *_: -1.0, lambda *_: 10)).rows[0][3].startswith("yacht 10, boston 10")
    assert other != steady


def test_numbers_that_change_nothing_make_no_difference_and_margins_are_allowed():
    """The same scores and units whatever the number: as good and as small, and neither steadier."""
    found = verdicts(made_up(lambda key, cut: -1.0, lambda key, cut: 10))
    assert {name: verdict for name, verdict in found.items() if "predicts" in name or "keeps" in name} == {
        f"it {claim} ({family})": "holds"
        for claim in ("predicts as well", "keeps no more units")
        for family in ("structured", "factorized")
    }
    assert {verdict for name, verdict in found.items() if name.startswith("units kept depend")} == {"no difference"}
