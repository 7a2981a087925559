import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pritchel import (
    CollapseWarning,
    Horseshoe,
    HorseshoeClassifier,
    HorseshoeRegressor,
    RegularizedHorseshoe,
    Training,
)
from pritchel.infer.options import default_steps
from pritchel.posterior.diagnostics import FitWarning
from tests.conftest import tiny


@parametrize_with_checks(
    [
        HorseshoeRegressor(
            hidden=(4,),
            likelihood="gaussian",
            family="factorized",  # quick to compile, for each of many shapes
            training=Training(num_steps=300, learning_rate=0.05),
            inference="variational",
            num_members=1,
            num_draws=25,
            progress=False,
        )
    ]
)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit noise and tiny tables, which we warn about
        check(estimator)


def test_learned_attributes_are_numpy(fitted):
    assert fitted.units_kept_.shape == (1, 1)
    assert fitted.elbo_.shape == (1, 400)
    assert fitted.unit_scales_[0][0].shape == fitted.weight_norms_[0][0].shape == (8,)
    import jax

    leaves = jax.tree.leaves([tuple(member[:2]) for member in fitted.posterior_.members])
    assert not any(isinstance(leaf, jax.Array) for leaf in leaves)


def test_pickle_and_clone(fitted, table):
    X, _ = table
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert not hasattr(clone(fitted), "posterior_")
    assert len(pickle.dumps(fitted)) < 50_000, "draws or training rows went into the pickle"


def test_same_state_same_numbers_other_state_other_numbers(fitted, table):
    again = tiny().fit(*table)
    np.testing.assert_array_equal(again.predict(table[0]), fitted.predict(table[0]))
    other = tiny(random_state=1).fit(*table)
    assert not np.array_equal(other.predict(table[0]), fitted.predict(table[0]))


def test_pipeline_and_grid_search(table):
    pipeline = make_pipeline(StandardScaler(), tiny())
    search = GridSearchCV(pipeline, {"horseshoeregressor__prior__layer_scale": [1e-5, 1e-2]}, cv=2, error_score="raise")
    search.fit(*table)
    assert search.best_score_ > 0.5


def test_frames(table):
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    plain = tiny(training__num_steps=30).fit(X, y).predict(X)
    from_pandas = tiny(training__num_steps=30).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(from_pandas.predict(frame), plain)
    assert list(from_pandas.feature_names_in_) == ["a", "b", "c"]
    from_polars = tiny(training__num_steps=30).fit(pl.DataFrame(frame.to_dict("list")), pl.Series(y))
    np.testing.assert_array_equal(from_polars.predict(pl.DataFrame(frame.to_dict("list"))), plain)
    with pytest.raises(ValueError, match="feature names"):
        from_pandas.predict(frame[["a", "c", "b"]])


def test_several_targets(table):
    X, y = table
    Y = np.column_stack([y, 100 - 5 * y])
    model = tiny().fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    assert model.predict_quantiles(X, [0.1, 0.9]).shape == (60, 2, 2)
    assert model.predict_interval(X).shape == (60, 2, 2)
    assert model.sample_y(X, 3).shape == (60, 2, 3)
    assert model.log_prob(X, Y).shape == (60,)
    assert model.score(X, Y) > 0.8
    sd = model.predict_uncertainty(X).aleatoric
    assert 3 < np.median(sd[:, 1] / sd[:, 0]) < 8, "each target has noise of its own, in its own units"
    one_column = tiny().fit(X, Y[:, :1])
    assert one_column.predict(X).shape == (60, 1)


def test_answers_are_in_the_units_of_y(fitted, table):
    X, y = table
    scaled = tiny().fit(X * 7 - 3, 1000 * y + 5)
    np.testing.assert_allclose(scaled.predict(X * 7 - 3), 1000 * fitted.predict(X) + 5, rtol=1e-3)
    np.testing.assert_allclose(
        scaled.log_prob(X * 7 - 3, 1000 * y + 5), fitted.log_prob(X, y) - np.log(1000), atol=0.02
    )


def test_members_are_mixed(table):
    X, y = table
    mixed = tiny(num_members=2).fit(X, y)
    assert mixed.units_kept_.shape == (2, 1)
    assert mixed.elbo_.shape == (2, 400)
    alone = tiny().fit(X, y)
    first, only = mixed.posterior_.members[0].guide, alone.posterior_.members[0].guide
    np.testing.assert_array_equal(first.output.mean, only.output.mean)
    assert np.isfinite(mixed.prune().log_prob(X, y)).all()
    assert len(mixed.prune().prune_report_) == 2


def test_paper_settings():
    params = HorseshoeRegressor.paper(hidden=(500,)).get_params()
    wanted = {
        "hidden": (500,),
        "prior": RegularizedHorseshoe(learn_layer_scale=True),
        "family": "structured",
        "training__learning_rate": 0.005,
        "training__schedule": "constant",
        "training__batch_size": 128,
        "prior__layer_scale": 1e-5,
        "prior__unit_scale": 1.0,
        "prior__slab": (2.0, 6.0),
        "likelihood__noise_prior": (6.0, 6.0),
        "prior__output_scale": 5.0,
        "family__unit_norm": True,
        "training__kl_warmup": 0.0,
        "prior__half_cauchy": "auxiliary",
        "training__objective": "sampled",
        "linear": False,
        "prior__learn_layer_scale": True,
        "training__drop_dead_units": False,
        "num_members": 1,
    }
    assert {name: params[name] for name in wanted} == wanted


def test_input_limit_and_kl_weight_reach_the_fit(table, fitted):
    X, y = table
    limited = tiny(training__num_steps=1, input_limit=1.5).fit(X, y)
    scaled = limited.posterior_.standardizer.scale_inputs(X)
    np.testing.assert_allclose(np.abs(scaled).max(0), 1.5)
    cold = tiny(training__kl_weight=0.1).fit(X, y)
    assert cold.units_kept_.sum() >= fitted.units_kept_.sum()
    assert not np.array_equal(cold.predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    "change",
    [
        {"prior": "horseshoe", "family__rank": 3},
        {"prior": "gaussian", "family": "factorized"},
        {"activation": "tanh", "linear": False},
        {"family__unit_norm": False, "prior__half_cauchy": "exact"},
        {"prior__slab_sharing": "unit", "hidden": (4, 3), "prior__layer_scale": (1e-5, 1e-3)},
        {"training__early_stopping": True, "training__patience": 1},
        {"training__objective": "sampled", "family": "tied"},
        {"training__num_steps": "auto", "training__batch_size": "auto", "training__learning_rate": 0.02},
    ],
    ids=lambda change: "-".join(map(str, change)),
)
def test_options_fit_and_predict(table, change):
    X, y = table
    model = tiny(**{"training__num_steps": 50} | change).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.log_prob(X, y)).all()


def test_a_linear_table_needs_no_hidden_unit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=100)
    assert tiny(training__num_steps=1500).fit(X, y).units_kept_.tolist() == [[0]]
    assert tiny(training__num_steps=1500, linear=False).fit(X, y).units_kept_[0, 0] > 0


def test_steps_grow_with_the_table():
    assert default_steps(100) == default_steps(10_000) == (8000, 128)
    assert default_steps(41_157) == (16_000, 256)
    assert default_steps(10_000_000) == (32_000, 256)


def test_gaussian_prior_has_nothing_to_prune(table):
    model = tiny(training__num_steps=5, prior="gaussian").fit(*table)
    with pytest.raises(ValueError, match="regularized_horseshoe"):
        model.prune()


def test_warm_start_goes_on(table):
    X, y = table
    model = tiny(training__num_steps=100, warm_start=True)
    first = model.fit(X, y).elbo_[0, -20:].mean()
    second = model.fit(X, y).elbo_[0]
    assert second[:20].mean() > first - 0.2 * abs(first), "the second fit did not start where the first ended"
    before = model.posterior_.standardizer
    model.fit(X[:30] * 2, y[:30] - 50)
    assert model.posterior_.standardizer is before, "weights learned in one unit must not be read in another"
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"hidden\) = \(3, 1, 1, \(8,\)\); this one has \(3, 1, 1, \(9,\)\)"):
        model.set_params(hidden=(9,)).fit(X, y)
    for change in ({"prior": "horseshoe"}, {"likelihood": "student_t"}, {"linear": False}, {"activation": "tanh"}):
        with pytest.raises(ValueError, match="warm_start goes on with the prior"):
            model.set_params(**{"hidden": (8,), "prior": "regularized_horseshoe", "likelihood": "gaussian",
                                "linear": True, "activation": "relu"} | change).fit(X, y)  # fmt: skip


def test_one_job_runs_members_one_after_the_other(table, monkeypatch):
    from pritchel.infer import trials

    def no_pool(*_):
        raise AssertionError("n_jobs=1 must not start threads")

    monkeypatch.setattr(trials, "ThreadPoolExecutor", no_pool)
    tiny(num_members=2, n_jobs=1, training__num_steps=5).fit(*table)
    with pytest.raises(AssertionError, match="n_jobs=1"):
        tiny(num_members=2, n_jobs=2, training__num_steps=5).fit(*table)


def test_interrupted_fit_is_usable(table, monkeypatch):
    from pritchel.infer import feed

    monkeypatch.setattr(feed, "MAX_CHUNK_STEPS", 50)

    def press_ctrl_c(progress):
        if progress.step >= 100:
            raise KeyboardInterrupt

    model = tiny(progress=press_ctrl_c)
    with pytest.warns(FitWarning, match="warm_start"):
        model.fit(*table)
    assert model.status_ == ["interrupted"]
    assert np.isfinite(model.predict(table[0])).all()


def test_a_member_that_had_hardly_begun_is_not_mixed_in(table, monkeypatch):
    from pritchel.infer import feed

    monkeypatch.setattr(feed, "MAX_CHUNK_STEPS", 50)

    def press_ctrl_c(progress):
        if progress.trial == 1:
            raise KeyboardInterrupt

    with pytest.warns(FitWarning, match="1 of 2 member"):
        model = tiny(num_members=2, n_jobs=1, progress=press_ctrl_c).fit(*table)
    assert model.status_ == ["finished"]
    assert len(model.posterior_.members) == 1


def test_weights_count_rows(table):
    X, y = table
    doubled = tiny(training__num_steps=50).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    weighted = tiny(training__num_steps=50).fit(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_array_equal(doubled.predict(X), weighted.predict(X))


def test_prior_predictive(fitted, table):
    X, _ = table
    slabbed = HorseshoeRegressor(hidden=(20,), prior=RegularizedHorseshoe(layer_scale=1.0))
    before = slabbed.prior_predictive(X, 5, random_state=1)
    assert before.shape == (60, 5)
    slabless = HorseshoeRegressor(hidden=(20,), prior=Horseshoe(layer_scale=1.0))
    matched = slabless.prior_predictive(X, 5, random_state=1)
    assert np.all(matched.std(0) >= before.std(0)), "the slab only ever shrinks the matched horseshoe draw"
    assert fitted.prior_predictive(X, 3, include_noise=True).shape == (60, 3)
    changed = copy.copy(fitted).set_params(hidden=(4, 4))
    np.testing.assert_array_equal(changed.prior_predictive(X, 3), fitted.prior_predictive(X, 3))


X_GOOD = np.random.default_rng(0).normal(size=(12, 2))
Y_GOOD = X_GOOD[:, 0]


def spoiled(value):
    X = X_GOOD.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (spoiled(np.nan), Y_GOOD, r"row 3, column 1 of X"),
        (spoiled(np.inf), Y_GOOD, r"infinity[\s\S]*row 3, column 1"),
        (pd.DataFrame(spoiled(np.nan), columns=["age", "dose"]), Y_GOOD, r"column 'dose'"),
        (pd.DataFrame({"age": range(12), "city": ["x"] * 12}), Y_GOOD, r"column 'city' is 'x'[\s\S]*OneHotEncoder"),
        (X_GOOD, np.where(np.arange(12) == 5, np.nan, Y_GOOD), r"row 5 of y"),
        (X_GOOD, Y_GOOD[:5], r"inconsistent numbers of samples"),
        (X_GOOD, [], r"0 sample"),
        (X_GOOD[:1], Y_GOOD[:1], r"minimum of 2"),
        (X_GOOD[:, :0], Y_GOOD, r"0 feature"),
        (X_GOOD[0], Y_GOOD, r"Expected 2D array"),
        (X_GOOD, ["a"] * 12, r"a"),
    ],
)
def test_bad_tables(X, y, message):
    with pytest.raises(ValueError, match=message):
        tiny().fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": (50, 0)}, r"hidden must be .*positive integers.*\(50, 0\).*Drop"),
        ({"hidden": ()}, r"hidden"),
        (
            {"family": "full"},
            r"family must be one of 'factorized', .*'structured', 'tied', .*; got 'full'",
        ),
        ({"prior": "laplace"}, r"prior must be one of"),
        ({"activation": "step"}, r"activation must be one of 'swish', 'relu', 'tanh'"),
        ({"family__rank": 0}, r"rank must be a whole number of at least 1; got 0"),
        ({"training__num_steps": 2.5}, r"num_steps"),
        ({"training__learning_rate": -1}, r"learning_rate must be a number above 0; got -1"),
        ({"training__kl_warmup": 2}, r"kl_warmup must be a number at least 0 and at most 1"),
        ({"training__kl_weight": 0}, r"kl_weight must be a number above 0; got 0"),
        ({"input_limit": 0.5}, r"input_limit must be a number at least 1; got 0.5"),
        ({"likelihood__noise_prior": 6}, r"noise_prior must be a pair"),
        ({"prior__slab": (2, -1)}, r"each entry of slab"),
        ({"prior__layer_scale": (1e-5, 1e-5)}, r"one for each of the 1 hidden layers; got 2"),
        ({"training__early_stopping": True, "training__validation_fraction": 0.9}, r"leave 1"),
    ],
)
def test_bad_options(change, message):
    with pytest.raises(ValueError, match=message):
        tiny(**change).fit(X_GOOD, Y_GOOD)


def test_bad_questions(fitted, table):
    X, y = table
    for call, message in [
        (lambda: fitted.predict(np.column_stack([X, X])), "3 features"),
        (lambda: fitted.predict_quantiles(X, [0.5, 1.0]), "strictly between 0 and 1"),
        (lambda: fitted.predict_interval(X, 90), "0.9"),
        (lambda: fitted.sample_y(X, 0), "n_samples"),
        (lambda: fitted.log_prob(X, y[:5]), "60 rows and 1 target"),
        (lambda: fitted.prune(probability=2), "probability"),
        (lambda: fitted.predict(spoiled(np.nan)[:, [0, 1, 1]]), "row 3, column 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_constant_target_and_constant_columns():
    X = np.column_stack([X_GOOD, np.full(12, 4.2)])
    constant = tiny().fit(X, np.full(12, 3.0))
    np.testing.assert_allclose(constant.predict(X), 3.0, atol=0.2)
    assert not constant.is_collapsed_
    assert tiny().fit(X, Y_GOOD).score(X, Y_GOOD) > 0.9


def test_import_is_light():
    code = "import sys, pritchel; sys.exit(any(name in sys.modules for name in ('jax', 'sklearn', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_warnings_point_at_the_line_that_fits(table):
    with pytest.warns(CollapseWarning) as caught:
        tiny(training__num_steps=1, training__learning_rate=1e-9).fit(*table)
    assert caught[0].filename == __file__


def test_a_fit_that_diverges_is_begun_anew_more_slowly(table, monkeypatch):
    from pritchel.estimators import variational

    rates, real = [], variational.fit_members

    def first_diverges(data, options, *arguments, **named):
        rates.append(options.training.learning_rate)
        fits = real(data, options, *arguments, **named)
        is_first = len(rates) == 1
        return [fit._replace(result=fit.result._replace(status="diverged")) for fit in fits] if is_first else fits

    monkeypatch.setattr(variational, "fit_members", first_diverges)
    with pytest.warns(FitWarning, match="diverged and was begun anew with learning_rate=0.0025"):
        tiny(training__num_steps=5, training__learning_rate=0.01).fit(*table)
    assert rates == [0.01, 0.0025]


def test_a_fit_that_fails_leaves_what_was_there(table):
    X, y = table
    model = tiny(HorseshoeClassifier, training__num_steps=20)
    with pytest.raises(ValueError, match="two rows with a positive weight"):
        model.fit(X, y > np.median(y), sample_weight=np.eye(len(y))[0])
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.fit(X, np.where(y > np.median(y), "yes", "no")).predict(X)
    with pytest.raises(ValueError, match="two rows with a positive weight"):
        model.fit(X[:, :1], np.where(y > np.median(y), "left", "right"), sample_weight=np.eye(len(y))[0])
    np.testing.assert_array_equal(model.predict(X), before)
