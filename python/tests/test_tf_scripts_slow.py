"""The same scripts under TensorFlow and here: numbers that are determined agree."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tf"))

from script_runs import SCRIPTS, differences, here, tensorflow_python, there  # noqa: E402

# What TensorFlow 2.21 has no more runs here only.
PIPELINES = sorted(path.name for path in SCRIPTS.glob("a*.py") if path.name != "a002_3_mixed_precision.py")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


@pytest.mark.skipif(tensorflow_python() is None, reason="there is no .venv-tf with TensorFlow")
@pytest.mark.parametrize("script", PIPELINES)
def test_numbers_agree_with_tensorflow(script: str, pictures: Path) -> None:
    theirs = there(script, pictures)  # makes the pictures that both read
    assert not differences(here(script, pictures), theirs, 1e-5)
