"""A width left open: layers that end nearly full are offered more units, and nothing else changes."""

import numpy as np
import pytest

from pritchel import HorseshoeClassifier, HorseshoeRegressor, Progress, load
from pritchel.cli.options import ESTIMATOR_OPTIONS
from pritchel.infer import options
from pritchel.posterior import diagnostics
from pritchel.posterior.diagnostics import FitWarning, full_layers
from tests.conftest import tiny

STEPS = 30
pytestmark = pytest.mark.filterwarnings("ignore:Nearly all units offered are in use")  # in the end, here


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, np.sin(X[:, 0])


@pytest.fixture
def cramped(monkeypatch):
    """Fits begin with four units in one layer, and any number in use is nearly full."""
    monkeypatch.setattr(options, "FIRST_OFFER", (4,))
    for name, value in {"FULL": 0.01, "FEW_UNITS": 1, "STEPS_TO_EMPTY": 1}.items():
        monkeypatch.setattr(diagnostics, name, value)


def auto(**settings):
    return tiny(hidden="auto", training__num_steps=STEPS, random_state=0, **settings)


def test_the_default_leaves_the_width_open():
    for kind in (HorseshoeRegressor, HorseshoeClassifier):
        assert kind().hidden == "auto"
        assert kind().options().hidden == (100, 100)
        assert kind().options().grows
    assert not HorseshoeRegressor(hidden=(100, 100)).options().grows
    with pytest.raises(ValueError, match="hidden must be 'auto' or positive integers"):
        HorseshoeRegressor(hidden="wide").options()


def test_the_command_line_takes_auto_and_numbers():
    (option,) = (option for option in ESTIMATOR_OPTIONS if option.name == "hidden")
    assert [option.parse(text) for text in ("auto", "20", "20,10")] == ["auto", 20, (20, 10)]


def test_a_layer_is_full_by_what_members_keep_on_average():
    kept = np.array([[90, 100], [80, 60]])
    assert full_layers(kept, (100, 100), 2000) == [0]
    assert full_layers(kept, (100, 100), 1999) == []
    assert full_layers(kept, (101, 94), 2000) == [1]
    assert full_layers(np.array([[49]]), (49,), 2000) == []
    assert full_layers(kept, (90, 80), 2000) == [0, 1]
    assert full_layers(kept, (90, 80), 2000, "swish") == [0]  # the second may be full of copies
    assert full_layers(kept[:, :1], (90,), 2000, "swish") == [0]


@pytest.mark.usefixtures("cramped")
def test_a_full_layer_is_offered_twice_the_units_and_steps_at_most_twice(table):
    model = auto(num_members=2).fit(*table)
    assert [member.offered for member in model.posterior_.members] == [(16,), (16,)]
    assert model.n_iter_ == 4 * STEPS
    given = tiny(hidden=(16,), training__num_steps=4 * STEPS, random_state=0, num_members=2).fit(*table)
    np.testing.assert_array_equal(model.predict(table[0]), given.predict(table[0]))
    assert tiny(hidden=(4,), training__num_steps=STEPS).fit(*table).posterior_.members[0].offered == (4,)


def test_with_room_in_every_layer_nothing_is_begun_anew(table, monkeypatch):
    monkeypatch.setattr(options, "FIRST_OFFER", (4,))
    model, given = auto().fit(*table), tiny(hidden=(4,), training__num_steps=STEPS, random_state=0).fit(*table)
    np.testing.assert_array_equal(model.predict(table[0]), given.predict(table[0]))


@pytest.mark.usefixtures("cramped")
def test_an_interrupt_of_the_wider_fit_leaves_the_narrower_one_whole(table):
    def stop(state: Progress) -> None:
        if state.num_steps > STEPS:
            raise KeyboardInterrupt

    with pytest.warns(FitWarning, match="Interrupted"):
        model = auto(progress=stop).fit(*table)
    assert model.is_interrupted_
    assert model.posterior_.members[0].offered == (4,)
    assert model.n_iter_ == STEPS


@pytest.mark.usefixtures("cramped")
def test_a_fit_that_ended_in_the_wider_stage_goes_on_to_the_same_bits(table, tmp_path):
    def stop(state: Progress) -> None:
        if state.num_steps == 2 * STEPS:
            raise KeyboardInterrupt

    whole = auto().fit(*table)
    with pytest.warns(FitWarning, match="Interrupted"):
        auto(progress=stop, checkpoint=tmp_path).fit(*table)
    told = []
    model = auto(progress=told.append, checkpoint=tmp_path).fit(*table)
    np.testing.assert_array_equal(model.predict(table[0]), whole.predict(table[0]))
    assert {state.num_steps for state in told if state.step < state.num_steps} <= {2 * STEPS, 4 * STEPS}


@pytest.mark.usefixtures("cramped")
def test_a_fit_that_has_grown_is_saved_and_goes_on(table, tmp_path):
    model = auto(warm_start=True).fit(*table)
    known = load(model.save(tmp_path / "m"))
    assert known.hidden == "auto"
    np.testing.assert_array_equal(known.predict(table[0]), model.predict(table[0]))
    assert model.fit(*table).posterior_.members[0].offered == (16,)
