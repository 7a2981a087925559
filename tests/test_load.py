"""`pritchel.load` finds out by itself what a folder holds."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

import pritchel
from pritchel import DynamicsModel, FileError, HorseshoeClassifier, HorseshoeRegressor, TableModel
from pritchel.folder import spec_digest
from tests.conftest import tiny
from tests.test_cli import run


@pytest.fixture(scope="module")
def dynamics():
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (80, 2)), rng.integers(0, 3, 80)
    after = states + 0.1 * np.column_stack([states[:, 1], actions - 1.0])
    estimator = tiny(training__batch_size=32)
    model = DynamicsModel(num_actions=3, angles=(-2,), estimator=estimator).fit(states, actions, after)
    return model, states, actions


def test_dynamics_come_back_to_the_bit(dynamics, tmp_path):
    model, states, actions = dynamics
    model.save(tmp_path / "m")
    for loaded in (DynamicsModel.load(tmp_path / "m"), pritchel.load(tmp_path / "m")):
        assert isinstance(loaded, DynamicsModel)
        np.testing.assert_array_equal(loaded.predict(states, actions), model.predict(states, actions))
        first, second = (each.rollout(states[:3], np.zeros((3, 4))) for each in (loaded, model))
        np.testing.assert_array_equal(first, second)
    smaller = model.prune()
    smaller.save(tmp_path / "m", overwrite=True)
    again = pritchel.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(states, actions), smaller.predict(states, actions))
    with pytest.raises(TypeError, match="holds a DynamicsModel, not a HorseshoeRegressor"):
        HorseshoeRegressor.load(tmp_path / "m")


def test_samples_are_the_last_axis_and_the_draws_own(dynamics):
    model, states, actions = dynamics
    samples = model.sample_functions(states, actions, n_samples=5, random_state=3)
    assert samples.shape == (80, 2, 5)
    from pritchel.estimators.dynamics_draws import step

    draws = model.draw(n_samples=5, random_state=3)
    np.testing.assert_allclose(samples[..., 2], step(draws[2], states, actions), atol=1e-4)


@pytest.mark.parametrize("change", [{"angles": [5]}, {"num_actions": 2}, {"num_features": 3}, {"num_actions": "many"}])
def test_dynamics_that_do_not_fit_their_network_are_refused(dynamics, tmp_path, change):
    with pytest.raises(FileError):
        pritchel.load(respecified(dynamics[0].save(tmp_path / "m"), lambda spec: spec["extra"].update(change)))


def test_estimators_and_tables(fitted, table, tmp_path):
    X, _ = table
    fitted.save(tmp_path / "arrays")
    loaded = pritchel.load(tmp_path / "arrays")
    assert isinstance(loaded, HorseshoeRegressor)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=table[1])
    brief = tiny(training__num_steps=30)
    model = TableModel(brief, holdout=0).fit(frame, "y")
    model.save(tmp_path / "table")
    again = pritchel.load(tmp_path / "table")
    assert isinstance(again, TableModel)
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame))


def test_nothing_there_is_said(tmp_path):
    with pytest.raises(FileError, match="no such folder"):
        pritchel.load(tmp_path / "nowhere")


def respecified(path, change):
    """The folder with a spec that was changed by somebody who knows how to sign it."""
    spec = json.loads((path / "spec.json").read_text())
    change(spec)
    spec["spec_sha256"] = spec_digest(spec)
    (path / "spec.json").write_text(json.dumps(spec))
    return path


def _of_another_kind(spec):
    del spec["settings"]["likelihood"]
    spec["estimator"] = spec["kind"] = "HorseshoeClassifier"


def _another_likelihood(spec):
    spec["settings"]["likelihood"] = "poisson"


def _another_prior(spec):
    spec["settings"]["prior"] = "gaussian"


@pytest.mark.parametrize("change", [_of_another_kind, _another_likelihood, _another_prior])
def test_settings_that_are_not_those_of_the_network_are_refused(fitted, tmp_path, change):
    with pytest.raises(FileError, match=r"(likelihood|prior) is not the one"):
        pritchel.load(respecified(fitted.save(tmp_path / "m"), change))


@pytest.mark.parametrize("change", [{"likelihood": "poisson"}, {"prior": "horseshoe"}])
def test_settings_changed_after_the_fit_are_not_saved(fitted, tmp_path, change):
    """Such a folder could not be loaded again."""
    with pytest.raises(ValueError, match="was changed after the fit"):
        copy.copy(fitted).set_params(**change).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("labels", [["b", "a"], ["a", "a"], [["a"], ["b"]], ["a", "b", "c"]])
def test_labels_that_no_fit_can_have_learned_are_refused(tmp_path, labels):
    X = np.linspace(-1, 1, 20)[:, None]
    model = tiny(HorseshoeClassifier, training__num_steps=20).fit(X, np.where(X[:, 0] > 0, "b", "a"))
    folder = respecified(model.save(tmp_path / "m"), lambda spec: spec["fitted"].update(classes=labels))
    with pytest.raises(FileError, match="labels"):
        pritchel.load(folder)


def test_a_target_may_have_another_name_where_it_is_scored(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    tiny(training__num_steps=50, num_draws=10).fit(X, X[:, 0]).save(tmp_path / "m")
    frame = pd.DataFrame({"x1": X[:, 0], "x2": X[:, 1], "price": X[:, 0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ("evaluate", tmp_path / "m", tmp_path / "t.csv", "--json")
    assert "'y'" in run(*words, code=2).stderr
    found = json.loads(run(*words, "--target", "price").output)["scores"][0]
    own = pritchel.load(tmp_path / "m").evaluate(X, X[:, 0]).scores[0]
    assert (found["target"], found["rmse"]) == ("price", pytest.approx(own.rmse))
    assert "--target names 'x1', which is an input" in run(*words, "--target", "x1", code=2).stderr
    assert "must name 1 column(s), for y; got 2" in run(*words, "-t", "price", "-t", "x3", code=2).stderr
