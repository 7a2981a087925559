"""Maps of conditions: measures of shrinkage, starts of scales, squared scales, shared draws, keys and judgement."""

import json
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pritchel import HorseshoeRegressor, SpikeSlab
from pritchel.experiments.paper import conditions, families_map, low_data_map, priors_map, shrinkage_map
from pritchel.experiments.paper.conditions import Cell, Comparison, ahead_by, look_up_pairs
from pritchel.experiments.paper.map_findings import map_finding, merged, overall
from pritchel.experiments.paper.measures import num_of_size, output_parts, unit_measures, variance_share
from pritchel.experiments.paper.settings import make_estimator
from pritchel.experiments.records import Records
from pritchel.experiments.reproduce import load
from pritchel.experiments.statistics import all_hold, judge, judge_tables, t_interval
from pritchel.guide import Family
from pritchel.guide.member import Member
from pritchel.guide.network import draw_noise_shapes, draw_weights, start_guide
from pritchel.guide.scale_starts import SCALE_STARTS, scale_start
from pritchel.guide.squared_scales import SquaredScales
from pritchel.infer.elbo import elbo
from pritchel.infer.outputs import OUTPUT_MOMENTS, pass_noise_shapes
from pritchel.model.network import Model, forward
from pritchel.model.priors import PRIORS
from pritchel.posterior.diagnostics import weight_norms
from pritchel.posterior.draws import weight_block
from pritchel.report.paper.maps import draw_low_data_map, draw_shrinkage_map
from pritchel.report.verdicts import write_verdicts
from tests.conftest import gaussian
from tests.test_guides import build, noise_for, table_batch

MAPS = {"shrinkage_map": shrinkage_map, "priors_map": priors_map, "low_data_map": low_data_map}
MAPS |= {"families_map": families_map}


def a_model(linear=False) -> Model:
    return Model(PRIORS["regularized_horseshoe"]().build(1), gaussian((1.0, 0.5), 20), "relu", linear)


def a_member(log_scales: list[float]) -> Member:
    """A network whose units have the given log scales, a layer scale of one and hardly any spread."""
    model = a_model()
    guide = start_guide(model, (len(log_scales),), Family("factorized"), 3, 1, np.random.default_rng(0), "ones")
    layer: Any = guide.layers[0]
    scales = replace(layer.log_unit_scales, mean=np.asarray(log_scales, np.float32))
    return Member.unpruned(model, replace(guide, layers=(replace(layer, log_unit_scales=scales),)))


def test_parts_of_the_output_add_up_to_it():
    member, inputs = a_member([0.0, -1.0, 0.5, -20.0]), np.random.default_rng(1).normal(size=(7, 3))
    weights = weight_block(member, (3,))
    whole = forward(weights, inputs, "relu")[..., 0] - weights.output[:, -1:, 0]
    np.testing.assert_allclose(output_parts(member, inputs, 3).sum(-1), whole, rtol=1e-9, atol=1e-12)


def test_share_is_what_switching_the_others_off_leaves():
    """Against fresh draws of the weights through the network itself, with the other units' output weights at zero."""
    member, inputs = a_member([0.0, -0.5, 0.4, -1.0]), np.random.default_rng(1).normal(size=(50, 3))
    drawn = []
    for seed in range(20, 60):
        weights = weight_block(member, (seed,))
        only = weights.output.copy()
        only[:, [0, 2, 4]] = 0  # units 1 and 3 stay; the bias goes
        all_but_bias = weights.output.copy()
        all_but_bias[:, -1] = 0
        drawn.append([forward(weights._replace(output=out), inputs, "relu") for out in (only, all_but_bias)])
    some, whole = (np.concatenate(part).var() for part in zip(*drawn, strict=True))
    share = variance_share(output_parts(member, inputs, 0), np.array([1, 3]))
    assert share == pytest.approx(some / whole, rel=0.05)
    assert variance_share(output_parts(member, inputs, 0), np.arange(4)) == pytest.approx(1)
    assert variance_share(np.zeros((2, 3, 4)), np.arange(2)) == 0


def test_measures_tell_small_units_from_large():
    member = a_member([0.0] * 5 + [-30.0] * 60)
    found = unit_measures(member, np.random.default_rng(1).normal(size=(40, 3)))
    assert found["norms_of_size"] == found["scales_of_size"] == found["parts_of_size"] == 5
    assert found["smallest_share"] < 1e-20
    assert found["smallest_norm"] < 1e-12 < 0.5 < found["largest_norm"]
    assert found["smallest_scale"] == pytest.approx(np.exp(-30), rel=1e-2)
    assert found["largest_scale"] == pytest.approx(1, rel=1e-2)
    assert num_of_size(np.array([1.0, 0.011, 0.009, 0.0])) == 2


@pytest.mark.parametrize("family", ["factorized", "structured"])
def test_starts_of_scales(family):
    model, layer_prior = a_model(linear=True), np.log(1e-5)

    def begun(name, **options):
        chosen = Family(family, unit_norm=False)
        guide = start_guide(model, (400,), chosen, 3, 1, np.random.default_rng(0), name, **options)
        mean, var = map(np.asarray, guide.layers[0].log_unit_scale_moments())
        return mean, np.sqrt(var), float(guide.scales.layer.mean[0])

    mean, sd, layer = begun("prior")
    assert mean + layer == pytest.approx(0, abs=1e-5)
    assert layer == pytest.approx(layer_prior)
    assert sd == pytest.approx(0.01, rel=0.05)
    mean, sd, layer = begun("ones", scale_sd=0.1)
    assert (mean == 0).all()
    assert layer == 0
    assert sd == pytest.approx(0.1, rel=0.05)
    mean, _, layer = begun("uniform")
    assert -2 < mean.min() < -1.9 < 1.9 < mean.max() < 2
    assert abs(layer) < 2
    mean, _, layer = begun("draws")
    assert np.quantile(mean, [0.25, 0.5, 0.75]) == pytest.approx(np.log(np.tan(np.pi / 8 * np.arange(1, 4))), abs=0.25)
    assert abs(layer - layer_prior) < 5
    assert set(SCALE_STARTS) == {"prior", "ones", "draws", "uniform"}


def test_starts_of_a_prior_without_layer_scales():
    start = SpikeSlab().build(2).start((3, 4), False, (1,))
    for name in SCALE_STARTS:
        moved = scale_start(name, SpikeSlab().build(2), start, (3, 4), np.random.default_rng(0))
        assert moved.scales.layer is None
        assert [np.size(part) for part in moved.log_unit_scales] in ([1, 1], [3, 4])


def test_default_start_is_untouched_by_the_choice():
    """The named default draws nothing, so that fits of before come out as before."""
    guide = start_guide(a_model(), (6,), Family(), 3, 1, np.random.default_rng(0))
    first = np.random.default_rng(0).normal(0.0, np.sqrt(2 / 4), (4, 6))
    np.testing.assert_allclose(guide.layers[0].base_mean, first, rtol=1e-6)


def test_start_is_refused_in_words_and_reaches_the_fit():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = HorseshoeRegressor.fast(hidden=(4,), training__num_steps=1, training__scale_start="uniform", progress=False)
    model.set_params(training__learning_rate=1e-9, random_state=0).fit(X, X[:, 0])
    assert np.log(model.unit_scales_[0][0]).std() > 0.3, "the default start has them all at one"
    with pytest.raises(ValueError, match=r"scale_start must be one of .*'uniform'"):
        model.set_params(training__scale_start="zeros").fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("family", "objective"),
    [
        ("structured", "moments"),
        pytest.param("structured", "sampled", marks=pytest.mark.slow),
        ("factorized", "sampled"),
        pytest.param("factorized", "moments", marks=pytest.mark.slow),
    ],
)
def test_squares_of_scales_are_a_change_of_variable(family, objective):
    """A layer over ln tau^2 and its twin over ln tau: the same bound, draws and norms."""
    model, guide = build(family, unit_norm=False)
    layer: Any = guide.layers[0]
    if family == "factorized":
        scales = layer.log_unit_scales
        doubled = replace(scales, mean=2 * scales.mean, log_sd=scales.log_sd + np.log(2))
        inner = replace(layer, log_unit_scales=doubled)
    else:
        joint, last = layer.joint, (jnp.arange(layer.joint.mean.shape[0]) == layer.joint.mean.shape[0] - 1)
        times = jnp.where(last, 2.0, 1.0)
        diag = joint.raw_log_row_diag + 2 * jnp.log(times)
        changed = {"mean": joint.mean * times[:, None], "raw_log_row_diag": diag}
        inner = replace(layer, joint=replace(joint, **changed, raw_row_factor=joint.raw_row_factor * times[:, None]))
    twin = replace(guide, layers=(SquaredScales(inner),))
    noise = noise_for(pass_noise_shapes(guide, 6, objective), 2)
    values = [elbo(model, each, table_batch(), noise, jnp.asarray(20.0), objective).total for each in (guide, twin)]
    assert float(values[1]) == pytest.approx(float(values[0]), rel=1e-6)
    draws = noise_for(draw_noise_shapes(guide), 3)
    for a, b in zip(*(jax.tree.leaves(draw_weights(model, each, draws)) for each in (guide, twin)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    norms = [weight_norms(Member.unpruned(model, each))[0] for each in (guide, twin)]
    np.testing.assert_allclose(norms[0], norms[1], rtol=1e-5)


def test_squared_scales_start_where_the_others_do_and_can_be_cut():
    model = a_model()
    guide = start_guide(model, (6,), Family("structured", squared_scales=True), 3, 1, np.random.default_rng(0))
    layer = guide.layers[0]
    assert isinstance(layer, SquaredScales)
    assert np.asarray(layer.log_unit_scale_moments()[0]) == pytest.approx(-np.log(1e-5), rel=1e-5)
    some = layer.written_out().take(np.arange(3), np.array([1, 4]))
    for whole, part in zip(layer.log_unit_scale_moments(), some.log_unit_scale_moments(), strict=True):
        np.testing.assert_allclose(np.asarray(whole)[[1, 4]], part, rtol=1e-6)
    assert not np.asarray(layer.weight_mean_mask().inner.joint.mean)[-1].any()
    plain = Model(PRIORS["gaussian"]().build(1), gaussian((1.0, 0.5), 20), "relu", False)
    without = start_guide(plain, (6,), Family("structured", squared_scales=True), 3, 1, np.random.default_rng(0))
    assert not isinstance(without.layers[0], SquaredScales)


def test_a_batch_can_share_the_draws_of_scales():
    """One row of noise for all examples is the same as that row for each of them."""
    model, guide = build("structured")
    shapes = pass_noise_shapes(guide, 6, "batch_sampled")
    assert [leaf.shape for leaf in (*shapes.projections, *shapes.log_unit_scales)] == [(6, 5), (1, 5)]
    noise = noise_for(shapes, 2)
    spread = noise._replace(log_unit_scales=tuple(jnp.tile(part, (6, 1)) for part in noise.log_unit_scales))
    inputs = table_batch().inputs
    shared = OUTPUT_MOMENTS["batch_sampled"](model, guide, inputs, noise)
    for a, b in zip(shared, OUTPUT_MOMENTS["sampled"](model, guide, inputs, spread), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_keys_of_a_map(name):
    """Each trial once, as plain JSON, with options that an estimator takes, the first split of everything first."""
    keys = load(name).trials(False)
    texts = [json.dumps(key, sort_keys=True) for key in keys]
    assert len(set(texts)) == len(texts)
    assert [key["split"] for key in keys] == sorted(key["split"] for key in keys)
    assert {json.dumps(key["options"], sort_keys=True) for key in keys} > {"{}"} or name == "shrinkage_map"
    for options in {json.dumps(key["options"] | {"": key["family"]}, sort_keys=True): key for key in keys}.values():
        assert make_estimator(options, 300).options().hidden == (options["units"],)
    labels = [cell.label for cell in MAPS[name].CELLS]
    assert len(set(labels)) == len(labels)
    assert len(load(name).trials(True)) <= 16


def test_crossed_part_is_whole():
    cells = [shrinkage_map.crossed(a, b, c) for a in conditions.STARTS for b in ("learned", "held") for c in (2, 8, 32)]
    assert len({json.dumps([dict(cell.options), cell.steps], sort_keys=True) for cell in cells}) == 5 * 2 * 3
    steps = (conditions.SHORT, conditions.STEPS, conditions.LONG)
    crossed = [shrinkage_map.crossed(a, b, c) for a in conditions.STARTS for b in ("learned", "held") for c in steps]
    assert all(cell in shrinkage_map.CELLS for cell in crossed)
    assert len(shrinkage_map.CELLS) == 5 * 2 * 3 + 2 * 3 + 5 + 2 + 4


def made_up(levels: dict[str, tuple[float, float]]) -> list[dict]:
    """Records of the shrinkage map: norms of factorized and structured fits, by the name of the condition."""
    records, rng = [], np.random.default_rng(0)
    for cell in shrinkage_map.CELLS:
        if cell.label not in levels:
            continue
        for data, split in cell.places():
            luck = rng.uniform(0.9, 1.1)
            methods = (shrinkage_map.FACTORIZED, shrinkage_map.STRUCTURED)
            for method, level in zip(methods, levels[cell.label], strict=True):  # none of them is about norms
                result = {"smallest_norm": luck * level, "smallest_share": 1e-9, "smallest_scale": 1.0, "ll": -2.0}
                result |= {"norms_of_size": 5, "smallest_norms": [luck * level] * 50, "train_rows": 100}
                records.append({"key": cell.key(method, data, split), "result": result})
    return records


def test_a_map_is_judged_condition_by_condition(tmp_path):
    near, own = (
        shrinkage_map.crossed(start, "learned", conditions.STEPS).label
        for start in (conditions.NEAR_ONE, conditions.OUR_START)
    )
    held = shrinkage_map.crossed(conditions.NEAR_ONE, "held", conditions.STEPS).label
    records = made_up({near: (0.1, 0.01), own: (1e-13, 1e-8), held: (0.2, 0.21)})
    finding = shrinkage_map.find(records)
    claim = shrinkage_map.MEASURES["norms"].claim
    under = {title.removeprefix(f"{claim}: "): text for title, text in finding.under}
    near, own, held = ("[{}; {}] with {}".format(*name.rsplit("; ", 2)) for name in (near, own, held))
    near, own = (f"{name} (nine tables)" for name in (near, own))
    assert under["holds under"] == near
    assert under["no difference under"] == own, "1e-8 and 1e-13 are both zero"
    assert under["fails under"] == held
    assert finding.verdict == "unclear", "one condition for it and one against it may be chance"
    assert under["on record"].startswith(f"27 of {43 * 9 + 4 * 36} pairs, of 5 of 47 conditions. Not yet: ")
    assert "not on record" in under["our defaults"]
    assert (
        "by norms the claim holds under 1, fails under 1, no difference under 1 of 3 conditions" in under["decided by"]
    )
    assert "by the layer scale by 1; by the start of scales by 1. The difference in share is" in under["decided by"]
    moves = {choice: size for size, choice in shrinkage_map._moves(shrinkage_map.found_by_measure(records)["norms"])}
    assert moves["the layer scale"] == pytest.approx(1 + np.log10(0.21 / 0.2))
    assert len(draw_shrinkage_map(records, tmp_path)) == 3
    writer = Records(tmp_path / "conditions.jsonl")
    for record in records:
        writer.add(record["key"], record["result"], 1.0)
    page = write_verdicts(tmp_path).read_text()
    assert f"- **{claim}: holds under**: {near}." in page
    assert "| shrinkage_map | The structured approximation consistently" in page
    assert f"| unclear |  | 54 of {len(shrinkage_map.trials(False))} |" in page


def test_a_condition_at_which_a_claim_turns_is_told_table_by_table():
    """Its trials on the tables of the map are not run, counted or judged twice."""
    cell = Cell("x", conditions.OURS, {"z": 1}, settings="ours")
    more = conditions.on_nine_tables(cell)
    claim = Comparison("a is better", "a less b,", {"family": "a"}, {"family": "b"}, ahead_by("ll"))
    keys = conditions.cell_keys([cell, more], [claim], False)
    assert len(keys) == 2 * 9 * 5
    rng = np.random.default_rng(0)
    gains = {"yacht": 1.0, "boston": 1.0, "concrete": 1.0, "protein": -0.4}
    records = [
        {"key": key, "result": {"ll": rng.normal(0, 0.1) + (key["family"] == "a") * gains.get(key["data"], 0.0)}}
        for key in keys
    ]
    for record in records:
        record["result"] |= {"rmse": 1.0} | ({"ll": 0.0} if record["key"]["data"] == "wine" else {})
    finding = map_finding(records, [cell, more], [claim], cell)
    under = {title.removeprefix("a is better: "): text for title, text in finding.under}
    assert under["holds under"] == "x (our schedule, nine tables)"
    assert under["on record"] == "45 of 45 pairs, of 2 of 2 conditions"
    told = under["on nine tables, where it turns"]
    assert told.startswith("x (our schedule, nine tables), +")
    assert "holds on yacht, boston, concrete" in told
    assert "does not hold on protein" in told
    assert "no difference on wine" in told
    assert finding.verdict == "holds", "one condition, once"


def test_pairs_are_of_the_same_table_and_split():
    cell = Cell("x", tables=("yacht",), num_splits=3)
    claim = Comparison("a is better", "a less b,", {"family": "a"}, {"family": "b"}, ahead_by("ll"))
    records = [
        {"key": cell.key({"family": name}, "yacht", split), "result": {"ll": 10.0 * split + gain}}
        for name, gain in (("a", 1.0), ("b", 0.0))
        for split in range(3)
        if (name, split) != ("b", 2)
    ]
    (found,) = look_up_pairs(records, [cell, Cell("y", options={"z": 1})], claim)
    assert sorted(found.pairs) == [("yacht", 0), ("yacht", 1)]
    assert found.interval == (1.0, 1.0, 1.0, 2)
    assert found.verdict == "holds"


def test_a_condition_that_is_nothing_to_both_is_left_out():
    """Norms are nothing to the factorized and the tied family; a structured fit is set against the same factorized."""
    structured, factorized = families_map.COMPARISONS
    names = [cell.name for cell in families_map.CELLS]
    assert [cell.name for cell in structured.concerned(families_map.CELLS)] == names
    left = [cell.name for cell in factorized.concerned(families_map.CELLS)]
    assert [name for name in names if name not in left] == ["no unit norms"]
    cell = shrinkage_map.alone("no unit norms", conditions.NEAR_ONE)
    ours, others = shrinkage_map.MEASURES["norms"].keys(cell, "yacht", 0, False)
    base = shrinkage_map.crossed(conditions.NEAR_ONE, "learned", conditions.STEPS)
    assert others == base.key(shrinkage_map.FACTORIZED, "yacht", 0)
    assert ours["options"]["family__unit_norm"] is False


def test_what_a_difference_follows_is_named():
    cells = [Cell(name, options={"z": name}, tables=("yacht", "boston"), num_splits=1) for name in "pq"]
    claim = Comparison("a is better", "a less b,", {"family": "a"}, {"family": "b"}, ahead_by("ll"))
    gains = {("p", "yacht"): 1.0, ("p", "boston"): -1.0, ("q", "yacht"): 1.1, ("q", "boston"): -0.8}
    records = [
        {"key": key, "result": {"ll": gain, "rmse": 1.0}}
        for cell in cells
        for data in cell.tables
        for key, gain in zip(claim.keys(cell, data, 0, False), (gains[cell.name, data], 0.0), strict=True)
    ]
    under = dict(map_finding(records, cells, [claim], cells[0]).under)
    assert under["a is better: decided by"] == (
        "the table, by 2 from boston (-0.9) to yacht (+1.1); less by the condition, by 0.15 from p (+0) to q (+0.15)"
    )


def test_vmg_shares_the_noise_prior_and_nothing_else(tmp_path):
    """What a condition changes of reg-HS alone is set against the same fits of VMG."""
    keys = [key for key in load("low_data_map").trials(False) if key["family"] == "vmg"]
    assert {json.dumps(key["options"]) for key in keys} == {"{}", '{"likelihood__noise_prior": [0.1, 0.1]}'}
    assert {(key["units"], key["steps"]) for key in keys} == {(50, 8000)}
    assert len(keys) == 3 * 9 * 5  # the paper's settings, a weak noise prior, ours
    records = [
        {"key": key, "result": {"ll": float(key["family"] == "structured"), "rmse": 1.0, "constant_rmse": 2.0}}
        for key in load("low_data_map").trials(False)
    ]
    finding = load("low_data_map").find(records)
    verdicts = {(check.claim[-14:], check.verdict) for check in finding.checks}
    assert verdicts == {("log-likelihood", "holds"), ("he better RMSE", "no difference")}
    assert finding.verdict == "depends"
    assert [path.name for path in draw_low_data_map(records, tmp_path)] == ["low_data_map.png"]


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (["holds", "holds", "unclear"], "holds"),
        (["holds", "unclear", "unclear"], "unclear"),
        (["holds"] * 2 + ["does not hold"] * 2, "depends"),
        (["holds"] * 2 + ["no difference"] * 2, "depends"),
        (["holds", "holds", "does not hold"], "unclear"),
        (["does not hold", "does not hold", "no difference", "holds"], "does not hold"),
        (["does not hold", "unclear"], "unclear"),
        (["no difference", "no difference", "unclear"], "no difference"),
        (["no difference", "no difference", "unclear", "unclear"], "unclear"),
        ([], "unclear"),
    ],
)
def test_verdict_of_a_map(verdicts, whole):
    assert overall(verdicts) == whole


def test_no_difference_is_a_verdict():
    nothing = t_interval([0.0, 0.0, 0.0])
    assert judge(nothing) == "no difference"
    assert judge(nothing, margin=0.1) == "holds"
    assert judge_tables({"a": nothing, "b": nothing}) == "no difference"
    assert judge_tables({"a": nothing, "b": t_interval([1.0, 1.1])}) == "unclear"
    assert all_hold(["holds", "no difference"]) == "no difference"
    assert all_hold(["no difference", "unclear"]) == "unclear"
    assert all_hold(["no difference", "does not hold"]) == "does not hold"


def test_labels_are_merged():
    assert merged(["a; x", "b; x", "a; y"]) == "[a] with x or y, [b] with x"
    assert merged(["a; x", "b; x", "a; y", "b; y"]) == "[a / b] with x or y"
    assert merged(["p", "q"]) == "p, q"
    assert merged([]) == "no condition on record"
