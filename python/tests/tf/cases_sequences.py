"""Cases of losses of sequences."""

from __future__ import annotations

from typing import Any

from api_cases import Arguments, Case, Draw, Plain


def ctc(d: Draw) -> Arguments:
    """Labels that fit their steps: of others TensorFlow's loss is about 707, and infinite here."""
    n, most, classes = d.whole(1, 3), d.whole(1, 3), d.whole(2, 5)
    steps = 2 * most + d.whole(0, 3)
    last = d.chance(0.3)
    dtype = str(d.of("int32", "int64"))
    labels = d.ints([n, most], 0 if last else 1, classes - (2 if last else 1), dtype)
    keywords: dict[str, Any] = {
        "labels": labels, "label_length": d.ints([n], 0, most, dtype),
        "logit_length": d.ints([n], 2 * most, steps, dtype),
    }
    if d.chance(0.5):
        keywords["logits"] = d.floats([n, steps, classes])
        keywords["logits_time_major"] = Plain(False)
    else:
        keywords["logits"] = d.floats([steps, n, classes])
    if last:
        keywords["blank_index"] = Plain(d.of(-1, classes - 1))
    return [], keywords


CASES: dict[str, Case] = {"nn.ctc_loss": ctc}
