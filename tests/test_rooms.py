"""Imports run one way through the house, also those inside functions, and nothing private is used from another room."""

import ast
from pathlib import Path

import pytest

import pritchel

PACKAGE = Path(pritchel.__file__).parent
# What stands below all rooms, then the rooms in the order in which a table becomes a report.
ROOMS = (
    (
        "lazy",
        "shapes",
        "tree",
        "numerics",
        "user_cache",
        "compile_cache",
        "programs",
        "memory",
        "cores",
        "crew",
        "processes",
        "jobs",
        "settings",
        "checks",
        "writing",
        "serial",
        "folder",
    ),
    ("data",),
    ("model",),
    ("guide",),
    ("infer",),
    ("posterior",),
    ("estimators",),
    ("tables",),
    ("files",),
    ("experiments",),
    ("report",),
    ("cli",),
)
FLOOR = {name: floor for floor, names in enumerate(ROOMS) for name in names}
OUTSIDE = {"__init__", "__main__"}  # the front door may lead anywhere
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem not in OUTSIDE)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> list[tuple[str, list[str]]]:
    """Modules of this package that a file imports anywhere in it, and the names it takes from each."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            found.append((str(node.module), [alias.name for alias in node.names]))
    return [(module, names) for module, names in found if module.split(".")[0] == "pritchel"]


def rooms_entered(tree: ast.AST) -> set[str]:
    rooms = set()
    for module, names in imported(tree):
        parts = module.split(".")
        rooms |= {parts[1]} if len(parts) > 1 else {name for name in names if name in FLOOR}
    return rooms


def test_every_file_has_a_room():
    assert {room_of(path) for path in FILES} == set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path):
    own = FLOOR[room_of(path)]
    above = {room for room in rooms_entered(ast.parse(path.read_text())) if FLOOR[room] > own}
    assert not above, f"{room_of(path)} imports {', '.join(sorted(above))}, which stands above it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_private_is_taken_from_another_file(path):
    private = [name for _, names in imported(ast.parse(path.read_text())) for name in names if name.startswith("_")]
    assert not [name for name in private if name != "__version__"]


def test_no_private_member_of_an_estimator_is_used_outside_it():
    """`thing._member` where thing is neither self nor cls nor a class of the same file; NamedTuple's own are public."""
    named_tuple = {"_replace", "_asdict", "_fields", "_make"}
    of_the_system = {"_exit"}  # of `os`
    wrong = []
    for path in FILES:
        tree = ast.parse(path.read_text())
        classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        own = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
               and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}}  # fmt: skip
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
                continue
            is_own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls", *classes}
            if not is_own and node.attr not in named_tuple | of_the_system | own:
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {node.attr}")
    assert not wrong


def test_longest_files_are_readable():
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_experiments_need_no_pictures():
    """Judging takes no matplotlib; drawing is the report's."""
    for path in FILES:
        if room_of(path) == "experiments":
            tree = ast.parse(path.read_text())
            modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
            assert not [module for module in modules if str(module).startswith("matplotlib")], path


def test_jax_comes_from_one_place():
    """Files that a loaded model needs import it through `lazy`, or inside functions: nobody waits for it unused."""
    heavy = {"jax", "equinox", "optax", "blackjax"}
    free = {"estimators/dynamics.py", "estimators/dynamics_draws.py"}  # of a class whose answers are JAX's
    for path in FILES:
        name = path.relative_to(PACKAGE).as_posix()
        if room_of(path) == "experiments" or name in free:
            continue
        for node in ast.parse(path.read_text()).body:
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not {module.split(".")[0] for module in modules} & heavy, f"{name} imports {modules}"
