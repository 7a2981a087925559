"""Predictions set right on unseen rows: what calibration makes of answers, what it finds, and what it guarantees."""

import copy
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

import pritchel
import pritchel.posterior.calibration.pooled as pooled_file
from pritchel import (
    Calibration,
    DynamicsModel,
    FileError,
    FitWarning,
    HorseshoeClassifier,
    HorseshoeRegressor,
    Sampling,
)
from pritchel.data.dataset import Table, distinct_rows, prepare
from pritchel.data.split import Crossing, leave_out
from pritchel.estimators.saved import unpack
from pritchel.folder import read_folder
from pritchel.model.likelihoods.continuous import NormalComponents, StudentComponents
from pritchel.model.likelihoods.gaussian import GaussianLikelihood
from pritchel.model.likelihoods.poisson import PoissonLikelihood
from pritchel.posterior.answers import Fresh
from pritchel.posterior.calibration.conformal import Conformal
from pritchel.posterior.calibration.pooled import PooledSpread, _left_out
from pritchel.posterior.calibration.spread import Spread, SpreadComponents
from pritchel.posterior.calibration.temperature import Temperature
from pritchel.posterior.mixture import log_mean_exp, mixed_cdf, mixed_quantiles
from tests.conftest import tiny
from tests.test_cli import run

FEW = {"training__num_steps": 30, "num_draws": 20}


@pytest.fixture(scope="module")
def classes(table):
    X, y = table
    return tiny(HorseshoeClassifier, training__num_steps=200).fit(X, np.digitize(y, [9, 11]))


def rows_like(X, number, seed=0):
    return np.random.default_rng(seed).normal(size=(number, X.shape[1]))


# What the fit's own rows tell of several networks' mixture


class Pool:
    """Networks that are constants: each member's draws of a mean for every row, and their noise."""

    def __init__(self, means, noise):
        members, draws, rows = means.shape
        self.parts = np.moveaxis(means, 0, 1).reshape(draws * members, rows, 1), noise  # they take turns
        self.members, self.likelihood = [SimpleNamespace(draws=True)] * members, object.__new__(GaussianLikelihood)

    def over_rows(self, inputs, targets, answer):
        mean, noise = self.parts
        return answer(NormalComponents(mean, np.full_like(mean, noise)), targets)


def pooled(means, noise, y, weights=None):
    rows = Table(np.zeros((len(y), 1)), y[:, None], np.ones(len(y)) if weights is None else weights)
    return PooledSpread.find([Fresh(Pool(means, noise), rows)], 3)


def test_draws_reweighted_are_those_of_a_posterior_that_never_saw_the_row():
    rng = np.random.default_rng(0)
    y, num_draws = rng.normal(size=6), 200_000
    draws = y.mean() + rng.normal(size=num_draws) / np.sqrt(len(y))  # of a normal mean under a flat prior
    parts = NormalComponents(np.tile(draws[:, None, None], (1, len(y), 1)), np.ones((num_draws, len(y), 1)))
    counts = _left_out(parts.log_density(y[:, None])[..., 0], num_members=2)
    others = (y.sum() - y) / (len(y) - 1)
    np.testing.assert_allclose((np.exp(counts)[..., None] * parts.mean).mean(0)[:, 0], others, atol=0.02)
    exact = stats.norm.logpdf(y, others, np.sqrt(1 + 1 / (len(y) - 1)))
    np.testing.assert_allclose(log_mean_exp(parts.log_density(y[:, None])[..., 0] + counts), exact, atol=0.02)


def test_a_row_left_out_takes_no_member_with_it():
    log_density = np.random.default_rng(1).normal(size=(7, 3)) * 4
    counts = np.exp(_left_out(log_density, 2))
    np.testing.assert_allclose(counts[::2].mean(0), 1)
    np.testing.assert_allclose(counts[1::2].mean(0), 1)


def test_a_mixture_of_networks_that_are_each_right_is_narrowed_to_what_its_mean_errs():
    rng = np.random.default_rng(2)
    num_rows, noise, apart = 1000, 0.3, 1.0
    truth = rng.normal(size=num_rows) * 3
    means = np.stack([truth + apart * rng.normal(size=num_rows) for _ in range(3)])
    y = truth + noise * rng.normal(size=num_rows)
    own = np.sqrt(noise**2 + apart**2)  # the spread that each of them needs, and has
    found = pooled(np.tile(means[:, None], (1, 30, 1)), own, y)
    assert found is not None
    told = np.sqrt(own**2 + means.var(0).mean())
    needed = np.sqrt(np.mean((y - means.mean(0)) ** 2))
    assert found.values[0] == pytest.approx(needed / told, rel=0.1)
    assert found.values[0] < 0.7
    assert (found.num_rows, found.seed) == (num_rows, 3)
    assert "too wide" in str(found)
    twice = pooled(np.tile(means[:, None], (1, 30, 1)), own, y, np.full(num_rows, 2.0))
    assert twice is not None
    np.testing.assert_allclose(twice.values, found.values, rtol=0.02)  # but for the pull to one


def test_a_mixture_that_is_right_or_too_narrow_is_left_alone():
    rng = np.random.default_rng(3)
    means = rng.normal(size=(3, 30, 400)) * 0.1
    for noise in (1.0, 0.5):
        assert pooled(means, noise, rng.normal(size=400)) is None


def test_what_rows_say_of_themselves_is_not_believed_where_each_has_its_way():
    """Networks that run through every row look too wide for it, and may be wrong anywhere else."""
    rng = np.random.default_rng(4)
    y = rng.normal(size=400)
    means = y + rng.normal(size=(3, 60, 400))  # every draw errs by as much as its noise says: rows matter much
    assert pooled(means, 0.5, y) is None


@pytest.mark.parametrize("change", ["one member", "no chain", "counts"])
def test_nothing_is_looked_for_where_there_is_no_mixture_of_chains(change):
    rng = np.random.default_rng(5)
    y = rng.normal(size=50)
    pool = Pool(np.zeros((1 if change == "one member" else 2, 10, 50)), 5.0)
    if change == "no chain":
        pool.members = [SimpleNamespace(draws=None)] * 2
    if change == "counts":
        pool.likelihood = object.__new__(PoissonLikelihood)
    assert PooledSpread.find([Fresh(pool, Table(np.zeros((50, 1)), y[:, None], np.ones(50)))], 0) is None


def test_one_target_of_two_is_narrowed_and_the_other_stays(monkeypatch):
    def heights(first):
        return -((np.log(pooled_file.FACTORS) - np.log([[first], [1.1]])) ** 2) * 1e4

    monkeypatch.setattr(pooled_file, "_log_likelihoods", lambda own: np.stack([heights(0.4), heights(0.5)]))
    rows = Table(np.zeros((50, 1)), np.zeros((50, 2)), np.ones(50))
    found = PooledSpread.find([Fresh(Pool(np.zeros((2, 5, 50)), 1.0), rows)], 0)
    assert found is not None
    np.testing.assert_allclose(found.values, [0.625, 1.0], rtol=1e-3)  # as far beyond 0.5 as that is beyond 0.4


def test_the_default_fit_keeps_what_its_rows_tell(tmp_path, monkeypatch):
    monkeypatch.setattr(pooled_file, "SURE", 5.0)  # short chains of a small table are believed, whatever they say
    monkeypatch.setattr(pooled_file, "UNSURE", 6.0)
    monkeypatch.setattr(pooled_file, "CLEARLY", 10.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    sampling = Sampling(num_warmup=30, num_samples=20, num_leapfrogs=8)
    options = {"inference": "sampled", "sampling": sampling, "num_members": 2, "training__num_steps": 300}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # short chains
        default = tiny(likelihood="gaussian", **options).fit(X, y)
        plain = tiny(likelihood="gaussian", calibration=None, **options).fit(X, y)
    assert (default.calibration, plain.calibration_) == ("auto", None)
    found = default.calibration_
    expected = PooledSpread.find([Fresh(plain.posterior_, distinct_rows(X, y[:, None]))], default.posterior_.seed)
    assert found is not None
    assert expected is not None
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-4)
    np.testing.assert_allclose(default.predict(X), plain.predict(X), rtol=1e-9)
    ratio = default.predict_uncertainty(X).total / plain.predict_uncertainty(X).total
    np.testing.assert_allclose(ratio, found.values[0])
    default.save(tmp_path / "model")
    loaded = pritchel.load(tmp_path / "model")
    assert str(loaded.calibration_) == str(found)
    np.testing.assert_array_equal(loaded.predict_quantiles(X, [0.1, 0.9]), default.predict_quantiles(X, [0.1, 0.9]))


# What calibration makes of answers


@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_moved_components_are_a_distribution(factor):
    rng = np.random.default_rng(0)
    parts = StudentComponents(rng.normal(size=(5, 2, 1)), np.array([0.7]), rng.uniform(3, 9, (5, 1, 1)))
    center = parts.mean.mean(0)
    moved = SpreadComponents(parts, center, np.array([factor]))

    def density(y):
        return np.exp(log_mean_exp(moved.log_density(np.full((2, 1), y))))[0, 0]

    assert integrate.quad(density, -200, 200, limit=400, points=[-5, 0, 5])[0] == pytest.approx(1, abs=1e-4)
    below = integrate.quad(density, -200, 0.3, limit=400, points=[-5, 0])[0]
    assert mixed_cdf(moved, np.full((2, 1), 0.3))[0, 0] == pytest.approx(below, abs=1e-4)
    np.testing.assert_allclose(moved.mean.mean(0), center)
    own = mixed_quantiles(parts, np.array([0.1, 0.8]))
    np.testing.assert_allclose(
        mixed_quantiles(moved, np.array([0.1, 0.8])), center[..., None] + factor * (own - center[..., None]), rtol=1e-6
    )
    draws = np.stack([moved.sample(rng) for _ in range(4000)])
    error = draws.std(0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(0) - moved.mean) < 5 * error)
    squares = (draws - moved.mean) ** 2
    assert np.all(np.abs(squares.mean(0) - moved.var) < 6 * squares.std(0) / np.sqrt(len(draws)))


def test_spread_moves_every_answer_but_the_mean(fitted, table):
    X = rows_like(table[0], 7)
    plain, factor = fitted.posterior_, 0.6
    moved = plain.with_calibration(Spread(np.array([factor]), 9, 0))
    mean, spread = plain.mean_std(X)
    same, narrower = moved.mean_std(X)
    np.testing.assert_allclose(same, mean)
    for before, after in zip(spread, narrower, strict=True):
        np.testing.assert_allclose(after, factor * before)
    y = mean + 0.3
    assert np.all(moved.cdf(X, y) > plain.cdf(X, y))
    levels = np.array([0.05, 0.5, 0.9])
    quantiles = moved.quantiles(X, levels)
    np.testing.assert_allclose(
        np.stack([moved.cdf(X, quantiles[..., index])[:, 0] for index in range(3)], -1),
        np.tile(levels, (7, 1)),
        atol=1e-6,
    )
    functions, others = plain.sample_functions(X, 3, 5), moved.sample_functions(X, 3, 5)
    np.testing.assert_allclose(others, mean[..., None] + factor * (functions - mean[..., None]))
    samples, closer = plain.sample_targets(X, 3, 5), moved.sample_targets(X, 3, 5)
    np.testing.assert_allclose(closer, mean[..., None] + factor * (samples - mean[..., None]))
    one = plain.draw_log_densities(X, y, 20, 3).shape
    assert moved.draw_log_densities(X, y, 20, 3).shape == one
    wider = [high - low for (((low, high),),) in plain.regions(X, 0.8)]
    np.testing.assert_allclose(
        [high - low for (((low, high),),) in moved.regions(X, 0.8)], factor * np.array(wider), rtol=1e-3
    )


def test_a_temperature_moves_draws_with_their_mixture(classes, table):
    X = rows_like(table[0], 6)
    plain = classes.posterior_
    warmer = plain.with_calibration(Temperature(np.array([2.0]), 9, 0))
    before, after = plain.sample_functions(X, 4, 3), warmer.sample_functions(X, 4, 3)
    moved = before / np.sqrt(plain.mean_std(X)[0])[..., None]
    np.testing.assert_allclose(after, moved / moved.sum(1, keepdims=True), rtol=1e-9)
    one = tiny(HorseshoeClassifier, training__num_steps=5, num_draws=1).fit(table[0], table[1] > 10).posterior_
    alone, cooler = one.mean_std(X)[0], one.with_calibration(Temperature(np.array([0.5]), 9, 0)).mean_std(X)[0]
    np.testing.assert_allclose(cooler, alone**2 / (alone**2).sum(1, keepdims=True), rtol=1e-9)  # of one, its power
    assert np.all(warmer.entropies(X).aleatoric > plain.entropies(X).aleatoric)


# What is found


def made_up(posterior, X, seed=0):
    """Targets that a posterior is right about, one draw of a component a row."""
    samples = posterior.sample_targets(X, 200, None)
    return samples[np.arange(len(X)), :, np.random.default_rng(seed).integers(200, size=len(X))]


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.7])
def test_the_factor_of_made_up_rows_is_found(fitted, table, factor):
    X = rows_like(table[0], 800)
    posterior = fitted.posterior_
    y = made_up(posterior.with_calibration(Spread(np.array([factor]), 9, 0)), X)
    found = Spread.find([Fresh(posterior, Table(X, y, np.ones(800)))], 0)
    assert abs(np.log(found.values[0] / factor)) < 4 / np.sqrt(2 * 800)


@pytest.mark.parametrize("temperature", [0.6])
def test_the_temperature_of_made_up_labels_is_found(classes, table, temperature):
    X = rows_like(table[0], 2000)
    posterior = classes.posterior_
    y = made_up(posterior.with_calibration(Temperature(np.array([temperature]), 9, 0)), X)
    found = Temperature.find([Fresh(posterior, Table(X, y, np.ones(2000)))], 0)

    def log_likelihood(away):
        other = Temperature(np.array([temperature * np.exp(away)]), 9, 0)
        return posterior.with_calibration(other).log_densities(X, y).sum()

    information = (2 * log_likelihood(0.0) - log_likelihood(0.1) - log_likelihood(-0.1)) / 0.1**2
    assert abs(np.log(found.values[0] / temperature)) < 4 / np.sqrt(information) < 0.3


def test_a_few_rows_do_little_harm(fitted, table):
    X = rows_like(table[0], 10)
    factors = []
    for seed in range(30):
        rows = Table(X, made_up(fitted.posterior_, X, seed), np.ones(10))
        factors.append(Spread.find([Fresh(fitted.posterior_, rows)], 0).values[0])
    assert np.abs(np.log(factors)).max() < 0.5  # without a pull: 0.8
    wide = fitted.posterior_.with_calibration(Spread(np.array([3.0]), 9, 0))
    twice = Table(X, made_up(wide, X), np.full(10, 2.0))
    doubled = Table(np.vstack([X, X]), np.vstack([twice.targets] * 2), np.ones(20))
    one, other = (Spread.find([Fresh(fitted.posterior_, rows)], 0).values for rows in (twice, doubled))
    np.testing.assert_allclose(one, other, rtol=1e-3)


# What is guaranteed


def predictor(scale):
    """Two draws that believe in a fixed spread, whatever the rows; just enough of a `Posterior` for scores."""

    def parts(inputs):
        mean = np.stack([inputs[:, :1] - 0.1, inputs[:, :1] + 0.1])
        return NormalComponents(mean, np.full_like(mean, scale))

    return parts, SimpleNamespace(over_rows=lambda inputs, targets, answer: answer(parts(inputs), targets))


@pytest.mark.parametrize("scale", [0.02, 6.0])  # far too narrow, so that intervals are stretched; too wide
@pytest.mark.parametrize(("num_rows", "coverage"), [(9, 0.9), (4, 0.5), (99, 0.95)])
def test_conformal_intervals_hold_what_they_promise_whatever_the_model(scale, num_rows, coverage):
    parts, posterior = predictor(scale)
    rng, num_tables, num_new = np.random.default_rng(1), 150, 20
    levels = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
    held = []
    for _ in range(num_tables):
        x = rng.normal(size=(num_rows + num_new, 1))
        y = x + rng.standard_t(3, x.shape) * np.exp(0.5 * x)
        found = Conformal.find([Fresh(posterior, Table(x[num_new:], y[num_new:], np.ones(num_rows)))], 0)
        low, high = np.moveaxis(found.quantiles(parts(x[:num_new]), levels), -1, 0)
        held.append(np.mean((low <= y[:num_new]) & (y[:num_new] <= high)))
    error = np.std(held) / np.sqrt(num_tables)
    assert coverage - 4 * error < np.mean(held) < coverage + 1 / (num_rows + 1) + 4 * error


@pytest.mark.parametrize("scale", [0.02, 0.4, 6.0])
def test_a_level_is_inside_if_and_only_if_its_row_is(scale):
    parts, posterior = predictor(scale)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(300, 1)), 2 * rng.normal(size=(300, 1))
    found = Conformal.find([Fresh(posterior, Table(x[:20], y[:20], np.ones(20)))], 0)
    new = parts(x[20:])
    level = found.cdf(new, y[20:], mixed_cdf(new, y[20:]))
    for coverage in (0.3, 0.5, 0.9, 0.95, 0.99):  # the last is one that twenty rows cannot promise
        low, high = np.moveaxis(found.quantiles(new, np.array([0.5 - coverage / 2, 0.5 + coverage / 2])), -1, 0)
        np.testing.assert_array_equal(np.abs(level - 0.5) <= coverage / 2, (low <= y[20:]) & (y[20:] <= high))
    np.testing.assert_allclose(found.quantiles(new, np.array([0.5]))[..., 0], x[20:], atol=1e-6)


def test_conformal_quantiles_of_two_targets_are_each_their_own():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(4, 3, 2))
    parts = NormalComponents(mean, np.full_like(mean, 0.5))
    scores = np.sort(rng.uniform(0, 0.5, (2, 50)))
    both = Conformal(np.vstack([scores, np.ones(50)]), 50, 0)
    levels = np.array([0.1, 0.5, 0.8])
    for target in range(2):
        alone = Conformal(np.vstack([scores[target], np.ones(50)]), 50, 0)
        own = alone.quantiles(NormalComponents(mean[..., [target]], np.full((4, 3, 1), 0.5)), levels)
        np.testing.assert_allclose(both.quantiles(parts, levels)[:, [target]], own, rtol=1e-6)


def test_a_row_of_weight_two_is_two_rows():
    scores = np.array([0.1, 0.2, 0.3])
    once = Conformal(np.array([np.repeat(scores, 2), np.ones(6)]), 6, 0)
    twice = Conformal(np.array([scores, np.full(3, 2.0)]), 3, 0)
    parts = NormalComponents(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))
    levels = np.linspace(0.05, 0.95, 19)
    np.testing.assert_array_equal(once.quantiles(parts, levels), twice.quantiles(parts, levels))


def test_too_few_rows_for_a_promise_are_told_with_how_many_would_do(table):
    X, y = table
    model = tiny(calibration="conformal", **FEW).fit(X, y)
    model.predict_interval(X, 0.9)  # twelve rows can promise that
    with pytest.warns(FitWarning, match=r"of 0.99 needs 99 unseen rows and has 12.*only 92.3% are sure"):
        low, high = model.predict_interval(X, 0.99).T
    narrower = model.predict_interval(X, 0.9)
    own = model.posterior_.with_calibration(None).quantiles(X, np.array([0.005, 0.995]))[:, 0]
    assert np.all((low <= narrower[:, 0]) & (high >= narrower[:, 1]))
    assert np.all((low <= own[:, 0] + 1e-9) & (high >= own[:, 1] - 1e-9))


# What estimators do with it


def test_no_member_sees_the_unseen_rows(table):
    X, y = table
    model = tiny(calibration="spread", **FEW).fit(X, y)
    _, unseen = leave_out(distinct_rows(X, y[:, None]), 0.2, model.calibration_.seed, False)
    assert len(unseen.inputs) == model.calibration_.num_rows == 12
    changed = np.where(np.isin(X[:, 0], unseen.inputs[:, 0]), y + 100, y)
    other = tiny(calibration="spread", **FEW).fit(X, changed)
    plain, same = (each.posterior_.with_calibration(None).mean_std(X)[0] for each in (model, other))
    np.testing.assert_array_equal(plain, same)
    assert other.calibration_.values > 2 * model.calibration_.values
    order = np.random.default_rng(0).permutation(60)
    same = tiny(calibration="spread", **FEW).fit(X[order], y[order], sample_weight=np.ones(60))
    np.testing.assert_array_equal(model.predict(X, True), same.predict(X, True))


def test_classes_are_left_out_evenly_and_each_stays_in_the_fit():
    labels = np.repeat([0.0, 1.0, 2.0, 3.0], [60, 30, 9, 1])
    table = Table(np.arange(100.0)[:, None], labels[:, None], np.ones(100))
    for seed in range(20):
        fitted, unseen = leave_out(table, 0.2, seed, True)
        counts = np.bincount(unseen.targets[:, 0].astype(int), minlength=4)
        assert counts.sum() == 20
        assert np.all(np.abs(counts - [12, 6, 2, 0]) <= 1)
        assert set(fitted.targets[:, 0]) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="calibration leaves rows out"):
        leave_out(table.take(np.array([0, 70, 99])), 0.5, 0, True)


def test_a_fit_that_goes_on_leaves_the_same_rows_out(table):
    X, y = table
    model = tiny(calibration="spread", warm_start=True, **FEW).fit(X, y)
    seed = model.calibration_.seed
    model.set_params(random_state=5).fit(X, y).set_params(random_state=6).fit(X, y)
    assert model.calibration_.seed == seed != model.posterior_.seed


def test_a_fit_that_goes_on_cannot_begin_to_keep_rows(table):
    X, y = table
    for before in (None, "auto"):
        model = tiny(calibration=before, warm_start=True, **FEW).fit(X, y)
        with pytest.raises(ValueError, match="has seen all: set warm_start=False"):
            model.set_params(calibration="conformal").fit(X, y)


def test_rows_of_great_weight_can_be_saved(table, tmp_path):
    X, y = table
    model = tiny(calibration="conformal", **FEW).fit(X, y, np.full(len(y), 2e6))
    assert np.array_equal(pritchel.load(model.save(tmp_path / "model")).predict(X), model.predict(X))


@pytest.mark.parametrize("choice", ["spread", Calibration("conformal", unseen_fraction=0.4), "temperature"], ids=str)
def test_what_was_found_is_kept(table, tmp_path, choice):
    X, y = table
    kind = HorseshoeClassifier if choice == "temperature" else HorseshoeRegressor
    labels = np.digitize(y, [9, 11]) if choice == "temperature" else np.column_stack([y, -y])
    model = tiny(kind, calibration=choice, **FEW).fit(X, labels)
    loaded = kind.load(model.save(tmp_path / "m"))
    pruned = model.prune(threshold=1e-9)
    assert loaded.calibration == model.calibration
    assert f"- Calibration: {model.calibration_}\n" in (tmp_path / "m" / "README.md").read_text()
    for other in (loaded, pruned, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert str(other.calibration_) == str(model.calibration_)
        np.testing.assert_array_equal(model.log_prob(X, labels), other.log_prob(X, labels))
        if kind is HorseshoeRegressor:
            np.testing.assert_array_equal(model.predict_interval(X, 0.5), other.predict_interval(X, 0.5))
    assert tiny(kind, **FEW).fit(X, labels).calibration_ is None


HOSTILE = {
    "spread": [
        {"values": [-1.0]},
        {"values": [0.0]},
        {"values": [1e300]},
        {"values": [1.0, 1.0]},
        {"values": []},
        {"values": None},
        {"values": "1"},
        {"values": [float("nan")]},
        {"kind": "temperature"},
        {"kind": "conformal"},
        {"kind": "none"},
        {"num_rows": -1},
        {"seed": 0.5},
    ],
    "conformal": [{"values": [0.1]}, {"num_rows": 3}, {"kind": "spread"}, {"values": {"array": "elbo"}}],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_no_calibration_is_is_refused(table, tmp_path, kind):
    spec, arrays = read_folder(tiny(calibration=kind, **FEW).fit(*table).save(tmp_path / "m"))
    unpack(spec, arrays)
    for change in HOSTILE[kind]:
        found = spec["fitted"]["calibration"] | change
        with pytest.raises(FileError):
            unpack(spec | {"fitted": spec["fitted"] | {"calibration": found}}, arrays)
    if kind == "conformal":
        for value in (np.nan, -0.1, 1e9):
            with pytest.raises(FileError):
                unpack(spec, arrays | {"calibration": np.full_like(arrays["calibration"], value)})
    with pytest.raises(FileError):
        unpack(spec | {"settings": spec["settings"] | {"calibration": "temperature"}}, arrays)
    before = {name: value for name, value in spec["fitted"].items() if name != "calibration"}
    older = {name: value for name, value in spec["settings"].items() if name != "calibration"}
    model = unpack(spec | {"format_version": 5, "fitted": before, "settings": older}, arrays).model
    assert model.calibration_ is None


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (HorseshoeRegressor, {"calibration": "temperature"}, "is for classes.*there is 'conformal' or 'spread'"),
        (HorseshoeClassifier, {"calibration": "spread"}, "numbers on the real line.*there is 'temperature'"),
        (HorseshoeRegressor, {"calibration": "spread", "likelihood": "poisson"}, "For these targets there is none"),
        (HorseshoeRegressor, {"calibration": "conformal", "likelihood": "poisson"}, "For these targets there is none"),
        (HorseshoeRegressor, {"calibration": "platt"}, "'conformal', 'spread', 'auto', 'temperature'; got 'platt'"),
        (HorseshoeRegressor, {"calibration": 3}, "None, a name .* or a Calibration; got 3"),
        (HorseshoeRegressor, {"calibration": Calibration("spread", unseen_fraction=1)}, "unseen_fraction must be"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_a_sentence(kind, options, message):
    with pytest.raises(ValueError, match=message):
        tiny(kind, **options).fit(np.arange(8.0)[:, None], np.arange(8) % 2)


def test_settings_by_nested_name_and_tables_that_are_too_small():
    model = tiny(calibration="spread", calibration__unseen_fraction=0.5)
    assert model.calibration == Calibration("spread", unseen_fraction=0.5)
    with pytest.raises(ValueError, match="of 2 different inputs"):
        model.fit(np.arange(2.0)[:, None], np.arange(2.0))
    with pytest.raises(ValueError, match="plans with"):
        DynamicsModel(estimator=model).fit(np.zeros((5, 1)), np.zeros((5, 1)), np.zeros((5, 1)))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            Spread(np.array([0.71]), 40, 0),
            "spread 0.71, found from 40 rows by members not fitted to them: predictions were",
        ),
        (Spread(np.array([0.71]), 40, 0), "too wide"),
        (Spread(np.array([1.02]), 40, 0), "about right"),
        (Spread(np.array([1.2, 0.5]), 40, 0), "1.20 (too narrow), 0.50 (too wide)"),
        (Temperature(np.array([0.67]), 40, 0), "temperature 0.67, found from 40 rows"),
        (Temperature(np.array([1.3]), 40, 0), "too sure"),
        (Conformal(np.array([np.full(20, 0.3), np.ones(20)]), 20, 0), "intervals of 90 % are the model's own of 60.0%"),
        (Conformal(np.array([np.full(20, 1.3), np.ones(20)]), 20, 0), "wider than any of the model's"),
    ],
)
def test_what_was_found_is_said_in_words(found, words):
    assert words in str(found)


def test_the_command_line_calibrates_and_says_so(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    rows = np.column_stack([x, x + 0.1 * rng.normal(size=80)])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="x,y", comments="")
    words = ["--hidden", "4", "--family", "factorized", "--inference", "variational", "--num-steps", "50"]
    words += ["--num-members", "1", "--num-draws", "10", "--calibration", "spread", "--unseen-fraction", "0.3"]
    told = run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m", *words).output
    model = pritchel.load(tmp_path / "m")
    assert model.estimator_.calibration == Calibration("spread", unseen_fraction=0.3)
    for text in (told, run("inspect", tmp_path / "m").output):
        assert f"Calibration: {model.estimator_.calibration_}." in " ".join(text.split())


@pytest.mark.parametrize("has_classes", [True, False])
def test_rows_of_equal_inputs_stay_together(has_classes):
    """Of 20 kinds of rows with yes and no each: what is left of a kind still says how often it is yes."""
    rng = np.random.default_rng(0)
    shop, kind = rng.integers(0, 5, 2000), rng.integers(0, 4, 2000)
    X, y = np.column_stack([shop, kind]).astype(float), (rng.random(2000) < 0.1 + 0.2 * kind).astype(float)
    table = distinct_rows(X, y[:, None])
    assert len(table.inputs) == 40
    data, _ = prepare(X, y[:, None], scale_targets=False)
    crossing = Crossing.of(Table(X, y[:, None], np.ones(2000)), 2, 0, has_classes)
    seen = crossing.is_fitted(0)
    parts = [leave_out(table, 0.2, 3, has_classes), data.set_aside(0.1, 3), (table.take(seen), table.take(~seen))]
    for fitted, aside in parts:
        assert len(aside.inputs) > 0
        assert not {*map(tuple, fitted.inputs.tolist())} & {*map(tuple, aside.inputs.tolist())}
        assert {*fitted.targets[:, 0]} == {0, 1}


def test_a_class_that_is_nowhere_the_commonest_stays_in_the_fit():
    X, y = np.repeat(np.arange(6.0), 10)[:, None], np.tile([0.0] * 6 + [1.0] * 4, 6)
    y[3] = 2
    for seed in range(20):
        fitted, aside = leave_out(distinct_rows(X, y[:, None]), 0.5, seed, True)
        assert {*fitted.targets[:, 0]} == {0, 1, 2}
        assert len(aside.inputs) > 0
