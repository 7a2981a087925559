"""Model folders with changed specs or damaged files: refused by name, or they answer with numbers."""

import contextlib
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pritchel import FileError, HorseshoeClassifier, TableError, TableModel, load
from pritchel.folder import read_folder
from tests.conftest import tiny
from tests.soak.area import Area
from tests.soak.saves import damaged
from tests.test_hostile_folders import ODD, places, use, with_value

SMALL = {"hidden": (3,), "training__num_steps": 20, "num_draws": 5}


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "town": rng.choice(["Ayr", "Bath"], 60)})
    return frame.assign(y=frame["x"] + (frame["town"] == "Ayr"), z=np.where(frame["x"] > 0, "up", "down"))


def _saved(folder: Path, frame: pd.DataFrame) -> list[Path]:
    number = TableModel(tiny(likelihood="auto", calibration="conformal", **SMALL), holdout=0.2, drop=["z"]).fit(
        frame, "y"
    )
    classes = TableModel(tiny(HorseshoeClassifier, calibration="temperature", **SMALL), holdout=0.2, drop=["y"]).fit(
        frame, "z"
    )
    return [number.save(folder / "number"), classes.save(folder / "classes")]


def any_json(rng: np.random.Generator, depth: int = 0) -> Any:
    """A value of JSON, odd ones more often than not."""
    kind = int(rng.integers(6 if depth < 2 else 4))
    if kind == 0:
        return ODD[int(rng.integers(len(ODD)))]
    if kind == 1:
        return float(rng.choice([rng.normal(), 10.0 ** rng.integers(-300, 300), -0.0]))
    if kind == 2:
        return int(rng.integers(-(2**60), 2**60) >> int(rng.integers(60)))
    if kind == 3:
        return "".join(chr(int(code)) for code in rng.integers(32, 0x3000, rng.integers(0, 8)))
    inside = [any_json(rng, depth + 1) for _ in range(int(rng.integers(0, 4)))]
    return inside if kind == 4 else {str(index): value for index, value in enumerate(inside)}


class Specs(Area):
    """Specs with up to three values changed, and the digest made to fit."""

    about = "changed specs: loaded, predicted from, inspected"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.frame = _frame()
        self.saved = [read_folder(path) for path in _saved(folder, self.frame)]

    def attempt(self, rng: np.random.Generator) -> None:
        """Refused at load, or of use."""
        spec, arrays = self.saved[int(rng.integers(2))]
        for _ in range(int(rng.integers(1, 4))):
            choices = list(places(spec))
            spec = with_value(spec, choices[int(rng.integers(len(choices)))], any_json(rng))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(TableError):  # a column of another name
            use(spec, arrays, self.frame)


class DamagedFolders(Area):
    """Files of a model folder with bytes changed."""

    about = "model folders with damaged files"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.frame = _frame()
        self.paths = _saved(folder, self.frame)
        self.answers = [load(path).predict(self.frame) for path in self.paths]

    def attempt(self, rng: np.random.Generator) -> None:
        """Refused, or the same answers as ever."""
        which = int(rng.integers(2))
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.paths[which], copy)
        files = sorted(each for each in copy.iterdir() if each.is_file())
        victim = files[int(rng.integers(len(files)))]
        victim.write_bytes(damaged(victim.read_bytes(), rng))
        try:
            answers = load(copy).predict(self.frame)
        except FileError:
            return
        pd.testing.assert_frame_equal(answers, self.answers[which])
