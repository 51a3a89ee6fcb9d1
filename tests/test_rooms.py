"""The house keeps its order: imports go from right to left, heavy packages stay in their rooms."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("spec", "workload", "scheduling", "engine", "run", "analysis", "experiments", "report", "lesson")
OUTERMOST = ("ui", "cli")  # they may use every room, and not each other
FILES = sorted((ROOT / "lab").rglob("*.py"))


def imports(path):
    """(module, for types only) of every import in a file."""
    for node, typing_only in _nodes(ast.parse(path.read_text(encoding="utf-8")), False):
        if isinstance(node, ast.Import):
            yield from ((alias.name, typing_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module, typing_only
            if node.module == "lab":
                yield from ((f"lab.{alias.name}", typing_only) for alias in node.names)


def _nodes(tree, typing_only):
    for node in ast.iter_child_nodes(tree):
        guard = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        yield node, typing_only
        yield from _nodes(node, typing_only or guard)


def room_of(path):
    parts = path.relative_to(ROOT / "lab").parts
    return parts[0] if len(parts) > 1 else None


def name(path):
    return str(path.relative_to(ROOT))


def test_the_walk_sees_imports_wherever_they_stand(tmp_path):
    source = tmp_path / "x.py"
    source.write_text("import a.b\ndef f():\n    from c import d\nif TYPE_CHECKING:\n    import e\n")
    assert list(imports(source)) == [("a.b", False), ("c", False), ("e", True)]


@pytest.mark.parametrize("path", [f for f in FILES if room_of(f)], ids=name)
def test_a_room_imports_only_from_itself_and_rooms_to_its_left(path):
    room = room_of(path)
    open_rooms = {*ROOMS, room} if room in OUTERMOST else set(ROOMS[: ROOMS.index(room) + 1])
    for module, _ in imports(path):
        if module.startswith("lab.") and module.count(".") >= 1:
            wanted = module.split(".")[1]
            known = wanted in (*ROOMS, *OUTERMOST)
            assert not known or wanted in open_rooms, f"{room} imports {module}"


@pytest.mark.parametrize("path", [*FILES, ROOT / "app.py"], ids=name)
def test_heavy_packages_stay_in_their_rooms(path):
    room = room_of(path) if path.is_relative_to(ROOT / "lab") else "app"
    for module, typing_only in imports(path):
        package = module.split(".")[0]
        if package in ("torch", "transformers"):
            assert room == "engine" or typing_only, f"only lab/engine computes: {module}"
        if package in ("streamlit", "plotly"):
            allowed = ("ui", "app") if package == "streamlit" else ("report",)
            assert room in allowed, f"{room} imports {module}"


def test_the_page_loads_neither_torch_nor_transformers():
    modules = ["app"] + [
        ".".join(f.relative_to(ROOT).with_suffix("").parts)
        for f in FILES
        if room_of(f) in ("ui", "lesson", "report", "analysis", "spec", "workload", "scheduling")
        and f.name not in ("main.py", "__init__.py")
    ]
    seen = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import importlib, sys\nfor m in {modules!r}: importlib.import_module(m)\n"
            "print(sorted({m.split('.')[0] for m in sys.modules} & {'torch', 'transformers', 'streamlit'}))",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.strip().splitlines()[-1] == "['streamlit']"


def test_the_line_of_visitors_loads_no_page():
    code = "import lab.run.visitors, sys; print({'streamlit', 'torch', 'plotly'} & set(sys.modules))"
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "set()"


def test_a_report_is_made_without_a_page():
    code = (
        "import lab.report.charts, lab.report.stage_payload, sys; print({'streamlit', 'torch'} & set(sys.modules))"
    )
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "set()"
