"""Of the house: what may import what, which words are used, and how long things may be."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

import manyview

SOURCE = Path(manyview.__file__).parent
# from the bottom up: each may import what stands before it, and itself
LAYERS = (
    *("_version", "exceptions", "utils", "metrics"),
    *("data", "kernels", "engines", "solver"),
    *("base", "persistence", "datasets", "model_selection", "reliability", "inspection"),
    *("curation", "report"),
    *("cluster", "baselines", "omvcdr", "cost", "io", "study", "cli"),
)
MOST_ROOT_MODULES = 6
MOST_MODULES = 15  # of a folder; only the methods to compare with are more
MOST_LINES = 400  # of code: docstrings, comments and blank lines are free
MOST_FUNCTION_LINES = 40


def modules():
    return sorted(SOURCE.rglob("*.py"))


def part_of(path):
    """The layer that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(source):
    """Parts of manyview that a source imports, at the top or inside functions; "" is the root."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "manyview":
            for alias in node.names:
                is_part = alias.name in LAYERS
                yield alias.name if is_part else ""
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manyview."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "manyview"]
            yield from ([*name.split("."), ""][1] for name in names)


def faults_of(part, source):
    """What a source of a layer imports and may not."""
    below = LAYERS[: LAYERS.index(part) + 1]
    for name in imports_of(source):
        if name not in below:
            yield f"{part} imports {name or 'the root'}"
        elif name == "study" and part not in ("study", "cli"):
            yield f"{part} imports study"


def test_every_part_has_its_layer():
    parts = {part_of(path) for path in modules()} - {"__init__", "__main__"}
    assert parts == set(LAYERS)


@pytest.mark.parametrize("part", LAYERS)
def test_imports_only_point_downwards(part):
    faults = [
        (path.name, fault)
        for path in modules()
        if part_of(path) == part
        for fault in faults_of(part, path.read_text(encoding="utf-8"))
    ]
    assert faults == []


@pytest.mark.parametrize(
    ("part", "source", "fault"),
    [
        ("solver", "from manyview.omvcdr import OMVCDR", "solver imports omvcdr"),
        ("engines", "def f():\n    import manyview.solver.updates", "engines imports solver"),
        ("report", "from manyview.study.methods import Method", "report imports study"),
        ("cost", "from manyview import __version__", "cost imports the root"),
        ("cost", "import manyview", "cost imports the root"),
        ("data", "from manyview import io", "data imports io"),
    ],
)
def test_the_rule_catches_what_it_is_for(part, source, fault):
    assert list(faults_of(part, source)) == [fault]


def test_packages_do_not_depend_on_each_other_in_a_circle():
    needs = {part: set() for part in LAYERS}
    for path in modules():
        if part_of(path) in needs:
            needs[part_of(path)] |= set(imports_of(path.read_text(encoding="utf-8")))
    free = set()
    while len(free) < len(LAYERS):
        ready = {part for part in LAYERS if needs[part] - {part} <= free} - free
        assert ready, f"a circle among {sorted(set(LAYERS) - free)}"
        free |= ready


def test_only_the_command_line_imports_the_study():
    users = {part_of(path) for path in modules() if "manyview.study" in path.read_text("utf-8")}
    assert users <= {"study", "cli"}


def test_the_solver_imports_the_protocol_of_engines_never_an_engine():
    for path in (SOURCE / "solver").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("manyview.engines."), path.name


def test_the_root_and_the_folders_stay_small():
    inside = [path for path in SOURCE.glob("*.py") if path.name != "__init__.py"]
    assert len(inside) <= MOST_ROOT_MODULES
    for folder in {path.parent for path in modules()} - {SOURCE, SOURCE / "baselines"}:
        assert len(list(folder.glob("*.py"))) - 1 <= MOST_MODULES, folder.name


# words of our own that gave way to those of the field
OLD_WORDS = """
    Reading readings_ readings read_as pose restate read_and_state state strides double_step
    is_brisk foresees _settle settle first_sweeps last_sweeps polish few slack appraise may_move
    drift look_around Neighborhood neighborhood mix is_mixed recall place recount confide
    compare pull levels energy narrator told Recorded estimation known stored Intake Request
    sureness Sums
"""
OLD_MODULES = "readings reading known stored recorded estimation blocks contingency storage records"


def names_defined(tree):
    """Names of classes, functions, parameters and attributes that a source defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            yield from (a.arg for a in (*arguments.args, *arguments.kwonlyargs))
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    yield item.target.id
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            yield node.attr if is_own else ""


def test_the_words_are_those_of_the_field():
    for path in modules():
        assert path.stem not in OLD_MODULES.split(), path
        names = set(names_defined(ast.parse(path.read_text(encoding="utf-8"))))
        assert names & set(OLD_WORDS.split()) == set(), path


def code_lines(text):
    """Lines that hold code: no docstrings, comments or blanks."""
    lines = set()
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*skipped, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            doc = node.body[0]
            lines -= set(range(doc.lineno, doc.end_lineno + 1))
    return lines


def test_modules_and_functions_stay_small():
    for path in modules():
        text = path.read_text(encoding="utf-8")
        lines = code_lines(text)
        assert len(lines) <= MOST_LINES, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                inside = range(body[0].lineno, body[-1].end_lineno + 1) if body else ()
                assert len(lines & set(inside)) <= MOST_FUNCTION_LINES, f"{path.name}: {node.name}"
