"""Sampling: coordinates against dense Jacobians, chains against the prior, and what is made of draws."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pritchel
from pritchel import AdaptiveNoise, HorseshoeClassifier, HorseshoeRegressor, Sampling
from pritchel.data.dataset import Dataset
from pritchel.guide.member import Member
from pritchel.guide.network import draw_noise_shapes, draw_unknowns
from pritchel.infer.coordinates import fill, filled_widths, start_chain
from pritchel.infer.options import Options
from pritchel.infer.plan import SamplingPlan, chain_widths
from pritchel.infer.row_blocks import Columns
from pritchel.infer.sample import Chain, sample_members
from pritchel.infer.trial import Execution
from pritchel.model.joint import log_joint, log_prior, stacked_weights, take_units, weights_of
from pritchel.model.likelihoods import LikelihoodStart
from pritchel.model.likelihoods.gaussian import Gaussian
from pritchel.model.priors import PRIORS
from pritchel.posterior.convergence import effective_size, split_r_hat
from pritchel.posterior.draws import shuffled_rows, stored_rows
from tests.conftest import tiny
from tests.test_guides import build, noise_for, table_batch

SHORT = {"inference": "sampled", "sampling": Sampling(num_warmup=30, num_samples=30, num_leapfrogs=4)}
pytestmark = pytest.mark.filterwarnings("ignore::pritchel.FitWarning")


def started(prior="regularized_horseshoe", hidden=(3, 2), **options):
    model, guide = build("structured", prior, hidden, **options)
    member = Member.unpruned(model, jax.tree.map(np.asarray, guide))
    return member, start_chain(member, filled_widths([member]), 20.0)


def adaptive():
    """A likelihood whose outputs have scales of their own."""
    return AdaptiveNoise(noise_prior=(0.1, 0.01)).build(LikelihoodStart(np.zeros((1, 2)), np.full(1, 20.0)))


def columns_of(batch):
    return Columns(batch.inputs.T[None], batch.targets[None], batch.weights[None])


@pytest.mark.parametrize(("prior", "is_adaptive"), [(prior, prior == "horseshoe") for prior in PRIORS])
def test_density_over_positions_is_the_joint_times_a_dense_jacobian(x64, prior, is_adaptive):
    """Filled up, so what fills counts with its prior: the same change of variables as for the rest."""
    options = {"likelihood": adaptive()} if is_adaptive else {}
    member, (coordinates, position, _) = started(prior, **options)
    assert not is_adaptive or coordinates.start.scales.output.shape == (4,)
    coordinates, position = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), (coordinates, position))
    rng = np.random.default_rng(0)
    at = position + 0.3 * rng.normal(size=position.shape)

    def free(position):
        values = coordinates.unknowns(position)[0]
        held = dict.fromkeys(coordinates.model.prior.held)
        values = values._replace(scales=values.scales._replace(**held))
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(values)])

    _, volume = np.linalg.slogdet(jax.jit(jax.jacobian(free))(at))
    batch = table_batch()
    unknowns = coordinates.unknowns(at)[0]
    alive = [np.arange(units) for units in member.guide.widths[1:-1]]
    real = take_units(unknowns, alive)
    expected = log_prior(coordinates.model, unknowns) + volume
    expected += log_joint(coordinates.model, real, *batch) - log_prior(coordinates.model, real)
    assert float(jax.jit(coordinates.log_density)(at, columns_of(batch))) == pytest.approx(float(expected), rel=1e-9)
    back = coordinates.position_of(unknowns)
    np.testing.assert_allclose(back, at, rtol=1e-9, atol=1e-9)


def test_a_table_in_blocks_has_the_same_density_and_gradient(x64, monkeypatch):
    _, (coordinates, position, _) = started("horseshoe", likelihood=adaptive())
    coordinates, position = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), (coordinates, position))
    inputs, targets, _ = (np.asarray(part) for part in table_batch())
    monkeypatch.setattr("pritchel.infer.row_blocks.ROW_STEP", 2)
    data = Dataset(inputs, targets, np.arange(1.0, 1 + len(inputs)))
    whole = Columns.of(data)
    monkeypatch.setattr("pritchel.infer.row_blocks.MAX_ROWS", 4)
    blocks = Columns.of(data)
    assert len(whole.weights) == 1
    assert len(blocks.weights) > 1
    assert blocks.num_rows > len(inputs)  # some only fill
    density = jax.jit(jax.value_and_grad(lambda at, table: 2 * coordinates.log_density(at, table)))
    for own, expected in zip(density(position + 0.1, blocks), density(position + 0.1, whole), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-9)


def test_networks_are_filled_up_to_widths_of_their_own_where_that_saves_time(monkeypatch):
    members = [started(hidden=hidden)[0] for hidden in ((30, 3), (3, 2))]
    plan = SamplingPlan(20, 10, 3, 0.8, 10)
    assert chain_widths(members, 100, plan) == [(32, 8), (32, 8)]
    assert chain_widths(members, 10**9, plan) == [(32, 8), (8, 8)]
    monkeypatch.setattr("pritchel.infer.plan.COMPILE_SECONDS", 0.0)
    batch = table_batch()
    data = Dataset(*(np.asarray(part, np.float32) for part in batch[:2]), np.ones(len(batch.inputs), np.float32))
    (wide, _), (narrow, _) = sample_members(members, data, plan, 0, Execution(2))
    assert [part.shape[-1] for part in wide.draws.hidden] == [30, 3]
    assert [part.shape[-1] for part in narrow.draws.hidden] == [3, 2]
    assert np.isfinite(narrow.draws.output).all()


def test_a_chain_starts_at_the_mean_of_the_guide():
    member, start = started()
    unknowns = take_units(jax.device_get(start.coordinates.unknowns(start.position)[0]), [np.arange(3), np.arange(2)])
    np.testing.assert_allclose(unknowns.hidden[0], member.guide.layers[0].base_mean, rtol=1e-5)
    np.testing.assert_allclose(unknowns.output, member.guide.output.mean, rtol=1e-5)
    assert (start.deviations > 0).all()


def stacked_draws(**options):
    """A member, and many draws of everything unknown in it."""
    member, _ = started(hidden=(5, 3), **options)
    noise = noise_for(draw_noise_shapes(member.guide), 0, num=9)
    return member, jax.device_get(jax.vmap(lambda own: draw_unknowns(member.guide, own))(noise))


def test_filling_up_is_undone_by_taking_the_units():
    _, draws = stacked_draws(slab_sharing="unit")
    sizes = [part.shape[-1] for part in draws.hidden]
    wider = fill(draws, (16, 8))
    assert wider.hidden[1].shape[1:] == (17, 8)
    for own, back in zip(
        jax.tree.leaves(draws), jax.tree.leaves(take_units(wider, [np.arange(n) for n in sizes])), strict=True
    ):
        np.testing.assert_array_equal(own, back)


def test_without_data_draws_are_the_priors():
    """No row has any weight: logs of scales, base weights and the noise precision must come out as their priors."""
    model, guide = build("factorized", "horseshoe", (2,), layer_scale=1.0)
    member = Member.unpruned(model, jax.tree.map(np.asarray, guide))
    batch = table_batch()
    nothing = Dataset(*(np.asarray(part, np.float32) for part in batch[:2]), np.zeros(len(batch.inputs), np.float32))
    plan = SamplingPlan(300, 1500, 12, 0.8, 1500)
    chains = sample_members([member] * 2, nothing, plan, 0)
    assert all(result.acceptance[300:].mean() > 0.5 for _, result in chains)

    def columns(part):
        """Draws of each number in a part: chains x draws."""
        return np.moveaxis(np.stack([part(sampled.draws).reshape(1500, -1) for sampled, _ in chains]), 2, 0)

    for values, mean, var in (
        (columns(lambda draws: draws.hidden[0]), 0.0, 1.0),
        (columns(lambda draws: draws.output), 0.0, 1.0),
        (half_cauchy_ranks(columns(lambda draws: draws.log_unit_scales[0])), 0.5, 1 / 12),
    ):
        for column in values:
            error = np.sqrt(column.var() / effective_size(column))
            assert abs(column.mean() - mean) < 5 * error
            squares = (column - mean) ** 2
            assert abs(squares.mean() - var) < 5 * np.sqrt(squares.var() / effective_size(squares))


def half_cauchy_ranks(logs):
    """The share of a half-Cauchy(1) below each value: uniform, where moments of the logs hang on rare excursions."""
    return 2 / np.pi * np.arctan(np.exp(logs))


@pytest.mark.parametrize("is_adaptive", [False, True])
def test_weights_of_stacked_draws_are_those_of_each(is_adaptive):
    options = {"likelihood": adaptive()} if is_adaptive else {}
    member, draws = stacked_draws(slab_sharing="layer", **options)
    stacked = stacked_weights(member.model, draws)
    for draw in (0, 7):
        one = weights_of(member.model, jax.tree.map(lambda leaf: jnp.asarray(leaf[draw]), draws))  # noqa: B023
        for all_, own in zip(jax.tree.leaves(stacked), jax.tree.leaves(one), strict=True):
            np.testing.assert_allclose(all_[draw], own, rtol=2e-5, atol=1e-12)


@pytest.fixture(scope="module")
def sampled(table) -> HorseshoeRegressor:
    return tiny(num_members=2, num_draws=40, **SHORT).fit(*table)


def test_answers_come_from_the_draws_and_repeat(sampled, table):
    X, y = table
    again = tiny(num_members=2, num_draws=40, n_jobs=1, **SHORT).fit(X, y)
    np.testing.assert_array_equal(sampled.predict(X), again.predict(X))
    variational = tiny(num_members=2, num_draws=40).fit(X, y)
    assert np.abs(sampled.predict(X) - variational.predict(X)).max() > 1e-6
    assert [len(member.draws.output) for member in sampled.posterior_.members] == [20, 20]
    samples = sampled.sample_y(X[:3], 4000)
    mean, sd = sampled.predict(X[:3], return_std=True)
    np.testing.assert_allclose(samples.mean(1), mean, atol=5 * (sd / np.sqrt(4000)).max())


def test_noise_of_a_sampled_fit_is_gaussian_at_each_draws_precision(sampled, table):
    X, y = table
    functions = sampled.posterior_.with_calibration(None).sample_functions(X[:5], 40, None)[:, 0]
    precision = np.exp([member.draws.likelihood[:, 0] for member in sampled.posterior_.members])
    scale = sampled.posterior_.standardizer.target_scale[0] / np.sqrt(precision.T.ravel().astype(float))
    density = np.exp(-0.5 * ((y[:5, None] - functions) / scale) ** 2) / (np.sqrt(2 * np.pi) * scale)
    found = sampled.posterior_.with_calibration(None).log_density(X[:5], y[:5, None])
    np.testing.assert_allclose(found, np.log(density.mean(1)), rtol=1e-6)


def test_a_folder_keeps_the_draws_to_the_bit(sampled, table, tmp_path):
    sampled.save(tmp_path / "model")
    loaded = pritchel.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.log_prob(*table), sampled.log_prob(*table))
    assert loaded.sampling_report_ == sampled.sampling_report_
    assert loaded.get_params()["sampling__num_leapfrogs"] == 4


def test_draws_that_do_not_fit_their_network_are_refused(sampled, tmp_path):
    from pritchel.estimators.saved_members import pack_member, unpack_member

    arrays = {}
    part = pack_member(sampled.posterior_.members[0], arrays, "m")
    unpack_member(part, arrays)
    cut = arrays | {"m.draws.output": arrays["m.draws.output"][:-1]}
    with pytest.raises(pritchel.FileError, match="draws do not fit"):
        unpack_member(part, cut)


def test_pruning_a_sampled_fit_looks_at_its_draws(table, monkeypatch):
    monkeypatch.setattr("pritchel.infer.redundant.MOST_NATS", -1.0)  # all eight units come so far
    sampled = tiny(num_draws=20, **SHORT).fit(*table)
    member = sampled.posterior_.members[0]
    scales = np.exp(member.draws.log_unit_scales[0] + member.draws.scales.layer[:, :1])
    threshold = float(np.median(scales))
    small = sampled.prune(threshold=threshold, probability=0.5)
    expected = np.flatnonzero((scales < threshold).mean(0) <= 0.5)
    assert 0 < len(expected) < scales.shape[1]
    np.testing.assert_array_equal(small.posterior_.members[0].kept[0], member.kept[0][expected])
    assert small.posterior_.members[0].draws.hidden[0].shape[-1] == len(expected)
    assert sampled.unit_scales_[0][0].shape == (8,)
    with pytest.raises(ValueError, match="sampled"):
        sampled.prune(fine_tune_steps=10)


def test_a_chain_goes_on_from_its_checkpoint_to_the_same_bits(sampled, table, tmp_path, monkeypatch):
    monkeypatch.setattr("pritchel.infer.checkpoint.EVERY_SECONDS", 0.0)
    done = []

    def stop_in_the_chain(state):
        if state.stage == "sampling":
            done.append(state)
            if len(done) == 4:
                raise RuntimeError("killed")

    options = {"num_members": 2, "num_draws": 40, "n_jobs": 1, "checkpoint": tmp_path, **SHORT}
    with pytest.raises(RuntimeError, match="killed"):
        tiny(**options | {"progress": stop_in_the_chain}).fit(*table)
    assert (tmp_path / "chain-1.safetensors").exists()
    resumed = []
    model = tiny(**options | {"progress": resumed.append}).fit(*table)
    assert min(state.step for state in resumed if state.stage == "sampling" and state.trial == 0) > 30
    np.testing.assert_array_equal(model.predict(table[0]), sampled.predict(table[0]))


@pytest.mark.parametrize(("num_states", "inference"), [(5, "sampled"), (1, "variational")])
def test_an_interrupt_keeps_the_draws_so_far(table, num_states, inference):
    told = []

    def interrupt(state):
        if state.stage == "sampling":
            told.append(state)
            if len(told) == num_states:
                raise KeyboardInterrupt

    model = tiny(num_members=1, num_draws=30, **SHORT | {"progress": interrupt}).fit(*table)
    assert model.sampling_report_.inference == inference
    assert model.sampling_report_.chains[0].status == "interrupted"
    assert np.isfinite(model.predict(table[0])).all()


def test_members_whose_chains_had_hardly_begun_are_left_out(table, tmp_path):
    def interrupt(state):
        if (state.stage, state.trial, state.step) == ("sampling", 1, 30):
            raise KeyboardInterrupt

    model = tiny(num_members=3, num_draws=30, n_jobs=1, **SHORT | {"progress": interrupt}).fit(*table)
    assert [member.draws is not None for member in model.posterior_.members] == [True]
    assert model.is_interrupted_
    assert len(model.elbo_) == 1
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(pritchel.load(tmp_path / "m").predict(table[0]), model.predict(table[0]))


def test_an_interrupt_before_the_chains_keeps_the_fit(table, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("pritchel.infer.sample.start_chain", interrupt)
    model = tiny(**SHORT).fit(*table)
    assert (model.sampling_report_.inference, model.status_) == ("variational", ["interrupted"])
    np.testing.assert_array_equal(model.predict(table[0]), tiny().fit(*table).predict(table[0]))


def test_classes_are_sampled_too(table):
    X, y = table
    labels = np.where(y > y.mean(), "high", "low")
    classifier = tiny(HorseshoeClassifier, **SHORT).fit(X, labels)
    assert classifier.score(X, labels) > 0.8
    assert classifier.posterior_.members[0].draws.likelihood.shape == (30, 0)


@pytest.mark.slow
def test_counts_and_the_plain_prior_are_sampled_too(table):
    X, y = table
    counts = tiny(likelihood="negative_binomial", **SHORT).fit(X, np.round(y))
    assert counts.posterior_.members[0].draws.likelihood.shape == (30, 1)
    assert counts.predict_interval(X[:2]).shape == (2, 2)
    plain = tiny(prior="gaussian", linear=False, **SHORT).fit(X, y)
    assert plain.posterior_.members[0].draws.log_unit_scales == ()
    assert np.isfinite(plain.log_prob(X, y)).all()


def test_arviz_gets_chains(sampled, table):
    pytest.importorskip("arviz_base")
    tree = sampled.to_arviz(*table)
    functions = tree["posterior_predictive"]["f"].values
    assert functions.shape == (2, 20, 60, 1)
    own = sampled.posterior_.sample_functions(table[0], 40, None)
    np.testing.assert_array_equal(functions[1, 3, :, 0], own[:, 0, 7])


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_what_is_not_there_is_forgotten(slope):
    """Noise in thirty columns, alone or on a line: memorized by the fit, forgotten by the chains."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 30))
    y = slope * X[:, 0] + rng.normal(size=1200)
    few, rest = (X[:200], y[:200]), (X[200:], y[200:])
    model = HorseshoeRegressor(random_state=0, progress=False).fit(*few)
    assert model.sampling_report_.inference == "sampled"
    assert model.sampling_report_.r_hat < 1.2
    assert np.sqrt(np.mean((model.predict(rest[0]) - rest[1]) ** 2)) < 1.1
    low, high = model.predict_interval(rest[0], coverage=0.9).T
    assert 0.85 < np.mean((low < rest[1]) & (rest[1] < high)) < 0.95
    variational = HorseshoeRegressor(inference="variational", random_state=0, progress=False).fit(*few)
    assert model.log_prob(*rest).mean() > variational.log_prob(*rest).mean() + 0.3


def test_auto_says_what_it_picked_and_why():
    base = {"prior": "horseshoe", "family": "structured", "likelihood": Gaussian(), "activation": "relu"}
    options = Options.of(
        hidden=(5,), linear=True, training=pritchel.Training(), num_members=1, inference="auto", **base
    )
    plan, why = options.sampling_plan(500, 400, 60)
    assert plan is not None
    assert (plan.num_warmup, plan.num_samples, plan.num_kept) == (300, 200, 60)
    assert "500 rows and 400 weights" in why
    assert options.sampling_plan(50_000, 400, 60) == (
        None,
        "50,000 rows are more than the 20,000 up to which chains are run",
    )
    plan, why = options.sampling_plan(19_000, 40_000, 60)
    assert plan is None
    assert "more than 180 s" in why


def test_chains_of_large_tables_are_shorter_unless_told():
    costs = [Sampling().plan(num_rows, 4000) for num_rows in (1000, 2500, 5000)]
    lengths = [(plan.num_warmup, plan.num_samples) for plan, _ in costs]
    assert lengths[0] == (300, 200)
    assert 100 < lengths[1][1] < 200
    assert lengths[2] == (150, 100)
    assert costs[1][1] == pytest.approx(20, rel=0.05)
    told = Sampling(num_warmup=500, num_samples=40).plan(16_000, 2500)[0]
    assert (told.num_warmup, told.num_samples, told.num_kept) == (500, 40, 40)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inference": "exact"}, "inference must be one of"),
        ({"sampling": 300}, "sampling must be a Sampling"),
        ({"sampling__num_samples": 0}, "num_samples"),
        ({"sampling__target_acceptance": 1.0}, "target_acceptance"),
    ],
)
def test_wrong_options_are_told(table, change, message):
    with pytest.raises(ValueError, match=message):
        tiny(**change).fit(*table)


def test_convergence_figures_are_blackjaxs():
    from blackjax.diagnostics import effective_sample_size, potential_scale_reduction

    rng = np.random.default_rng(0)
    values = np.cumsum(rng.normal(size=(3, 200, 4)) * 0.3, 1) * [0.0, 0.1, 0.5, 1.0] + rng.normal(size=(3, 200, 4))
    halves = np.concatenate([values[:, :100], values[:, 100:]])
    np.testing.assert_allclose(split_r_hat(values), potential_scale_reduction(halves), rtol=1e-3)
    np.testing.assert_allclose(effective_size(values), effective_sample_size(values), rtol=0.05)


def test_draws_behind_answers_are_spread_over_the_chain():
    np.testing.assert_array_equal(stored_rows(100, 10, 0), np.arange(0, 100, 10))
    assert len(stored_rows(100, 60, 2)) == 10
    np.testing.assert_array_equal(stored_rows(3, 5, 0), [0, 1, 2, 0, 1])
    order = np.concatenate([shuffled_rows(40, (1, 2), block) for block in range(2)])
    assert sorted(order[:40]) == list(range(40))
    assert len(order) == 50


def test_a_chain_stands_still_first_to_learn_the_density():
    """It is told of the density where it is, then and ever after."""
    _, start = started("horseshoe", (2,), likelihood=adaptive())
    chain = Chain(start, columns_of(table_batch()), SamplingPlan(20, 6, 3, 0.8, 6), (0,))
    chain.is_kept[:] = True
    while chain.done < chain.num_iterations:
        chain.run_chunk()
    positions, told = jnp.concatenate(chain.positions), np.concatenate(chain.trace)[:, 0]
    density = jax.jit(lambda one: start.coordinates.log_density(one, chain.table))
    np.testing.assert_allclose(told, [density(one) for one in positions], rtol=1e-4)
    stands = np.abs(np.diff(np.concatenate([start.position[None], positions]), axis=0)).max(1) < 1e-6
    assert stands[0]
    assert stands.sum() < 13


def test_the_metric_becomes_that_of_the_density_wherever_it_starts():
    """What fills has unit variance, and unit variance of the gradient; a window without a move leaves the metric."""
    _, start = started("horseshoe", (2,))
    table = columns_of(table_batch())
    is_filling = np.asarray(start.coordinates.start.hidden[0]).ravel() == 0
    assert is_filling.sum() >= 20
    wrong = start._replace(deviations=np.full_like(start.deviations, 0.1))
    chains = [Chain(wrong, table, SamplingPlan(150, 1, 8, 0.8, 1), (0,)) for _ in range(2)]
    stuck = chains[1]  # where it is nothing seems as likely
    stuck.state = (stuck.state[0]._replace(logdensity=np.float32(1e30)), *stuck.state[1:])
    stuck.iterations = stuck.iterations._replace(number=1 + stuck.iterations.number)
    for chain in chains:
        while chain.done < chain.num_iterations:
            chain.run_chunk()
    found, unmoved = (np.asarray(chain.state[2].inverse_mass_matrix) for chain in chains)
    filling = found[: is_filling.size][is_filling]  # hidden weights come first
    assert 0.7 < np.exp(np.log(filling).mean()) < 1.4
    np.testing.assert_allclose(unmoved, 0.01, rtol=1e-5)


def test_chains_run_side_by_side_as_they_do_alone(table, sampled):
    members = [member._replace(draws=None) for member in sampled.posterior_.members]
    data = sampled._train_data
    plan = SamplingPlan(20, 10, 3, 0.8, 10)
    alone, together = (sample_members(members, data, plan, 3, Execution(n_jobs)) for n_jobs in (1, 2))
    for (first, _), (second, _) in zip(alone, together, strict=True):
        np.testing.assert_array_equal(first.draws.output, second.draws.output)


def test_a_process_in_double_precision_gets_the_same_draws(table, request):
    X, y = table
    model = tiny(training__num_steps=30, **SHORT).fit(X, y)
    request.getfixturevalue("x64")
    again = tiny(training__num_steps=30, **SHORT).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


COMMANDS = """
import sys
from pritchel.cli import app
app("inspect model".split(), standalone_mode=False)
app("predict model t.csv -o out.csv".split(), standalone_mode=False)
app("evaluate model t.csv".split(), standalone_mode=False)
app("export model -o model.py --format numpy".split(), standalone_mode=False)
print([name for name in ("optax", "blackjax", "sklearn.metrics", "matplotlib") if name in sys.modules], file=sys.stderr)
app("report model -o page.html".split(), standalone_mode=False)
from jax._src import xla_bridge
print(xla_bridge._backends, file=sys.stderr)
"""


def test_commands_on_a_sampled_model_neither_start_jax_nor_import_what_a_fit_needs(sampled, table, tmp_path):
    sampled.save(tmp_path / "model")
    rows = np.column_stack([table[0], table[1]])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="x1,x2,x3,y", comments="")
    words = [sys.executable, "-c", COMMANDS]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-2:] == ["[]", "{}"]
