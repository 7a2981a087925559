"""Spike and slab over units: its formulas against quadrature and draws, and that units go by their inclusion."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from pritchel import HorseshoeClassifier, SpikeSlab, load
from pritchel.guide.prune_rule import log_scale_draws, log_scale_moments
from pritchel.model.priors import PRIORS, Moments, Scales
from tests.conftest import tiny
from tests.oracles.dense import inclusion_bound
from tests.test_light import ask

SETTINGS = SpikeSlab(inclusion=0.2, spike_scale=0.01, slab_scale=2.0)
CASES = [(-4.6, 0.3), (-2.0, 1.0), (0.7, 0.5), (3.0, 0.1), (-9.0, 0.8)]  # mean and sd of a log scale


def mixture(nu, settings=SETTINGS):
    """Densities of a log scale: in, and out, each with its probability; the value is the Jacobian."""
    parts = ((settings.inclusion, settings.slab_scale), (1 - settings.inclusion, settings.spike_scale))
    return [weight * stats.halfcauchy.pdf(np.exp(nu), scale=scale) * np.exp(nu) for weight, scale in parts]


def under_q(function, mean, sd):
    """E under N(mean, sd^2)."""
    return integrate.quad(
        lambda nu: stats.norm.pdf(nu, mean, sd) * function(nu), mean - 10 * sd, mean + 10 * sd, limit=200
    )[0]


def of_one_unit(prior, mean, sd):
    """The prior's expected log density of one unit, all else left out."""
    units = [Moments(jnp.full(1, mean), jnp.full(1, sd**2))]
    return float(prior.expected_log_density(units, Scales(), {}))


def test_the_density_is_scipys_and_of_unit_mass(x64):
    prior = SETTINGS.build(1)
    nu = np.linspace(-12, 8, 9)
    got = [float(prior.log_density([jnp.full(1, value)], Scales(), {})) for value in nu]
    np.testing.assert_allclose(got, np.log(sum(mixture(nu))), rtol=1e-10)
    mass = integrate.quad(lambda nu: float(np.exp(prior.unit_log_density(0, np.asarray([nu])))[0]), -30, 30, limit=200)
    assert mass[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("mean", "sd"), CASES)
def test_the_exact_expectation_is_the_integral(x64, mean, sd):
    expected = under_q(lambda nu: np.log(sum(mixture(nu))), mean, sd)
    assert of_one_unit(SETTINGS.changed(half_cauchy="exact").build(1), mean, sd) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("mean", "sd"), CASES)
def test_the_closed_form_is_the_bound_with_the_best_factor_of_q_for_the_variable(x64, mean, sd):
    """No other probability gives more, and the best of them as much; the exact value is above."""
    got = of_one_unit(SETTINGS.build(1), mean, sd)
    scales = (SETTINGS.inclusion, SETTINGS.slab_scale, SETTINGS.spike_scale)
    bound = lambda logit: inclusion_bound(mean, sd**2, *scales, special.expit(logit))  # noqa: E731
    best = -optimize.minimize_scalar(lambda logit: -bound(logit), bounds=(-25, 25), method="bounded").fun
    assert best == pytest.approx(got, abs=1e-6)
    assert max(map(bound, np.linspace(-20, 20, 81))) <= got + 1e-9
    assert got < of_one_unit(SETTINGS.changed(half_cauchy="exact").build(1), mean, sd)


@pytest.mark.parametrize(("mean", "sd"), CASES)
def test_inclusion_is_the_mean_of_its_probability_given_the_scale(mean, sd):
    expected = under_q(lambda nu: mixture(nu)[0] / sum(mixture(nu)), mean, sd)
    got = SETTINGS.build(1).inclusion_probability(np.array([mean]), np.array([sd**2]))
    np.testing.assert_allclose(got, expected, atol=1e-5)
    sure = SETTINGS.build(1).inclusion_probability(np.array([mean]), np.zeros(1))
    np.testing.assert_allclose(sure, mixture(mean)[0] / sum(mixture(mean)), rtol=1e-9)


def test_the_boundary_between_in_and_out(x64):
    """A half at the root of both scales' product, times that of the odds, as the docstring has it."""
    prior = SpikeSlab(inclusion=0.1, spike_scale=1e-4, slab_scale=1.0).build(1)
    at = np.log(np.sqrt(1e-4 * 0.9 / 0.1))
    is_in = prior.inclusion_probability(at + np.array([-0.1, 0.0, 0.1]), np.zeros(3))
    assert is_in[1] == pytest.approx(0.5, abs=1e-3)
    assert is_in[0] < 0.46
    assert is_in[2] > 0.54


def test_draws_are_of_the_mixture():
    """Their distribution, and, by the law of total probability, the mean of P(in given the scale)."""
    prior = SETTINGS.build(2)
    units, scales, latents = prior.draw(np.random.default_rng(0), 4000, (5, 3), True)
    assert scales.layer is None
    assert latents == {}
    for values in units:
        drawn = values.ravel()
        for at in (-6.0, -4.0, -1.0, 1.0):
            expected = sum(
                weight * stats.halfcauchy.cdf(np.exp(at), scale=scale) for weight, scale in ((0.2, 2.0), (0.8, 0.01))
            )
            error = np.sqrt(expected * (1 - expected) / len(drawn))
            assert abs((drawn < at).mean() - expected) < 4.5 * error
        is_in = prior.inclusion_probability(drawn, np.zeros_like(drawn))
        assert abs(is_in.mean() - 0.2) < 4.5 * is_in.std() / np.sqrt(len(drawn))


def test_without_inclusion_it_is_the_horseshoe(x64):
    """Of the layer scale that the spike has; what differs is a change of variable."""
    rare = SpikeSlab(inclusion=1e-12, spike_scale=1e-3, slab_scale=1e12).build(1)
    plain = PRIORS["horseshoe"](layer_scale=1e-3).build(1)
    log_scale = np.array([-9.0, -6.9, -2.0])
    got = rare.unit_log_density(0, log_scale)
    np.testing.assert_allclose(got, plain.unit_log_density(0, jnp.asarray(log_scale - np.log(1e-3))), rtol=1e-6)


@pytest.fixture(scope="module")
def fit(table):
    """A fit with units both in and out."""
    return tiny(prior=SpikeSlab(inclusion=0.1), hidden=(12,), training__num_steps=1500).fit(*table)


def test_units_go_that_are_more_likely_out(fit, table):
    (is_in,) = fit.inclusion_[0]
    kept = fit.units_kept_[0, 0]
    assert 0 < kept < 12
    assert kept == (is_in >= 0.5).sum()
    member = fit.posterior_.members[0]
    (moments,) = log_scale_moments(member.guide)
    np.testing.assert_allclose(is_in, member.model.prior.inclusion_probability(*moments))
    small = fit.prune()
    assert str(small.prune_report_) == f"units kept: {kept} of 12 (pruned where P(unit is out) > 0.5)"
    np.testing.assert_array_equal(small.posterior_.members[0].kept[0], np.flatnonzero(is_in >= 0.5))
    np.testing.assert_allclose(small.predict(table[0]), fit.predict(table[0]), atol=0.1)
    for probability in (0.01, 0.99):
        (report,) = fit.prune(probability=probability).prune_report_
        assert report.kept == ((1 - is_in <= probability).sum(),)


def test_prior_draws_have_as_many_units_as_the_prior_includes(fit, table):
    """Functions of a prior that has hardly any unit in are all but flat, beside those of one that has most of them."""
    X, _ = table
    some = [
        tiny(prior=SpikeSlab(inclusion=share), linear=False).prior_predictive(X, 400, random_state=0)
        for share in (0.003, 0.9)
    ]
    flat, rich = (np.median(functions.std(0)) for functions in some)
    assert flat < 0.05 * rich
    assert np.isfinite(fit.prior_predictive(X, 3)).all()


def test_a_threshold_is_of_scales_whatever_the_prior(fit):
    scales = fit.unit_scales_[0][0]
    small = fit.prune(threshold=1e-2)
    assert "P(scale < 0.01) > 0.9" in str(small.prune_report_)
    assert small.prune_report_[0].kept[0] == pytest.approx((scales > 1e-2).sum(), abs=1)


def test_a_folder_keeps_it_and_is_asked_without_jax(fit, table, tmp_path):
    X, _ = table
    fit.prune().save(tmp_path / "pruned")
    back = load(tmp_path / "pruned")
    assert back.prune_report_[0].threshold is None
    assert back.prior == SpikeSlab(inclusion=0.1)
    np.testing.assert_array_equal(back.predict(X), fit.prune().predict(X))
    fit.save(tmp_path / "model")
    code = (
        "import json, pathlib, sys\n"
        "from pritchel.estimators.saved import load_to_ask\n"
        "model = load_to_ask(pathlib.Path(sys.argv[1])).model\n"
        "found = [model.units_kept_.tolist(), model.inclusion_[0][0].tolist(), 'jax' in sys.modules]\n"
        "print(json.dumps(found))\n"
    )
    kept, is_in, has_jax = ask(tmp_path, "model", code)
    assert not has_jax
    assert kept == fit.units_kept_.tolist()
    np.testing.assert_allclose(is_in, fit.inclusion_[0][0], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
def test_a_sampled_unit_is_in_as_often_as_its_draws_say(table):
    short = {"inference": "sampled", "sampling__num_warmup": 30, "sampling__num_samples": 30}
    model = tiny(prior=SpikeSlab(inclusion=0.1), training__num_steps=400, **short).fit(*table)
    member = model.posterior_.members[0]
    (values,) = log_scale_draws(member)
    in_and_out = np.stack(mixture(values, SpikeSlab(inclusion=0.1)))
    expected = (in_and_out[0] / in_and_out.sum(0)).mean(0)
    np.testing.assert_allclose(model.inclusion_[0][0][member.kept[0]], expected, rtol=1e-5)
    assert model.units_kept_[0, 0] == (expected >= 0.5).sum()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inclusion": 0.0}, "inclusion must be a number strictly between 0 and 1"),
        ({"inclusion": 1}, "inclusion must be"),
        ({"inclusion": 0.0015}, "inclusion must be above twice spike_scale / slab_scale = 0.002, .* got 0.0015"),
        ({"spike_scale": 2.0}, "spike_scale must be a number above 0 and at most 1"),
        ({"slab_scale": -1.0}, "slab_scale must be a number above 0"),
        ({"half_cauchy": "both"}, "half_cauchy must be one of"),
    ],
)
def test_values_that_will_not_do_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SpikeSlab(**settings).build(1)


@pytest.mark.slow
def test_classes_and_two_layers(table):
    X, y = table
    model = tiny(HorseshoeClassifier, prior="spike_slab", hidden=(4, 3), family="structured", training__num_steps=30)
    model.fit(X, y > 10)
    assert [part.shape for part in model.inclusion_[0]] == [(4,), (3,)]
