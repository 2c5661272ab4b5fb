"""tf.keras gives what TensorFlow gives: layers, optimizers, losses, metrics, and whole programs."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import math
import pathlib
import runpy
import sys
from typing import Any, Iterator

import pytest

pytest.importorskip("numpy")

HERE = pathlib.Path(__file__).parent / "tf"
sys.path.insert(0, str(HERE))

import plimsoll.compat.tf as tf  # noqa: E402

keras_cases: Any = importlib.import_module("keras_cases")
EXPECTED = json.loads((HERE / "keras_expected.json").read_text())
PROGRAMS = json.loads((HERE / "programs_expected.json").read_text())


def compare(found: Any, wanted: Any, path: str, tolerance: float) -> None:
    """The same structure, and the same numbers up to rounding."""
    if isinstance(wanted, dict):
        assert set(found) == set(wanted), f"{path}: {sorted(found)} is not {sorted(wanted)}"
        for key in wanted:
            compare(found[key], wanted[key], f"{path}.{key}", tolerance)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), f"{path}: {found} is not {wanted}"
        for i, (a, b) in enumerate(zip(found, wanted)):
            compare(a, b, f"{path}[{i}]", tolerance)
    elif isinstance(wanted, float) or isinstance(found, float):
        assert math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance), f"{path}: {found} is not {wanted}"
    else:
        assert found == wanted, f"{path}: {found!r} is not {wanted!r}"


def cases() -> Iterator[Any]:
    for kind, names in EXPECTED.items():
        for name in names:
            yield pytest.param(kind, name, id=f"{kind}-{name}")


@pytest.mark.parametrize("kind, name", list(cases()))
def test_case_gives_tensorflows_numbers(kind: str, name: str) -> None:
    found = keras_cases.KINDS[kind][1](tf, name)
    compare(json.loads(json.dumps(found)), EXPECTED[kind][name], name, 1e-4 if kind == "layer" else 2e-5)


@pytest.fixture
def as_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", tf)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_gives_tensorflows_numbers(name: str, as_tensorflow: None) -> None:
    tf.keras.backend.clear_session()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(HERE / "programs" / f"{name}.py"), run_name="__main__")
    compare(json.loads(printed.getvalue().strip().splitlines()[-1]), PROGRAMS[name], name, 1e-4)
