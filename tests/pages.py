"""What tests of the pages share: code blocks, and the names that a file defines and uses."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)


def defined_names(tree: ast.AST) -> set[str]:
    """What a file defines: functions, classes, and names that are given a value or a type."""
    places = (node for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute)))
    stored = {getattr(node, "id", getattr(node, "attr", "")) for node in places if isinstance(node.ctx, ast.Store)}
    kinds = (ast.FunctionDef, ast.ClassDef)
    return stored | {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def used_names(tree: ast.AST) -> set[str]:
    """Every name in a file's code, docstrings left out."""
    fields = ("id", "attr", "arg", "name")
    return {
        value for node in ast.walk(tree) for field in fields if isinstance(value := getattr(node, field, None), str)
    }
