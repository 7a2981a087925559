"""The report: one file, right in a browser, on a phone and on paper."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from pritchel.report.model_page import model_page
from pritchel.report.page import Page
from pritchel.tables.model import TableModel
from tests.conftest import tiny

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
HEADINGS = (
    "The data",
    "The fit",
    "Which units lived",
    "Predictions and how far to trust them",
    "What the strongest inputs do",
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


@pytest.mark.parametrize("with_table", [False, True])
def test_the_page_has_all_its_parts(model, frame, with_table):
    html = model_page(model, frame if with_table else None).html()
    assert re.findall("<h2>(.*?)</h2>", html) == list(HEADINGS)
    assert html.count("<img") == 5 + with_table  # with rows enough to group them by how sure the model was
    assert html.index("intervals") < html.index("The data")  # the verdict comes first
    assert all(len(alt) > 20 for alt in re.findall('alt="(.*?)"', html))
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
    assert "Standard deviation of the noise of y against" in html


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
