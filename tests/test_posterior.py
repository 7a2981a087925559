import itertools
import threading

import jax
import numpy as np
import pytest
from scipy import optimize, stats
from threadpoolctl import threadpool_info, threadpool_limits

from pritchel import cores
from pritchel.data.dataset import prepare
from pritchel.guide.prune_rule import prune_probabilities, surviving_units
from pritchel.model.likelihoods.continuous import FAR_FROM_FEW, StudentComponents, nearly_student_cdf
from pritchel.model.network import ACTIVATIONS, Weights, forward
from pritchel.posterior import blocks, diagnostics, predict
from pritchel.posterior.draws import weight_block
from pritchel.posterior.mixture import log_mean_exp, mixed_cdf, mixed_quantile, mixed_quantiles
from pritchel.posterior.stacked import stacked_forward
from pritchel.tree import map_leaves
from tests.conftest import tiny


def test_mixture_against_scipy():
    rng = np.random.default_rng(0)
    location, scale, dof = rng.normal(size=(5, 3)), rng.uniform(0.2, 2, (5, 1)), rng.uniform(2, 50, (5, 1))
    mixture = StudentComponents(location, scale, dof)
    y = rng.normal(size=3)
    parts = stats.t(dof, location, scale)
    np.testing.assert_allclose(log_mean_exp(mixture.log_density(y)), np.log(parts.pdf(y).mean(0)), rtol=1e-10)
    np.testing.assert_allclose(mixed_cdf(mixture, y), parts.cdf(y).mean(0), rtol=1e-10)
    levels = np.array([0.5, 0.999, 0.001, 0.05, 0.3, 0.5, 0.31])  # in no order, one twice
    rows = [stats.t(dof[:, 0], location[:, row], scale[:, 0]) for row in range(3)]
    exact = [
        [optimize.brentq(lambda q, t=t, p=p: t.cdf(q).mean() - p, -1e4, 1e4, xtol=1e-11) for p in levels] for t in rows
    ]
    np.testing.assert_allclose(mixed_quantiles(mixture, levels), exact, rtol=1e-8, atol=1e-8)
    for level, own in zip(levels, np.transpose(exact), strict=True):
        np.testing.assert_allclose(mixed_quantile(mixture, level), own, rtol=1e-8, atol=1e-8)


def test_a_quantile_takes_few_looks_at_the_distribution():
    """A root that is found stays found: halving its bracket instead took 33 looks, 10 s for a fan of 99 levels."""

    class Counted(StudentComponents):
        looks = 0

        def cdf(self, values):
            self.looks += 1
            return super().cdf(values)

    rng = np.random.default_rng(0)
    mixture = Counted(rng.normal(size=(300, 50)), rng.uniform(0.5, 1.5, (300, 50)), np.full((300, 1), 8.0))
    mixed_quantile(mixture, 0.95)
    assert mixture.looks <= 8
    fan = mixed_quantiles(mixture, np.linspace(0.01, 0.99, 99))
    assert mixture.looks <= 8 + 1.6 * 99
    assert (np.diff(fan) > 0).all()


def test_a_guess_that_is_the_root_is_the_answer():
    mixture = StudentComponents(np.array([[-1.0], [1.0]]), np.ones((2, 1)), np.full((2, 1), 9.0))
    assert mixed_quantile(mixture, 0.5)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("dof", "error"), [(2.01, 2e-4), (4.0, 2e-6), (FAR_FROM_FEW, 2e-11), (1e6, 1e-12)])
def test_the_student_t_by_a_normal_is_as_near_as_it_says(dof, error):
    values = np.concatenate([np.linspace(-9, 9, 2001), [-1e6, 1e6]])
    assert np.abs(nearly_student_cdf(dof, values) - stats.t.cdf(values, dof)).max() < error


def test_quantiles_are_those_of_the_student_t_and_not_of_the_normal_near_it():
    for dof in (2.01, 3.0, 50.0):
        alike = StudentComponents(np.array([0.0, 3.0])[:, None], np.array([1.0, 0.5])[:, None], np.full((2, 1), dof))
        for level in (0.001, 0.3, 0.95):
            value = mixed_quantile(alike, level)
            assert stats.t.cdf(value, dof, [0.0, 3.0], [1.0, 0.5]).mean() == pytest.approx(level, rel=1e-9)


def test_quantiles_of_two_far_components():
    """A gap in the middle, where the density is all but zero, must not throw Newton's method off."""
    mixture = StudentComponents(np.array([[-50.0], [50.0]]), np.ones((2, 1)), np.full((2, 1), 100.0))
    for level in (0.2, 0.499, 0.7):
        assert mixed_cdf(mixture, mixed_quantile(mixture, level))[0] == pytest.approx(level, abs=1e-9)


def test_predictions_repeat_and_do_not_depend_on_company(fitted, table, monkeypatch):
    X, y = table
    whole = fitted.predict(X, return_std=True)
    np.testing.assert_array_equal(whole, fitted.predict(X, return_std=True))
    alone = np.array([fitted.predict(X[i : i + 1], return_std=True) for i in range(4)])[:, :, 0].T
    np.testing.assert_allclose(alone, np.array(whole)[:, :4], rtol=1e-12)
    density, quantiles = fitted.log_prob(X, y), fitted.predict_quantiles(X)
    monkeypatch.setattr(predict, "MAX_CHUNK_FLOATS", 2000)
    monkeypatch.setattr(blocks, "MAX_CACHED_BYTES", 0)
    fresh = tiny().fit(X, y)
    np.testing.assert_allclose(fresh.predict(X, return_std=True), whole, rtol=1e-12)
    np.testing.assert_allclose(fresh.log_prob(X, y), density, rtol=1e-10)
    np.testing.assert_allclose(fresh.predict_quantiles(X), quantiles, rtol=1e-7)
    assert not fresh.posterior_._blocks._cache


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("is_linear", [False, True])
def test_draws_together_are_what_each_network_gives(activation, is_linear):
    rng = np.random.default_rng(0)
    sizes = (4, 5, 3, 2)
    *hidden, output = (rng.normal(size=(7, rows + 1, units)) for rows, units in itertools.pairwise(sizes))
    weights = Weights(tuple(hidden), output, rng.normal(size=(7, 4, 2)) if is_linear else None)
    inputs = rng.normal(size=(6, 4))
    before = inputs.copy()
    each = [forward(map_leaves(lambda leaf: leaf[draw], weights), inputs, activation) for draw in range(7)]  # noqa: B023
    together = stacked_forward(weights, inputs, activation)
    np.testing.assert_allclose(together, each, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(inputs, before)  # what is changed in place is not the caller's


def test_many_rows_are_answered_in_single_precision(fitted, table, monkeypatch):
    X, y = table
    exact = fitted.predict(X, return_std=True)
    density, interval = fitted.log_prob(X, y), fitted.predict_interval(X)
    far = np.array([[1e30] * X.shape[1]])
    exact_far = fitted.predict(far)
    monkeypatch.setattr(predict, "MAX_DOUBLE_ROWS", 0)
    for single, double in zip(fitted.predict(X, return_std=True), exact, strict=True):
        assert np.abs(single - double).max() > 0
        np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-5 * y.std())
    np.testing.assert_allclose(fitted.log_prob(X, y), density, atol=1e-4)
    np.testing.assert_allclose(fitted.predict_interval(X), interval, rtol=1e-5, atol=1e-5 * y.std())
    np.testing.assert_array_equal(fitted.predict(far), exact_far)  # too far out for single precision


def test_answers_are_the_same_on_any_number_of_cores(fitted, table, monkeypatch):
    X, y = np.tile(table[0], (50, 1)), np.tile(table[1], 50)
    posterior, seen = fitted.posterior_, set()

    def answers() -> list[np.ndarray]:
        parts = posterior.mean_std(X), posterior.quantiles(X, np.array([0.1, 0.9])), posterior.compare(X, y[:, None])
        return [parts[0][0], *parts[0][1], parts[1], *parts[2]]

    def watched(components, rows):
        seen.add(threading.get_ident())
        return np.zeros(1)

    several = answers()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert cores.num_cores() == 1
    for one, other in zip(several, answers(), strict=True):
        np.testing.assert_array_equal(one, other)
    posterior._by_rows(X, watched)
    assert seen == {threading.get_ident()}
    monkeypatch.setattr(cores, "num_cores", lambda: 2)
    posterior._by_rows(X, watched)
    assert len(seen) > 1


def test_linear_algebra_has_its_threads_back_after_answers_that_overlap():
    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        first, second = cores.one_blas_thread(), cores.one_blas_thread()
        with first:
            second.__enter__()
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


def test_parts_of_the_predictive_agree_with_its_samples(fitted, table):
    X = table[0][:5]
    mean, sd = fitted.predict(X, return_std=True)
    parts = fitted.predict_uncertainty(X)
    np.testing.assert_allclose(parts.total**2, parts.aleatoric**2 + parts.epistemic**2)
    np.testing.assert_array_equal(parts.total, sd)
    # Stored draws and fresh ones are both Monte Carlo: the error bounds count both.
    num = 20_000
    samples = fitted.sample_y(X, num, random_state=3)
    error = 5 * np.sqrt(sd**2 / num + parts.epistemic**2 / fitted.num_draws)
    assert np.all(np.abs(samples.mean(1) - mean) < error)
    lower, upper = fitted.predict_interval(X, 0.8).T
    inside = np.mean((samples > lower[:, None]) & (samples < upper[:, None]), axis=1)
    np.testing.assert_allclose(inside, 0.8, atol=0.05)
    functions = fitted.sample_functions(X, num, random_state=3)
    np.testing.assert_allclose(functions.std(1), parts.epistemic, rtol=0.35)


def test_a_seed_may_be_a_number_a_generator_or_none(fitted, table):
    """As scikit-learn has it: a generator moves on, None is never twice the same, and a number is itself."""
    X = table[0][:5]
    for ask in (fitted.sample_y, fitted.sample_functions, fitted.prior_predictive):
        np.testing.assert_array_equal(ask(X, 3, random_state=4), ask(X, 3, random_state=np.int64(4)))
        generator = np.random.RandomState(0)
        first, second = (ask(X, 3, random_state=generator) for _ in range(2))
        assert not np.allclose(first, second)
        np.testing.assert_array_equal(ask(X, 3, random_state=np.random.RandomState(0)), first)
        assert not np.allclose(ask(X, 3, random_state=None), ask(X, 3, random_state=None))
    with pytest.raises(ValueError, match="random_state must be a whole number of at least 0; got -1"):
        fitted.sample_y(X, random_state=-1)


def test_log_density_integrates_to_one(fitted, table):
    row = table[0][:1]
    grid = np.linspace(-30, 50, 8001)
    density = np.exp(fitted.log_prob(row.repeat(len(grid), 0), grid))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-3)


def test_function_draws_are_coherent(fitted, table):
    """A draw is a function: at nearly equal inputs it takes nearly equal values, whatever its spread over draws."""
    x = table[0][:1]
    near = np.concatenate([x, x + 1e-9])
    draws = fitted.sample_functions(near, 50)
    assert np.max(np.abs(draws[0] - draws[1])) < 1e-6 * draws[0].std()


def test_rule_is_the_log_normal_cdf(fitted):
    model, guide, *_ = fitted.posterior_.members[0]
    mean, var = (np.asarray(part, float) for part in guide.layers[0].log_unit_scale_moments())
    shared = guide.scales.layer
    sd = np.sqrt(var + float(shared.var[0]))
    exact = stats.lognorm(sd, scale=np.exp(mean + float(shared.mean[0]))).cdf(1e-3)
    np.testing.assert_allclose(prune_probabilities(model.prior, guide, 1e-3)[0], exact, rtol=1e-5, atol=1e-12)
    np.testing.assert_array_equal(surviving_units(model.prior, guide)[0], np.flatnonzero(exact <= 0.9))


@pytest.fixture(scope="module")
def sparse(table):
    """A fit long enough to switch units off, two layers deep."""
    return tiny(hidden=(12, 6), family="structured", training__num_steps=2500).fit(*table)


def test_pruned_network_predicts_what_the_full_one_does(sparse, table):
    X, y = table
    small = sparse.prune()
    (report,) = small.prune_report_
    assert report.offered == (12, 6)
    assert report.kept == tuple(sparse.units_kept_[0])
    assert sum(report.kept) < 18, "nothing was pruned: the comparison would show nothing"
    guide = small.posterior_.members[0].guide
    assert guide.widths == (3, *report.kept, 1)
    spread = y.std()
    for full, pruned in zip(sparse.predict(X, return_std=True), small.predict(X, return_std=True), strict=True):
        assert np.max(np.abs(full - pruned)) < 0.01 * spread
    np.testing.assert_allclose(sparse.log_prob(X, y), small.log_prob(X, y), atol=0.02)
    assert small.posterior_.members[0].kept[0].shape == (report.kept[0],)
    assert sparse.posterior_.members[0].guide.widths == (3, 12, 6, 1), "pruning changed the original"


def test_pruning_everything_leaves_the_linear_path_or_the_constant(fitted, table):
    X, _ = table
    with pytest.warns(diagnostics.FitWarning, match="linear path"):
        linear = fitted.prune(threshold=1e6)
    assert linear.prune_report_[0].kept == (0,)
    prediction = linear.predict(X)
    coefficients = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), prediction, rcond=None)[0]
    np.testing.assert_allclose(np.column_stack([X, np.ones(len(X))]) @ coefficients, prediction, rtol=1e-9)
    assert np.ptp(prediction) > 0.1
    without = tiny(linear=False, training__num_steps=50).fit(*table)
    with pytest.warns(diagnostics.FitWarning, match="constant"):
        empty = without.prune(threshold=1e6)
    prediction = empty.predict(X)
    np.testing.assert_allclose(prediction, prediction[0])


def test_fine_tuning_moves_weight_means_only(sparse, table):
    tuned = sparse.prune(fine_tune_steps=200)
    still = sparse.prune()
    before, after = still.posterior_.members[0].guide, tuned.posterior_.members[0].guide
    for old, new in zip(before.layers, after.layers, strict=True):
        assert not np.array_equal(old.base_mean, new.base_mean)
        for a, b in zip(old.log_unit_scale_moments(), new.log_unit_scale_moments(), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(*(jax.jit(lambda layer: layer.entropy())(layer) for layer in (old, new)))
    np.testing.assert_array_equal(before.likelihood, after.likelihood)
    np.testing.assert_array_equal(before.output.log_sd, after.output.log_sd)
    assert np.isfinite(tuned.log_prob(*table)).all()


def test_fine_tuning_after_pickling_asks_for_the_rows(fitted, table):
    import pickle

    copy = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="prune"):
        copy.prune(fine_tune_steps=5)
    X, y = table[0][:40], table[1][:40]
    again = copy.prune(fine_tune_steps=5, X=X, y=y)
    copy._train_data, _ = prepare(X, y[:, None], standardizer=fitted.posterior_.standardizer)  # the fit's own units
    here = copy.prune(fine_tune_steps=5)
    np.testing.assert_allclose(again.predict(X), here.predict(X), rtol=1e-6)


@pytest.mark.parametrize("family", ["structured", "factorized"])
def test_weight_norms_are_those_of_the_mean_draw(table, family):
    model = tiny(family=family, prior__learn_layer_scale=True).fit(*table)
    member = model.posterior_.members[0]
    draws = np.concatenate([weight_block(member, (1, block)).hidden[0] for block in range(400)])
    error = np.sqrt((draws.var(0) / len(draws)).sum(0))
    sampled = np.linalg.norm(draws.mean(0), axis=0)
    assert np.all(np.abs(sampled - model.weight_norms_[0][0]) < 5 * error + 1e-6)


def test_collapse_is_noticed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    with pytest.warns(diagnostics.CollapseWarning, match="kl_warmup"):
        model = tiny(training__num_steps=3, training__learning_rate=1e-6).fit(X, y)
    assert model.is_collapsed_


def test_a_good_fit_is_not_called_collapsed(fitted):
    assert not fitted.is_collapsed_


def test_one_pass_gives_the_same_as_each_answer_alone(fitted, table):
    X, y = table
    found = fitted.posterior_.compare(X, y[:, None])
    mean, sd = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(found.mean[:, 0], mean)
    np.testing.assert_allclose(found.sd[:, 0], sd)
    np.testing.assert_allclose(found.log_density[:, 0], fitted.log_prob(X, y))
    np.testing.assert_allclose(found.cdf, fitted.posterior_.cdf(X, y[:, None]))


def test_predictions_that_are_no_numbers_are_a_collapse():
    targets, weights = np.arange(4.0)[:, None], np.ones(4)
    with pytest.warns(diagnostics.CollapseWarning):
        assert diagnostics.warn_if_collapsed(targets, np.full((4, 1), np.nan), weights, np.full((4, 1), np.nan))


def test_noise_learned_by_heart_is_a_collapse():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20)), rng.normal(size=60)
    with pytest.warns(diagnostics.CollapseWarning):
        model = tiny(training__num_steps=2000, training__kl_weight=0.02).fit(X, y)
    assert np.var(y - model.predict(X)) < 0.3
    assert model.is_collapsed_


def test_one_value_far_from_all_others_is_named(table):
    X, y = np.array(table[0]), table[1]
    X[7, 1] = 9999
    with pytest.warns(
        diagnostics.FitWarning, match=r"X, column 1: 9999 in 1 row\(s\) is far from all its other values"
    ):
        tiny(training__num_steps=5).fit(X, y)


def test_where_no_thread_can_start_rows_are_answered_one_chunk_after_the_other(monkeypatch):
    def no_room(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(cores, "num_cores", lambda: 2)
    monkeypatch.setattr("threading.Thread.start", no_room)
    assert cores.by_chunks(lambda rows: rows.start, 5, 2) == [0, 2, 4]


def test_what_an_answer_raises_is_not_taken_for_a_lack_of_threads(monkeypatch):
    def wrong(rows):
        raise RuntimeError("of the answer")

    monkeypatch.setattr(cores, "num_cores", lambda: 2)
    with pytest.raises(RuntimeError, match="of the answer"):
        cores.by_chunks(wrong, 5, 2)


def test_where_there_is_little_memory_no_thread_is_started(monkeypatch):
    monkeypatch.setattr(cores, "num_cores", lambda: 2)
    monkeypatch.setattr(cores, "THREAD_BYTES", 2**60)
    monkeypatch.setattr(cores, "_submitted", lambda *_: pytest.fail("a thread was asked for"))
    assert cores.by_chunks(lambda rows: rows.start, 5, 2) == [0, 2, 4]


def test_products_are_not_begun_where_memory_is_too_short_for_them(monkeypatch):
    monkeypatch.setattr(cores, "BLAS_BYTES", 2**60)
    cores._take_blas_memory.cache_clear()
    with pytest.raises(MemoryError, match="for products of matrices"):
        cores.by_chunks(lambda rows: rows, 3, 2)
