import jax
import numpy as np
import pytest

from pritchel.data.dataset import Dataset, prepare
from pritchel.guide import Family
from pritchel.guide.network import start_guide
from pritchel.infer import feed as feeding
from pritchel.infer import stopping
from pritchel.infer.feed import Feed
from pritchel.infer.run import fit
from pritchel.infer.step import run_chunk
from pritchel.infer.trial import FitSettings, Trial
from pritchel.infer.trials import fit_trials
from pritchel.model.network import Model
from pritchel.model.priors.regularized_horseshoe import RegularizedHorseshoe
from tests.conftest import gaussian

SETTINGS = FitSettings(num_steps=60, batch_size=16, learning_rate=0.03)


def make_trial(seed: int, num_rows: int = 40, layer_scale: float = 1e-5) -> Trial:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows, 2))
    data, _ = prepare(X, np.sin(X[:, :1]) + 0.1 * rng.normal(size=(num_rows, 1)))
    model = Model(
        RegularizedHorseshoe(layer_scale=layer_scale).build(1),
        gaussian((0.1, 0.01), num_rows),
        "relu",
    )
    return Trial(model, start_guide(model, (4,), Family(), 2, 1, rng), data, (seed, 1))


def feed_of(trial: Trial, settings: FitSettings) -> Feed:
    return Feed(trial, settings, trial.guide)


def ctrl_c_at(step: int):
    """A progress callback that interrupts a fit there."""

    def press(progress):
        if progress.step == step:
            raise KeyboardInterrupt

    return press


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("objective", ["moments", "sampled"])
def test_a_trial_gives_the_same_numbers_alone_and_in_company(objective):
    settings = SETTINGS._replace(objective=objective)
    trials = [make_trial(0), make_trial(1), make_trial(2, num_rows=35)]
    together = fit_trials(trials, settings, n_jobs=2)
    for trial, result in zip(trials, together, strict=True):
        alone = fit(trial, settings)
        assert same(alone.guide, result.guide)
        assert same(alone.history, result.history)
    assert not same(together[0].guide, together[1].guide)


def test_fit_raises_the_bound():
    result = fit(make_trial(0), SETTINGS._replace(num_steps=400, kl_warmup=0.0))
    assert result.history.total[-20:].mean() > result.history.total[:20].mean() + 20
    assert result.status == "finished"
    assert result.num_skipped == 0
    assert len(result.history.total) == 400


def test_ten_folds_compile_once():
    """Folds differ in rows, seeds and hyper-parameters; none of these may enter the compiled program's shape."""
    fit(make_trial(0), SETTINGS)
    before = run_chunk._cache_size()
    for fold in range(10):
        fit(make_trial(fold, num_rows=40 + fold % 3, layer_scale=10.0**-fold), SETTINGS._replace(num_steps=20 + fold))
    assert run_chunk._cache_size() == before


def test_steps_that_are_not_finite_change_nothing_and_are_counted():
    trial = make_trial(0)
    broken = trial.data._replace(targets=np.where(np.arange(40)[:, None] == 3, np.float32(np.inf), trial.data.targets))
    result = fit(trial._replace(data=broken), SETTINGS._replace(batch_size=8))
    assert 0 < result.num_skipped < 60
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result.guide))


def test_a_fit_with_no_finite_step_says_so():
    trial = make_trial(0)
    broken = trial.data._replace(targets=np.full_like(trial.data.targets, np.nan))
    result = fit(trial._replace(data=broken), SETTINGS)
    assert result.status == "diverged"
    assert same(result.guide, jax.tree.map(np.asarray, trial.guide))


def test_interrupt_keeps_what_is_fitted(monkeypatch):
    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 10)

    result = fit(make_trial(0), SETTINGS, on_progress=ctrl_c_at(30))
    assert result.status == "interrupted"
    assert len(result.history.total) == 30
    assert not same(result.guide, make_trial(0).guide)


def test_an_interrupt_while_steps_are_computed_keeps_those_before(monkeypatch):
    """The optimizer's arrays have then been given away to the steps under way."""
    real, starts = Feed.chunk, []

    def chunk(feed, start):
        starts.append(start)
        if len(starts) == 3:  # made while the second chunk computes
            raise KeyboardInterrupt
        return real(feed, start)

    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 10)
    monkeypatch.setattr(Feed, "chunk", chunk)
    result = fit(make_trial(0), SETTINGS)
    assert result.status == "interrupted"
    assert len(result.history.likelihood) == 10


def test_chunk_length_does_not_change_the_result(monkeypatch):
    whole = fit(make_trial(0), SETTINGS)
    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 7)
    assert same(whole.guide, fit(make_trial(0), SETTINGS).guide)


def test_early_stopping_stops_and_keeps_the_best(monkeypatch):
    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 10)
    trial = make_trial(0)
    noise = Dataset(*(part[:10] for part in make_trial(5).data))
    trial = trial._replace(held_out=noise._replace(targets=-3 * noise.targets))
    settings = SETTINGS._replace(num_steps=500, patience=2, kl_warmup=0.0)
    result = fit(trial, settings)
    assert result.status == "stopped early"
    num_steps = len(result.history.total)
    assert num_steps < 500
    # The fit is the guide of two looks before it stopped: that of a run which never looked, cut short there.
    best = fit(trial._replace(held_out=None), settings, on_progress=ctrl_c_at(num_steps - 20))
    last = fit(trial._replace(held_out=None), settings, on_progress=ctrl_c_at(num_steps))
    assert same(result.guide, best.guide)
    assert not same(result.guide, last.guide)


def test_a_score_that_is_not_a_number_is_never_the_best(monkeypatch):
    scores = iter([np.nan, -2.0, -1.0, np.nan, np.nan])
    monkeypatch.setattr(stopping, "held_out_score", lambda *_: next(scores))
    trial = make_trial(0)
    judge = stopping.Judge(trial, trial.data, SETTINGS._replace(kl_warmup=0.0), 2, stopping.JudgeState())
    kept = tuple(np.arange(units) for units in trial.guide.widths[1:-1])
    stops = [judge.should_stop(trial.guide, kept, step) for step in range(5)]
    assert stops == [False, False, False, False, True]
    assert judge.state.best_score == -1.0


def test_every_row_is_seen_equally_often():
    trial = make_trial(0)._replace(
        data=Dataset(np.arange(40, dtype=np.float32)[:, None].repeat(2, 1), np.zeros((40, 1), np.float32), np.ones(40))
    )
    feed = feed_of(trial, SETTINGS._replace(num_steps=50))
    steps, num_filled = feed.chunk(0)
    assert num_filled == 50
    seen = np.bincount(steps.batch.inputs[:50, :, 0].astype(int).ravel(), minlength=40)
    assert set(seen) == {20}


def test_small_tables_are_used_whole_with_padding_of_weight_zero():
    trial = make_trial(0, num_rows=11)
    steps, _ = feed_of(trial, SETTINGS).chunk(0)
    assert steps.batch.weights.shape[1] == 16
    np.testing.assert_array_equal(steps.batch.weights[0], np.r_[np.ones(11), np.zeros(5)])


def test_schedules():
    feed = feed_of(make_trial(0), SETTINGS._replace(num_steps=100, learning_rate=0.02, kl_warmup=0.5))
    steps, _ = feed.chunk(0)
    np.testing.assert_allclose(steps.learning_rate[[0, 50]], [0.02, 0.01], rtol=1e-6)
    np.testing.assert_allclose(steps.kl_weight[[0, 25, 50, 99]], [0.03, 0.5, 1, 1], rtol=1e-6)
    constant, _ = feed_of(make_trial(0), SETTINGS._replace(schedule="constant", kl_warmup=0.0)).chunk(0)
    assert set(constant.learning_rate) == {np.float32(0.03)}
    assert set(constant.kl_weight) == {1.0}


def test_a_cold_posterior_is_that_of_rows_seen_more_often():
    """A quarter of the KL weight is four times every row: the loss is four times as large, which Adam does not see."""
    trial = make_trial(0)
    often = trial._replace(data=trial.data._replace(weights=4 * trial.data.weights))
    cold = fit(trial, SETTINGS._replace(kl_weight=0.25)).guide.output.mean
    np.testing.assert_allclose(cold, fit(often, SETTINGS).guide.output.mean, rtol=1e-3, atol=1e-5)
    assert np.abs(cold - fit(trial, SETTINGS).guide.output.mean).max() > 1e-3


@pytest.mark.slow
def test_objectives_end_at_the_same_bound():
    """Moments and sampling maximize one bound: fitted either way, it is the same within its sampling noise."""
    settings = SETTINGS._replace(num_steps=3000, learning_rate=0.02, batch_size=64)
    ends = [
        fit(make_trial(0), settings._replace(objective=objective)).history.total[-300:]
        for objective in ("moments", "sampled")
    ]
    assert abs(ends[0].mean() - ends[1].mean()) < 0.05 * abs(ends[1].mean())


def test_prepare_merges_equal_rows_whatever_their_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    weights = np.array([2, 1, 0, 3, 1, 1])
    order = rng.permutation(6)
    weighted = prepare(X[order], y[order], weights[order].astype(float))
    repeated = prepare(X.repeat(weights, 0), y.repeat(weights, 0))
    assert same(weighted, repeated)
    assert weighted[0].weights.sum() == 8
    assert len(weighted[0].inputs) == 5


def test_standardizer_leaves_constant_columns_alone():
    X = np.column_stack([np.full(5, 1e6 + 0.1), np.arange(5.0)])
    data, standardizer = prepare(X, np.full((5, 1), 3.0))
    np.testing.assert_allclose(data.inputs[:, 0], 0, atol=1e-9)
    assert standardizer.input_scale[0] == 1
    np.testing.assert_allclose(data.inputs[:, 1].std(), 1, rtol=1e-6)
    np.testing.assert_allclose(data.targets, 0, atol=1e-12)


def test_input_limit_stretches_only_columns_that_go_beyond_it():
    rare = np.zeros(400)
    rare[7] = 3.0
    X = np.column_stack([rare, np.random.default_rng(0).uniform(size=400)])
    plain, limited = (prepare(X, X[:, :1], input_limit=limit)[0].inputs for limit in (None, 5.0))
    assert plain[:, 0].max() > 19
    np.testing.assert_allclose(np.abs(limited).max(0), [5.0, np.abs(plain[:, 1]).max()], rtol=1e-6)
    np.testing.assert_allclose(limited[:, 1], plain[:, 1])


def test_average_is_the_running_mean_of_the_steps():
    """After one step the average has moved from the start by one part in a hundred of the step."""
    trial = make_trial(0)
    stepped = fit(trial, SETTINGS._replace(num_steps=1)).guide.output.mean
    average = fit(trial, SETTINGS._replace(num_steps=1, average=0.99)).guide.output.mean
    start = np.asarray(trial.guide.output.mean)
    np.testing.assert_allclose(average - start, 0.01 * (stepped - start), rtol=0.01, atol=1e-6)
    assert np.abs(stepped - start).max() > 0.01
