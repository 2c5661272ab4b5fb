"""Runs scripts under TensorFlow and here, and compares the numbers that they report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

SCRIPTS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).resolve().parents[3]


def tensorflow_python() -> str | None:
    """The interpreter of an environment with TensorFlow, or None."""
    for each in (os.environ.get("PLIMSOLL_TF_PYTHON"), ROOT / ".venv-tf" / "bin" / "python"):
        if each and Path(each).exists():
            return str(each)
    return None


def output(command: list[str], script: str, pictures: Path, **environment: str) -> str:
    """What a script prints."""
    env = {**os.environ, "PICTURES": str(pictures), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", **environment}
    env["PYTHONPATH"] = os.pathsep.join([str(SCRIPTS), env.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, str(SCRIPTS / script)], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        raise AssertionError(f"{script} under {command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr[-4000:]}")
    return done.stdout


def run(command: list[str], script: str, pictures: Path, **environment: str) -> list[dict[str, list[float]]]:
    """What a script reports: the lines that begin with RESULT."""
    lines = output(command, script, pictures, **environment).splitlines()
    return [json.loads(line[7:]) for line in lines if line.startswith("RESULT ")]


def memory_here(script: str, pictures: Path, **environment: str) -> tuple[float, float]:
    """The largest growth of the process above its imports, and the ledger's peak, in MiB."""
    printed = output([sys.executable, "-m", "plimsoll.compat.tf"], script, pictures, **environment)
    growth = [float(line.split()[1]) for line in printed.splitlines() if line.startswith("MEMORY ")]
    ledger = [float(line.split()[1]) for line in printed.splitlines() if line.startswith("LEDGER ")]
    assert growth and ledger, f"{script} reports no memory"
    return max(growth), max(ledger)


def here(script: str, pictures: Path, **environment: str) -> list[dict[str, list[float]]]:
    return run([sys.executable, "-m", "plimsoll.compat.tf"], script, pictures, **environment)


def there(script: str, pictures: Path) -> list[dict[str, list[float]]]:
    python = tensorflow_python()
    assert python is not None
    return run([python], script, pictures)


def differences(ours: list[dict[str, list[float]]], theirs: list[dict[str, list[float]]], tolerance: float) -> list[str]:
    """Numbers that differ by more than `tolerance`, relative to the largest of their kind."""
    if len(ours) != len(theirs):
        return [f"{len(ours)} reports, and TensorFlow has {len(theirs)}"]
    found = []
    for a, b in zip(ours, theirs):
        for name in sorted({*a, *b}):
            x, y = np.asarray(a.get(name, [])), np.asarray(b.get(name, []))
            if x.shape != y.shape:
                found.append(f"{name}: {x.shape[0]} numbers, and TensorFlow has {y.shape[0]}")
            elif x.size and np.abs(x - y).max() > tolerance * max(1.0, np.abs(y).max()):
                found.append(f"{name}: differs by {np.abs(x - y).max():.3g} of {np.abs(y).max():.3g}")
    return found
