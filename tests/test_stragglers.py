"""A member that is far behind the others is fitted anew, or left out; sound ones are left alone."""

import equinox as eqx
import numpy as np
import pytest
from scipy import stats

from pritchel import HorseshoeClassifier, HorseshoeRegressor
from pritchel.estimators import base, stragglers, variational
from pritchel.estimators.stragglers import _worth_of_own_rows
from pritchel.infer.members import MemberFit
from pritchel.model.joint import stacked_weights
from pritchel.model.network import forward
from pritchel.posterior.diagnostics import FitWarning
from tests.conftest import tiny

THREE = {"num_members": 3, "training__num_steps": 200, "num_draws": 30, "hidden": (4,)}


def table(num_rows=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, 2))
    return X, 3 * X[:, 0] - 2 * X[:, 1] + 0.05 * rng.normal(size=num_rows)


def ruined(fit: MemberFit, bound=-1e3) -> MemberFit:
    """The same with the linear path turned upside down, and another bound."""
    guide = eqx.tree_at(lambda guide: guide.linear.mean, fit.member.guide, replace_fn=np.negative)
    history = fit.result.history
    result = fit.result._replace(history=history._replace(likelihood=np.full_like(history.likelihood, bound)))
    return fit._replace(member=fit.member._replace(guide=guide), result=result)


def ruin(monkeypatch, is_ruined, bound=-1e3):
    """Have members with some numbers of random starts ruined; the numbers of every call."""
    real, calls = variational.fit_members, []

    def fit_members(data, options, seed, numbers=None, **rest):
        fits = real(data, options, seed, numbers=numbers, **rest)
        numbers = range(len(fits)) if numbers is None else numbers
        calls.append(list(numbers))
        return [ruined(fit, bound) if is_ruined(number) else fit for number, fit in zip(numbers, fits, strict=True)]

    monkeypatch.setattr(variational, "fit_members", fit_members)
    return calls


def test_members_of_a_sound_fit_are_left_alone(monkeypatch):
    calls = ruin(monkeypatch, lambda number: False)
    model = tiny(**THREE).fit(*table())
    assert calls == [[0, 1, 2]]
    assert model.num_left_out_ == 0
    assert not model.is_interrupted_


def test_one_that_has_not_learned_the_rows_by_heart_is_no_straggler(monkeypatch):
    """Its bound is higher than that of those which have."""
    calls = ruin(monkeypatch, lambda number: number == 1, bound=1e6)
    assert len(tiny(**THREE).fit(*table()).posterior_.members) == 3
    assert calls == [[0, 1, 2]]


def test_a_bad_member_is_fitted_anew(monkeypatch, tmp_path):
    X, y = table()
    calls = ruin(monkeypatch, lambda number: number == 1)
    with pytest.warns(FitWarning, match=r"number 2 ended far behind.*1 of 1 came up to the rest\.$"):
        model = tiny(**THREE, checkpoint=tmp_path).fit(X, y)
    assert calls == [[0, 1, 2], [4]]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"member-{n}.safetensors" for n in (1, 2, 3, 5)]
    assert len(model.posterior_.members) == 3
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.2
    monkeypatch.undo()
    other = tiny(**THREE).fit(X, y)
    same = [np.array_equal(a, b) for a, b in zip(model.elbo_, other.elbo_, strict=True)]
    assert same == [True, False, False]  # the third stands second now, and the new one last


def test_what_stays_bad_is_left_out_and_the_fit_is_whole(monkeypatch, tmp_path):
    ruin(monkeypatch, lambda number: number in (0, 3))
    with pytest.warns(FitWarning, match="number 1 .*0 of 1 came up to the rest; the mixture is of 2 instead of 3"):
        model = tiny(**THREE).fit(*table())
    assert (len(model.posterior_.members), model.num_left_out_, model.is_interrupted_) == (2, 1, False)
    model.save(tmp_path / "m")
    loaded = HorseshoeRegressor.load(tmp_path / "m")
    assert (loaded.num_left_out_, loaded.is_interrupted_) == (1, False)


def test_ctrl_c_in_the_new_fit_is_an_interrupt(monkeypatch):
    real = variational.fit_members

    def fit_members(data, options, seed, numbers=None, **rest):
        if numbers is not None:
            raise KeyboardInterrupt
        first, *others = real(data, options, seed, **rest)
        return [ruined(first), *others]

    monkeypatch.setattr(variational, "fit_members", fit_members)
    assert tiny(**THREE).fit(*table()).is_interrupted_


def test_a_chain_that_is_stuck_is_left_out(monkeypatch):
    real = base.sample_members

    def sample_members(members, *rest):
        (member, chain), *others = real(members, *rest)
        draws = member.draws._replace(linear=member.draws.linear + 5)
        return [(member._replace(draws=draws), chain), *others]

    monkeypatch.setattr(base, "sample_members", sample_members)
    short = {"inference": "sampled", "sampling__num_warmup": 20, "sampling__num_samples": 20}
    with pytest.warns(FitWarning) as told:
        model = tiny(**THREE, **short).fit(*table())
    assert any("number 1 ended far behind" in str(each.message) for each in told)
    assert len(model.sampling_report_.chains) == len(model.posterior_.members) == 2


def test_members_of_classes_are_judged_by_probabilities(monkeypatch):
    X, y = table(120)
    ruin(monkeypatch, lambda number: number == 2)
    with pytest.warns(FitWarning, match="number 3 ended far behind"):
        tiny(HorseshoeClassifier, **THREE).fit(X, y > 0)


SHORT = {"inference": "sampled", "sampling__num_warmup": 20, "sampling__num_samples": 40}


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
def test_what_rows_add_to_their_own_density_is_by_the_weights_of_draws():
    X, y = table()
    model = tiny(**SHORT | {"sampling__num_samples": 60, "num_draws": 60}).fit(X, y)
    (member,), standardizer = model.posterior_.members, model.posterior_.standardizer
    inputs = (X - standardizer.input_mean) / standardizer.input_scale
    functions = forward(stacked_weights(member.model, member.draws), inputs, "swish")[..., 0]
    functions = functions * standardizer.target_scale + standardizer.target_mean
    density = stats.norm.pdf(y, functions, np.exp(-0.5 * member.draws.likelihood) * standardizer.target_scale)
    seen, left_out = np.log(density.mean(0)).mean(), -np.log((1 / density).mean(0)).mean()
    got = _worth_of_own_rows([member], standardizer, 0, [model._train_data])
    np.testing.assert_allclose(got, [seen - left_out], rtol=1e-4)
    assert seen > left_out


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
def test_rows_that_were_kept_from_a_member_say_nothing_of_what_it_has_by_heart(monkeypatch):
    asked = []
    monkeypatch.setattr(stragglers, "_worth_of_own_rows", lambda *given: asked.extend(given[3]) or np.zeros(3))
    X, y = table()
    model = tiny(**THREE | SHORT, training__cross_fit=True).fit(X, y)
    sizes = [len(rows.inputs) for rows in asked]
    assert sum(sizes) == 2 * len(X)
    assert max(sizes) < len(X)
    assert model.num_left_out_ == 0


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
def test_a_chain_that_has_its_rows_by_heart_is_left_out_and_sound_ones_stay(monkeypatch):
    own = np.array([0.29, 0.9, 0.5])
    monkeypatch.setattr(stragglers, "_worth_of_own_rows", lambda *given: own)
    with pytest.warns(FitWarning) as told:
        model = tiny(**THREE | SHORT).fit(*table())
    said = next(str(each.message) for each in told if "by heart" in str(each.message))
    assert "Of 3 members, number 2 learned the rows by heart" in said
    assert "a row adds 0.90 nats to its own log-likelihood, where the soundest member has 0.29" in said
    assert "The mixture is of the other 2." in said
    assert len(model.sampling_report_.chains) == len(model.posterior_.members) == 2
    own[0] = 0.31  # a small table with little noise
    assert tiny(**THREE | SHORT).fit(*table()).num_left_out_ == 0
