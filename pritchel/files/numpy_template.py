"""The body of the file that an export to numpy is: free of everything but numpy and the standard library."""

TEMPLATE = '''"""Predicts {targets} from {num_columns} column(s). Written by Pritchel {version}; needs only numpy.

    from {module} import predict
    {call}        # NaN or None where a value is missing

`uncertainty` splits the spread, and `quantiles` takes levels. For a CSV file:  python {module}.py rows.csv > out.csv
"""

import base64
import csv
import io
import json
import re
import sys
import warnings

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
            cells = [_cell(value) for value in values]
            known = {{_key(text): text for text in reversed(column["categories"])}}
            known.update({{text: text for text in column["categories"]}})
            texts = [column["missing"] if cell is None else _text(cell) for cell in cells]
            texts = np.asarray([known.get(text, known.get(_key(text))) for text in texts], dtype=object)
            categories += [texts == category for category in column["categories"]]
            continue
        floats = _floats(values, column)
        is_missing = np.isnan(floats)
        numbers.append(np.where(is_missing, column["fill"], floats))
        if column["is_missing_marked"]:
            marks.append(is_missing)
    return np.column_stack(numbers + marks + categories).astype(float)


def _floats(values, column):
    """A column of numbers, NaN where one is missing; an array of them is taken as it is."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        floats = values.astype(float)
        return np.where(np.isin(floats, SPEC["missing_numbers"]), np.nan, floats)
    return np.asarray([_number(_cell(value), column) for value in values], float)


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
    if SPEC["classes"]:
        (probabilities,) = _blocks(columns, lambda draws, arrays: (_mixed(draws)[0].mean(0),))
        return probabilities, np.asarray(SPEC["classes"], dtype=object)[probabilities.argmax(1)]
    mean, total, _, _ = _blocks(columns, _moments)
    return mean, total


def uncertainty(columns):
    """{parts}."""
    return tuple(_blocks(columns, _entropies if SPEC["classes"] else _moments)[-3:])


def quantiles(columns, levels):
    """Quantiles of new observations at levels between 0 and 1, which become the last axis (none for one number)."""
    if SPEC["no_quantiles"]:
        raise ValueError(SPEC["no_quantiles"])
    asked = np.atleast_1d(np.asarray(levels, float))
    if not np.all((asked >= SPEC["tail"]) & (asked <= 1 - SPEC["tail"])):
        raise ValueError("levels must be between %g and 1 - %g; got %r" % (SPEC["tail"], SPEC["tail"], levels))
    (found,) = _blocks(columns, lambda parts, arrays: (_quantiles(parts, arrays, asked),))
    return found if np.ndim(levels) else found[..., 0]


def _blocks(columns, answer):
    """What is to be said of the parts of the draws, some rows at a time."""
    arrays = _arrays()
    inputs = (encode(columns) - arrays["input_mean"]) / arrays["input_scale"]
    starts = range(0, max(len(inputs), 1), BLOCK_ROWS)
    parts = [answer(_draws(inputs[start : start + BLOCK_ROWS], arrays), arrays) for start in starts]
    return [np.concatenate(part) for part in zip(*parts)]


def _draws(inputs, arrays):
    """What each draw is a mixture of: means, variances and weights, each (draws, rows, targets)."""
    outputs = []
    for stack in range(SPEC["num_stacks"]):
        value = inputs
        for layer in range(SPEC["num_hidden"]):
            weights = arrays[f"{{stack}}.hidden.{{layer}}"]
            value = value @ weights[:, :-1] + weights[:, -1:]
            value = _activate(value)
        weights = arrays[f"{{stack}}.output"]
        value = value @ weights[:, :-1] + weights[:, -1:]
        if f"{{stack}}.linear" in arrays:
            value = value + inputs @ arrays[f"{{stack}}.linear"]
        outputs.append(value)
    outputs = np.concatenate(outputs)
    return {components}


def _mixed(parts):
    """Means and variances of the draws, (draws, rows, targets)."""
    means = sum(weight * mean for mean, _, weight in parts)
    noise = sum(weight * (var + (mean - means) ** 2) for mean, var, weight in parts)
    if SPEC["power"]:
        means = means * np.maximum(means.mean(0), np.finfo(float).tiny) ** SPEC["power"]
        means = means / means.sum(-1, keepdims=True)
    return means, noise


def _activate(value):
    if SPEC["activation"] == "relu":
        return np.maximum(value, 0)
    return np.tanh(value) if SPEC["activation"] == "tanh" else value * (0.5 + 0.5 * np.tanh(value))


def _moments(parts, arrays):
    """Mean, and total, aleatoric and epistemic standard deviations, in the units of y."""
    means, noise = _mixed(parts)
    aleatoric, epistemic = noise.mean(0), means.var(0)
    mean = means.mean(0) * arrays["target_scale"] + arrays["target_mean"]
    spread = arrays["target_scale"] * arrays["factor"]
    parts = [np.sqrt(var) * spread for var in (aleatoric + epistemic, aleatoric, epistemic)]
    return [_shape(part) for part in (mean, *parts)]


def _entropies(parts, arrays):
    draws, _ = _mixed(parts)

    def entropy(share):
        return -(share * np.log(np.maximum(share, np.finfo(float).tiny))).sum(-1)

    total, aleatoric = entropy(draws.mean(0)), entropy(draws).mean(0)
    return total, aleatoric, np.maximum(total - aleatoric, 0.0)


def _shape(answer):
    """Without the axis of targets where there is but one."""
    return answer[:, 0] if SPEC["has_one_answer"] else answer


def _quantiles(parts, arrays, levels):
    own, beyond = _own_levels(levels, arrays)
    middle = _mixed(parts)[0].mean(0)[..., None]
    shares = [weight / len(mean) for mean, _, weight in parts]
    means, scale = (np.concatenate(each) for each in list(zip(*parts))[:2])
    scale = np.sqrt(scale) * arrays["tails.scale"]
    shares = np.concatenate(shares) if len(parts) > 1 else shares[0]
    found = np.stack([_quantile(means, scale, shares, arrays, level) for level in own.T], -1)
    if beyond.any():
        low, high = (_quantile(means, scale, shares, arrays, level) for level in (SPEC["tail"], 1 - SPEC["tail"]))
        found = found + beyond * (high - low)[..., None]
    moved = arrays["factor"][:, None] * (found - middle) + middle
    return _shape(moved * arrays["target_scale"][:, None] + arrays["target_mean"][:, None])


def _own_levels(levels, arrays):
    """Levels of the networks' distribution whose quantiles are the answers, and what to add: (targets, levels) each."""
    if "steps.covered" not in arrays:
        return np.tile(levels, (len(arrays["factor"]), 1)), np.zeros(1)
    side, asked = np.sign(levels - 0.5), np.abs(2 * levels - 1)
    reach = []
    for covered, scores in zip(arrays["steps.covered"], arrays["steps.reach"]):
        place = np.searchsorted(covered, asked - 1e-9)
        known = scores[np.minimum(place, len(scores) - 1)]
        if np.any(place == len(scores)):
            warnings.warn("too few rows were kept from the fit to guarantee an interval of %g" % asked.max())
        reach.append(np.where(asked < 1e-9, 0.0, np.where(place < len(scores), known, np.maximum(known, asked / 2))))
    reach = np.asarray(reach)
    return 0.5 + side * np.minimum(reach, 0.5 - SPEC["tail"]), side * np.maximum(reach - 0.5, 0.0)


def _quantile(means, scale, shares, arrays, level):
    """Bisection of the distribution function of the mixture of all parts of all draws."""
    reach = scale * arrays["tails.reach"]
    low, high = (means - reach).min(0), (means + reach).max(0)
    for _ in range(36):
        middle = 0.5 * (low + high)
        is_low = (_cdf((middle - means) / scale, arrays) * shares).sum(0) < level
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return 0.5 * (low + high)


def _cdf(standard, arrays):
    """Of Student-t draws: the normal distribution function, from a table, of their normal scores."""
    dof, limit = arrays["tails.dof"], arrays["tails.limit"]
    part = np.minimum(np.log1p(standard**2 / dof) / limit, 1.0)
    factor = 0.0
    for power in arrays["tails.powers"][::-1]:
        factor = factor * part + power
    scores = np.sign(standard) * np.sqrt(dof * limit * part) * factor
    return np.interp(scores, arrays["normal.scores"], arrays["normal.cdf"])


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


def _read(path):
    """Rows of a CSV file, whose separator is the one that finds the most columns in its header."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252")
    names = {{column["name"] for column in SPEC["columns"]}}
    headers = {{sep: next(csv.reader([text.partition("\\n")[0]], delimiter=sep), []) for sep in ",;\\t|"}}
    sep = max(headers, key=lambda sep: len(names & {{name.strip() for name in headers[sep]}}))
    return list(csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True, delimiter=sep))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python %s rows.csv > out.csv" % sys.argv[0])
    rows = _read(sys.argv[1])
    columns = {{name: [row[name] for row in rows] for name in (rows[0] if rows else {{}})}}
    first, second = predict(columns)
    parts = uncertainty(columns)[1:] if SPEC["split"] else ()
    names = ["aleatoric", "epistemic"][: len(parts)]
    writer = csv.writer(sys.stdout)
    if SPEC["classes"]:
        writer.writerow([f"p_{{label}}" for label in SPEC["classes"]] + ["class"] + names)
        for probabilities, label, *others in zip(first, second, *parts):
            writer.writerow([*map(float, probabilities), label, *map(float, others)])
        return
    answers = [first, second, *parts]
    if SPEC["levels"]:
        answers += list(np.moveaxis(quantiles(columns, SPEC["levels"]), -1, 0))
    names = ["mean", "sd", *names, *(f"q{{100 * level:g}}" for level in SPEC["levels"])]
    table = np.stack([np.reshape(answer, (len(rows), -1)) for answer in answers], -1)
    writer.writerow([f"{{target}}_{{what}}" for target in SPEC["targets"] for what in names])
    writer.writerows(table.reshape(len(rows), -1).tolist())


WEIGHTS = """
{weights}
"""

if __name__ == "__main__":
    main()
'''
