"""tf.image, tf.io, tf.strings and tf.data give what TensorFlow 2.21 gave for the same arguments."""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "tf"
sys.path.insert(0, str(HERE))

import data_pipelines  # noqa: E402, F401
from data_cases import CASES, TOLERANCE, draws  # noqa: E402
from data_results import differs, outcome  # noqa: E402

import plimsoll.compat.tf as tf  # noqa: E402

with gzip.open(HERE / "recorded" / "data.json.gz", "rb") as file:
    RECORDED = json.load(file)
FEW = 24  # of the 200 of each function, which test_tf_data_api_slow.py goes through


def compare(name: str, count: int) -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, theirs in enumerate(RECORDED[name][:count]):
            ours = outcome(lambda: CASES[name](tf, draws(name, number)))
            if "error" in theirs or "error" in ours:
                if ours.get("error") != theirs.get("error"):
                    wrong.append(f"{number}: {ours} is not {theirs}")
            else:
                found = differs(ours["value"], theirs["value"], TOLERANCE[name])
                if found:
                    wrong.append(f"{number}: {found}")
    assert not wrong, f"{len(wrong)} of {len(RECORDED[name])} differ: " + "; ".join(wrong[:4])


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_results_dtypes_shapes_and_errors_are_tensorflows(name: str) -> None:
    compare(name, FEW)
