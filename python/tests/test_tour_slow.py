"""The notebook of the examples is executed, and its pictures are there."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import plimsoll

TOUR = Path(__file__).resolve().parent.parent / "examples" / "tour.ipynb"
NEEDED = ("nbclient", "nbformat", "ipykernel")


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in NEEDED), reason=f"it needs {', '.join(NEEDED)}"
)
def test_the_tour_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(Path(plimsoll.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    nbformat: Any = importlib.import_module("nbformat")
    nbclient: Any = importlib.import_module("nbclient")
    tour = nbformat.read(TOUR, as_version=4)
    nbclient.NotebookClient(
        tour, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    pictures = [
        output["data"]["text/html"]
        for cell in tour.cells if cell.cell_type == "code"
        for output in cell.outputs if "text/html" in output.get("data", {})
    ]
    assert len(pictures) >= 6
    assert any("Memory over a training step" in each and "budget 256 MiB" in each for each in pictures)
    assert any("<polyline" in each for each in pictures)
    assert (tmp_path / "run.html").exists()
