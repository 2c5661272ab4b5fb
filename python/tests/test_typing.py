"""mypy --strict accepts the package, its stubs, the examples and the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import plimsoll

PYTHON = Path(__file__).resolve().parent.parent


def test_mypy_accepts_everything(tmp_path: Path) -> None:
    package = Path(plimsoll.__file__).parent
    environment = dict(os.environ, MYPYPATH=f"{package.parent}:{PYTHON / 'tests'}:{PYTHON / 'tests' / 'tf'}")
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path),
            "-p", "plimsoll",
        ],
        capture_output=True, text=True, timeout=250, env=environment, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    files = [*map(str, (PYTHON / "examples").glob("*.py")), *map(str, (PYTHON / "tests").glob("*.py"))]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *files],
        capture_output=True, text=True, timeout=250, env=environment, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
