"""What is recorded of tf.keras is what TensorFlow gives today. PLIMSOLL_TF_PYTHON names its Python."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("numpy")

from test_tf_keras import EXPECTED, HERE, PROGRAMS, compare  # noqa: E402


def test_recordings_are_tensorflows(tmp_path: pathlib.Path) -> None:
    python = importlib.import_module("script_runs").tensorflow_python()
    if python is None:
        pytest.skip("there is no .venv-tf with TensorFlow")
    done = subprocess.run([str(python), str(HERE / "record_keras.py")], env={**os.environ, "RECORD_TO": str(tmp_path)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:] + sys.version
    compare(json.loads((tmp_path / "keras_expected.json").read_text()), EXPECTED, "cases", 1e-4)
    compare(json.loads((tmp_path / "programs_expected.json").read_text()), PROGRAMS, "programs", 1e-4)
