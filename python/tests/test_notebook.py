"""The notebook in `examples/` runs, and shows pictures."""

import pathlib

import nbclient
import nbformat

NOTEBOOK = pathlib.Path(__file__).parents[2] / "examples" / "python" / "layouts.ipynb"


def test_the_notebook_runs_and_gives_what_it_shows(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    shown = outputs(notebook)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    given = outputs(notebook)
    assert [text for text, _ in given] == [text for text, _ in shown]
    kinds = [kinds for _, kinds in given]
    assert sum("text/html" in kind for kind in kinds) >= 4 and sum("image/svg+xml" in kind for kind in kinds) >= 3


def outputs(notebook):
    """The text and the media types of every output, but for warnings."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") != "stderr":
                data = output.get("data", {})
                found.append((data.get("text/plain", output.get("text")), set(data)))
    return found
