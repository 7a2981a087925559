"""The report: one file, right in a browser, on a phone and on paper."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from pritchel import HorseshoeClassifier, StudentT
from pritchel.report.alt_texts import of_dependence
from pritchel.report.dependence_figures import dependence, shared_scale
from pritchel.report.model_dependence import curve_of
from pritchel.report.model_page import model_page
from pritchel.report.natural_order import natural_order
from pritchel.report.page import Page
from pritchel.tables.encode import encode_inputs
from pritchel.tables.model import TableModel
from pritchel.tables.plan import plan_table
from tests.conftest import tiny

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
HEADINGS = (
    "Predictions and how far to trust them",
    "What the strongest inputs do",
    "The data",
    "The fit",
    "Which units lived",
    "Settings, and how to do it again",
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "town": rng.choice(["<Ayr>", "Bath"], 90)})
    return frame.assign(y=np.sin(frame["x"]) + (frame["town"] == "Bath"))


@pytest.fixture(scope="module")
def model(frame, tmp_path_factory) -> TableModel:
    estimator = tiny(num_members=2, training__num_steps=300)
    fitted = TableModel(estimator, holdout=0.3).fit(frame, "y")
    fitted.notes_["source"] |= {"table": "rows.csv", "command": ["pritchel", "fit", "my rows.csv", "--target", "y"]}
    path = fitted.save(tmp_path_factory.mktemp("report") / "model")
    return TableModel.load(path)


@pytest.fixture(scope="module")
def classes(frame) -> TableModel:
    labels = np.where(frame["y"] > 1, "<b>", np.where(frame["y"] < 0, "low", "so-so"))
    rows = frame.drop(columns="y").assign(kind=labels)
    return TableModel(tiny(HorseshoeClassifier, training__num_steps=200), folds=2).fit(rows, "kind")


def shown_rows(html: str) -> list[list[str]]:
    """Cells of the table of the rows that were least likely."""
    part = html[html.index("found least likely") :]
    body = part[part.index("<tbody>") : part.index("</tbody>")]
    return [re.findall("<td.*?>(.*?)</td>", row) for row in body.split("</tr>")[:-1]]


def test_the_worst_rows_are_named_as_in_the_table(model, frame):
    slipped = frame.assign(y=frame["y"].where(frame.index != 40, 30.0))
    slipped.loc[3, "y"] = None
    first = shown_rows(model_page(model, slipped).html())[0]
    said = model.predict(slipped.iloc[[40]], quantiles=(0.05, 0.95)).iloc[0]
    interval = f"{said['q5']:.4g} to {said['q95']:.4g}"
    assert first[:4] == ["41", "30", f"{said['mean']:.4g}", interval]
    held_out = shown_rows(model_page(model).html())
    rows = model.arrays_["row"][np.argsort(model.arrays_["log_density"][:, 0])]
    assert [row[0] for row in held_out] == [f"{row:.0f}" for row in rows[:8]]


def test_classes_have_a_page_over_folds(classes):
    html = model_page(classes).html()
    assert "90 rows, each predicted by one of 2 fits" in html
    assert "entropy of the classes" in html
    assert "After ±" in html
    assert "<b>low" not in html
    assert {row[1] for row in shown_rows(html)} <= {"&lt;b&gt;", "low", "so-so"}


def test_categories_have_their_natural_order():
    assert natural_order(["Fri", "Mon", "Sun", "Thu"]) == ["Mon", "Thu", "Fri", "Sun"]
    assert natural_order(["march", "January", "Dec."]) == ["January", "march", "Dec."]
    assert natural_order(["Mittwoch", "Dienstag"]) == ["Dienstag", "Mittwoch"]
    assert natural_order(["10-19", "<10", "100+", "20-99"]) == ["<10", "10-19", "20-99", "100+"]
    assert natural_order(["Bath", "Ayr"]) is None
    assert natural_order(["Mon", "Monday"]) is None  # two names for one day
    assert natural_order(["ma", "jan"]) is None  # March, or May


def test_inputs_of_few_values_are_points_and_others_have_a_rug():
    rng = np.random.default_rng(0)
    days = np.array(["Mon", "Tue", "Wed"])[rng.integers(0, 3, 60)]
    frame = pd.DataFrame({"day": days, "x": rng.normal(size=60), "flag": rng.integers(0, 2, 60)})
    plan = plan_table(frame.assign(y=0.0), ["y"])
    model = TableModel.of(tiny(training__num_steps=5).fit(encode_inputs(plan, frame), frame["x"]), plan)
    background = frame.iloc[:1]
    day, x, flag = ((curve_of(model, column, background) or [])[0] for column in plan.columns)
    assert list(day.values) == ["Mon", "Tue", "Wed"]
    assert list(flag.values) == [0.0, 1.0]
    assert (day.are_points, x.are_points, flag.are_points) == (True, False, True)
    assert len(x.rug) == 37
    assert not len(flag.rug)
    assert "at 0" in of_dependence(flag, "y")
    assert dependence(day, "y", shared_scale([day, x, flag])).startswith(b"\x89PNG")


def test_tables_show_that_they_scroll():
    page = Page("t")
    page.table(("a",), [("1",)])
    assert '<div class="scroll" tabindex="0">' in page.html()  # by keys as well
    assert "no-repeat local" in page.html()


@pytest.mark.parametrize("with_table", [False, True])
def test_the_page_has_all_its_parts(model, frame, with_table):
    html = model_page(model, frame if with_table else None).html()
    assert re.findall("<h2>(.*?)</h2>", html) == list(HEADINGS)
    assert html.count("<img") == 9 + with_table  # with rows enough to group them by how sure the model was
    first = html[: html.index("<h2>")]  # verdicts come first
    for text in ("ridge regression", "gradient boosting", "intervals hold", "Units: ", "Noise: ", "Variational"):
        assert (text in first) or (with_table and text == "gradient boosting")
    alts = re.findall('alt="(.*?)"', html)
    assert all(len(alt) > 40 for alt in alts)
    assert len({*alts}) == len(alts)
    assert all(re.search(r"\d", alt) for alt in alts)  # said from the data
    assert "&lt;Ayr&gt;" in html
    assert "<Ayr>" not in html
    assert "http" not in html
    assert "pritchel fit &#x27;my rows.csv&#x27; --target y" in html
    assert "90 rows from rows.csv, 30% of them held out" in html
    assert ("rows of the given table" in html) == with_table


def test_a_gaussian_prior_and_a_model_without_rows_have_a_page(table, tmp_path):
    estimator = tiny(training__num_steps=20, prior="gaussian").fit(*table)
    estimator.save(tmp_path / "m")
    html = model_page(TableModel.load(tmp_path / "m")).html()
    assert "none can be pruned" in html
    assert "nothing to compare with" in html
    assert "<code>pritchel" not in html  # fitted in Python: the settings say how
    assert "training__num_steps" in html


@pytest.mark.slow
def test_noise_that_depends_on_inputs_has_a_picture(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "z": rng.normal(size=200)})
    frame["y"] = frame["x"] + np.exp(frame["z"] - 1) * rng.normal(size=200)
    fitted = TableModel(tiny(likelihood="heteroscedastic", training__num_steps=2500), holdout=0.2).fit(frame, "y")
    assert not fitted.estimator_.noise_report_[0].is_constant
    html = model_page(fitted, frame).html()
    assert "The noise of y is not the same for all rows" in html


@pytest.mark.slow
def test_in_a_browser(model, frame, tmp_path):
    """Headless Chromium: no console message, no request, no sideways scrolling on a phone, every picture drawn."""
    browser_path = shutil.which("chromium")
    if browser_path is None:
        pytest.skip("chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api")
    path = model_page(model, frame).write(tmp_path / "report.html")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=FLAGS)
        heard: list[str] = []
        for width in (1000, 390):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.on("console", lambda message: heard.append(message.text))
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.on("request", lambda request: heard.append(request.url) if request.url.startswith("http") else None)
            page.goto(path.as_uri())
            assert heard == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            widths = page.evaluate("[...document.images].map(i => [i.complete && i.naturalWidth > 0, i.clientWidth])")
            assert all(is_drawn and shown <= width for is_drawn, shown in widths)
            assert len(page.screenshot(full_page=True)) > 20_000
        assert page.pdf().startswith(b"%PDF")
        browser.close()


def test_text_is_escaped():
    page = Page("<title>", "a & b")
    page.table(("<c>",), [("<d>",)])
    page.figure(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + (320).to_bytes(4, "big"), '"quoted"', "<caption>")
    html = page.html()
    for text in ("&lt;title&gt;", "a &amp; b", "&lt;c&gt;", "&lt;d&gt;", "&quot;quoted&quot;", "&lt;caption&gt;"):
        assert text in html
    assert 'width="192"' in html


def test_many_counts_share_bars_and_none_is_left_out():
    """Counts of 61 to 118 are two to a bar, and the last bar is of all that is left."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [1.0]], 60, axis=0)
    frame = pd.DataFrame({"self": X[:, 0], "n": rng.poisson(88, 120)})
    model = TableModel(tiny(likelihood="poisson", training__num_steps=200), holdout=0).fit(frame, "n")
    page = model_page(model, frame).html()  # a column of that name, too
    told = re.search(r"Hanging rootogram[^<\"]*", page).group()
    where, seen, expected = re.search(r"off at (\d+ to \d+), seen (\d+) times where (\d+) were", told).groups()
    low, high = map(int, where.split(" to "))
    assert high == low + 1
    assert int(seen) == frame["n"].between(low, high).sum()
    assert int(expected) < 15


def test_noise_without_a_deviation_has_no_picture_of_one():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    model = TableModel(tiny(likelihood=StudentT(dof=1.5), inference="variational", training__num_steps=50))
    assert not re.search(r"\binf\b", re.sub(r"data:image[^\"]*", "", model_page(model.fit(frame, "y"), frame).html()))
