"""Settings objects: nested names, values that are never shared by accident, checks in sentences, files."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from pritchel import (
    AdaptiveNoise,
    Family,
    Gaussian,
    Horseshoe,
    HorseshoeClassifier,
    HorseshoeRegressor,
    RegularizedHorseshoe,
    StudentT,
    Training,
)
from pritchel.estimators.saved_settings import pack_settings, unpack_settings
from pritchel.infer.options import Options
from pritchel.serial import FileError


def test_constructors_have_about_fifteen_arguments_each_with_a_name():
    for kind in (HorseshoeRegressor, HorseshoeClassifier):
        parameters = list(inspect.signature(kind).parameters.values())
        assert 14 <= len(parameters) <= 19
        assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters)
        assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)


def test_nested_names_reach_into_objects_and_into_what_a_name_stands_for():
    model = HorseshoeRegressor(likelihood="student_t")
    model.set_params(prior__layer_scale=1e-3, training__num_steps=7, family__rank=2, likelihood__dof=3.0)
    assert model.prior == RegularizedHorseshoe(layer_scale=1e-3)
    assert model.training == Training(num_steps=7)
    assert model.family == Family("structured", rank=2)
    assert model.likelihood == StudentT(dof=3.0)
    assert model.get_params()["prior__layer_scale"] == 1e-3
    assert HorseshoeRegressor().get_params()["training__num_steps"] == "auto"
    assert "likelihood__dof" not in HorseshoeRegressor().get_params()


def test_a_whole_object_and_a_setting_inside_it_at_once():
    model = HorseshoeRegressor().set_params(prior__layer_scale=0.1, prior=Horseshoe(unit_scale=2.0))
    assert model.prior == Horseshoe(unit_scale=2.0, layer_scale=0.1)


def test_objects_are_never_changed_in_place():
    shared = Training(num_steps=7)
    first, second = HorseshoeRegressor(training=shared), HorseshoeRegressor(training=shared)
    first.set_params(training__num_steps=9)
    assert (shared.num_steps, second.training.num_steps, first.training.num_steps) == (7, 7, 9)
    copied = clone(first)
    copied.set_params(training__batch_size=3)
    assert first.training.batch_size == "auto"
    for again in (pickle.loads(pickle.dumps(shared)), copy.deepcopy(shared)):
        assert again == shared
    with pytest.raises(AttributeError):
        shared.num_steps = 8  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_printed_could_be_typed():
    assert repr(Training(num_steps=7)) == "Training(num_steps=7)"
    assert repr(RegularizedHorseshoe()) == "RegularizedHorseshoe()"
    model = HorseshoeRegressor(prior=Horseshoe(layer_scale=0.1), training=Training(num_steps=7))
    assert eval(" ".join(repr(model).split())).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training__steps": 5}, "Training has no setting steps; it has num_steps"),
        ({"prior__slab": (1, 1), "prior": "gaussian"}, "GaussianPrior has no setting slab; it has none"),
        ({"hidden__width": 5}, "has no settings to change"),
        ({"learning_rate": 5}, "has no argument 'learning_rate'; it has .*training"),
    ],
)
def test_wrong_names_are_answered_with_the_right_ones(change, message):
    with pytest.raises(ValueError, match=message):
        HorseshoeRegressor().set_params(**change)


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("prior", Gaussian(), r"prior must be one of .*or one of GaussianPrior, .*; got Gaussian\(\)"),
        ("likelihood", "categorical", "likelihood must be one of 'auto', 'gaussian'"),
        ("likelihood", Horseshoe(), r"likelihood must be one of .*got Horseshoe\(\)"),
        ("likelihood", StudentT(dof=1), "dof must be a number above 1; got 1"),
        ("likelihood", StudentT(noise_prior=(1, 0)), "each entry of noise_prior must be a number above 0; got 0"),
        ("training", {"num_steps": 5}, r"training must be a Training, as in Training\(num_steps=2000\)"),
        ("family", 3, "family must be a name .* or a Family; got 3"),
        ("linear", "yes", "linear must be True or False; got 'yes'"),
        ("num_members", 0, "num_members must be a whole number of at least 1"),
    ],
)
def test_wrong_values_are_answered_in_a_sentence(argument, value, message):
    with pytest.raises(ValueError, match=message):
        HorseshoeRegressor(**{argument: value}).options()


def test_a_classifier_answers_for_its_own_arguments():
    with pytest.raises(ValueError, match=r"label_noise must be a number at least 0 and at most 0.9; got 1"):
        HorseshoeClassifier(label_noise=1).options()


def test_options_are_made_of_names_and_objects_alike():
    by_name = HorseshoeRegressor(hidden=5).options()
    in_full = HorseshoeRegressor(
        hidden=(5,), prior=RegularizedHorseshoe(), likelihood=AdaptiveNoise(), family=Family(), training=Training()
    ).options()
    assert isinstance(by_name, Options)
    assert by_name.fit_settings(100) == in_full.fit_settings(100)
    assert (by_name.hidden, by_name.family, by_name.likelihood) == (in_full.hidden, in_full.family, in_full.likelihood)


def test_the_paper_is_one_call():
    paper = HorseshoeRegressor.paper(prior="horseshoe", training__num_steps=50)
    assert paper.prior == Horseshoe(learn_layer_scale=True)
    assert paper.likelihood == Gaussian(noise_prior=(6.0, 6.0))
    assert (paper.training.num_steps, paper.training.schedule) == (50, "constant")
    assert HorseshoeRegressor.paper(prior=Horseshoe()).prior == Horseshoe()
    assert HorseshoeRegressor.paper(prior="gaussian").options()
    assert HorseshoeClassifier.paper(label_noise=0.1).options().likelihood.label_noise == 0.1
    assert HorseshoeRegressor.fast(training__batch_size=3).training == Training(num_steps=2000, batch_size=3)


def test_settings_come_back_from_json():
    models = (
        HorseshoeRegressor.paper(likelihood=StudentT(dof=3.0), prior__unit_scale=(1.0,)),
        HorseshoeRegressor(family=Family("tied"), hidden=(3, 4), random_state=np.int64(3)),
        HorseshoeClassifier(class_weight={1: 2.0, 2: 0.5}, prior="gaussian"),
    )
    for model in models:
        again = type(model)(**unpack_settings(pack_settings(model)))
        assert again.get_params(deep=False) == model.get_params(deep=False)


def test_a_file_may_not_set_what_no_file_sets():
    """Such as a folder in which a later fit would write."""
    packed = pack_settings(HorseshoeRegressor())
    assert "checkpoint" not in packed
    with pytest.raises(FileError, match="it sets checkpoint"):
        unpack_settings(packed | {"checkpoint": "somewhere"})


def test_arrays_among_the_settings_are_printed_and_copied():
    prior = RegularizedHorseshoe(layer_scale=np.asarray([1e-5, 1e-4]))
    assert (
        repr(clone(HorseshoeRegressor(prior=prior)).prior)
        == "RegularizedHorseshoe(layer_scale=array([1.e-05, 1.e-04]))"
    )
