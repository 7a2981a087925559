"""The paper's table of rewards, acrobot."""

from pritchel.experiments.rl.experiment import make_experiment

EXPERIMENT = make_experiment("acrobot", "Planning with a learned model: acrobot")
