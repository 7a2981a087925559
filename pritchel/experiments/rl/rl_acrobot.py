"""The paper's table of rewards, acrobot."""

from pritchel.experiments.rl.experiment import make_experiment

# Whether to hold the learner's rate was settled on the map.
EXPERIMENT = make_experiment("acrobot", "Planning with a learned model: acrobot", without=("simulator-held",))
