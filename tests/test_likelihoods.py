"""Every likelihood: its expected log density against quadrature or Monte Carlo, its predictive pieces against scipy."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

import pritchel
from pritchel import AdaptiveNoise, Categorical, HorseshoeClassifier, HorseshoeRegressor, NoiseReport, StudentT
from pritchel.data.dataset import Table
from pritchel.estimators.upgrade import upgraded
from pritchel.files.expressions import Expression, ExpressionOps, as_source
from pritchel.model.likelihoods import LIKELIHOODS, LikelihoodStart
from pritchel.model.likelihoods.base import NumpyOps
from pritchel.model.likelihoods.counts import poisson_counts
from pritchel.model.likelihoods.heteroscedastic import UNIT, with_less_noise
from pritchel.model.likelihoods.negative_binomial import NegativeBinomialComponents
from pritchel.model.prior_draws import draw_prior_weights
from pritchel.model.priors import Scales
from pritchel.posterior.answers import Fresh
from pritchel.posterior.mixture import mixed_cdf, mixed_quantile
from pritchel.posterior.predictive_checks import COUNTS as COUNT_STATISTICS
from pritchel.posterior.predictive_checks import predictive_checks
from tests.conftest import gaussian, tiny

COUNTS = ("poisson", "negative_binomial")
REAL = ("gaussian", "student_t", "heteroscedastic", "auto", "mixture")


def make(name, targets=None, num_classes=0):
    targets = np.array([[1.0], [3.0], [0.0]]) if targets is None else targets
    settings = LIKELIHOODS[name]()
    options = {"noise_prior": (2.0, 3.0), "dof": 5.0}
    settings = settings.changed(**{key: value for key, value in options.items() if key in settings.values()})
    return settings.build(LikelihoodStart(targets, np.ones(len(targets)), num_classes))


def test_noise_kl_is_the_integral(x64):
    likelihood = gaussian((0.7, 1.3), 9.0)
    log_g = np.log([0.5, 4.0])
    shape = float(likelihood.shape)
    exact = 0.0
    for g in np.exp(log_g):
        q, p = stats.gamma(shape, scale=g / shape), stats.gamma(0.7, scale=1 / 1.3)
        exact += integrate.quad(lambda x, q=q, p=p: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), 0, 40 * g, limit=200)[0]
    assert float(likelihood.kl(jnp.asarray(log_g))) == pytest.approx(exact, rel=1e-7)


def test_expected_log_density_is_the_monte_carlo_mean(x64):
    rng = np.random.default_rng(0)
    likelihood = gaussian((2.0, 3.0), 11.0)
    log_g, y, mean, var = np.array([0.4]), np.array([[1.2]]), np.array([[0.5]]), np.array([[0.3]])
    shape = float(likelihood.shape)
    gamma = rng.gamma(shape, np.exp(log_g[0]) / shape, 200_000)
    f = mean[0, 0] + np.sqrt(var[0, 0]) * rng.normal(size=gamma.size)
    draws = stats.norm.logpdf(y[0, 0], f, 1 / np.sqrt(gamma))
    got = likelihood.expected_log_density(*map(jnp.asarray, (log_g, y, mean, var)))
    assert abs(draws.mean() - float(got[0])) < 5 * draws.std() / np.sqrt(draws.size)


def test_posterior_shape_is_the_best_one():
    """The bound over q(gamma) = Gamma(a, b), with both free, peaks at the shape that the likelihood sets."""
    rng = np.random.default_rng(1)
    a0, b0, residuals = 0.7, 1.3, rng.normal(0, 0.6, 25)

    def negative_bound(log_params):
        a, b = np.exp(log_params)
        from scipy.special import digamma, gammaln

        likelihood = 0.5 * len(residuals) * (digamma(a) - np.log(b)) - 0.5 * a / b * (residuals**2).sum()
        kl = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * np.log(b / b0) + a * (b0 - b) / b
        return kl - likelihood

    best = optimize.minimize(negative_bound, np.zeros(2), method="BFGS")
    shape = float(gaussian((a0, b0), 25.0).shape)
    assert np.exp(best.x[0]) == pytest.approx(shape, rel=1e-3)


def expectation(log_density, mean, var):
    """E over f ~ N(mean, var) by quadrature."""
    sd = np.sqrt(var)
    inside = lambda f: stats.norm.pdf(f, mean, sd) * log_density(f)  # noqa: E731
    return integrate.quad(inside, mean - 9 * sd, mean + 9 * sd, limit=200)[0]


@pytest.mark.parametrize(("y", "mean", "var"), [(0.0, 0.3, 0.2), (4.0, -0.5, 0.05), (7.0, 1.0, 0.5)])
def test_counts_have_their_exact_expectation(x64, y, mean, var):
    poisson, binomial = make("poisson"), make("negative_binomial")
    arrays = [jnp.asarray([[value]]) for value in (y, mean, var)]
    offset = float(poisson.log_rate[0])
    log_factorial = stats.poisson.logpmf(y, 1.0) + 1  # -ln y!
    exact = expectation(lambda f: stats.poisson.logpmf(y, np.exp(f + offset)), mean, var)
    got = float(poisson.expected_log_density(jnp.zeros(0), *arrays)[0]) + log_factorial
    assert got == pytest.approx(exact, rel=1e-8)
    r = 1.7
    exact = expectation(lambda f: stats.nbinom.logpmf(y, r, r / (r + np.exp(f + offset))), mean, var)
    got = float(binomial.expected_log_density(jnp.log(jnp.asarray([r])), *arrays)[0]) + log_factorial
    assert got == pytest.approx(exact, rel=1e-6)
    counted = np.array([1.0, 3.0, 0.0])
    assert float(poisson.kl(jnp.zeros(0))) == pytest.approx(-(stats.poisson.logpmf(counted, 1.0) + 1).sum())


def test_two_classes_have_their_exact_expectation(x64):
    likelihood = make("categorical", num_classes=2)
    for y, sign in ((0.0, -1), (1.0, 1)):
        exact = expectation(lambda f, sign=sign: -np.logaddexp(0, -sign * f), 0.7, 1.3)
        got = likelihood.expected_log_density(jnp.zeros(0), *(jnp.asarray([[v]]) for v in (y, 0.7, 1.3)))
        assert float(got[0]) == pytest.approx(exact, rel=1e-6)


def test_many_classes_are_bounded_tightly(x64):
    rng = np.random.default_rng(0)
    likelihood = make("categorical", num_classes=4)
    for spread in (0.1, 1.0):
        mean, var = rng.normal(size=(1, 4)), spread * rng.uniform(0.5, 1.5, (1, 4))
        f = mean + np.sqrt(var) * rng.normal(size=(400_000, 4))
        draws = f[:, 2] - np.logaddexp.reduce(f, axis=1)
        got = float(likelihood.expected_log_density(jnp.zeros(0), jnp.asarray([[2.0]]), mean, var)[0])
        error = draws.std() / np.sqrt(len(draws))
        assert got < draws.mean() + 5 * error
        assert got > draws.mean() - 0.05 * spread - 5 * error


def test_label_noise_is_a_bound_on_the_noisy_likelihood(x64):
    """(1 - e) p + e/K: tight for a sure function, below the expectation for an unsure one."""
    likelihood = Categorical(label_noise=0.2).build(LikelihoodStart(np.zeros((1, 1)), np.ones(1), 2))
    noisy = lambda f: np.log(0.8 / (1 + np.exp(-f)) + 0.1)  # noqa: E731
    one = jnp.asarray([[1.0]])
    for f in (-4.0, 0.5):
        got = likelihood.expected_log_density(jnp.zeros(0), one, jnp.asarray([[f]]), jnp.asarray([[1e-12]]))
        assert float(got[0]) == pytest.approx(noisy(f), rel=1e-5)
        unsure = likelihood.expected_log_density(jnp.zeros(0), one, jnp.asarray([[f]]), one)
        exact = expectation(noisy, f, 1.0)
        assert exact - 0.3 < float(unsure[0]) < exact


def test_heteroscedastic_expectation_is_the_monte_carlo_mean(x64):
    rng = np.random.default_rng(0)
    mean, var = np.array([[0.5, -0.4]]), np.array([[0.3, 0.2]])
    likelihood, log_g = make("heteroscedastic"), 0.3
    f, s = (mean + np.sqrt(var) * rng.normal(size=(400_000, 2))).T
    precision = rng.gamma(float(likelihood.shape), np.exp(log_g) / float(likelihood.shape), len(f))
    draws = stats.norm.logpdf(1.2, f, np.exp(0.5 * UNIT * s) / np.sqrt(precision))
    got = float(likelihood.expected_log_density(jnp.asarray([log_g]), jnp.asarray([[1.2]]), mean, var)[0])
    assert abs(draws.mean() - got) < 5 * draws.std() / np.sqrt(len(draws))


@pytest.mark.parametrize("name", ["heteroscedastic", "auto"])
def test_noise_learns_about_the_mean_before_it_has_a_say_in_it(name, x64):
    """The bound is the whole one all along; the mean's slope is that of constant noise, then the whole one's."""
    own, y = make(name), jnp.asarray([[1.2]])
    params = jnp.asarray([0.7, 0.2])[: 1 + (name == "auto")]
    mean, var = jnp.asarray([[0.4, 3.0]]), jnp.asarray([[0.3, 2.0]])

    def slopes(density):
        return [np.ravel(part) for part in jax.grad(lambda *at: density(*at).sum(), (0, 1, 2))(params, mean, var)]

    whole = slopes(lambda params, mean, var: own.expected_log_density(params, y, mean, var))
    constant = slopes(
        lambda params, mean, var: own.expected_log_density(params, y, *with_less_noise(mean, var, 1, 0.0))
    )
    early, late = (
        slopes(lambda params, mean, var, at=at: own.training_log_density(params, y, mean, var, at)) for at in (0.3, 0.7)
    )
    assert np.abs(whole[1][0] / constant[1][0] - 1) > 0.05
    np.testing.assert_allclose(np.concatenate(late), np.concatenate(whole))
    np.testing.assert_allclose(early[0], constant[0])
    for got, first, second in zip(early[1:], constant[1:], whole[1:], strict=True):
        np.testing.assert_allclose(got, [first[0], second[1]])
    np.testing.assert_allclose(
        own.training_log_density(params, y, mean, var, 0.3), own.expected_log_density(params, y, mean, var)
    )


def test_humps_depend_on_the_inputs_after_a_fifth_of_the_training():
    """In the first tenth they do not; then by and by."""
    own, outputs, y = make("mixture"), jnp.ones((1, 8)), jnp.asarray([[1.2]])
    params = jnp.linspace(-1.0, 1.0, 7)
    for progress, share in ((0.1, 0.0), (0.15, 0.5), (0.2, 1.0), (0.6, 1.0)):
        expected = own.expected_log_density(params, y, *with_less_noise(outputs, outputs, 1, share))
        np.testing.assert_allclose(own.training_log_density(params, y, outputs, outputs, progress), expected, rtol=1e-5)
    mean, var = with_less_noise(outputs, outputs, 1, 0.5)
    np.testing.assert_array_equal(mean, [[1.0] + [0.5] * 7])
    np.testing.assert_array_equal(var, [[1.0] + [0.25] * 7])


def test_without_a_pattern_heteroscedastic_noise_is_gaussian(x64):
    """Second outputs of zero: the same bound, density and components, and so they are while the mean is found."""
    own, plain = make("heteroscedastic"), make("gaussian")
    log_g, y = jnp.asarray([0.7]), jnp.asarray([[1.2]])
    mean, var = jnp.asarray([[0.4, 9.0]]), jnp.asarray([[0.3, 2.0]])
    quiet = with_less_noise(mean, var, 1, 0.0)
    np.testing.assert_array_equal(quiet, [[[0.4, 0.0]], [[0.3, 0.0]]])
    constant = plain.expected_log_density(log_g, y, mean[:, :1], var[:, :1])
    np.testing.assert_allclose(own.expected_log_density(log_g, y, *quiet), constant)
    np.testing.assert_allclose(own.training_log_density(log_g, y, mean, var, 0.0), constant)
    np.testing.assert_allclose(own.log_density(log_g, y, quiet[0]), plain.log_density(log_g, y, mean[:, :1]))
    outputs, values = np.asarray(quiet[0])[None], own.noise_values(np.asarray(log_g))
    location, scale = np.zeros(1), np.ones(1)
    both = [
        kind.components(part, values, location, scale) for kind, part in ((own, outputs), (plain, outputs[..., :1]))
    ]
    np.testing.assert_allclose(*(components.log_density(y) for components in both))


def test_a_pattern_that_only_the_noise_has_is_found():
    """The mean is a line, which needs no unit; those that the noise needs stay, in the fit and in the chain after."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1500, 2))
    log_sd = 0.8 * X[:, 0] ** 2 - 1
    y = 0.5 * X[:, 1] + np.exp(log_sd) * rng.normal(size=len(X))
    model = HorseshoeRegressor(hidden=(20,), num_members=1, random_state=0, progress=False)
    model.set_params(training__num_steps=1500, sampling__num_warmup=60, sampling__num_samples=30).fit(X[:500], y[:500])
    missing = stats.norm(0.5 * X[500:, 1], np.exp(log_sd[500:])).logpdf(y[500:]) - model.log_prob(X[500:], y[500:])
    assert model.units_kept_.sum() > 0
    assert missing.mean() < 0.1  # one spread for all rows: 0.5
    _, sd = model.predict(X[500:], return_std=True)
    assert np.corrcoef(np.log(sd), log_sd[500:])[0, 1] > 0.9


def test_adaptive_bound_is_below_the_mean_and_tight_for_a_sure_function(x64):
    rng = np.random.default_rng(0)
    likelihood = AdaptiveNoise((2.0, 3.0), num_humps=1).build(LikelihoodStart(np.zeros((1, 1)), np.full(1, 1e9)))
    params, y = jnp.asarray([0.6, -0.4]), jnp.asarray([[1.2]])
    dof = float(likelihood.noise_values(np.asarray(params))["dof"][0])
    mean, var = np.array([[0.5, -4.0]]), np.array([[0.3, 20.0]])

    def exact(f, s):
        return stats.t.logpdf(1.2, dof, f, np.exp(0.5 * UNIT * s - 0.3))

    sure = likelihood.expected_log_density(params, y, mean, 0 * var)
    np.testing.assert_allclose(sure, exact(*mean.T), rtol=1e-6)
    draws = exact(*(mean + np.sqrt(var) * rng.normal(size=(400_000, 2))).T)
    bound = float(likelihood.expected_log_density(params, y, mean, var)[0])
    assert draws.mean() - 0.25 < bound < draws.mean()


def test_tails_have_the_prior_that_is_drawn_from(x64):
    """The density of the logit integrates to one, and its distribution is that of the draws."""
    likelihood = make("auto")
    plain = float(make("gaussian").log_prior(jnp.zeros(1)))
    density = lambda logit: np.exp(float(likelihood.log_prior(jnp.asarray([0.0, logit]))) - plain)  # noqa: E731
    below = lambda logit: integrate.quad(density, -30, logit, limit=200)[0]  # noqa: E731
    assert below(30.0) == pytest.approx(1.0, rel=1e-6)
    drawn = likelihood.prior_noise_values(np.random.default_rng(0), 20_000, 1)["dof"]
    assert drawn.shape == (20_000, 1, 1)
    assert drawn.min() > 2
    for dof in (3.0, 10.0, 50.0):
        share = below(np.log((1 / dof) / (0.5 - 1 / dof)))
        assert abs((drawn > dof).mean() - share) < 5 * np.sqrt(share * (1 - share) / len(drawn))


def test_student_t_bound_is_below_and_tight_for_a_sure_function(x64):
    """With many rows q(gamma) is sure too, and the bound is the log density itself."""
    likelihood = StudentT((2.0, 3.0), dof=5.0).build(LikelihoodStart(np.zeros((1, 1)), np.full(1, 1e9)))
    log_g = jnp.asarray([0.6])
    for y in (0.0, 1.0, 9.0):
        arrays = [jnp.asarray([[value]]) for value in (y, 0.2, 0.0)]
        exact = stats.t.logpdf(y, 5, 0.2, np.exp(-0.3))
        assert float(likelihood.expected_log_density(log_g, *arrays)[0]) == pytest.approx(exact, rel=1e-7)
        arrays[2] = jnp.asarray([[0.4]])
        spread = expectation(lambda f, y=y: stats.t.logpdf(y, 5, f, np.exp(-0.3)), 0.2, 0.4)
        assert float(likelihood.expected_log_density(log_g, *arrays)[0]) < spread
        assert float(likelihood.expected_log_density(log_g, *arrays)[0]) > spread - 0.3


def components_of(name, draws=6, rows=4):
    rng = np.random.default_rng(3)
    likelihood = make(name, num_classes=3)
    outputs = rng.normal(size=(draws, rows, likelihood.num_outputs(1)))
    params = np.asarray(likelihood.start(1), float) + 0.3
    values = likelihood.noise_values(params)
    values = {key: np.broadcast_to(value, (draws, 1, *np.shape(value))) for key, value in values.items()}
    location, scale = (np.array([2.0]), np.array([3.0])) if likelihood.standardizes else (np.zeros(1), np.ones(1))
    return likelihood, outputs, values, likelihood.components(outputs, values, location, scale), (location, scale)


@pytest.mark.parametrize("name", [*REAL, *COUNTS])
def test_components_agree_with_themselves(name):
    """Density, distribution function, quantiles, moments and samples are of one and the same distribution."""
    _, _, _, components, _ = components_of(name)
    rng = np.random.default_rng(0)
    samples = np.stack([components.sample(rng) for _ in range(20_000)])
    error = np.sqrt(components.var / len(samples))
    assert np.all(np.abs(samples.mean(0) - components.mean) < 5 * error)
    point = np.round(components.mean.mean(0)) + (0.0 if components.is_discrete else 0.3)
    share = (samples <= point).mean(0)
    cdf = components.cdf(point)
    assert np.all(np.abs(share - cdf) < 5 * np.sqrt(cdf * (1 - cdf) / len(samples)) + 1e-4)
    if components.is_discrete:
        step = components.cdf(point) - components.cdf(point - 1)
        np.testing.assert_allclose(np.exp(components.log_density(point)), step, atol=1e-9)
    else:
        slope = (components.cdf(point + 1e-5) - components.cdf(point - 1e-5)) / 2e-5
        np.testing.assert_allclose(np.exp(components.log_density(point)), slope, rtol=1e-4)
    for level in (0.05, 0.5, 0.9):
        value = mixed_quantile(components, level)
        if components.is_discrete:
            assert np.all(mixed_cdf(components, value) >= level)
            assert np.all(mixed_cdf(components, value - 1) < level)
        else:
            np.testing.assert_allclose(mixed_cdf(components, value), level, atol=1e-7)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_moments_by_numpy_by_source_and_by_components_are_the_same(name):
    likelihood, outputs, values, components, (location, scale) = components_of(name)
    mean, var = likelihood.moments(outputs, values, NumpyOps)
    is_number = not likelihood.has_classes
    np.testing.assert_allclose(components.mean, location + scale * mean if is_number else mean)
    np.testing.assert_allclose(components.var, scale**2 * var if is_number else var)
    arrays: dict = {}
    symbol = Expression("Outputs", (), outputs.shape[-1])
    names = {"outputs": outputs, "np": np, "arrays": arrays, "_sigmoid": NumpyOps.sigmoid, "_softmax": NumpyOps.softmax}
    for expected, traced in zip((mean, var), likelihood.moments(symbol, values, ExpressionOps), strict=True):
        np.testing.assert_allclose(eval(as_source(traced, arrays), names), expected)


@pytest.fixture(scope="module")
def made_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1]
    return X, f, {
        "student_t": f + 0.2 * rng.standard_t(2, 150),
        "heteroscedastic": f + np.exp(X[:, 1] - 1.5) * rng.normal(size=150),
        "auto": f + np.exp(X[:, 1] - 1.5) * rng.standard_t(4, size=150),
        "poisson": rng.poisson(np.exp(f + 1)).astype(float),
        "negative_binomial": rng.negative_binomial(3, 3 / (3 + np.exp(f + 1))).astype(float),
    }  # fmt: skip


# Their code is that of the other two:
SAMPLED = [(name, "sampled") for name in ("student_t", "heteroscedastic", "negative_binomial")]


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        *((name, "moments") for name in ("student_t", "auto", *COUNTS)),
        *((name, "sampled") for name in ("auto", "poisson")),
        *(pytest.param(*pair, marks=pytest.mark.slow) for pair in SAMPLED),
    ],
)
def test_a_fit_of_each_kind_predicts(made_up, tmp_path, name, objective):
    X, f, targets = made_up
    y = targets[name]
    model = tiny(training__num_steps=500, likelihood=name, training__objective=objective).fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert np.corrcoef(mean, np.exp(f) if name in COUNTS else f)[0, 1] > 0.8
    low, high = model.predict_interval(X, 0.9).T
    assert 0.8 < np.mean((low <= y) & (y <= high)) <= 1
    assert (sd > 0).all()
    spread = model.predict_uncertainty(X)
    np.testing.assert_allclose(spread.total**2, spread.aleatoric**2 + spread.epistemic**2)
    samples = model.sample_y(X, 400)
    if name in COUNTS:
        assert np.array_equal(samples, np.round(samples))
        assert np.array_equal(low, np.round(low))
    assert model.prior_predictive(X[:3], 5, include_noise=True).shape == (3, 5)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(HorseshoeRegressor.load(tmp_path / "m").predict(X), mean)


def test_noise_that_depends_on_the_inputs_is_found(made_up, tmp_path):
    X, _, targets = made_up
    model = tiny(training__num_steps=800, likelihood="heteroscedastic").fit(X, targets["heteroscedastic"])
    quiet, loud = model.predict_uncertainty(np.array([[0.0, -1.5], [0.0, 1.5]])).aleatoric
    assert loud > 3 * quiet
    (noise,) = model.noise_report_
    assert 0.5 * quiet < noise.least < noise.spread < noise.most < 2 * loud
    assert not noise.is_constant
    assert noise.dof is None
    assert "for nine in ten; Gaussian tails" in str(model.noise_report_)
    model.save(tmp_path / "m")
    assert pritchel.load(tmp_path / "m").noise_report_ == model.noise_report_
    assert f"- Noise: {model.noise_report_}" in (tmp_path / "m" / "README.md").read_text()
    spec = json.loads((tmp_path / "m" / "spec.json").read_text()) | {"format_version": 3}
    with pytest.raises(pritchel.FileError, match="of a kind that this release no longer has: fit it again"):
        upgraded(spec)


def test_noise_reports_say_what_is_there(fitted):
    """Constant Gaussian noise is told as such; several targets are told one by one; counts have nothing to tell."""
    (noise,) = fitted.noise_report_
    assert noise.is_constant
    assert noise.least == pytest.approx(noise.most)
    assert str(fitted.noise_report_) == f"standard deviation {noise.spread:.3g}, the same for all rows; Gaussian tails"
    heavy = noise._replace(dof=3.25)
    assert str(NoiseReport([noise, heavy])).endswith("; target 2: " + str(heavy))
    assert str(heavy).endswith("tails of 3.2 degrees of freedom")


def test_the_first_prior_draws_of_adaptive_noise_have_a_scale_an_output():
    """Drawn weights into the log variance are on a scale that is not the mean's."""
    model = HorseshoeRegressor(hidden=(4,), linear=False).options().model(LikelihoodStart.without_data(1))
    widths, shape = (3, 4, 2), model.likelihood.output_scales(1).shape
    own = draw_prior_weights(model, widths, 500, np.random.default_rng(0), shape).output
    shared = draw_prior_weights(model, widths, 500, np.random.default_rng(0)).output
    ratio = lambda output: np.log(np.abs(output[..., 0] / output[..., 1]).mean(-1))  # noqa: E731
    assert shape == (2,)
    assert ratio(own).std() > 1.5 * ratio(shared).std()


TWO_OUTPUTS = ("auto", "zero_inflated")


def test_scales_of_the_noises_outputs_shrink_sooner(x64):
    """Their half-Cauchy is a tenth of the function's, in density and draws; other likelihoods have the prior's own."""
    start = LikelihoodStart.without_data(2)
    models = [HorseshoeRegressor(prior="horseshoe", likelihood=name).options().model(start) for name in TWO_OUTPUTS]
    prior, plain = (model.prior for model in models)
    values = np.array([0.3, -0.4, 0.8, -2.0])
    scales = Scales(jnp.zeros(2), jnp.asarray(values), jnp.asarray(values[::-1].copy()))
    expected = 0.0
    for scale, size in ((5.0, np.exp(values)), (1.0, np.exp(values[::-1]))):
        noises = [stats.halfcauchy(scale=factor * scale).logpdf(size[2:]).sum() for factor in (0.1, 1.0)]
        expected += noises[0] - noises[1]
    gained = float(prior.log_density((), scales, {}) - plain.log_density((), scales, {}))
    assert gained == pytest.approx(expected, rel=1e-6)
    drawn = prior.draw(np.random.default_rng(0), 4000, (4, 4), True, (4,))[1]
    for part in (drawn.output, drawn.linear):
        of_noise = np.median(part[..., 2:]) - np.median(part[..., :2])
        assert of_noise == pytest.approx(np.log(0.1), abs=0.15)


def test_exposure_goes_into_the_weights():
    """Counts over unequal times: rate and exposure as weight, against the same counts with the times repeated."""
    rng = np.random.default_rng(0)
    X, exposure = rng.normal(size=(80, 1)), rng.integers(1, 5, 80).astype(float)
    counts = rng.poisson(exposure * np.exp(0.5 * X[:, 0])).astype(float)
    model = tiny(training__num_steps=400, likelihood="poisson").fit(X, counts / exposure, sample_weight=exposure)
    rate = model.predict(np.array([[-1.0], [1.0]]))
    assert rate[1] / rate[0] == pytest.approx(np.e, rel=0.4)


def test_wrong_targets_and_names_are_refused(made_up):
    X, f, _ = made_up
    with pytest.raises(ValueError, match="counts, which are not negative; row"):
        tiny(likelihood="poisson").fit(X, f)
    with pytest.raises(ValueError, match="likelihood must be one of 'auto', 'gaussian'"):
        tiny(likelihood="cauchy").fit(X, f)
    with pytest.raises(TypeError, match="likelyhood"):
        HorseshoeRegressor(likelyhood="poisson")  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValueError, match=r"no argument 'likelyhood'; it has .*likelihood"):
        HorseshoeRegressor().set_params(likelyhood="poisson")
    with pytest.raises(ValueError, match="AdaptiveNoise has no setting dof; it has noise_prior, num_humps"):
        HorseshoeRegressor().set_params(likelihood__dof=3)


@pytest.mark.slow
def test_two_targets_each_with_their_own_noise(made_up):
    X, f, _ = made_up
    rng = np.random.default_rng(1)
    y = np.column_stack([f + 0.05 * rng.normal(size=150), f + 0.5 * rng.normal(size=150)])
    for name in ("gaussian", "heteroscedastic"):
        model = tiny(training__num_steps=500, likelihood=name).fit(X, y)
        assert model.predict(X).shape == (150, 2)
        noise = np.median(model.predict_uncertainty(X).aleatoric, axis=0)
        assert noise[1] > 2 * noise[0]


def test_predictive_checks_find_what_poisson_noise_cannot_make(made_up):
    """Counts with a spread that only the negative binomial has."""
    X, f, _ = made_up
    y = np.random.default_rng(2).negative_binomial(0.7, 0.7 / (0.7 + np.exp(f + 1))).astype(float)
    above = {}
    for name in COUNTS:
        model = tiny(training__num_steps=500, likelihood=name).fit(X, y)
        above[name] = {check.statistic: check.above for check in model.check_predictions(X, y)}
    assert above["poisson"]["share of zeros"] < 0.02
    assert above["poisson"]["largest"] < 0.05
    assert 0.02 < above["negative_binomial"]["share of zeros"] < 0.98


def test_predictive_checks_are_uniform_where_the_model_is_right():
    """Tables from the model itself: the share of made-up values above theirs has mean a half and no more spread."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(300):
        observed, made_up = rng.normal(size=(20, 1)), rng.normal(size=(20, 1, 50))
        (check,) = predictive_checks(observed, made_up, ["y"], {"sd": np.std})
        shares.append(check.above)
    assert stats.kstest(shares, "uniform").pvalue > 0.001
    assert np.mean(shares) == pytest.approx(0.5, abs=5 * np.sqrt(1 / 12 / 300))


def test_predictive_checks_by_hand():
    """21 made-up tables with largest counts 0 to 20: one ties with the table seen, 18 are above it."""
    observed = np.array([[0.0], [0.0], [2.0], [2.0]])
    made_up = np.zeros((4, 1, 21))
    made_up[3, 0] = np.arange(21)
    checks = {check.statistic: check for check in predictive_checks(observed, made_up, ["y"], COUNT_STATISTICS)}
    assert checks["largest"] == ("y", "largest", 2.0, 1.0, 19.0, pytest.approx(18.5 / 21))
    assert checks["variance over mean"].observed == 1.0  # variance 1, mean 1
    assert checks["variance over mean"].upper == pytest.approx(0.75 * 19)  # one count of k in four: variance 3/16 k^2
    assert checks["share of zeros"].observed == 0.5


def test_a_statistic_of_ones_own(made_up):
    X, _, targets = made_up
    model = tiny(training__num_steps=50).fit(X, np.column_stack([targets["poisson"]] * 2))
    checks = model.check_predictions(X, np.column_stack([targets["poisson"]] * 2), {"median": np.median}, n_samples=20)
    assert [(check.target, check.statistic) for check in checks] == [("y1", "median"), ("y2", "median")]
    assert checks[0].observed == np.median(targets["poisson"])
    with pytest.raises(ValueError, match="150 rows and 2"):
        model.check_predictions(X, targets["poisson"])


def test_a_spread_that_nobody_knows_yet_leaves_a_gradient():
    """The variance of the log variance may be thousands before the rows are asked: nothing overflows."""
    likelihood = AdaptiveNoise().build(LikelihoodStart(np.zeros((1, 1)), np.full(1, 20.0)))
    params = jnp.asarray(likelihood.start(1), jnp.float32)
    targets = jnp.asarray([[0.3]], jnp.float32)

    def bound(mean, var):
        return likelihood.expected_log_density(params, targets, mean, var).sum()

    mean, var = jnp.zeros((1, 2), jnp.float32), jnp.asarray([[0.1, 1e5]], jnp.float32)
    told, slopes = jax.value_and_grad(bound, argnums=(0, 1))(mean, var)
    assert np.isfinite(told)
    assert all(np.isfinite(slope).all() for slope in slopes)
    assert slopes[1][0, 1] < 0  # to know it better is better


def test_a_variance_that_rounding_has_left_below_zero_is_none():
    """Where y is a function of the inputs: the precision is large, and what is left of the error small."""
    likelihood = AdaptiveNoise().build(LikelihoodStart(np.zeros((1, 1)), np.full(1, 20.0)))
    params = jnp.asarray([11.0, 3.0], jnp.float32)

    def bound(var):
        return likelihood.expected_log_density(params, jnp.zeros((1, 1)), jnp.zeros((1, 2)), var).sum()

    told, slope = jax.value_and_grad(bound)(jnp.asarray([[-1e-4, 0.1]], jnp.float32))
    assert np.isfinite(told)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "zero_inflated"])
def test_counts_are_drawn_at_any_rate(name):
    """Also beyond what numpy's samplers take: a far row, or the prior, may ask for it."""
    prior = HorseshoeRegressor(likelihood=name).prior_predictive([[1.0], [50.0]], 20, include_noise=True)
    assert np.isfinite(prior).all()
    rate = np.array([3.0, 2e15, 1e40, np.inf])
    drawn = poisson_counts(np.random.default_rng(0), np.tile(rate, (4000, 1)))
    assert np.all(np.abs(drawn[:, :2].mean(0) - rate[:2]) < 5 * np.sqrt(rate[:2] / 4000))
    assert drawn[:, 2].mean() == pytest.approx(1e40)
    assert np.isfinite(drawn).all()
    components = NegativeBinomialComponents(np.full((40_000, 1, 1), 4.0), np.array(2.0))
    counts = components.sample(np.random.default_rng(0))
    assert abs(counts.mean() - 4) < 5 * np.sqrt(12 / 40_000)
    seen = np.mean(counts <= 3)
    assert abs(seen - components.cdf(np.full((1, 1), 3.0))[0, 0, 0]) < 5 * np.sqrt(0.25 / 40_000)


def test_labels_that_may_be_wrong_are_scored_as_they_are_observed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    right = (X[:, 0] > 0).astype(int)
    y = np.where(rng.random(300) < 0.4, rng.integers(0, 2, 300), right)
    model = tiny(HorseshoeClassifier, label_noise=0.4, training__num_steps=300).fit(X[:200], y[:200])
    proba = model.predict_proba(X[200:])
    own = 0.6 * proba[np.arange(100), y[200:]] + 0.2
    np.testing.assert_allclose(model.log_prob(X[200:], y[200:]), np.log(own))
    (score,) = model.evaluate(X[200:], y[200:]).scores
    assert score.log_likelihood == pytest.approx(np.log(own).mean())
    assert score.log_likelihood > score.constant_log_likelihood
    unseen = model.posterior_.calibrated(
        "temperature", [Fresh(model.posterior_, Table(X, y[:, None], np.ones(300)))], 0
    )
    assert unseen.calibration.values[0] < 1.6  # without the noise they would look too sure: 2 and more
