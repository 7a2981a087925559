"""(c) How soon is Pritchel as good as NumPyro ends? Boston, 50 units, warm, until the same test log-likelihood."""

import time

from common import median_seconds, table, verdict, write
from peers import STEPS, NumPyroNetwork, batches, pritchel_trial, uci_problem

from pritchel import HorseshoeRegressor, Training
from pritchel.data.sources import load_uci
from pritchel.infer.trial import FitSettings

NUMPYRO_STEPS = 20_000
PRITCHEL_STEPS = (250, 500, 1000, 2000, 4000, 8000)
RATES = (0.001, 0.005, 0.02)


def numpyro_best(problem) -> tuple[float, float, float]:
    """Seconds, log-likelihood and learning rate of NumPyro's best whole run."""
    outcomes = []
    settings = FitSettings(num_steps=NUMPYRO_STEPS)
    trial = pritchel_trial(problem.data, (50,))
    for rate in RATES:
        NumPyroNetwork(problem.data, 50, rate).run(batches(trial, settings))  # compiles
        network = NumPyroNetwork(problem.data, 50, rate)
        network.run(batches(trial, settings))
        start = time.perf_counter()
        for step in range(STEPS, NUMPYRO_STEPS, STEPS):
            network.run(batches(trial, settings, step))
        seconds = (time.perf_counter() - start) * NUMPYRO_STEPS / (NUMPYRO_STEPS - STEPS)
        outcomes.append((seconds, network.test_log_likelihood(problem), rate))
    return max(outcomes, key=lambda outcome: outcome[1])


def main() -> None:
    problem = uci_problem("boston")
    seconds, target, rate = numpyro_best(problem)
    split = load_uci("boston").split(0)
    rows = [
        (
            "NumPyro AutoNormal",
            NUMPYRO_STEPS,
            f"{seconds:.2f}",
            f"{target:.3f}",
            f"best of learning rates {RATES}: {rate}",
        )
    ]
    ratio = 0.0
    for num_steps in PRITCHEL_STEPS:
        model = HorseshoeRegressor(
            hidden=(50,),
            num_members=1,
            training=Training(num_steps=num_steps, learning_rate=0.05),
            inference="variational",
            likelihood="gaussian",
            progress=False,
            random_state=0,
        )
        reached = float(model.fit(*split[:2]).log_prob(*split[2:]).mean())
        took = median_seconds(lambda model=model: model.fit(*split[:2]), 3)
        rows.append(("Pritchel", num_steps, f"{took:.2f}", f"{reached:.3f}", ""))
        if reached >= target:
            ratio = seconds / took
            break
    rows.append(("NumPyro / Pritchel", "", f"{ratio:.1f} x", "", verdict(ratio, 10, at_least=True)))
    lines = table(("", "steps", "s, warm", "test log-likelihood", ""), rows)
    write(
        "to_target",
        "Time to NumPyro's test log-likelihood, boston split 0, 50 units",
        lines,
        {"ratio": ratio, "target": target},
    )


if __name__ == "__main__":
    main()
