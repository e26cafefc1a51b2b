"""Scripts of users, which `mypy --strict` accepts and which run."""

import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent / "typing"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# The package that a script imports, if the tests can do without it.
NEEDS = {"arrays_of_torch.py": "torch"}


def test_mypy_accepts_the_scripts(tmp_path):
    pytest.importorskip("mypy")
    scripts = [str(path) for path in SCRIPTS]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path)]
    for name, module in NEEDS.items():
        try:
            __import__(module)
        except ImportError:
            scripts.remove(str(FOLDER / name))
    done = subprocess.run([*command, *scripts], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_refuses_wrong_calls(tmp_path):
    """The types say something: these lines have errors."""
    pytest.importorskip("mypy")
    lines = [
        "import numpy as np, stridec",
        'stridec.compile("f32[2]", "C").source_byte',
        'stridec.relayout(3, "C")',
        'stridec.relayout(np.zeros(3), "C", device=0)',
        'stridec.Shape("f32[2]").index((0,))',
        'x: str = stridec.relayout(np.zeros(3), "C", out=np.zeros(3))',
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
