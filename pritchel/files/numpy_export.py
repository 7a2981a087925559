"""A model as one Python file that needs nothing but numpy: weights inside, a `predict` function, a small command."""

import base64
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import special

from pritchel.files.deployed import Deployed, columns_as_json
from pritchel.files.expressions import as_source
from pritchel.files.numpy_template import TEMPLATE
from pritchel.posterior.calibration.base import TAIL
from pritchel.tables.cells import MISSING_WORDS, is_plain_number
from pritchel.writing import write_text

NORMAL_SCORES = np.linspace(-6, 6, 2401)  # between which the distribution function is taken as a line


def _harmless(text: str) -> str:
    """A text that can stand in a docstring and does nothing there."""
    return "".join(character for character in text if character.isprintable() and character not in '\\"')


def write_numpy(model: Deployed, path: Path, quantiles: Sequence[float] = (), split: bool = False) -> Path:
    """Write the file. Its command writes `quantiles` too and, with `split`, aleatoric and epistemic parts."""
    from pritchel import __version__

    levels = model.check_levels(quantiles)

    arrays = {name: getattr(model, name) for name in model._fields if name.startswith(("input", "target"))}
    arrays |= {"factor": model.factor, **_of_quantiles(model)}
    parts = [", ".join(as_source(value, arrays) for value in part) for part in model.parts]
    is_regression = model.classes is None
    shape = "(rows,)" if model.has_one_answer else "(rows, targets)"
    for index, weights in enumerate(model.stacks):
        for layer, values in enumerate(weights.hidden):
            arrays[f"{index}.hidden.{layer}"] = values
        arrays[f"{index}.output"] = weights.output
        if weights.linear is not None:
            arrays[f"{index}.linear"] = weights.linear
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    spec = {
        "columns": columns_as_json(model.plan),
        "missing_words": sorted({*MISSING_WORDS, *model.plan.na_values}),
        "missing_numbers": [float(word) for word in model.plan.na_values if is_plain_number(word)],
        "targets": list(model.plan.targets),
        "activation": model.activation,
        "classes": None if is_regression else list(model.classes or ()),
        "power": model.power,
        "has_one_answer": model.has_one_answer,
        "no_quantiles": model.why_no_quantiles(),
        "tail": TAIL,
        "levels": levels.tolist(),
        "split": split,
        "num_stacks": len(model.stacks),
        "num_hidden": len(model.stacks[0].hidden),
    }
    text = TEMPLATE.format(
        targets=_harmless(", ".join(model.plan.targets)),
        num_columns=len(model.plan.columns),
        version=__version__,
        module=path.stem if path.stem.isidentifier() else "exported",
        components="[" + ", ".join(f"({part})" for part in parts) + "]",
        answers=f"Mean and standard deviation of new observations, each {shape}"
        if is_regression
        else "Probabilities (rows, classes), and the most probable class of each row",
        parts=f"Standard deviations: total, aleatoric (noise) and epistemic (what more rows would teach), each {shape}"
        if is_regression
        else "Entropies in nats: total, aleatoric (the classes overlap), epistemic (what more rows would teach)",
        call=("mean, sd" if is_regression else "probabilities, labels") + ' = predict({"column": [values], ...})',
        spec=json.dumps(spec),
        weights=base64.encodebytes(packed.getvalue()).decode().strip(),
    )
    return write_text(path, text)


def _of_quantiles(model: Deployed) -> dict[str, np.ndarray]:
    """Arrays that quantiles need: tails, a table of the normal distribution, and the steps of a conformal one."""
    if model.tails is None:
        return {}
    arrays = {f"tails.{name}": part for name, part in model.tails._asdict().items()}
    steps = None if model.calibration is None else model.calibration.steps()
    if steps is not None:
        arrays |= {"steps.covered": steps[0], "steps.reach": steps[1]}
    return arrays | {"normal.scores": NORMAL_SCORES, "normal.cdf": special.ndtr(NORMAL_SCORES)}
