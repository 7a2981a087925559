"""From arrays to a posterior without an estimator: the same numbers, whoever asks."""

import numpy as np

from pritchel import Gaussian, Training
from pritchel.data.dataset import prepare
from pritchel.infer.members import fine_tune_members, fit_members
from pritchel.infer.options import Options
from pritchel.infer.trial import Execution
from pritchel.posterior.predict import Posterior
from tests.conftest import TINY


def options_of(**changes) -> Options:
    chosen = {
        "hidden": (8,),
        "prior": "regularized_horseshoe",
        "family": TINY["family"],
        "likelihood": Gaussian(),
        "activation": "swish",
        "linear": True,
        "training": Training(num_steps=TINY["training__num_steps"], learning_rate=TINY["training__learning_rate"]),
        "num_members": 1,
    }
    return Options.of(**chosen | changes)


def test_a_posterior_from_arrays_is_the_estimators(fitted, table):
    X, y = table
    data, standardizer = prepare(X, y[:, None])
    seed = fitted.posterior_.seed
    (fit,) = fit_members(data, options_of(), seed)
    posterior = Posterior([fit.member], standardizer, seed, fitted.num_draws)
    np.testing.assert_array_equal(posterior.mean_std(X)[0][:, 0], fitted.predict(X))
    np.testing.assert_array_equal(np.asarray(fit.result.history.total), fitted.elbo_[0])


def test_nothing_about_how_it_is_run_changes_the_outcome(table, tmp_path):
    X, y = table
    data, _ = prepare(X, y[:, None])
    options = options_of(num_members=2, training=Training(num_steps=40))
    alone = fit_members(data, options, 5)
    told = []
    watched = fit_members(data, options, 5, execution=Execution(2, told.append, tmp_path / "checkpoints"))
    for first, second in zip(alone, watched, strict=True):
        np.testing.assert_array_equal(first.member.guide.output.mean, second.member.guide.output.mean)
    assert {progress.trial for progress in told} == {0, 1}
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def test_going_on_starts_from_what_is_given(table):
    X, y = table
    data, _ = prepare(X, y[:, None])
    options = options_of(training=Training(num_steps=20))
    (first,) = fit_members(data, options, 5)
    (second,) = fit_members(data, options, 6, starts=[first.member])
    assert second.result.history.total[0] > first.result.history.total[0]
    (tuned,) = fine_tune_members([first.member], data, options, 5, 10)
    before, after = first.member.guide, tuned.member.guide
    np.testing.assert_array_equal(before.output.log_sd, after.output.log_sd)
    assert not np.array_equal(before.output.mean, after.output.mean)
