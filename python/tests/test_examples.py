"""The examples do what their C++ counterparts do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from test_data import write_png

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(name: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)],
        capture_output=True, text=True, timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_regression_fits(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(256, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", x[:, :1] * 2 + 1)
    assert float(run("regression.py", tmp_path / "x.npy", tmp_path / "y.npy", 20).split()[1]) < 0.05


def test_pictures_of_a_folder_are_told_apart(tmp_path: Path) -> None:
    for name, height in (("a", 8), ("b", 24)):
        (tmp_path / name).mkdir()
        for i in range(20):
            write_png(tmp_path / name / f"{i}.png", height, 16 + i, level=255 if name == "a" else 32)
    assert float(run("image_folder.py", tmp_path, 4).split()[1]) >= 0.5


def test_characters_are_written(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 30)
    lines = run("characters.py", tmp_path / "text.txt", 2, 20).splitlines()
    assert float(lines[0].split()[1]) < 4
    assert lines[1].startswith("the quick brown fox")
