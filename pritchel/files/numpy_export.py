"""A model as one Python file that needs nothing but numpy: weights inside, a `predict` function, a small command."""

import base64
import io
import json
from pathlib import Path

import numpy as np

from pritchel.files.deployed import Deployed, columns_as_json
from pritchel.files.expressions import as_source
from pritchel.tables.cells import MISSING_WORDS, is_plain_number
from pritchel.writing import write_text

# The body of the exported file. It must stay free of everything but numpy and the standard library.
_TEMPLATE = '''"""Predicts {targets} from {num_columns} column(s). Written by Pritchel {version}; needs only numpy.

    from {module} import predict
    {call}        # NaN or None where a value is missing

or, for a CSV file:  python {module}.py rows.csv > predictions.csv
"""

import base64
import csv
import io
import json
import re
import sys

import numpy as np

SPEC = json.loads({spec!r})
BLOCK_ROWS = 1000


def encode(columns):
    """Inputs of the network from a mapping of column names to values."""
    absent = [column["name"] for column in SPEC["columns"] if column["name"] not in columns]
    if absent:
        raise ValueError("missing column(s): " + ", ".join(absent))
    numbers, marks, categories = [], [], []
    for column in SPEC["columns"]:
        cells = [_cell(value) for value in columns[column["name"]]]
        if column["kind"] == "category":
            known = {{_key(text): text for text in reversed(column["categories"])}}
            known.update({{text: text for text in column["categories"]}})
            texts = [column["missing"] if cell is None else _text(cell) for cell in cells]
            texts = np.asarray([known.get(text, known.get(_key(text))) for text in texts], dtype=object)
            categories += [texts == category for category in column["categories"]]
            continue
        floats = np.asarray([_number(cell, column) for cell in cells], float)
        is_missing = np.isnan(floats)
        numbers.append(np.where(is_missing, column["fill"], floats))
        if column["is_missing_marked"]:
            marks.append(is_missing)
    return np.column_stack(numbers + marks + categories).astype(float)


def _cell(value):
    """A cell without the space around it; None where it is missing."""
    if isinstance(value, str):
        value = value.strip()
        return None if value in SPEC["missing_words"] else value
    return None if value is None or value != value or value in SPEC["missing_numbers"] else value


def _text(value):
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _key(text):
    """The same for two ways to write one category: TRUE and True, 1 and 1.0."""
    if re.fullmatch(r"[+-]?\\d+[.]0+", text):
        return text.partition(".")[0]
    return text.lower() if text.lower() in ("true", "false") else text


def _number(cell, column):
    if not isinstance(cell, str):
        return np.nan if cell is None else float(cell)
    if column["spelling"] == "truth" and cell.lower() in ("true", "false"):
        return float(cell.lower() == "true")
    if column["spelling"] in ("point", "comma") and re.fullmatch(column["pattern"], cell):
        decimal = "." if column["spelling"] == "point" else ","
        bare = "".join(part for part in cell if part in "+-eE" + decimal or part.isdigit())
        return float(bare.replace(",", "."))
    if column["spelling"] == "comma":
        raise ValueError("column " + repr(column["name"]) + " must hold numbers; got " + repr(cell))
    return float(cell)


def predict(columns):
    """{answers}."""
    arrays = _arrays()
    inputs = (encode(columns) - arrays["input_mean"]) / arrays["input_scale"]
    parts = [_block(inputs[start : start + BLOCK_ROWS], arrays) for start in range(0, len(inputs), BLOCK_ROWS)]
    first, second = (np.concatenate(part) for part in zip(*parts))
    return first, second


def _block(inputs, arrays):
    outputs = []
    for stack in range(SPEC["num_stacks"]):
        value = inputs
        for layer in range(SPEC["num_hidden"]):
            weights = arrays[f"{{stack}}.hidden.{{layer}}"]
            value = value @ weights[:, :-1] + weights[:, -1:]
            value = np.maximum(value, 0) if SPEC["activation"] == "relu" else np.tanh(value)
        weights = arrays[f"{{stack}}.output"]
        value = value @ weights[:, :-1] + weights[:, -1:]
        if f"{{stack}}.linear" in arrays:
            value = value + inputs @ arrays[f"{{stack}}.linear"]
        outputs.append(value)
    outputs = np.concatenate(outputs)
    means = {mean}
    if SPEC["classes"]:
        probabilities = means.mean(0)
        return probabilities, np.asarray(SPEC["classes"], dtype=object)[probabilities.argmax(1)]
    noise = {var}
    var = means.var(0) + noise.mean(0)
    return means.mean(0) * arrays["target_scale"] + arrays["target_mean"], np.sqrt(var) * arrays["target_scale"]


def _sigmoid(values):
    return 0.5 + 0.5 * np.tanh(0.5 * values)


def _softmax(values):
    raised = np.exp(values - values.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


_CACHE = {{}}


def _arrays():
    if not _CACHE:
        with np.load(io.BytesIO(base64.b64decode(WEIGHTS)), allow_pickle=False) as arrays:
            _CACHE.update({{name: arrays[name] for name in arrays.files}})
    return _CACHE


def main():
    with open(sys.argv[1], newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    first, second = predict({{name: [row[name] for row in rows] for name in (rows[0] if rows else {{}})}})
    writer = csv.writer(sys.stdout)
    if SPEC["classes"]:
        writer.writerow([f"p_{{label}}" for label in SPEC["classes"]] + ["class"])
        for probabilities, label in zip(first, second):
            writer.writerow([*map(float, probabilities), label])
        return
    writer.writerow([f"{{target}}_{{what}}" for target in SPEC["targets"] for what in ("mean", "sd")])
    for row_mean, row_sd in zip(first, second):
        writer.writerow([float(value) for pair in zip(row_mean, row_sd) for value in pair])


WEIGHTS = """
{weights}
"""

if __name__ == "__main__":
    main()
'''


def _harmless(text: str) -> str:
    """A text that can stand in a docstring and does nothing there."""
    return "".join(character for character in text if character.isprintable() and character not in '\\"')


def write_numpy(model: Deployed, path: Path) -> Path:
    """Write the file."""
    from pritchel import __version__

    arrays = {name: getattr(model, name) for name in model._fields if name.startswith(("input", "target"))}
    mean, var = as_source(model.mean, arrays), as_source(model.var, arrays)
    is_regression = model.classes is None
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
        "num_stacks": len(model.stacks),
        "num_hidden": len(model.stacks[0].hidden),
    }
    text = _TEMPLATE.format(
        targets=_harmless(", ".join(model.plan.targets)),
        num_columns=len(model.plan.columns),
        version=__version__,
        module=path.stem if path.stem.isidentifier() else "exported",
        mean=mean,
        var=var,
        answers="Mean and standard deviation of new observations, each (rows, targets)"
        if is_regression
        else "Probabilities (rows, classes), and the most probable class of each row",
        call=("mean, sd" if is_regression else "probabilities, labels") + ' = predict({"column": [values], ...})',
        spec=json.dumps(spec),
        weights=base64.encodebytes(packed.getvalue()).decode().strip(),
    )
    return write_text(path, text)
