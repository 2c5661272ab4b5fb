"""Twenty random configurations of functions, the odd ones among them, as PyTorch computes them:
activations, arithmetic, reductions, shapes, indices, attention, losses and more. tests/support/
random_functions.cpp reads their settings, NAME.I.o.

    python tests/nn/record/record_random_functions.py [SEED]

Another seed than the default one is for looking at other configurations, as in record_random.py.
"""

import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from torch_cases import PackedCases

COUNT = 20
warnings.filterwarnings("ignore")
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 18
c, r = PackedCases("random_functions", SEED), np.random.default_rng(SEED)


def below(low, high):
    return int(r.integers(low, high + 1))


def shape(i, least=1, most=4):
    """Of the first cases one is a single element, one has none and one is long."""
    odd = [[1], [0, 3], [33]]
    return odd[i] if i < 3 else [below(least, most) for _ in range(below(1, 3))]


def away(*dims, scale=1.5):
    """Numbers between whole ones, exact in bf16: no kink is among them."""
    values = np.clip(np.round(r.standard_normal(dims) * scale * 32), -127, 126) * 2 + 1
    return torch.from_numpy(np.asarray(values / 64)).double()


def positive(*dims):
    return away(*dims).abs() + 0.25


def case(name, i, function, inputs, options=(), skip=()):
    c.put(f"{name}.{i}.o", torch.tensor([int(o) for o in options], dtype=torch.int64))
    c.add(f"{name}.{i}", function, inputs, skip=skip)


def copy(tensors):
    return [t.detach().clone() for t in tensors]


def activations():
    kinds = {
        "relu": F.relu, "leaky_relu": lambda x: F.leaky_relu(x, 0.125), "elu": lambda x: F.elu(x, 0.5),
        "selu": F.selu, "celu": lambda x: F.celu(x, 0.5), "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
        "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softplus": F.softplus, "softsign": F.softsign,
        "log_sigmoid": F.logsigmoid, "hard_sigmoid": F.hardsigmoid, "hard_swish": F.hardswish,
        "hard_tanh": F.hardtanh, "relu6": F.relu6, "abs": torch.abs, "neg": torch.neg, "square": torch.square,
        "exp": torch.exp, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf,
        "clip": lambda x: x.clamp(-0.5, 1.5)}
    of_positive = {"sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal, "log": torch.log,
                   "log1p": torch.log1p}
    for i in range(COUNT):
        x = shape(i)
        for name, f in kinds.items():
            case(name, i, f, [away(*x)])
        for name, f in of_positive.items():
            case(name, i, f, [positive(*x)])


def of_two():
    kinds = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
             "minimum": torch.minimum, "pow": torch.pow}
    for i in range(COUNT):
        x = shape(i)
        y = [1 if d > 1 and below(0, 2) == 0 else d for d in x][below(0, len(x)) if i > 2 else 0:]
        for name, f in kinds.items():
            a = positive(*x) if name == "pow" else away(*x)
            b = positive(*y) if name == "div" else away(*y, scale=0.75)
            if name in ("maximum", "minimum"):
                b = b + 1 / 128  # none are equal
            case(name, i, f, [a, b][::-1] if i % 2 and name not in ("pow", "div") else [a, b])
        condition = torch.from_numpy(r.integers(0, 2, y)).bool()
        case("where", i, torch.where, [condition, away(*x), away(*y)])
        case("where_number", i, lambda k, a: torch.where(k, a, torch.tensor(0.5).double()),
             [condition.clone(), away(*x)])


def reductions():
    kinds = {"sum": torch.sum, "max": torch.amax, "min": torch.amin,
             "norm": lambda x, a, k: x.pow(2).sum(a, k).sqrt(), "norm_absolute": lambda x, a, k: x.abs().sum(a, k),
             "norm_largest": lambda x, a, k: x.abs().amax(a, k)}
    for i in range(COUNT):
        x = [[1], [3, 0], [257]][i] if i < 3 else [below(1, 4) for _ in range(below(1, 4))]
        axes = sorted(r.permutation(len(x))[:below(1, len(x))].tolist()) if i > 2 else [0]
        keep = below(0, 1)
        for name, f in kinds.items():
            # No two are equal: 257 numbers that bf16 has begin with 0.
            values = torch.from_numpy(r.permutation(int(np.prod(x))).reshape(x) + (0 if i == 2 else 1)).double()
            signs = torch.from_numpy(r.integers(0, 2, x) * 2 - 1)
            values = (values / 16) * (signs if name[:4] != "norm" or name == "norm" else 1)
            case(name, i, lambda t, f=f: f(t, axes, bool(keep)), [values], [keep, *axes])
        case("prod", i, lambda t: t.prod(axes[0], bool(keep)), [away(*x, scale=0.75)], [keep, axes[0]])
        line = [[1], [0, 3], [65]][i] if i < 3 else [below(1, 3), below(1, 6)]
        spread = torch.from_numpy(r.permutation(int(np.prod(line))).reshape(line)).double() / 8
        k = below(1, line[-1])
        case("top_k", i, lambda t: torch.topk(t, k)[0], [spread], [k])
        case("sort_falling", i, lambda t: t.sort(dim=-1, descending=True)[0], copy([spread]))
        reverse, exclusive = below(0, 1), below(0, 1)

        def gathered(t, f, none):
            t = t.flip(-1) if reverse else t
            y = f(t, -1)
            if exclusive:
                y = torch.cat([torch.full_like(y[..., :1], none), y[..., :-1]], -1)
            return y.flip(-1) if reverse else y

        case("cumsum_ways", i, lambda t: gathered(t, torch.cumsum, 0.0), [away(*line)], [reverse, exclusive])
        case("cumprod_ways", i, lambda t: gathered(t, torch.cumprod, 1.0), [away(*line, scale=0.6)],
             [reverse, exclusive])


def shapes():
    modes = ["constant", "reflect", "replicate", "circular"]
    for i in range(COUNT):
        x = [[1, 1], [0, 3], [1, 65]][i] if i < 3 else [below(2, 4) for _ in range(below(2, 3))]
        order = r.permutation(len(x)).tolist()
        case("transpose", i, lambda t: t.permute(order), [away(*x)], order)
        axis = below(0, len(x) - 1)
        other = [below(1, 3) if d == axis else e for d, e in enumerate(x)]
        case("concat", i, lambda a, b: torch.cat([a, b], axis), [away(*x), away(*other)], [axis])
        case("stack", i, lambda a, b: torch.stack([a, b], axis), [away(*x), away(*x)], [axis])
        first = below(0, x[axis])
        case("split", i, lambda t: t.split([first, x[axis] - first], axis), [away(*x)], [axis, first])
        begin, step = below(0, x[axis]), below(1, 2)
        end = below(begin, x[axis])
        cut = tuple(slice(begin, end, step) if d == axis else slice(None) for d in range(len(x)))
        case("slice", i, lambda t: t[cut], [away(*x)], [axis, begin, end, step])
        counts = [below(1, 2) for _ in x]
        case("tile", i, lambda t: t.repeat(counts), [away(*x)], counts)
        diagonal = below(-2, 2)
        case("tril", i, lambda t: t.tril(diagonal), [away(*x)], [diagonal])
        case("triu", i, lambda t: t.triu(diagonal), [away(*x)], [diagonal])
        mode = i % 4
        wide = [1, 2, below(2, 4), below(2, 4)]
        sides = [below(0, 1) for _ in range(4)]
        case("pad", i, lambda t: F.pad(t, sides, mode=modes[mode]), [away(*wide)], [mode, *sides])
        size, align = [below(1, 6), below(1, 6)], below(0, 1)
        case("bilinear", i, lambda t: F.interpolate(t, size, mode="bilinear", align_corners=bool(align)),
             [away(1, 2, wide[2], wide[3])], [*size, align])
        case("linear", i, lambda t: F.interpolate(t, size[0], mode="linear", align_corners=bool(align)),
             [away(1, 2, wide[2])], [size[0], align])
        for dims in (1, 2, 3):
            picture = [1, 1, *([1] * dims)] if i == 0 else [below(1, 2), 2, *(below(1, 3) for _ in range(dims))]
            case(f"global_avg{dims}", i, lambda t: t.flatten(2).mean(-1), [away(*picture)])
            apart = torch.from_numpy(r.permutation(int(np.prod(picture))).reshape(picture)).double() / 8
            case(f"global_max{dims}", i, lambda t: t.flatten(2).amax(-1), [apart])


def indices():
    equations = ["ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "i,j->ij", "ij->ji", "ij->i", "bhqd,bhkd->bhqk",
                 "ab,bc,cd->ad", "abc,cb->a", "i,i->"]
    for i in range(COUNT):
        x = [[1, 2], [3, 0], [65, 1]][i] if i < 3 else [below(1, 4) for _ in range(below(2, 3))]
        ids = torch.from_numpy(r.integers(0, x[0], (below(1, 3), below(1, 2)) if i != 4 else (0, 2)))
        case("gather", i, lambda t, k: t[k], [away(*x), ids], [0])
        one = torch.from_numpy(r.integers(0, x[0], (below(1, 4), *x[1:])))
        case("take_along", i, lambda t, k: torch.gather(t, 0, k), [away(*x), one], [0])
        # x[::step, at] and x[rows, :, columns]-like entries
        step, at = below(1, 2), below(0, max(x[1] - 1, 0))
        if x[1]:
            case("index_slices", i, lambda t: t[::step, at], [away(*x)], [step, at])
        else:
            case("index_slices", i, lambda t: t[::step, 0], [away(3, 2)], [step, 0])
        box = [below(1, 3), below(1, 3), below(1, 3)]
        count = 0 if i == 1 else below(1, 4)
        rows, columns = (torch.from_numpy(r.integers(0, box[d], count)) for d in (0, 2))
        case("index_tensors", i, lambda t, a, b: t[a, :, b], [away(*box), rows, columns])
        pairs = torch.from_numpy(np.stack([r.integers(0, box[0], count), r.integers(0, box[1], count)], -1))
        case("gather_nd", i, lambda t, k: t[k[:, 0], k[:, 1]], [away(*box), pairs])
        case("scatter_nd", i, lambda k, u: torch.zeros(box).double().index_put((k[:, 0], k[:, 1]), u, accumulate=True),
             [pairs.clone(), away(count, box[2])], box)
        table = away(below(2, 5), below(1, 3))
        some = torch.from_numpy(r.integers(0, table.shape[0], [[], [0], [2, 3]][i] if i < 3 else (below(1, 4),)))
        case("embedding", i, lambda t, k: F.embedding(k, t), [table, some])
        which = i % len(equations)
        letters = {k: 1 if i == 3 else below(1, 3) for k in "abcdijkhq"}
        operands = [away(*(letters[k] for k in part)) for part in equations[which].split("->")[0].split(",")]
        case("einsum", i, lambda *t: torch.einsum(equations[which], *t), operands, [which])
        m, k, n = (1, 1, 1) if i == 0 else (2, 0, 3) if i == 1 else (3, 65, 2) if i == 2 else (
            below(1, 4), below(1, 4), below(1, 4))
        ta, tb = below(0, 1), below(0, 1)
        front = [[], [2], [1]][below(0, 2)]
        a, b = away(*front, *((k, m) if ta else (m, k))), away(*([2] if front else []), *((n, k) if tb else (k, n)))
        case("matmul", i, lambda a, b: (a.mT if ta else a) @ (b.mT if tb else b), [a, b], [ta, tb])


def gates():
    kinds = [torch.sigmoid, F.silu, F.gelu, F.relu, lambda x: x]
    for i in range(COUNT):
        x = shape(i)
        which = i % 5
        case("gated", i, lambda g, t: kinds[which](g) * t, [away(*x), away(*x)], [which])
        x = [*x[:-1], 2 * x[-1]]
        case("glu", i, lambda t: t.chunk(2, -1)[0] * kinds[which](t.chunk(2, -1)[1]), [away(*x)], [which])
        n, tokens, half = (1, 1, 1) if i == 0 else (0, 2, 2) if i == 1 else (below(1, 2), below(1, 4), below(1, 3))
        inter = below(0, 1)

        def rope(t):
            angles = torch.outer(torch.arange(tokens).double(),
                                 100.0 ** (-torch.arange(half).double() / half))
            cos, sin = angles.cos(), angles.sin()
            a, b = (t[..., 0::2], t[..., 1::2]) if inter else t.chunk(2, -1)
            parts = (a * cos - b * sin, b * cos + a * sin)
            return torch.stack(parts, -1).flatten(-2) if inter else torch.cat(parts, -1)

        case("rope", i, rope, [away(n, 2, tokens, 2 * half)], [inter])
        slopes = below(1, 3)
        case("prelu", i, F.prelu, [away(below(1, 2), slopes, below(1, 3)), away(1 if i % 2 else slopes, scale=0.25)])
        channels = below(1, 3)
        case("instance_norm", i, lambda t, w, b: F.instance_norm(t, weight=w, bias=b),
             [away(below(1, 2), channels, below(2, 4), *([2] * (i % 2))), away(channels), away(channels)], [channels])
        out = below(1, 3)
        rest = [below(1, 3)] if i % 2 else [below(1, 2), 2]
        case("weight_norm", i, lambda v, g: torch._weight_norm(v, g, 0),
             [away(out, *rest), positive(out, *([1] * len(rest)))])
        u = away(out) / 4
        u, v = F.normalize(u, dim=0).bfloat16().double(), away(int(np.prod(rest)))
        v = F.normalize(v, dim=0).bfloat16().double()
        case("spectral_norm", i, lambda w, u, v: w / (u @ w.flatten(1) @ v),
             [away(out, *rest), u, v], skip=[1, 2])


def attention():
    for i in range(COUNT):
        heads, each = below(1, 2), below(1, 2)
        n, t, s, d = (1, 1, 1, 4) if i == 0 else (1, 1, 257, 2) if i == 1 else (1, 3, 3, 4) if i == 2 else (
            below(1, 2), below(1, 5), below(1, 6), 2 * below(1, 3))
        causal = int(i > 1 and t <= s and below(0, 1))
        window = below(1, 4) if i % 2 and i != 1 else 0
        masked, biased = int(i % 3 == 1), int(i % 4 > 1)
        mask = torch.from_numpy(r.integers(0, 2, (n, s))).bool()
        inputs = [c.normal(n, heads * each, t, d), c.normal(n, heads, s, d), c.normal(n, heads, s, d)]
        inputs += [mask] if masked else []
        inputs += [c.normal(*([1, heads * each, t, s] if i % 8 > 3 else [t, s]))] if biased else []

        def attend(q, k, v, *more):
            more = list(more)
            m = more.pop(0) if masked else None
            k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + (more[0] if biased else 0)
            before = torch.arange(t)[:, None] + s - t - torch.arange(s)[None, :]
            keep = torch.ones(n, 1, t, s).bool()
            if causal:
                keep = keep & (before >= 0)
            if window:
                keep = keep & (before.abs() < window)
            if m is not None:
                keep = keep & m[:, None, None, :]
            # A query that sees no key gives zeros.
            scores = scores.masked_fill(~keep, -1e30).softmax(-1)
            return scores.masked_fill(~keep, 0.0) @ v

        case("attention_ways", i, attend, inputs, [causal, window, masked, biased])
        tokens, size = (1, 2) if i == 0 else (65, 2) if i == 1 else (below(1, 5), below(1, 4))

        def within(x):
            q, k, v = x.split([heads * each * size, heads * size, heads * size], -1)
            q, k, v = (part.unflatten(-1, (-1, size)).transpose(1, 2) for part in (q, k, v))
            k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
            scores = q @ k.transpose(-1, -2) * size ** -0.5
            if causal:
                scores = scores.masked_fill(~torch.ones(tokens, tokens).bool().tril(), float("-inf"))
            return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)

        case("self_attention", i, within, [c.normal(n, tokens, (each + 2) * heads * size)], [heads * each, heads, causal])


def losses():
    for i in range(COUNT):
        x = [1] if i == 0 else [33] if i == 2 else [below(1, 4) for _ in range(below(1, 2))]
        same = lambda: [away(*x), away(*x) + 1 / 128]
        case("mean_squared_error", i, F.mse_loss, same())
        case("mean_absolute_error", i, F.l1_loss, same())
        case("huber", i, lambda a, b: F.huber_loss(a, b, delta=0.7), same())
        case("smooth_l1", i, lambda a, b: F.smooth_l1_loss(a, b, beta=0.7), same())
        case("log_cosh", i, lambda a, b: (a - b).cosh().log().mean(), same())
        case("poisson", i, F.poisson_nll_loss, [away(*x), away(*x).abs().round()])
        signs = torch.from_numpy(r.integers(0, 2, x) * 2 - 1).double()
        case("hinge", i, lambda a, b: (1 - a * b).clamp(min=0).mean(), [away(*x), signs], skip=[1])
        case("squared_hinge", i, lambda a, b: ((1 - a * b).clamp(min=0) ** 2).mean(), [away(*x), signs.clone()],
             skip=[1])
        chances = torch.from_numpy(r.integers(0, 17, x) / 16).double()
        case("binary_cross_entropy", i, F.binary_cross_entropy_with_logits, [away(*x), chances], skip=[1])
        hits = torch.from_numpy(r.integers(0, 2, x)).double()

        def binary_focal(a, b):
            loss, p = F.binary_cross_entropy_with_logits(a, b, reduction="none"), a.sigmoid()
            return ((0.25 * b + 0.75 * (1 - b)) * loss * (1 - (p * b + (1 - p) * (1 - b))) ** 2).mean()

        case("binary_focal", i, binary_focal, [away(*x), hits], skip=[1])
        rows, classes = [([1], 1), ([4], 257), ([2], 2)][i] if i < 3 else (x, below(1, 5))
        labels = torch.from_numpy(r.integers(0, classes, rows))
        if i > 3 and labels.numel() > 1:
            labels.view(-1)[0] = -100
        smoothing = [0, 10, 25][i % 3]

        def entropy(a, y, w=None, s=smoothing):
            w = None if w is None else w.detach()
            return F.cross_entropy(a.reshape(-1, classes), y.reshape(-1), weight=w, label_smoothing=s / 100)

        case("cross_entropy", i, entropy, [c.normal(*rows, classes), labels], [smoothing])
        case("class_weights", i, entropy, [c.normal(*rows, classes), labels.clone(), positive(classes)], [smoothing],
             skip=[2])

        def focal(a, y):
            each = F.cross_entropy(a.reshape(-1, classes), y.reshape(-1), reduction="none")
            return ((1 - (-each).exp()) ** 2 * each)[y.reshape(-1) != -100].mean()

        case("focal", i, focal, [c.normal(*rows, classes), labels.clone()])
        # Sixteenths that sum to 1.
        shares = torch.from_numpy(r.multinomial(16, np.full(classes, 1 / classes), rows) / 16).double()
        case("cross_entropy_dense", i, lambda a, y: -(y * a.log_softmax(-1)).sum(-1).mean(),
             [c.normal(*rows, classes), shares], skip=[1])
        case("kl_divergence", i, lambda a, y: F.kl_div(a.reshape(-1, classes), y.reshape(-1, classes),
                                                       reduction="batchmean"),
             [c.normal(*rows, classes), shares.clone()], skip=[1])
        pairs, features = below(1, 3), below(2, 5)
        two = lambda: [c.normal(pairs, features), c.normal(pairs, features)]
        case("cosine_similarity", i, lambda a, b: F.cosine_similarity(a, b, dim=-1), two())
        alike = torch.from_numpy(r.integers(0, 2, pairs) * 2 - 1)
        case("cosine_embedding", i, lambda a, b, s: F.cosine_embedding_loss(a, b, s, margin=-0.5), [*two(), alike])
        case("triplet", i, lambda a, b, k: F.triplet_margin_loss(a, b, k, margin=2.0, eps=0.0),
             [*two(), c.normal(pairs, features)])

        def contrastive(a, b, s):
            d = (a - b).norm(dim=-1)
            return torch.where(s > 0, d ** 2, (4 - d).clamp(min=0) ** 2).mean()

        case("contrastive", i, contrastive, [*two(), alike.clone()])
        tokens, wide = (1, 1) if i == 0 else (below(1, 5), below(1, 4))
        names = below(2, 6)
        case("linear_cross_entropy", i, lambda a, w, y: F.cross_entropy(a @ w.T, y),
             [c.normal(tokens, wide), c.normal(names, wide), torch.from_numpy(r.integers(0, names, tokens))])


def modules():
    for i in range(COUNT):
        for mode in ("sum", "mean", "max"):
            rows, features = below(2, 6), below(1, 3)
            n, bag = (1, 1) if i == 0 else (0, 2) if i == 1 else (2, 33) if i == 2 else (below(1, 3), below(1, 4))
            padding = 0 if i % 2 else -1
            ids = torch.from_numpy(r.integers(0, rows, (n, bag)))
            layer = nn.EmbeddingBag(rows, features, mode=mode, padding_idx=None if padding < 0 else padding)
            with torch.no_grad():  # no two of a column are equal
                order = np.stack([r.permutation(rows) for _ in range(features)], -1)
                layer.weight.copy_(torch.from_numpy(order - rows / 2 + 0.25))
            c.put(f"bag_{mode}.{i}.o", torch.tensor([rows, features, padding]))
            if n == 0:  # which PyTorch does not take
                ids = torch.from_numpy(r.integers(0, rows, (1, bag)))
            c.module(f"bag_{mode}.{i}", layer, [ids], soften=0)
        heads, size = below(1, 2), below(1, 2)
        features = heads * size
        n, t, s = (1, 1, 1) if i == 0 else (1, 2, 65) if i == 1 else (below(1, 2), below(1, 3), below(1, 3))
        layer = nn.MultiheadAttention(features, heads, bias=bool(i % 2), batch_first=True)
        inputs = [c.normal(n, t, features)] + ([c.normal(n, s, features)] if i % 3 else [])
        c.put(f"multi_head.{i}.o", torch.tensor([features, heads, i % 2]))
        c.module(f"multi_head.{i}", layer, inputs,
                 lambda q, m=None, layer=layer: layer(q, *([q, q] if m is None else [m, m]), need_weights=False)[0])
        first, smooth, hidden = below(0, 1), below(0, 1), below(1, 4)
        features *= 2
        more = dict(dim_feedforward=hidden, dropout=0.0, activation="gelu" if smooth else "relu", batch_first=True,
                    norm_first=bool(first))
        c.put(f"encoder.{i}.o", torch.tensor([features, heads, hidden, smooth, first]))
        c.module(f"encoder.{i}", nn.TransformerEncoderLayer(features, heads, **more), [c.normal(n, t, features)])
        layer = nn.TransformerDecoderLayer(features, heads, **more)
        c.put(f"decoder.{i}.o", torch.tensor([features, heads, hidden, smooth, first]))
        hidden_keys = torch.ones(t, t).bool().triu(1)
        c.module(f"decoder.{i}", layer, [c.normal(n, t, features), c.normal(n, s if i != 1 else 2, features)],
                 lambda a, m, layer=layer, k=hidden_keys: layer(a, m, tgt_mask=k))


class Gated(nn.Module):
    """llama's feed-forward part."""

    def __init__(self, features, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(features, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Separable(nn.Module):
    def __init__(self, kind, into, multiplier, out, bias, **more):
        super().__init__()
        self.depthwise = kind(into, into * multiplier, groups=into, bias=False, **more)
        self.pointwise = kind(into * multiplier, out, 1, bias=bias)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


def layers():
    for i in range(COUNT):
        for dims, kind in ((1, nn.Conv1d), (2, nn.Conv2d)):
            size = [1 if i == 0 else below(1, 3) for _ in range(dims)]
            stride, dilation = ([1 if i == 0 else below(1, 2) for _ in range(dims)] for _ in range(2))
            padding = [below(0, k // 2) for k in size]
            extent = [(k - 1) * d + 1 + (0 if i == 0 else below(0, 2)) for k, d in zip(size, dilation)]
            into, multiplier, out, bias = below(1, 3), below(1, 2), below(1, 3), i % 2
            more = dict(kernel_size=size, stride=stride, padding=padding, dilation=dilation)
            x = [1 if i == 0 else below(1, 2), into, *extent]
            numbers = [multiplier, *size, *stride, *padding, *dilation, bias]
            c.put(f"depthwise{dims}d.{i}.o", torch.tensor(numbers))
            c.module(f"depthwise{dims}d.{i}", kind(into, into * multiplier, groups=into, bias=bool(bias), **more),
                     [c.normal(*x)])
            c.put(f"separable{dims}d.{i}.o", torch.tensor([out, *numbers]))
            c.module(f"separable{dims}d.{i}", Separable(kind, into, multiplier, out, bool(bias), **more), [c.normal(*x)])
        size, dilation, into, out = [below(1, 4), below(1, 4)], [below(1, 2), below(1, 2)], below(1, 2), below(1, 2)
        c.put(f"conv_same.{i}.o", torch.tensor([out, *size, *dilation]))
        c.module(f"conv_same.{i}", nn.Conv2d(into, out, size, padding="same", dilation=dilation),
                 [c.normal(1, into, below(1, 4), below(1, 4))])
        size, dilation = below(1, 3), below(1, 2)
        layer = nn.Conv1d(into, out, size, dilation=dilation)
        c.put(f"conv_causal.{i}.o", torch.tensor([out, size, dilation]))
        c.module(f"conv_causal.{i}", layer, [c.normal(below(1, 2), into, below(1, 5))],
                 lambda x, f=layer, p=(size - 1) * dilation: f(F.pad(x, (p, 0))))
        features, hidden = below(1, 4), below(1, 5)
        c.put(f"gated_feed_forward.{i}.o", torch.tensor([features, hidden]))
        c.module(f"gated_feed_forward.{i}", Gated(features, hidden), [c.normal(below(1, 2), below(0, 3), features)])
        rows, features = below(2, 5), below(1, 3)
        n, bag = (1, 1) if i == 0 else (below(1, 3), below(1, 4))
        layer = nn.EmbeddingBag(rows, features, mode="sum")
        c.put(f"bag_weighed.{i}.o", torch.tensor([rows, features]))
        c.module(f"bag_weighed.{i}", layer, [torch.from_numpy(r.integers(0, rows, (n, bag))), c.normal(n, bag)],
                 lambda k, w, f=layer: f(k, per_sample_weights=w))
        channels, dims = below(1, 3), i % 3
        layer = [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d][dims](channels).eval()
        with torch.no_grad():
            layer.running_mean.copy_(c.normal(channels))
            layer.running_var.copy_(positive(channels))
        c.put(f"batch_norm_evaluation.{i}.o", torch.tensor([], dtype=torch.int64))
        c.module(f"batch_norm_evaluation.{i}", layer,
                 [c.normal(below(1, 2), channels, *(below(1, 3) for _ in range(dims + 1)))])
        factor = below(1, 3)
        case("nearest", i, lambda t: F.interpolate(t, scale_factor=factor, mode="nearest"),
             [away(1, 2, below(1, 3), below(1, 3))], [factor])
        x = [below(1, 3), below(1, 3)]
        ids = torch.from_numpy(r.integers(0, 3, 0 if i == 1 else x[0]))
        case("scatter_add", i, lambda u, k: torch.zeros(3, x[1]).double().index_add(0, k, u),
             [away(len(ids), x[1]), ids], [3, x[1]])
        front = [1] * below(0, 1)
        case("broadcast", i, lambda t: t.expand(2, x[0], 3, x[1]), [away(*front, x[0], 1, x[1])], [2, x[0], 3, x[1]])


def matrices():
    for i in range(COUNT):
        front = [[], [0], [2]][i] if i < 3 else [below(1, 2) for _ in range(below(0, 2))]
        n, columns = 1 if i == 0 else 17 if i == 3 else below(1, 4), below(1, 3)
        a = c.normal(*front, n, n, scale=0.25) + 2 * torch.eye(n).double()
        a = a.bfloat16().double()
        case("solve", i, torch.linalg.solve, [a, c.normal(*front, n, columns)])
        upper = below(0, 1)
        case("triangular_solve", i, lambda a, b: torch.linalg.solve_triangular(a.triu() if upper else a.tril(), b,
                                                                               upper=bool(upper)),
             [a.detach().clone(), c.normal(*front, n, columns)], [upper])
        case("cholesky", i, lambda a: torch.linalg.cholesky((a + a.mT) / 2), [a.detach().clone()])
        wide = [below(1, 4), below(1, 4)]
        case("singular_values", i, torch.linalg.svdvals, [c.normal(*front, *wide)])


for family in (activations, of_two, reductions, shapes, indices, gates, attention, losses, modules, layers, matrices):
    family()
c.save()
