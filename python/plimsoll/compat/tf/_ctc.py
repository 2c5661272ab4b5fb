"""tf.nn.ctc_loss, of dense labels."""

from __future__ import annotations

from typing import Any

import plimsoll as pm

from ._convert import tensor
from ._dispatch import op
from ._errors import InvalidArgumentError, unsupported
from ._ragged import SparseTensor


def _lengths(value: Any, name: str) -> Any:
    if value is None:
        raise ValueError(f"{name} is required when labels are a dense tensor")
    return pm.cast(tensor(value), pm.i64)


@op(name="nn.ctc_loss")
def _dense(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True,
    unique: Any = None, blank_index: Any = None,
) -> Any:
    x, wanted = tensor(logits), tensor(labels)
    if len(x.shape) != 3 or len(wanted.shape) != 2:
        raise InvalidArgumentError(None, None, f"logits must have three dimensions and labels two, not {list(x.shape)} and {list(wanted.shape)}")
    if logits_time_major:
        x = pm.transpose(x, [1, 0, 2])
    blank = 0 if blank_index is None else int(blank_index)
    return pm.nn.ctc_loss(
        x, pm.cast(wanted, pm.i64), _lengths(logit_length, "logit_length"), _lengths(label_length, "label_length"),
        blank=blank if blank >= 0 else blank + x.shape[2], reduction="none")


def ctc_loss(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True,
    unique: Any = None, blank_index: Any = None, name: Any = None,
) -> Any:
    """How improbable each sequence's labels are, [batch]. Class 0 is the blank unless blank_index says
    otherwise; `unique`, which makes TensorFlow faster on a TPU, has no effect."""
    if isinstance(labels, SparseTensor):
        unsupported("tf.nn.ctc_loss", "a SparseTensor as labels", "use tf.sparse.to_dense(labels) and label_length")
    return _dense(labels, logits, label_length, logit_length, logits_time_major, None, blank_index)
