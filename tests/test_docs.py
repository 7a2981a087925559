"""The code that README shows runs and says what README says."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_readme_code_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    promised = re.search(r"# (units kept: .*)", block)
    assert promised is not None
    assert re.fullmatch(r"units kept: \d+ of 50 \(pruned where P\(scale < 0.001\) > 0.9\)", printed)
    assert re.fullmatch(r"units kept: \d+ of 50 \(pruned where P\(scale < 0.001\) > 0.9\)", promised[1])


def test_readme_names_both_commands():
    assert "make demo" in README
    assert "make test" in README
