"""Cases of CTC, from PyTorch."""

import numpy as np
import torch
import torch.nn.functional as F
from recorder import Recorder

r = Recorder("ctc")


def case(steps, classes, labels, lengths=None, blank=0, zero_infinity=False, dtype=np.int64, gradient=True):
    """`labels` is a list for each sequence, padded with -1; PyTorch has the steps in front."""
    n, most = len(labels), max((len(row) for row in labels), default=0)
    padded = np.full((n, most), -1, dtype)
    for row, each in zip(padded, labels):
        row[:len(each)] = each
    counts = np.array([len(row) for row in labels], dtype)
    lengths = np.full(n, steps, dtype) if lengths is None else np.array(lengths, dtype)
    x = torch.from_numpy(r.normal(n, steps, classes)).log_softmax(-1)
    dloss = torch.from_numpy(r.normal(n))
    log_probs = x.clone().requires_grad_()
    if n:
        ours = torch.from_numpy(np.where(padded < 0, 0, padded).astype(np.int64))
        loss = F.ctc_loss(log_probs.transpose(0, 1), ours, torch.from_numpy(lengths), torch.from_numpy(counts),
                          blank, "none", zero_infinity)
        (dx,) = torch.autograd.grad((loss * dloss).sum(), log_probs)
        # PyTorch's gradient is that of logits before log_softmax: it has the probabilities in it.
        inside = torch.arange(steps)[None, :, None] < torch.from_numpy(lengths)[:, None, None]
        infinite = zero_infinity & (loss == 0)[:, None, None] & (torch.from_numpy(counts) > 0)[:, None, None]
        dx = torch.where(inside & ~infinite, dx - x.exp() * dloss[:, None, None], dx)
    else:
        loss, dx = torch.zeros(0).double(), x
    more = {"blank": blank, "zero_infinity": zero_infinity}
    inputs = [x.numpy(), padded, lengths, counts]
    r.case("ctc_loss", inputs, [loss.detach().numpy()], gradient=gradient, tolerance=4.0, **more)
    if gradient:
        r.case("ctc_loss_grad", [*inputs, dloss.numpy()], [dx.numpy()], gradient=False, tolerance=4.0, **more)


case(1, 2, [[1]])
case(4, 3, [[1, 2], [2]])
case(6, 4, [[1, 1, 2], [3, 3], [2, 2, 2]])                            # repeated labels need a blank between them
case(5, 4, [[1, 2, 3], [1], [2, 3]], [5, 3, 2], blank=0)              # of which the last has one alignment
case(5, 4, [[0, 1, 2], [1, 0], [2]], [5, 4, 5], blank=3, dtype=np.int32)
case(7, 5, [[0, 1, 4, 3], [], [4]], [7, 6, 7], blank=2)               # one without labels
case(3, 3, [[], []])                                                  # none has any
case(40, 6, [[1, 2, 3, 3, 4, 5, 5, 1, 2, 3], [5, 4, 3, 2, 1]], [40, 33])
case(4, 3, [[1, 1, 1], [1, 2, 1, 2, 1], [1]], zero_infinity=True)     # two that are too long
case(4, 3, [[1, 1, 1], [1, 2]], gradient=False)                       # the same: infinite
case(3, 3, [[1], [], [2]], [0, 0, 3], zero_infinity=True)             # no steps
case(3, 3, [[1], []], [0, 0], gradient=False)
case(4, 3, [])
r.write()
