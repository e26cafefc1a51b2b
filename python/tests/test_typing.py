"""Scripts of users, which `mypy --strict` and pyright accept and which run."""

import ast
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys

import pytest
import stridec

FOLDER = pathlib.Path(__file__).parent / "typing"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# The package that a script imports, if the tests can do without it.
NEEDS = {"arrays_of_torch.py": "torch"}


def scripts_for_checkers():
    """The scripts, but for those whose packages are missing."""
    return [str(path) for path in SCRIPTS if importlib.util.find_spec(NEEDS.get(path.name, "numpy"))]


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_checkers_accept_the_scripts(checker, tmp_path):
    pytest.importorskip(checker)
    options = {"mypy": ["--strict", "--cache-dir", str(tmp_path)], "pyright": ["--pythonpath", sys.executable]}
    command = [sys.executable, "-m", checker, *options[checker], *scripts_for_checkers()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_refuses_wrong_calls(tmp_path):
    """The types say something: these lines have errors."""
    pytest.importorskip("mypy")
    lines = [
        "import numpy as np, jax.numpy as jnp, stridec",
        'stridec.compile("f32[2]", "C").source_byte',
        'stridec.relayout(3, "C")',
        'stridec.relayout(np.zeros(3), "C", device=0)',
        'stridec.Shape("f32[2]").index((0,))',
        'x: str = stridec.relayout(np.zeros(3), "C", out=np.zeros(3))',
        'y: str = stridec.relayout(np.zeros(3), "C")',
        'z: str = stridec.slice(jnp.zeros(3), (0,), (2,))',
        'stridec.Program("", layouts="tpu")',
        'stridec.reshard("f32[2]", "{replicated}", "{replicated}").simulate(3)',
    ]
    script = tmp_path / "wrong.py"
    script.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "--no-error-summary", "--hide-error-context"]
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    errors = {line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line}
    assert errors == {str(number) for number in range(2, len(lines) + 1)}, done.stdout + done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_the_scripts_run(script):
    pytest.importorskip(NEEDS.get(script.name, "numpy"))
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


def documented(tree, module):
    """The objects of a stub that the package documents, with their docstrings in the stub."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and hasattr(module, node.name):
            yield node.name, getattr(module, node.name), ast.get_docstring(node)
            yield from ((f"{node.name}.{name}", found, text) for name, found, text in documented(node, getattr(module, node.name)))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and hasattr(module, node.name):
            yield node.name, getattr(module, node.name), ast.get_docstring(node)


def test_the_stub_has_the_first_paragraphs_of_the_docstrings():
    stub = pathlib.Path(stridec.__file__).with_name("_stridec.pyi")
    seen, checked = set(), 0
    for name, found, text in documented(ast.parse(stub.read_text()), stridec):
        expected = (inspect.getdoc(found) or "").split("\n\n")[0]
        # Only the first overload has one.
        assert " ".join((text or "").split()) == ("" if name in seen else " ".join(expected.split())), name
        seen.add(name)
        checked += 1
    assert checked > 100
