"""Members that each leave out another part of the rows: every row is scored by members that did not see it."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pritchel import FileError, HorseshoeClassifier, HorseshoeRegressor, TableModel, load
from pritchel.data.dataset import Table, prepare
from pritchel.data.split import IN_NONE, Crossing, deal
from pritchel.estimators import variational
from pritchel.estimators.saved import unpack
from pritchel.folder import read_folder
from pritchel.infer.members import fit_members
from pritchel.infer.plan import SamplingPlan
from pritchel.infer.sample import sample_members
from pritchel.posterior.predict import Posterior
from pritchel.tables.baselines import baselines, crossed_baselines
from tests.conftest import tiny
from tests.test_cli import run
from tests.test_members import options_of

BRIEF = {"training__num_steps": 100, "num_draws": 12}


def test_parts_are_as_large_as_each_other_and_have_their_share_of_every_class():
    part = deal(100, 3, np.random.default_rng(0))
    assert sorted(np.bincount(part)) == [33, 33, 34]
    classes = np.repeat([0, 1, 2], [60, 39, 1])
    part = deal(100, 3, np.random.default_rng(0), classes)
    assert part[-1] == IN_NONE
    for label, share in ((0, 20), (1, 13)):
        assert list(np.bincount(part[classes == label], minlength=3)) == [share] * 3


def test_equal_rows_are_in_one_part_whatever_the_order_and_rows_of_no_weight_in_none():
    rng = np.random.default_rng(0)
    inputs = np.repeat(rng.normal(size=(12, 2)), 2, axis=0)
    targets, weights = inputs[:, :1] ** 2, np.ones(24)
    weights[[4, 5]] = 0
    found = Crossing.of(Table(inputs, targets, weights), 3, 0, False)
    assert np.all(found.part[::2] == found.part[1::2])
    assert list(np.flatnonzero(found.part == IN_NONE)) == [4, 5]
    assert sorted(np.bincount(found.fitted_part)) == [3, 4, 4]
    order = rng.permutation(24)
    again = Crossing.of(Table(inputs, targets, weights).take(order), 3, 0, False)
    np.testing.assert_array_equal(again.part, found.part[order])


@pytest.fixture(scope="module")
def half_known(table):
    """Rows in two parts, and the same with other targets in the first."""
    X, y = table
    data, standardizer = prepare(X, y[:, None])
    crossing = Crossing.of(Table(X, y[:, None], np.ones(60)), 2, 5, False)
    is_changed = crossing.fitted_part == 0
    other = data._replace(targets=np.where(is_changed[:, None], -data.targets, data.targets))
    return data, other, crossing, standardizer


def test_a_member_knows_nothing_of_its_part(half_known):
    data, other, crossing, _ = half_known
    options = options_of(num_members=3)
    fits, changed = (fit_members(rows, options, 5, crossing=crossing) for rows in (data, other))
    assert [fit.number for fit in fits] == [0, 1, 2]
    same = [np.array_equal(a.member.guide.output.mean, b.member.guide.output.mean) for a, b in zip(fits, changed)]  # noqa: B905
    assert same == [True, False, True]
    (alone,) = fit_members(data.take(crossing.fitted_part != 1), options_of(), 5, numbers=[1])
    np.testing.assert_array_equal(alone.member.guide.output.mean, fits[1].member.guide.output.mean)


def test_its_chain_knows_nothing_of_it_either(half_known):
    data, other, crossing, _ = half_known
    members = [fit.member for fit in fit_members(data, options_of(num_members=2), 5, crossing=crossing)]
    plan, is_fitted = SamplingPlan(20, 10, 3, 0.8, 10), [crossing.is_fitted(number) for number in (0, 1)]
    chains, changed = (sample_members(members, rows, plan, 0, is_fitted=is_fitted) for rows in (data, other))
    same = [np.array_equal(a.draws.output, b.draws.output) for (a, _), (b, _) in zip(chains, changed, strict=True)]
    assert same == [True, False]
    whole = sample_members(members[:1], data, plan, 0)
    assert not np.array_equal(whole[0][0].draws.output, chains[0][0].draws.output)


@pytest.fixture(scope="module")
def crossed(table) -> HorseshoeRegressor:
    X, y = table
    return tiny(num_members=3, training__cross_fit=True, **BRIEF).fit(X, y)


def test_each_row_is_scored_by_the_member_that_did_not_see_it(crossed, table):
    X, y = table
    posterior = crossed.posterior_
    assert sorted(np.concatenate(crossed.unseen_rows_)) == list(range(60))
    log_density, mean, cdf = np.empty(60), np.empty(60), np.empty(60)
    for member, rows in zip(posterior.members, crossed.unseen_rows_, strict=True):
        alone = Posterior([member], posterior.standardizer, posterior.seed, 4)
        log_density[rows] = alone.log_density(X[rows], y[rows, None])
        mean[rows], cdf[rows] = alone.mean_std(X[rows])[0][:, 0], alone.cdf(X[rows], y[rows, None])[:, 0]
    assert crossed.cv_score_ == pytest.approx(log_density.mean(), rel=1e-12)
    told = crossed.evaluate_unseen()
    np.testing.assert_allclose(told.mean[:, 0], mean)
    np.testing.assert_allclose(told.pit[:, 0], cdf)
    np.testing.assert_allclose(told.observed[:, 0], y)
    (score,) = told.scores
    assert score.rmse == pytest.approx(np.sqrt(np.mean((mean - y) ** 2)))
    assert score.log_likelihood == pytest.approx(log_density.mean())
    assert score.coverage[2] == np.mean(np.abs(cdf - 0.5) <= 0.45)


def test_weights_count_in_the_score(table):
    X, y = table
    weights = np.where(np.arange(60) < 20, 3.0, 1.0)
    weights[50:] = 0
    model = tiny(num_members=2, training__cross_fit=True, **BRIEF).fit(X, y, sample_weight=weights)
    told = model.evaluate_unseen()
    assert len(told.observed) == 50
    assert model.cv_score_ == pytest.approx(weights[:50] @ told.log_density[:, 0] / weights.sum())


@pytest.mark.filterwarnings("ignore:Of 2 members")  # by how much they differ is chance
def test_noise_learned_by_heart_is_seen_for_what_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 20)), rng.normal(size=80)
    by_heart = {"hidden": (30,), "training__num_steps": 600, "training__kl_weight": 0.02, "num_members": 2}
    model = tiny(**by_heart, training__cross_fit=True, num_draws=40).fit(X, y)
    of_its_own, truth = model.log_prob(X, y).mean(), stats.norm.logpdf(y).mean()
    fresh = model.log_prob(X2 := rng.normal(size=(400, 20)), rng.normal(size=len(X2))).mean()
    assert of_its_own > truth
    assert model.cv_score_ < truth
    assert model.cv_score_ < fresh + 0.5  # a member alone is surer of itself than both together


def test_calibration_takes_no_rows_away(crossed, table):
    X, y = table
    model = tiny(num_members=3, training__cross_fit=True, calibration="spread", **BRIEF).fit(X, y)
    for member, plain in zip(model.posterior_.members, crossed.posterior_.members, strict=True):
        np.testing.assert_array_equal(member.guide.output.mean, plain.guide.output.mean)
    assert model.calibration_.num_rows == 60
    assert "60 rows by members not fitted to them" in str(model.calibration_)
    factor = model.calibration_.values[0]
    assert factor != 1.0
    # The factor is the likeliest for the rows as their own members see them: no other scores better.
    scores = []
    for other in (factor / 1.3, factor, factor * 1.3):
        changed = type(model.calibration_)(np.array([other]), 60, 0)
        scores.append(crossed._crossed.calibrated(changed).score())
    assert np.argmax(scores) == 1
    assert model.cv_score_ == pytest.approx(scores[1])
    conformal = tiny(num_members=3, training__cross_fit=True, calibration="conformal", **BRIEF).fit(X, y)
    assert conformal.evaluate_unseen().scores[0].coverage[2] >= 0.9


def test_more_members_than_parts_share_them(table):
    X, y = table
    model = tiny(num_members=4, training__cross_fit=2, **BRIEF).fit(X, y)
    assert len(model.unseen_rows_) == 2
    both = Posterior(model.posterior_.members[::2], model.posterior_.standardizer, model.posterior_.seed, 6)
    rows = model.unseen_rows_[0]
    mean = model.evaluate_unseen().mean[rows]
    np.testing.assert_allclose(mean, both.mean_std(X[rows])[0])


def test_classes_are_crossed_too(table):
    X, y = table
    model = tiny(HorseshoeClassifier, num_members=3, training__cross_fit=True, **BRIEF).fit(X, y > 10)
    (score,) = model.evaluate_unseen().scores
    assert model.cv_score_ == pytest.approx(score.log_likelihood)
    assert score.accuracy > 0.7
    assert model.log_prob(X, y > 10).mean() > model.cv_score_


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")  # such short chains are no good
def test_chains_of_other_rows_are_not_asked_to_agree(table):
    X, y = table
    short = {"inference": "sampled", "sampling__num_warmup": 20, "sampling__num_samples": 20, "num_draws": 40}
    model = tiny(activation="relu", num_members=2, training__cross_fit=True, training__num_steps=400, **short).fit(X, y)
    assert model.sampling_report_.inference == "sampled"
    assert len(model.evaluate_unseen().observed) == 60
    from pritchel.posterior.convergence import report_sampling

    members, data = model.posterior_.members, model._train_data
    shift = members[1]._replace(draws=members[1].draws._replace(output=members[1].draws.output + 10))
    chains = [_chain(), _chain()]
    apart, together = (
        report_sampling([members[0], shift], chains, "", data, have_same_rows=same).r_hat for same in (False, True)
    )
    assert together > 2 * apart


def _chain():
    from pritchel.infer.sample import ChainResult

    return ChainResult(np.zeros(1), np.ones(1), np.zeros(1, bool), 0, 1, 0.1, "finished")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_members": 1, "training__cross_fit": True}, "needs at least two parts.*num_members=1"),
        ({"num_members": 3, "training__cross_fit": 4}, "a member for each.*num_members=3"),
        ({"num_members": 3, "training__cross_fit": 1}, "cross_fit must be"),
        ({"num_members": 3, "training__cross_fit": "yes"}, "cross_fit must be"),
        ({"num_members": 2, "training__cross_fit": True, "training__early_stopping": True}, "leave one of them out"),
    ],
)
def test_what_cannot_be_crossed_is_refused(table, changes, message):
    X, y = table
    with pytest.raises(ValueError, match=message):
        tiny(**BRIEF | changes).fit(X, y)


def test_members_that_have_seen_rows_are_not_crossed(crossed, table):
    X, y = table
    on = pickle.loads(pickle.dumps(crossed)).set_params(warm_start=True)
    with pytest.raises(ValueError, match="with warm_start they have"):
        on.fit(X, y)
    with pytest.raises(ValueError, match="False for partial_fit"):
        tiny(num_members=2, training__cross_fit=True).partial_fit(X, y)
    with pytest.raises(ValueError, match="all rows in memory"):
        tiny(num_members=2, training__cross_fit=True).fit([(X, y), (X, y)])
    with pytest.raises(ValueError, match="3 distinct rows are too few"):
        tiny(num_members=2, training__cross_fit=True).fit(X[:3], y[:3])


def test_the_score_is_kept_and_the_rows_are_not(crossed, table, tmp_path):
    crossed.save(tmp_path / "model")
    loaded = HorseshoeRegressor.load(tmp_path / "model")
    assert loaded.cv_score_ == crossed.cv_score_
    assert loaded.training.cross_fit is True
    for other in (loaded, pickle.loads(pickle.dumps(crossed))):
        assert other.unseen_rows_ == []
        with pytest.raises(ValueError, match="cross_fit=True, and its rows"):
            other.evaluate_unseen()
    spec, arrays = read_folder(tmp_path / "model")
    spec["fitted"]["cv_score"] = "high"
    with pytest.raises(FileError, match="cv_score"):
        unpack(spec, arrays)
    plain = tiny(**BRIEF).fit(*table)
    assert not hasattr(plain, "cv_score_")
    refitted = pickle.loads(pickle.dumps(crossed)).set_params(training__cross_fit=False).fit(*table)
    assert not hasattr(refitted, "cv_score_")


def test_simpler_methods_are_crossed_as_well():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = X[:, :1] + rng.normal(size=(90, 1))
    part = deal(90, 3, rng)
    parts = [np.flatnonzero(part == index) for index in range(3)]
    said = {own.name: own for own in crossed_baselines((X, y), parts)}
    assert set(said) == {"ridge regression", "gradient boosting"}
    for rows, is_own in ((parts[1], part == 1), (parts[2], part == 2)):
        line, trees = baselines((X[~is_own], y[~is_own]), X[is_own])[1]
        np.testing.assert_allclose(said["ridge regression"].mean[rows], line.mean)
        np.testing.assert_allclose(said["ridge regression"].sd[rows], line.sd)
        np.testing.assert_allclose(said["gradient boosting"].mean[rows], trees.mean)


def test_a_table_is_scored_without_rows_held_out(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "y": 0.0})
    frame["y"] = 3 * frame["a"] + rng.normal(size=60)
    frame.loc[7, "y"] = None
    model = TableModel(tiny(num_members=2, training__cross_fit=True, **BRIEF)).fit(frame, "y")
    assert model.notes_["num_scored"] == 59
    assert model.notes_["crossed"] == 2
    assert list(model.arrays_["row"]) == [*range(1, 8), *range(9, 61)]
    np.testing.assert_allclose(model.arrays_["observed"][:, 0], frame["y"].dropna())
    assert {own["name"] for own in model.notes_["baselines"]} == {"ridge regression", "gradient boosting"}
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["--hidden", "8", "--num-steps", "60", "--num-members", "2", "--inference", "variational", "--cross-fit"]
    words += ["--family", "factorized", "--likelihood", "gaussian"]  # as above: nothing more to compile
    done = run("fit", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m", "--quiet", *words)
    assert "59 rows, each predicted by members that did not see it" in " ".join(done.output.split())
    assert "each by members that did not see it" in (tmp_path / "m" / "README.md").read_text()
    assert load(tmp_path / "m").notes_["crossed"] == 2
    shown = run("inspect", tmp_path / "m", "--json")
    assert json.loads(shown.output)["notes"]["crossed"] == 2


@pytest.mark.slow
def test_the_report_of_a_crossed_fit_has_pictures_of_all_rows(table, tmp_path):
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    TableModel(tiny(num_members=2, training__cross_fit=True, **BRIEF)).fit(frame, "y").save(tmp_path / "m")
    run("report", tmp_path / "m", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "each scored by networks that did not see it" in page
    assert "nothing to compare with" not in page


def test_members_share_where_rates_begin_and_what_noise_is(monkeypatch):
    """They are mixed as one: an odd count in one part, or a size that some are above, makes no other likelihood."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), rng.poisson(3, 60)
    y[7] = 400
    cross = {**BRIEF, "num_members": 3, "training__cross_fit": True}
    model = tiny(likelihood="negative_binomial", **cross).fit(X, y)
    rates = [float(member.model.likelihood.log_rate[0]) for member in model.posterior_.members]
    np.testing.assert_allclose(rates, np.log(y.mean()), rtol=1e-6)
    monkeypatch.setattr("pritchel.model.likelihoods.adaptive.MANY_ROWS", 39.5)
    weight = np.where(np.arange(60) < 20, 0.5, 1.0)
    assert tiny(likelihood="auto", inference="variational", **cross).fit(X, y, weight).predict(X).shape == (60,)


def test_a_member_that_is_fitted_anew_sees_the_same_rows(monkeypatch):
    numbers = []

    def mend(fits, *rest):
        numbers.extend(rest[-1] + fit.number for fit in fits)
        return fits

    monkeypatch.setattr(variational, "mend_stragglers", mend)
    X = np.random.default_rng(0).normal(size=(40, 1))
    tiny(num_members=3, training__cross_fit=2, inference="variational", **BRIEF).fit(X, X[:, 0])
    assert numbers == [4, 5, 6]  # of two parts: 0, 1 and 0 again
