"""A type checker accepts what users write and refuses what is refused at run time."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IMPORTS = """\
from pritchel import (
    Family, Gaussian, HorseshoeClassifier, HorseshoeRegressor, RegularizedHorseshoe, StudentT, TableModel, Training
)
"""
ACCEPTED = (
    "HorseshoeRegressor()",
    'HorseshoeRegressor(likelihood="student_t")',
    "HorseshoeRegressor(likelihood=StudentT(dof=4), prior=RegularizedHorseshoe(layer_scale=1e-4), "
    "training=Training(num_steps=10))",
    "HorseshoeRegressor(hidden=50, family=Family(rank=2), random_state=0).fit([[1.0]], [2.0]).predict([[1.0]])",
    "HorseshoeRegressor.paper(num_members=3, training__num_steps=10)",
    'HorseshoeClassifier(class_weight="balanced")',
    "HorseshoeClassifier(class_weight={0: 1.0}, label_noise=0.1).fit([[1.0]], [2]).classes_.tolist()",
    'TableModel(HorseshoeClassifier(), drop=["id"])',
)
REFUSED = {
    "HorseshoeClassifier(noise_prior=(1, 1))": "reportCallIssue",
    "HorseshoeRegressor(num_steps=5)": "reportCallIssue",
    'HorseshoeClassifier(likelihood="poisson")': "reportCallIssue",
    "HorseshoeRegressor((50,))": "reportCallIssue",
    "Training(steps=5)": "reportCallIssue",
    "HorseshoeRegressor(likelihood=Training())": "reportArgumentType",
    "HorseshoeRegressor(prior=Gaussian())": "reportArgumentType",
    'HorseshoeRegressor(activation="gelu")': "reportArgumentType",
}


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_a_type_checker_knows_what_constructors_take(tmp_path):
    lines = [*ACCEPTED, *REFUSED]
    (tmp_path / "used.py").write_text(IMPORTS + "\n".join(lines) + "\n")
    rules = {"typeCheckingMode": "standard", "reportCallIssue": True, "extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"include": ["used.py"], **rules}))
    command = [sys.executable, "-m", "pyright", "--project", tmp_path, "--pythonpath", sys.executable, "--outputjson"]
    outcome = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    first = IMPORTS.count("\n")
    said = {lines[one["range"]["start"]["line"] - first]: one["rule"] for one in outcome["generalDiagnostics"]}
    assert said == REFUSED
