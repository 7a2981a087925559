"""The pages: their code runs in an empty folder, links lead somewhere, names exist, and the reference is complete."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pritchel
from pritchel.cli import app
from tests.pages import BLOCK, ROOT, defined_names, used_names

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MORE_PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "results/README.md")]
# Commands of a shell block that set up or measure, run elsewhere or not at all.
NOT_RUN = ("make ", "pip install", "pritchel reproduce", "srun ", "mpirun ")
BY_OTHERS = ("shap",)  # packages that a block may need, and that not everyone has
MANY_FITS = ("likelihoods.md", "rl.md", "scale.md", "streaming.md", "tutorial.md", "uncertainty.md")


def _page(page: Path):
    return pytest.param(page, id=page.name, marks=pytest.mark.slow if page.name in MANY_FITS else ())


@pytest.mark.filterwarnings("ignore::DeprecationWarning:matplotlib")
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of the colours that shap makes on import
@pytest.mark.parametrize("page", [_page(page) for page in PAGES])
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    blocks = BLOCK.findall(page.read_text())
    if not blocks:
        pytest.skip("no code on this page")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names: dict = {}
    printed = ""  # by the block before
    for kind, text in blocks:
        if any(f"import {name}" in text and importlib.util.find_spec(name) is None for name in BY_OTHERS):
            continue
        if kind == "text":
            missing = [line for line in text.splitlines() if _without_numbers(line) not in _without_numbers(printed)]
            assert not missing, f"{page.name} promises {missing}; printed was\n{printed}"
            continue
        capsys.readouterr()
        printed = ""
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)
            printed = capsys.readouterr().out
        elif kind == "sh":
            for line in filter(None, map(str.strip, text.splitlines())):
                if line.startswith(NOT_RUN):
                    continue
                words = shlex.split(line, comments=True)
                assert words[0] == "pritchel", line
                result = CliRunner().invoke(app, words[1:])
                assert result.exit_code == 0, f"{line}\n{result.output}\n{result.stderr}"
                printed += result.output
        else:
            pytest.fail(f"a block of {kind!r}: say python or sh, so that it runs, or text for what it prints")
        for promised in re.findall(r"print\(.*\)  # (.*)", text) if kind == "python" else ():
            assert _without_numbers(promised) in _without_numbers(printed), f"{page.name}: {promised}"


def _without_numbers(text: str) -> str:
    """The text with every number as one sign, and white space folded: digits differ from machine to machine."""
    return re.sub(r"\s+", " ", re.sub(r"-?\d[\d,]*(\.\d+)?(e[+-]?\d+)?", "#", text)).strip()


def test_links_lead_somewhere():
    for page in (*PAGES, *MORE_PAGES):
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_readme_names_both_commands():
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


def test_the_reference_names_every_command_and_method():
    from pritchel import HorseshoeRegressor

    text = (ROOT / "docs" / "api.md").read_text()
    for command in app.registered_commands:
        assert f"pritchel {command.callback.__name__}" in text
    own = {name for base in HorseshoeRegressor.__mro__ if base.__module__.startswith("pritchel") for name in vars(base)}
    for name in own:
        if not name.startswith(("_", "set_", "likelihood_settings")) and callable(getattr(HorseshoeRegressor, name)):
            assert name in text, name


def test_the_reference_lists_every_public_name_in_its_room():
    text = (ROOT / "docs" / "api.md").read_text()
    listed = dict(re.findall(r"^\| \w+ \| `(\w+)` \| (.+) \|$", text, re.M))
    assert sorted(listed) == sorted(pritchel.__all__)
    for name, home in pritchel._HOMES.items():
        assert f"| {home.split('.')[0]} | `{name}` |" in text


# Where the public names live, and the examples in their docstrings with them.
HOMES = sorted({f"pritchel.{home}" for home in pritchel._HOMES.values()} | {"pritchel.estimators.scorers"})


@pytest.mark.parametrize("home", HOMES)
def test_examples_in_docstrings_run(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(home), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


# What is met in use, not made by users.
MET = ("CollapseWarning", "FileError", "FitWarning", "Progress", "TableError")


@pytest.mark.parametrize("name", [name for name in pritchel.__all__ if name not in MET])
def test_what_users_make_has_examples(name):
    assert doctest.DocTestFinder(recurse=False).find(getattr(pritchel, name))[0].examples


def test_tables_are_whole():
    for page in (*PAGES, *MORE_PAGES):
        lines = ["", *page.read_text().splitlines(), ""]
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
            if line.startswith("|") and not before.startswith("|"):
                assert re.fullmatch(r"[|:\- ]+", after), (
                    f"{page.name}: rows without a head, cut off by a blank line: {line}"
                )


def code_files(part: str) -> list[Path]:
    """The files that a text names, under the package or the tests; one without a folder is beside the one before it."""
    files: list[Path] = []
    for name in re.findall(r"`([\w/]+\.py)`", part):
        places = [ROOT / "pritchel" / name, ROOT / "tests" / name, *(file.parent / name for file in files[-1:])]
        found = [place for place in places if place.exists()]
        assert found, f"no file {name}"
        files.append(found[0])
    return files


def test_the_method_page_names_what_exists():
    trees = {
        path: ast.parse(path.read_text()) for folder in ("pritchel", "tests") for path in (ROOT / folder).rglob("*.py")
    }
    everywhere = set().union(*map(used_names, trees.values()))
    for part in re.split(r"\n(?=\|)|\n\n", (ROOT / "docs" / "method.md").read_text()):  # rows and paragraphs
        files = code_files(part)
        known = set().union(*(defined_names(trees[file]) for file in files)) if files else everywhere
        for code in re.findall(r"`([^`]+)`", part):
            if not code.endswith(".py"):
                name = re.match(r"@?(\w+)", code)
                assert name, code
                where = ", ".join(file.name for file in files) or "the package"
                assert name[1] in known, f"no {name[1]} in {where}"


@pytest.fixture(scope="module")
def reference():
    """The module that writes the reference."""
    path = ROOT / "docs" / "extensions" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", pritchel.__all__)
def test_every_public_name_is_in_the_reference_with_a_docstring(reference, name):
    pages, thing = reference.reference_pages(), getattr(pritchel, name)
    assert f"pritchel.{name}\n" in pages[name]
    assert f"]({name}.md): {reference.first_line(thing)}" in pages["index"]
    if inspect.isclass(thing) or inspect.isroutine(thing):
        assert vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    for member in reference.own_members(thing) if inspect.isclass(thing) else ():
        assert inspect.getdoc(inspect.getattr_static(thing, member)), f"{name}.{member}"
        assert member in pages[name]


def test_the_reference_drops_pages_of_names_that_are_gone(reference, tmp_path):
    (tmp_path / "Gone.md").write_text("")
    reference.write_reference(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {"index", *pritchel.__all__, *reference.EXTENDED}


def test_the_version_has_one_home():
    from pritchel.serial import versions

    assert versions()["pritchel"] == pritchel.__version__
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest[1] == pritchel.__version__
    own = [*(ROOT / "pritchel").rglob("*.py"), ROOT / "pyproject.toml", ROOT / "CITATION.cff", ROOT / "README.md"]
    assert [path.name for path in own if pritchel.__version__ in path.read_text()] == ["__init__.py"]
