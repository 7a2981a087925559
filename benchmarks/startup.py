"""How long does a command take that loads a model? Beside the imports that it cannot do without."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import table, write

from pritchel import HorseshoeRegressor, Sampling, TableModel, Training

REPEATS = 5
NUM_ROWS = 100
TRAINING = Training(num_steps=1000)
SAMPLING = Sampling(num_warmup=50, num_samples=100)
LEAST = "import pandas, scipy.special, typer"
COMMANDS = {
    LEAST: ["-c", "import pandas, scipy.special, typer"],
    "import sklearn.base": ["-c", "import sklearn.base"],
    "import jax": ["-c", "import jax"],
    "import pritchel": ["-c", "import pritchel"],
    "pritchel --help": ["-m", "pritchel", "--help"],
    "import pritchel.tables.loaded": ["-c", "import pritchel.tables.loaded"],
    "import pritchel.tables.model": ["-c", "import pritchel.tables.model"],
    "pritchel inspect": ["-m", "pritchel", "inspect", "model"],
    "pritchel predict": ["-m", "pritchel", "predict", "model", "rows.csv", "-o", "out.csv", "--overwrite"],
    "pritchel evaluate": ["-m", "pritchel", "evaluate", "model", "rows.csv"],
}


def make_model(folder: Path) -> None:
    """A small sampled model, and rows for it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(NUM_ROWS, 4)), columns=list("abcd"))
    frame["y"] = np.sin(frame["a"]) + 0.2 * rng.standard_t(4, NUM_ROWS)
    frame.to_csv(folder / "rows.csv", index=False)
    estimator = HorseshoeRegressor(training=TRAINING, inference="sampled", sampling=SAMPLING, progress=False)
    TableModel(estimator).fit(frame, "y").save(folder / "model")


def run(words: list[str], folder: Path) -> tuple[float, float]:
    """Wall and processor time of a process; bytecode is kept in the folder, whatever the surroundings say."""
    places = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    told = {"PYTHONPATH": os.pathsep.join(filter(None, places)), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | told
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    found: dict[str, list[tuple[float, float]]] = {label: [] for label in COMMANDS}
    with tempfile.TemporaryDirectory() as name:
        make_model(Path(name))
        for _ in range(1 + REPEATS):  # in turns, so that what else the machine does is the same for all
            for label, words in COMMANDS.items():
                found[label].append(run(words, Path(name)))
    medians = {label: np.median(times[1:], 0).tolist() for label, times in found.items()}
    least = medians[LEAST][1]
    rows = [(label, f"{wall:.2f}", f"{own:.2f}", f"{own / least:.2f}") for label, (wall, own) in medians.items()]
    lines = table((f"a process, {NUM_ROWS} rows", "s", "processor s", "x the imports that it needs"), rows)
    write("startup", "Commands that load a model", lines, medians)


if __name__ == "__main__":
    main()
