"""tf.errors, made and caught as TensorFlow's users do."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import plimsoll as pm
import plimsoll.compat.tf as tf

CLASSES = [name for name in tf.errors.__all__ if name.endswith("Error") and name != "OpError"]


@pytest.mark.parametrize("name", CLASSES)
def test_an_error_is_made_of_a_node_an_op_and_a_message(name: str) -> None:
    cls: Any = getattr(tf.errors, name)
    for made in (cls(None, None, "the message"), cls(node_def=None, op=None, message="the message")):
        assert (made.node_def, made.op, made.message) == (None, None, "the message")
        assert "the message" in str(made)
    with pytest.raises(tf.errors.OpError):
        raise cls(None, None, "the message")


def test_codes_are_tensorflows() -> None:
    codes = {name: getattr(tf.errors, name).error_code for name in CLASSES}
    assert sorted(codes.values()) == list(range(1, 17))
    assert codes["ResourceExhaustedError"] == tf.errors.RESOURCE_EXHAUSTED == 8


def test_what_the_budget_refuses_is_resource_exhausted() -> None:
    device = pm.device("cpu", limit="1MiB")
    for cls in (tf.errors.ResourceExhaustedError, tf.errors.OpError, pm.OutOfMemory, MemoryError):
        with pytest.raises(cls) as refused:
            pm.zeros((1 << 22,), device=device)
        assert refused.value.message == str(refused.value) and refused.value.requested >= 1 << 24


def test_out_of_memory_is_also_made_of_its_message_alone() -> None:
    made = pm.OutOfMemory("too much")
    assert str(made) == made.message == "too much" and made.holders == []
    assert str(pickle.loads(pickle.dumps(made))) == "too much"
