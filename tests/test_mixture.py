"""Noise of several humps against Monte Carlo, quadrature and tables made of two; regions that have gaps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import pritchel
from pritchel import AdaptiveNoise, HorseshoeRegressor, Mixture
from pritchel.model.likelihoods import LikelihoodStart, adaptive
from pritchel.model.likelihoods.adaptive import AdaptiveLikelihood
from pritchel.model.likelihoods.base import NumpyOps
from pritchel.model.likelihoods.continuous import NormalComponents, StudentComponents
from pritchel.model.likelihoods.mixture import MixtureComponents, MixtureLikelihood
from pritchel.numerics import expected_log_softmax
from pritchel.posterior.mixture import cell_log_probability, mixed_cdf, mixed_quantile
from pritchel.posterior.region import density_regions
from tests.conftest import tiny


def mixture(num_humps=3, num_targets=1):
    start = LikelihoodStart(np.zeros((1, num_targets)), np.ones(1))
    return Mixture(num_humps=num_humps, noise_prior=(2.0, 3.0)).build(start)


def test_the_bound_lies_below_the_monte_carlo_mean_and_near_it(x64):
    rng = np.random.default_rng(0)
    likelihood = mixture()
    params = jnp.asarray(likelihood.start(1) + 0.3 * rng.normal(size=7))
    mean, var = rng.normal(size=8), 0.2 * rng.random(8)
    outputs = mean + np.sqrt(var) * rng.normal(size=(100_000, 8))
    targets = jnp.full((len(outputs), 1), 0.4)
    draws = np.asarray(likelihood.log_density(params, targets, jnp.asarray(outputs)))
    got = float(
        likelihood.expected_log_density(params, targets[:1], jnp.asarray(mean[None]), jnp.asarray(var[None]))[0]
    )
    error = draws.std() / np.sqrt(len(draws))
    assert draws.mean() - 0.2 < got < draws.mean() + 4 * error


def test_expected_log_softmax_is_a_bound_and_near(x64):
    rng = np.random.default_rng(1)
    mean, var = jnp.asarray(rng.normal(size=(2, 4))), jnp.asarray(rng.random((2, 4)))
    draws = special.log_softmax(mean + np.sqrt(var) * rng.normal(size=(100_000, 2, 4)), axis=1)
    got, error = expected_log_softmax(mean, var, axis=0), draws.std(0) / np.sqrt(len(draws))
    assert np.all(got < draws.mean(0) + 4 * error)
    np.testing.assert_allclose(got, draws.mean(0), atol=0.1)


def test_the_prior_is_a_density(x64):
    """Integrated over the parameters of two humps: one; each part by itself, as the rest is a product."""
    likelihood = mixture(num_humps=2)
    start, log_prior = np.asarray(likelihood.start(1)), jax.jit(lambda at: likelihood.log_prior(at))
    total = 0.0
    for index in range(start.size):

        def along(value, index=index):
            at = np.array(start)
            at[index] = value
            return float(np.exp(log_prior(at) - log_prior(start)))

        total += np.log(integrate.quad(along, -30, 30, points=[start[index]], limit=200, epsabs=1e-10)[0])
    assert total == pytest.approx(-float(likelihood.log_prior(jnp.asarray(start))), abs=1e-5)


@pytest.mark.parametrize("num_targets", [1, 2])
def test_moments_for_exports_are_those_of_the_components(num_targets):
    rng = np.random.default_rng(2)
    likelihood = mixture(num_targets=num_targets)
    outputs = 3 * rng.normal(size=(4, 5, likelihood.num_outputs(num_targets)))
    values = likelihood.known_noise_values(rng.normal(size=(4, 7 * num_targets)))
    mean, var = likelihood.moments(outputs, values, NumpyOps)
    components = likelihood.components(outputs, values, np.zeros(num_targets), np.ones(num_targets))
    np.testing.assert_allclose(mean, components.mean, rtol=1e-10)
    np.testing.assert_allclose(var, components.var, rtol=1e-8)


@pytest.fixture(scope="module")
def humps():
    rng = np.random.default_rng(3)
    weight = rng.dirichlet(np.ones(3), size=(5, 2, 1)).swapaxes(-1, -2)
    return MixtureComponents(3 * rng.normal(size=weight.shape), 0.2 + rng.random(weight.shape), np.log(weight))


def test_components_agree_with_one_another(humps):
    """Density, distribution function, quantiles, moments and samples, of every draw and of their mixture."""
    grid = np.linspace(-16, 16, 8001)
    density = np.exp([humps.log_density(np.full((2, 1), at)) for at in grid])
    np.testing.assert_allclose(integrate.trapezoid(density, grid, axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(integrate.trapezoid(density * grid[:, None, None, None], grid, axis=0), humps.mean)
    second = integrate.trapezoid(density * grid[:, None, None, None] ** 2, grid, axis=0)
    np.testing.assert_allclose(second - humps.mean**2, humps.var, rtol=1e-6)
    below = integrate.trapezoid(density[grid <= 0.5], grid[grid <= 0.5], axis=0)
    np.testing.assert_allclose(humps.cdf(np.full((2, 1), 0.5)), below, atol=1e-4)
    for level in (0.01, 0.5, 0.97):
        np.testing.assert_allclose(mixed_cdf(humps, mixed_quantile(humps, level)), level, atol=1e-8)
    rng = np.random.default_rng(4)
    samples = np.stack([humps.sample(rng) for _ in range(20_000)])
    error = np.sqrt(humps.var / len(samples))
    assert np.all(np.abs(samples.mean(0) - humps.mean) < 4.5 * error)


def test_the_probability_of_a_cell_is_the_integral_of_the_density(humps):
    """Also far out, where a difference of distribution functions would be zero or noise."""
    near = np.full((2, 1), 0.5)
    grid = 0.5 + np.linspace(-0.5, 0.5, 2001)
    density = np.exp([humps.log_density(np.full((2, 1), at)) for at in grid])
    expected = np.log(integrate.trapezoid(density, grid, axis=0))
    np.testing.assert_allclose(cell_log_probability(humps, near, 1.0), expected, rtol=1e-4)
    one = NormalComponents(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))
    got = cell_log_probability(one, np.array([[12.0]]), 0.01)
    np.testing.assert_allclose(got, stats.norm.logpdf(12.0) + np.log(0.01), rtol=1e-3)


def test_probabilities_of_rounded_targets_sum_to_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = np.round(3 * X[:, 0] + rng.normal(size=60))
    model = tiny(training__num_steps=300).fit(X, y)
    every = np.arange(-200, 201)
    total = sum(np.exp(model.log_prob(X[:3], np.full(3, float(value)), round_to=1)) for value in every)
    np.testing.assert_allclose(total, 1.0, atol=1e-3)
    with pytest.raises(ValueError, match="round_to"):
        model.log_prob(X, y, round_to=0)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_regions_hold_their_share_and_are_no_longer_than_intervals(humps, coverage):
    for row, (region,) in enumerate(density_regions(humps, coverage)):
        ends = np.stack([mixed_cdf(humps, np.full((2, 1), end))[row, 0] for end in region.ravel()]).reshape(-1, 2)
        assert np.diff(ends).sum() == pytest.approx(coverage, abs=0.005)
        low, high = (mixed_quantile(humps, (1 + sign * coverage) / 2)[row, 0] for sign in (-1, 1))
        assert np.diff(region).sum() <= 1.01 * (high - low)
        assert np.all(np.diff(region.ravel()) > 0)


def test_the_region_of_a_gaussian_is_its_interval_and_that_of_two_has_a_gap():
    (one,), (two,) = density_regions(NormalComponents(np.array([[[1.0], [0.0]]]), np.array([[[2.0], [1.0]]])), 0.9)
    np.testing.assert_allclose(one, [1 + 2 * stats.norm.ppf([0.05, 0.95])], atol=0.02)
    np.testing.assert_allclose(two, [stats.norm.ppf([0.05, 0.95])], atol=0.01)
    apart = MixtureComponents(
        np.array([-5.0, 5.0]).reshape(1, 1, 2, 1), np.ones((1, 1, 2, 1)), np.log(np.full((1, 1, 2, 1), 0.5))
    )
    ((region,),) = density_regions(apart, 0.9)
    reach = stats.norm.ppf(0.95)
    np.testing.assert_allclose(region, [[-5 - reach, -5 + reach], [5 - reach, 5 + reach]], atol=0.05)


def humps_seen(place, spread, weight) -> int:
    parts = (np.asarray(part, float).reshape(1, 1, -1, 1) for part in (place, spread, np.log(weight)))
    return int(MixtureComponents(*parts).num_humps.item())


def test_humps_are_counted_where_the_density_has_them():
    """Against the maxima of the density on a grid."""
    grid = np.linspace(-12, 12, 20_001)
    cases = [
        ([0, 0.3, -0.5], [1, 1.5, 3], [0.4, 0.3, 0.3], 1),
        ([0, 1.9], [1, 1], [0.5, 0.5], 1),
        ([0, 2.3], [1, 1], [0.5, 0.5], 2),
        ([5, -5, 0], [1, 1, 1], [0.3, 0.3, 0.4], 3),
        ([5, -5, -4], [1, 1, 1], [0.3, 0.3, 0.4], 2),
    ]
    for place, spread, weight, expected in cases:
        density = sum(w * stats.norm.pdf(grid, p, s) for p, s, w in zip(place, spread, weight, strict=True))
        assert np.sum((density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])) == expected
        assert humps_seen(place, spread, weight) == expected
    assert humps_seen([0, 9], [1, 1], [0.97, 0.03]) == 1  # a rare one


@pytest.fixture(scope="module")
def two_ways():
    """y is near 2 + sin(x) or near -2 cos(x), which of them depends on another column."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 2))
    is_first = rng.random(400) < special.expit(2 * X[:, 1])
    y = np.where(is_first, 2 + np.sin(X[:, 0]), -2 * np.cos(X[:, 0])) + 0.2 * rng.normal(size=400)
    return X, y


def test_two_humps_are_found(two_ways):
    X, y = two_ways
    model = tiny(likelihood="mixture", hidden=(10,), training__num_steps=2500).fit(X[:300], y[:300])
    seen = model.predict(X[:300])
    of_one_hump = stats.norm.logpdf(y[300:], model.predict(X[300:]), np.std(y[:300] - seen))
    gain = model.log_prob(X[300:], y[300:]) - of_one_hump
    assert gain.mean() > 0.4
    assert gain.mean() > 3 * gain.std() / 10
    assert model.noise_report_[0].humps > 1.05
    assert "humps a row" in str(model.noise_report_)
    regions = model.predict_region(X[300:], 0.8)
    is_in = [np.any((region[:, 0] <= at) & (at <= region[:, 1])) for region, at in zip(regions, y[300:], strict=True)]
    assert np.mean(is_in) > 0.7


def test_humps_that_leave_the_mean_where_it_is_are_no_collapse(recwarn):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = rng.choice([-2.0, 2.0], 300) + 0.1 * rng.normal(size=300)
    model = tiny(likelihood="mixture", training__num_steps=1500).fit(X, y)
    assert not model.is_collapsed_
    np.testing.assert_allclose(model.predict_region(X[:1])[0], [[-2.2, -1.8], [1.8, 2.2]], atol=0.2)
    assert not [warning for warning in recwarn if issubclass(warning.category, pritchel.CollapseWarning)]
    noise = rng.normal(size=300)
    with pytest.warns(pritchel.CollapseWarning):
        tiny(training__num_steps=1500).fit(X, noise)


def test_the_variance_of_a_hump_that_no_row_holds_has_a_mean():
    """A sampled precision roams its prior; under a gamma of shape 0.1 its inverse has no mean."""
    shape, rate = Mixture().noise_prior
    assert 0 < rate / (shape - 1) < 0.1


@pytest.mark.slow
def test_the_spread_of_a_sampled_fit_with_idle_humps_is_sane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    y = X[:, 0] + 0.5 * rng.normal(size=40)
    model = tiny(likelihood="mixture", training__num_steps=200, inference="sampled").fit(X, y)
    assert np.all(model.predict(X, return_std=True)[1] < 2)


def test_regions_of_several_targets_and_of_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    model = tiny(likelihood="mixture", training__num_steps=20).fit(X, X)
    rows = model.predict_region(X[:3], 0.5)
    assert [len(row) for row in rows] == [2, 2, 2]
    assert all(region.shape[1] == 2 for row in rows for region in row)
    with pytest.raises(ValueError, match="coverage must be a number strictly between 0 and 1"):
        model.predict_region(X, 90)
    counts = tiny(likelihood="poisson", training__num_steps=20).fit(X, rng.poisson(2.0, 30))
    with pytest.raises(ValueError, match="for counts there is predict_interval"):
        counts.predict_region(X)


def test_humps_are_a_whole_number():
    with pytest.raises(ValueError, match="num_humps"):
        HorseshoeRegressor(likelihood=Mixture(num_humps=0)).options()
    assert pritchel.Mixture().num_humps == 3


def kind_of(model) -> type:
    return type(model.posterior_.likelihood)


def test_noise_as_the_rows_ask_for_it_has_humps_where_there_are_many(monkeypatch, tmp_path):
    """Which of the two it is stays, whatever comes after."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = np.where(rng.random(60) < 0.5, 2.0, -2.0) + 0.1 * rng.normal(size=60)
    few = tiny(likelihood="auto", warm_start=True).fit(X, y)
    assert kind_of(few) is AdaptiveLikelihood
    monkeypatch.setattr(adaptive, "MANY_ROWS", 50)
    many = tiny(likelihood="auto", training__num_steps=400, warm_start=True).fit(X, y)
    assert kind_of(many) is MixtureLikelihood
    assert many.log_prob(X, y).mean() > tiny(likelihood="auto").fit(X[:50], y[:50]).log_prob(X, y).mean() + 0.3
    assert kind_of(tiny(likelihood=AdaptiveNoise(num_humps=1)).fit(X, y)) is AdaptiveLikelihood
    assert kind_of(tiny(likelihood="auto").fit(X[:30], y[:30], np.full(30, 2.0))) is MixtureLikelihood
    assert kind_of(many.fit(X[:40], y[:40])) is MixtureLikelihood
    assert kind_of(few.fit(X, y)) is AdaptiveLikelihood
    many.save(tmp_path / "model")
    again = HorseshoeRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.log_prob(X, y), many.log_prob(X, y))
    seen = tiny(likelihood="auto").partial_fit(X[:40], y[:40]).partial_fit(X, y)
    assert kind_of(seen) is AdaptiveLikelihood
    with pytest.raises(ValueError, match="num_humps must be a whole number of at least 1; got 0"):
        HorseshoeRegressor(likelihood=AdaptiveNoise(num_humps=0)).options()


@pytest.mark.parametrize("spread", [1e-3, 3e-3, 0.03])
@pytest.mark.parametrize("coverage", [0.5, 0.7, 0.9])
def test_a_hump_far_narrower_than_the_rest_is_seen(spread, coverage):
    """As where one value is in half of the rows."""
    place, width = np.array([0.013, 3.0]).reshape(1, 1, 2, 1), np.array([spread, 1.0]).reshape(1, 1, 2, 1)
    humps = MixtureComponents(place, width, np.log(np.full((1, 1, 2, 1), 0.5)))
    ((region,),) = density_regions(humps, coverage)
    low, high = (0.5 * (stats.norm.cdf(end, 0.013, spread) + stats.norm.cdf(end, 3.0, 1.0)) for end in region.T)
    assert (high - low).sum() == pytest.approx(coverage, abs=0.005)


@pytest.mark.parametrize(("dof", "coverage"), [(1.1, 0.5), (1.5, 0.9), (3.0, 0.9)])
def test_regions_of_heavy_tails_hold_what_they_promise(dof, coverage):
    one = np.ones((1, 1, 1))
    (((low, high),),) = (region for (region,) in density_regions(StudentComponents(0 * one, one, dof * one), coverage))
    assert stats.t.cdf(high, dof) - stats.t.cdf(low, dof) == pytest.approx(coverage, abs=0.004)


@pytest.mark.parametrize(("scale", "width", "value"), [(0.1, 1.0, 1.2), (0.14, 1.0, 1.4), (1, 2, 9), (1, 0.01, 8)])
def test_a_cell_far_out_has_its_own_probability(scale, width, value):
    """Of a Gaussian, in both directions, by its tail: far wider than the spread, the cell's edge is what counts."""
    components = NormalComponents(np.zeros((1, 1, 1)), np.full((1, 1, 1), scale))
    near, far = (value - width / 2) / scale, (value + width / 2) / scale
    exact = stats.norm.logsf(near) + np.log1p(-np.exp(stats.norm.logsf(far) - stats.norm.logsf(near)))
    for sign in (1, -1):
        found = cell_log_probability(components, np.full((1, 1), sign * value), width).item()
        assert found == pytest.approx(exact, abs=0.01)
