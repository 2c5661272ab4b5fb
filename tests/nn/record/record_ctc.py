"""Twenty random configurations of CTC as PyTorch computes it, the odd ones among them.

A case I has its settings as I.o: the blank, the reduction's number and zero_infinity. Inputs are
logits with the batch in front, labels padded with -1, and the lengths of both.

    python tests/nn/record/record_ctc.py
"""

import numpy as np
import torch
import torch.nn.functional as F

from torch_cases import Cases

REDUCTIONS = ["mean", "sum", "none"]
c, r = Cases("ctc", 18), np.random.default_rng(18)


def below(low, high):
    return int(r.integers(low, high + 1))


for i in range(20):
    classes = below(2, 6)
    blank, reduction, zero = below(0, classes - 1), i % 3, int(i % 2 == 1)
    n = 1 if i == 0 else below(1, 4)
    steps = 1 if i == 0 else 257 if i == 7 else below(3, 9)
    # The first has a step and a label, the second no labels, the third more than fit.
    most = 1 if i == 0 else 0 if i == 1 else steps + 1 if i == 3 else below(1, 4)
    if i > 0 and not zero:  # all of them fit
        steps = max(steps, 2 * most + 1)
    counts = r.integers(0, most + 1, n) if i > 0 else np.ones(1, np.int64)
    counts[0] = most
    lengths = r.integers(min(2 * most + 1, steps), steps + 1, n) if i % 4 else np.full(n, steps)
    kinds = np.array([k for k in range(classes) if k != blank])
    labels = kinds[r.integers(0, len(kinds), (n, most))]
    if i % 5 == 2 and most > 1:
        labels[:, 1] = labels[:, 0]
    labels[np.arange(most)[None, :] >= counts[:, None]] = -1

    def call(x, labels, lengths, counts, more=(blank, REDUCTIONS[reduction], bool(zero))):
        return F.ctc_loss(x.log_softmax(-1).transpose(0, 1), labels.clamp(min=0), lengths, counts, *more)

    c.put(f"{i}.o", torch.tensor([blank, reduction, zero]))
    c.add(str(i), call, [c.normal(n, steps, classes), *(torch.from_numpy(a) for a in (labels, lengths, counts))])
    assert c.tensors[f"{i}.y.0"].size == 0 or np.isfinite(c.tensors[f"{i}.y.0"]).all(), i
c.save()
