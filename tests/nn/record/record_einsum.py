"""einsum with "..." and with a letter twice in an operand, as PyTorch computes it.

    python tests/nn/record/record_einsum.py
"""

import torch

from torch_cases import Cases

c = Cases("einsum", 5)
n = c.normal
for name, equation, operands in [
        ("trace", "ii", [n(3, 3)]),
        ("diagonal", "ii->i", [n(4, 4)]),
        ("diagonals", "...ii->...i", [n(2, 3, 4, 4)]),
        ("apart", "iji->ij", [n(3, 2, 3)]),
        ("thrice", "iii->i", [n(3, 3, 3)]),
        ("two_diagonals", "iijj->ij", [n(2, 2, 3, 3)]),
        ("scaled_diagonal", "bii,i->bi", [n(2, 3, 3), n(3)]),
        ("batched", "...ij,...jk->...ik", [n(2, 3, 2, 4), n(2, 3, 4, 3)]),
        ("broadcast", "...ij,...jk->...ik", [n(3, 2, 4), n(2, 1, 4, 3)]),
        ("of_one", "...ij,...jk->...ik", [n(1, 2, 4), n(2, 4, 3)]),
        ("without_arrow", "...ij,jk", [n(2, 3, 4), n(4, 2)]),
        ("without_arrow_rest_first", "b...,...a", [n(2, 3), n(3, 4)]),
        ("rest_is_summed", "...ij->ij", [n(2, 3, 4)]),
        ("rest_is_nothing", "...ij->...ji", [n(3, 4)]),
        ("three", "...a,...b,...ab->...", [n(5, 2), n(5, 3), n(1, 2, 3)]),
        ("none", "bii->bi", [n(0, 2, 2)])]:
    c.add(name, lambda *t, equation=equation: torch.einsum(equation, *t), operands)
c.save()
