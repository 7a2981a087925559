"""The protocol's numbers, each from the paper unless a note says otherwise, and the paper's table."""

from typing import Literal, NamedTuple

from pritchel.experiments.rl.acrobot import Acrobot
from pritchel.experiments.rl.domain import Domain
from pritchel.experiments.rl.dqn import DqnSettings
from pritchel.experiments.rl.map2d import Map2D


class Protocol(NamedTuple):
    """One domain's experiment: collect transitions, fit a model to a few, learn a policy in it, test that for real."""

    domain: Domain
    collect: DqnSettings
    learn: DqnSettings
    num_train: int
    num_epochs: int
    learning_rate: float = 2e-4  # of the model
    batch_size: int = 32  # of the model; not in the paper
    num_test: int = 2000  # other transitions of the same collection; not in the paper
    max_attempts: int = 10  # collections until one has reached the goal; not in the paper
    num_draws: int = 250  # weight draws that episodes in the model choose from; not in the paper
    start_share: float = 0.5  # of episodes in the model that begin in a state of the training set; not in the paper
    num_late: int = 5  # snapshots that are tested; not in the paper
    num_episodes: int = 100  # a snapshot and test; not in the paper
    num_curve_episodes: int = 20  # for each point of the learning curve
    default_steps: int | Literal["auto"] = "auto"  # of the library's default fit


_SMALL = {"hidden": (64, 64), "batch_size": 32}
_MAP = Protocol(
    domain=Map2D(),
    collect=DqnSettings(max_steps=50_000, warmup_steps=100),
    learn=DqnSettings(num_episodes=1000, max_steps=40_000, warmup_steps=100, decay=0.998, is_annealed=True),
    num_train=346,
    num_epochs=1500,
)
_ACROBOT = Protocol(
    domain=Acrobot(),
    collect=DqnSettings(max_steps=120_000, warmup_steps=400),
    learn=DqnSettings(max_steps=80_000, warmup_steps=400, is_annealed=True),
    num_train=822,
    num_epochs=2000,
)
PROTOCOLS: dict[tuple[str, str], Protocol] = {
    ("map", "full"): _MAP,
    ("acrobot", "full"): _ACROBOT,
    ("map", "quick"): _MAP._replace(
        collect=_MAP.collect._replace(**_SMALL, max_steps=20_000),
        learn=_MAP.learn._replace(**_SMALL, max_steps=1500, num_episodes=50, decay=0.95),
        num_epochs=60,
        learning_rate=2e-3,
        num_draws=50,
        num_episodes=30,
        num_curve_episodes=10,
        default_steps=200,
    ),
    ("acrobot", "quick"): _ACROBOT._replace(
        collect=_ACROBOT.collect._replace(**_SMALL, max_steps=20_000, decay=0.95),
        learn=_ACROBOT.learn._replace(**_SMALL, max_steps=2500, decay=0.9),
        num_epochs=30,
        learning_rate=2e-3,
        num_draws=50,
        num_episodes=20,
        num_curve_episodes=5,
        default_steps=200,
    ),
    ("map", "tiny"): Protocol(  # to test the way from end to end
        domain=Map2D(),
        collect=DqnSettings((16, 16), num_episodes=30, max_steps=1500, snapshot_episodes=10),
        learn=DqnSettings((16, 16), num_episodes=20, max_steps=600, snapshot_episodes=5),
        num_train=60,
        num_epochs=5,
        num_test=100,
        max_attempts=1,
        num_draws=10,
        num_late=2,
        num_episodes=5,
        num_curve_episodes=5,
        default_steps=20,
    ),
}
PROTOCOLS["acrobot", "tiny"] = PROTOCOLS["map", "tiny"]._replace(domain=Acrobot())


class PaperRow(NamedTuple):
    """A row of the paper's table of rewards."""

    rmse: float
    reward: float


PAPER: dict[tuple[str, str], PaperRow] = {
    ("map", "bnn-500"): PaperRow(0.187, 975.386),
    ("map", "bnn-100-100"): PaperRow(0.089, 966.716),
    ("map", "structured-500"): PaperRow(0.058, 995.416),
    ("map", "structured-100-100"): PaperRow(0.061, 992.893),
    ("acrobot", "bnn-500"): PaperRow(0.924, -156.573),
    ("acrobot", "bnn-100-100"): PaperRow(0.710, -23.419),
    ("acrobot", "structured-500"): PaperRow(0.558, -108.443),
    ("acrobot", "structured-100-100"): PaperRow(0.656, -17.530),
}
