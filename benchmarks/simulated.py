"""Is a sampled posterior calibrated? Tables simulated from the prior itself: where among its draws does the truth lie?

    python benchmarks/simulated.py                       # about two minutes on two cores
    python benchmarks/simulated.py --tables 100

Simulation-based calibration (Talts and others 2018). Each table comes from one network drawn from the prior, noise
whose spread and tails are drawn with it, and is then fitted, pruned and sampled like any other. If the draws are those
of the posterior, the true value of anything asked about the network has a rank among them that is uniform over tables:
heaped up at both ends the posterior is too narrow, in the middle too wide, at one end it is off. Variational draws of
the same fits stand beside.
"""

import argparse
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import jax
import matplotlib.pyplot as plt
import numpy as np
from common import table, write
from scipy import stats

from pritchel import AdaptiveNoise, RegularizedHorseshoe, Sampling, Training
from pritchel.data.dataset import Dataset
from pritchel.infer.members import fit_members
from pritchel.infer.options import Options
from pritchel.infer.sample import sample_members
from pritchel.model.likelihoods import LikelihoodStart
from pritchel.model.likelihoods.heteroscedastic import UNIT
from pritchel.model.network import forward
from pritchel.model.prior_draws import draw_prior_weights
from pritchel.posterior.draws import BLOCK_DRAWS, stored_block, weight_block
from pritchel.posterior.prune import prune
from pritchel.report.palette import BLUE, INK, PALE

FIGURE = Path(__file__).parents[1] / "docs" / "simulated.png"
NUM_ROWS, NUM_COLUMNS, NUM_DRAWS, NUM_BINS = 40, 2, 99, 10
SHOULD_BE, LEAST_P = 0.2, 0.01
HIDDEN = (5,)
OF_F = ("f at a row", "f at another", "f far out", "mean of f")
OF_NOISE = ("ln spread at a row", "ln spread far out", "weight of tails")
ASKED = (*OF_F, *OF_NOISE)
OPTIONS = Options.of(
    hidden=HIDDEN,
    prior=RegularizedHorseshoe(layer_scale=0.3, output_scale=1.0, linear_scale=0.3, half_cauchy="exact"),
    family="structured",
    likelihood=AdaptiveNoise(noise_prior=(4.0, 1.0)),
    activation="swish",
    linear=True,
    training=Training(num_steps=1000, learning_rate=0.02, drop_dead_units=False),
    num_members=1,
    inference="sampled",
    sampling=Sampling(num_warmup=300, num_samples=600),
)


class Simulated(NamedTuple):
    """A table, and the true answers to what is asked."""

    data: Dataset
    far: np.ndarray
    truth: np.ndarray


def of_f(outputs: np.ndarray) -> np.ndarray:
    """What is asked of functions, given outputs (draws, rows, 2) whose last row lies far out."""
    rows = outputs[:, :-1, 0]
    return np.stack([rows[:, 0], rows[:, 1], outputs[:, -1, 0], rows.mean(1)], 1)


def of_noise(outputs: np.ndarray, noise: dict[str, np.ndarray]) -> np.ndarray:
    """And of their noise."""
    spread = np.log(noise["scale"][:, 0]) + 0.5 * UNIT * outputs[:, [0, -1], 1]
    return np.column_stack([spread, 1 / noise["dof"][:, 0]])


def simulate(seed: int) -> Simulated:
    rng = np.random.default_rng((seed, 1))
    inputs = rng.normal(size=(NUM_ROWS, NUM_COLUMNS))
    far = np.concatenate([inputs, np.full((1, NUM_COLUMNS), 3.0)])
    model = OPTIONS.model(LikelihoodStart.without_data(1))
    scales = model.likelihood.output_scales(1).shape
    weights = draw_prior_weights(model, (NUM_COLUMNS, *HIDDEN, model.likelihood.num_outputs(1)), 1, rng, scales)
    outputs = forward(weights, far, model.activation)
    noise = model.likelihood.prior_noise_values(rng, 1, 1)
    targets = model.likelihood.components(outputs[:, :-1], noise, np.zeros(1), np.ones(1)).sample(rng)[0]
    data = Dataset(*(part.astype(np.float32) for part in (inputs, targets, np.ones(NUM_ROWS))))
    return Simulated(data, far, np.concatenate([of_f(outputs), of_noise(outputs, noise)], 1)[0])


def ranks(seed: int) -> dict[str, np.ndarray]:
    """How many draws lie below the truth, for each thing asked; variational ones are asked of the function alone."""
    simulated = simulate(seed)
    data = simulated.data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        member = prune(fit_members(data, OPTIONS, seed)[0].member)
    plan, _ = OPTIONS.sampling_plan(NUM_ROWS, member.guide.num_weights, NUM_DRAWS)
    assert plan is not None
    sampled = sample_members([member], data, plan, seed)[0][0]
    block = stored_block(sampled, slice(None))
    drawn = [weight_block(member, (seed, 2, index)) for index in range(-(-NUM_DRAWS // BLOCK_DRAWS))]
    guided = jax.tree.map(lambda *parts: np.concatenate(parts)[:NUM_DRAWS], *drawn)
    of_draws, of_guide = (forward(own, simulated.far, member.model.activation) for own in (block.weights, guided))
    values = {
        "sampled": np.concatenate([of_f(of_draws), of_noise(of_draws, block.noise)], 1),
        "variational": of_f(of_guide),
    }
    return {name: (own < simulated.truth[: own.shape[1]]).sum(0) for name, own in values.items()}


def uniformity(found: np.ndarray) -> float:
    """The p-value of a chi-squared test that ranks are uniform."""
    counts = np.histogram(found, NUM_BINS, (-0.5, NUM_DRAWS + 0.5))[0]
    return float(stats.chisquare(counts).pvalue)


def draw(found: dict[str, np.ndarray]) -> None:
    """A histogram for each thing asked, sampled above variational, and where nearly all bars of uniform ranks end."""
    figure, axes = plt.subplots(2, len(ASKED), figsize=(14, 3.6), sharex=True, sharey=True, layout="constrained")
    num_tables = len(found["sampled"])
    low, high = stats.binom.ppf([0.005, 0.995], num_tables, 1 / NUM_BINS)
    for row, (name, all_ranks) in zip(axes, found.items(), strict=True):
        for index, axis in enumerate(row):
            if index < all_ranks.shape[1]:
                axis.axhspan(low, high, color=PALE, lw=0)
                axis.axhline(num_tables / NUM_BINS, color=INK, lw=0.8)
                axis.hist(all_ranks[:, index], NUM_BINS, range=(-0.5, NUM_DRAWS + 0.5), color=BLUE, rwidth=0.9)
                axis.set_title(f"{ASKED[index]}: p = {uniformity(all_ranks[:, index]):.2g}", fontsize=9)
            else:
                axis.axis("off")
        row[0].set_ylabel(f"tables, {name}")
    figure.supxlabel("draws below the truth", fontsize=9)
    figure.savefig(FIGURE, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=300, help="how many are simulated")
    num_tables = parser.parse_args().tables
    made = []
    with ThreadPoolExecutor() as pool:
        for one in pool.map(ranks, range(num_tables)):
            made.append(one)
            if len(made) % 25 == 0:
                print(f"{len(made)} of {num_tables} tables", flush=True)
    found = {name: np.stack([one[name] for one in made]) for name in made[0]}
    draw(found)
    data = {
        name: {
            asked: {"p": uniformity(own), "outer": outer_share(own)}
            for asked, own in zip(ASKED, all_ranks.T, strict=False)
        }
        for name, all_ranks in found.items()
    }
    rows = [
        (name, asked, f"{figures['outer']:.0%}", f"{figures['p']:.2g}")
        for name, own in data.items()
        for asked, figures in own.items()
    ]
    lines = [f"{num_tables} tables of {NUM_ROWS} rows; {SHOULD_BE:.0%} of them should have the truth outside.", ""]
    lines += table(("draws", "asked", "truth outside the central 80 % of draws", "p of uniform ranks"), rows)
    lowest = min(figures["p"] for figures in data["sampled"].values())
    held = "holds" if lowest > LEAST_P else "DOES NOT HOLD"
    lines += ["", f"Ranks among sampled draws are uniform (no p below {LEAST_P:g}): {held}."]
    write(
        "simulated",
        "Simulation-based calibration",
        lines,
        {"tables": num_tables} | data | {"ranks": {name: own.tolist() for name, own in found.items()}},
    )


def outer_share(found: np.ndarray) -> float:
    """Of the tables, how many have the truth outside the central 80 % of the draws."""
    return float(np.mean((found < 0.1 * (NUM_DRAWS + 1)) | (found >= 0.9 * (NUM_DRAWS + 1))))


if __name__ == "__main__":
    main()
