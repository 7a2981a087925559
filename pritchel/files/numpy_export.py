"""A model as one Python file that needs nothing but numpy: weights inside, a `predict` function, a small command."""

import base64
import io
import json
import os
from pathlib import Path

import numpy as np

from pritchel.files.deployed import Deployed, columns_as_json

# The body of the exported file. It must stay free of everything but numpy and the standard library.
_TEMPLATE = '''"""Predicts {targets} from {num_columns} column(s). Written by Pritchel {version}; needs only numpy.

    from {module} import predict
    mean, sd = predict({{"column": [values], ...}})        # (rows, targets) each; NaN or None where a value is missing

or, for a CSV file:  python {module}.py rows.csv > predictions.csv
"""

import base64
import csv
import io
import json
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
        values = columns[column["name"]]
        if column["kind"] == "category":
            texts = np.asarray([_text(value, column["missing"]) for value in values], dtype=object)
            categories += [texts == category for category in column["categories"]]
            continue
        floats = np.asarray([np.nan if value is None or value == "" else float(value) for value in values], float)
        is_missing = np.isnan(floats)
        numbers.append(np.where(is_missing, column["fill"], floats))
        if column["is_missing_marked"]:
            marks.append(is_missing)
    return np.column_stack(numbers + marks + categories).astype(float)


def _text(value, missing):
    if value is None or value == "" or value != value:
        return missing
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def predict(columns):
    """Mean and standard deviation of new observations, each (rows, targets)."""
    arrays = _arrays()
    inputs = (encode(columns) - arrays["input_mean"]) / arrays["input_scale"]
    parts = [_block(inputs[start : start + BLOCK_ROWS], arrays) for start in range(0, len(inputs), BLOCK_ROWS)]
    return np.concatenate([mean for mean, _ in parts]), np.concatenate([sd for _, sd in parts])


def _block(inputs, arrays):
    functions = []
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
        functions.append(value)
    functions = np.concatenate(functions) * arrays["target_scale"]
    return functions.mean(0) + arrays["target_mean"], np.sqrt(functions.var(0) + arrays["noise_var"])


_CACHE = {{}}


def _arrays():
    if not _CACHE:
        with np.load(io.BytesIO(base64.b64decode(WEIGHTS)), allow_pickle=False) as arrays:
            _CACHE.update({{name: arrays[name] for name in arrays.files}})
    return _CACHE


def main():
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    mean, sd = predict({{name: [row[name] for row in rows] for name in (rows[0] if rows else {{}})}})
    writer = csv.writer(sys.stdout)
    writer.writerow([f"{{target}}_{{what}}" for target in SPEC["targets"] for what in ("mean", "sd")])
    for row_mean, row_sd in zip(mean, sd):
        writer.writerow([f"{{value:.7g}}" for pair in zip(row_mean, row_sd) for value in pair])


WEIGHTS = """
{weights}
"""

if __name__ == "__main__":
    main()
'''


def write_numpy(model: Deployed, path: Path) -> Path:
    """Write the file."""
    from pritchel import __version__

    arrays = {name: getattr(model, name) for name in model._fields if name.startswith(("input", "target", "noise"))}
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
        "targets": list(model.plan.targets),
        "activation": model.activation,
        "num_stacks": len(model.stacks),
        "num_hidden": len(model.stacks[0].hidden),
    }
    text = _TEMPLATE.format(
        targets=", ".join(model.plan.targets).replace("\\", "").replace('"', "'"),
        num_columns=len(model.plan.columns),
        version=__version__,
        module=path.stem,
        spec=json.dumps(spec),
        weights=base64.encodebytes(packed.getvalue()).decode().strip(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
    return path
