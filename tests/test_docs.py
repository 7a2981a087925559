"""Every block of Python and every `pritchel` command in README and docs runs, in order, in an empty folder."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pritchel.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)
# Commands of a shell block that set up or measure, run elsewhere or not at all.
NOT_RUN = ("make ", "pip install", "pritchel reproduce")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:matplotlib")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    blocks = BLOCK.findall(page.read_text())
    if not blocks:
        pytest.skip("no code on this page")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names: dict = {}
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)
        elif kind == "sh":
            for line in filter(None, map(str.strip, text.splitlines())):
                if line.startswith(NOT_RUN):
                    continue
                words = shlex.split(line, comments=True)
                assert words[0] == "pritchel", line
                result = CliRunner().invoke(app, words[1:])
                assert result.exit_code == 0, f"{line}\n{result.output}\n{result.stderr}"
        else:
            pytest.fail(f"a block of {kind!r}: say python or sh, so that it runs")
    if page.name == "README.md":
        promised = re.search(r"# (units kept: .*)", page.read_text())
        pattern = r"units kept: \d+ of 50 \(pruned where P\(scale < 0.001\) > 0.9\)"
        assert re.search(pattern, capsys.readouterr().out)
        assert promised is not None
        assert re.fullmatch(pattern, promised[1])


def test_links_lead_somewhere():
    for page in PAGES:
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
        if not name.startswith(("_", "set_")) and callable(getattr(HorseshoeRegressor, name)):
            assert name in text, name
