"""The paper's table of rewards, 2D map."""

from pritchel.experiments.rl.experiment import make_experiment

EXPERIMENT = make_experiment("map", "Planning with a learned model: 2D map")
