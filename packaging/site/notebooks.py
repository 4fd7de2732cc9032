"""notebooks.py NOTEBOOK...: runs notebooks in Jupyter and keeps in them what their cells give, so that readers see the pictures before they
run anything. Needs nbclient, ipykernel, Pillow and what the notebooks import. A result of more than MOST bytes, such as a film, is left out, and so are
HTML, which GitHub shows in part only, warnings, execution counts and times.

A notebook's metadata say of which code its results are (`code_of`): tests/pages/pages.py sees when the code has changed since.
"""
import hashlib
import os
import sys
import tempfile
from base64 import b64decode, b64encode
from io import BytesIO

MOST = 60_000


def code_of(notebook):
    """The sum of a notebook's cells of code."""
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    return hashlib.sha256("\0".join(cells).encode()).hexdigest()[:16]


def shrunk(picture):
    """A PNG, as base64, in 64 colours."""
    with Image.open(BytesIO(b64decode(picture))) as image:
        file = BytesIO()
        image.convert("RGB").quantize(64).save(file, "PNG", optimize=True)
    return b64encode(file.getvalue()).decode()


def small(output):
    """The result without what is too large, None if nothing is left."""
    if output["output_type"] == "stream":
        return dict(output, text=output["text"][:MOST]) if output["name"] == "stdout" else None
    data = {kind: shrunk(value) if kind == "image/png" else value for kind, value in output.get("data", {}).items()}
    data = {kind: value for kind, value in data.items() if len(value) <= MOST and kind != "text/html"}
    if list(data) == ["text/plain"] and data["text/plain"].startswith("<"):
        return None         # the name of an object that there is no picture of
    kept = dict(output, data=data)
    if "execution_count" in kept:
        kept["execution_count"] = None
    return kept if data else None


def execute(path):
    """Runs a notebook in an empty folder, and writes its results into it."""
    global Image
    import nbformat
    from PIL import Image
    from nbclient import NotebookClient
    notebook = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell["metadata"].pop("execution", None)
        if cell.cell_type == "code":
            cell["outputs"] = [kept for output in cell["outputs"] if (kept := small(output))]
            cell["execution_count"] = None
    notebook["metadata"] = {"kernelspec": notebook["metadata"]["kernelspec"], "language_info": {"name": "python"}, "results_of": code_of(notebook)}
    nbformat.write(nbformat.from_dict(notebook), path)
    print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        execute(name)
