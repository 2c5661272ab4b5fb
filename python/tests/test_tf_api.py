"""Functions of plimsoll.compat.tf give TensorFlow's results, dtypes, shapes and kinds of errors for
random arguments; what TensorFlow gives is recorded (tf/record.py), the arguments are drawn again."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "tf"))

from api_cases import outcome  # noqa: E402
from api_pack import path_of, unpack  # noqa: E402

import plimsoll.compat.tf as tf  # noqa: E402

MODULES = ["elements", "arrays", "nn", "sequences"]
TOLERANCE = {"float16": (4e-3, 4e-3), "float32": (2e-5, 2e-5), "float64": (1e-9, 1e-9)}
# Sums of many products, and functions that are steep where they are drawn.
LOOSE = {"tan": 1e-4, "math.digamma": 1e-4, "math.lgamma": 1e-4, "linalg.inv": 1e-4, "linalg.det": 1e-4, "acosh": 1e-4, "nn.gelu": 1e-6}


def difference(name: str, wanted: tuple[str, list[Any]], found: tuple[str, list[Any]]) -> str:
    """What differs between two outcomes; nothing if they agree. Where TensorFlow has no kernel for a
    dtype (NotFoundError), or its own code fails (AttributeError), anything will do."""
    if wanted[0] in ("NotFoundError", "AttributeError"):
        return ""
    if wanted[0] != found[0]:
        return f"{found[0]}, TensorFlow: {wanted[0]}"
    if len(wanted[1]) != len(found[1]):
        return f"{len(found[1])} results, TensorFlow: {len(wanted[1])}"
    for a, b in zip(wanted[1], found[1]):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{b.dtype}{list(b.shape)}, TensorFlow: {a.dtype}{list(a.shape)}"
        if a.dtype == object:
            if a.tolist() != b.tolist():
                return f"{b.tolist()}, TensorFlow: {a.tolist()}"
            continue
        relative, absolute = TOLERANCE.get(a.dtype.name, (0.0, 0.0))
        if a.dtype.kind == "f" and name in LOOSE:
            relative = absolute = max(LOOSE[name], relative)
        with np.errstate(all="ignore"):
            same = np.allclose(a.astype("f8"), b.astype("f8"), relative, absolute, equal_nan=True) if a.dtype.kind == "f" else np.array_equal(a, b)
        if not same:
            return f"{b.reshape(-1)[:4]}, TensorFlow: {a.reshape(-1)[:4]}"
    return ""


STEP = 5  # every fifth case; test_tf_api_slow.py takes them all
EXPECTED = {module: unpack(path_of(module)) for module in MODULES}
FUNCTIONS = [(module, name) for module in MODULES for name in EXPECTED[module]]


def wrong_cases(module: str, name: str, step: int) -> list[str]:
    """What differs for every `step`th case of a function."""
    case = importlib.import_module(f"cases_{module}").CASES[name]
    found = []
    for number in range(0, len(EXPECTED[module][name]), step):
        said = difference(name, EXPECTED[module][name][number], outcome(tf, name, case, number))
        if said:
            found.append(f"case {number}: {said}")
    return found


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=[name for _, name in FUNCTIONS])
def test_function_gives_what_tensorflow_gives(module: str, name: str) -> None:
    wrong = wrong_cases(module, name, STEP)
    assert not wrong, f"{len(wrong)} cases of {name} differ:\n" + "\n".join(wrong[:5])
