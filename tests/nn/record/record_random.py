"""Twenty random configurations of each layer, the odd ones among them, as PyTorch computes them.

A case NAME.I has its settings as NAME.I.o, integers that tests/support/random_layers.cpp reads.

    python tests/nn/record/record_random.py [SEED]

Another seed than the default one is for looking at other configurations; the file is kept as the
default seed gives it.
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


class Random:
    def __init__(self, file, seed):
        self.c, self.r = PackedCases(file, seed), np.random.default_rng(seed)

    def below(self, low, high):
        return int(self.r.integers(low, high + 1))

    def options(self, name, i, values):
        self.c.put(f"{name}.{i}.o", torch.tensor(values, dtype=torch.int64))

    def window(self, dims, i, pool=False):
        """Sizes, strides, paddings, dilations and extents that fit each other. The first case has
        elements of one, the second no batch, the third windows of one."""
        size, stride, padding, dilation, extent = [], [], [], [], []
        for _ in range(dims):
            k = 1 if i in (0, 2) else self.below(1, 3)
            d = 1 if pool or i == 0 else self.below(1, 2)
            p = 0 if i == 0 else self.below(0, k // 2)
            reach = (k - 1) * d + 1
            size.append(k)
            dilation.append(d)
            padding.append(p)
            stride.append(1 if i == 0 else self.below(1, 3))
            # PyTorch wants pools no larger than what comes in.
            extent.append(1 if i == 0 else max(1, reach - (0 if pool else 2 * p)) + self.below(0, 3))
        return size, stride, padding, dilation, extent

    def batch(self, i, most=2):
        return 0 if i == 1 else 1 if i == 0 else self.below(1, most)


def convolutions(x):
    for dims, kind in ((1, nn.Conv1d), (2, nn.Conv2d), (3, nn.Conv3d)):
        for i in range(COUNT):
            size, stride, padding, dilation, extent = x.window(dims, i)
            groups = x.below(1, 2)
            into, out = groups * x.below(1, 2), groups * x.below(1, 2)
            bias = x.below(0, 1)
            layer = kind(into, out, size, stride, padding, dilation, groups, bool(bias))
            x.options(f"conv{dims}d", i, [out, *size, *stride, *padding, *dilation, groups, bias])
            x.c.module(f"conv{dims}d.{i}", layer, [x.c.normal(x.batch(i), into, *extent)])


def transposed(x):
    kinds = ((1, nn.ConvTranspose1d), (2, nn.ConvTranspose2d), (3, nn.ConvTranspose3d))
    for dims, kind in kinds:
        for i in range(COUNT):
            size, stride, _, dilation, extent = x.window(dims, i)
            more = [x.below(0, s - 1) for s in stride]
            padding = [x.below(0, ((k - 1) * d) // 2) for k, d in zip(size, dilation)]
            groups = x.below(1, 2)
            into, out = groups * x.below(1, 2), groups * x.below(1, 2)
            bias = x.below(0, 1)
            more = [m if m < s else 0 for m, s in zip(more, stride)]
            layer = kind(into, out, size, stride, padding, more, groups, bool(bias), dilation)
            x.options(f"transpose{dims}d", i,
                      [out, *size, *stride, *padding, *more, *dilation, groups, bias])
            x.c.module(f"transpose{dims}d.{i}", layer, [x.c.normal(max(1, x.batch(i)), into, *extent)])


def pooling(x):
    kinds = {"max": (F.max_pool1d, F.max_pool2d, F.max_pool3d), "avg": (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)}
    for name, functions in kinds.items():
        for dims, function in enumerate(functions, 1):
            for i in range(COUNT):
                size, stride, padding, _, extent = x.window(dims, i, pool=True)
                x.options(f"{name}_pool{dims}d", i, [*size, *stride, *padding])
                more = {} if name == "max" else {"count_include_pad": False}
                x.c.add(f"{name}_pool{dims}d.{i}",
                        lambda t, f=function, a=(size, stride, padding), m=more: f(t, *a, **m),
                        [x.c.normal(max(1, x.batch(i)), x.below(1, 2), *extent)])


def norms(x):
    for i in range(COUNT):
        channels = x.below(1, 4)
        dims = [(), (5,), (2, 3), (2, 2, 2)][i % 4]
        kind = [nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d][i % 4]
        shape = (x.below(3, 5), channels, *dims)
        x.options("batch_norm", i, [])
        x.c.module(f"batch_norm.{i}", kind(channels), [x.c.normal(*shape)])
        groups = x.below(1, 2)
        x.options("group_norm", i, [groups])
        wide = (x.below(1, 3), groups * x.below(1, 3), x.below(2, 4), *((3,) if i % 2 else ()))
        x.c.module(f"group_norm.{i}", nn.GroupNorm(groups, wide[1]), [x.c.normal(*wide)])
        features = [2, 257, 5, 16, 33][i % 5]
        front = [(), (1,), (3,), (0,), (2, 2)][(i // 2) % 5]
        x.options("layer_norm", i, [])
        x.c.module(f"layer_norm.{i}", nn.LayerNorm(features), [x.c.normal(*front, features)])
        x.options("rms_norm", i, [])
        x.c.module(f"rms_norm.{i}", nn.RMSNorm(features, eps=1e-6), [x.c.normal(*front, features)])
        x.options("dense", i, [x.below(1, 4), i % 2])
        out, into = int(x.c.tensors[f"dense.{i}.o"][0]), x.below(1, 4)
        x.c.module(f"dense.{i}", nn.Linear(into, out, bias=bool(i % 2)), [x.c.normal(*front, into)])


def recurrent(x):
    for name, kind in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
        for i in range(COUNT):
            hidden = 1 if i == 0 else 4 if i % 2 else x.below(1, 5)
            layers, both, bias = x.below(1, 2), x.below(0, 1), x.below(0, 1)
            n, steps, into = (1, 1, 1) if i == 0 else (x.below(1, 4), x.below(1, 6), x.below(1, 3))
            if i == 3:
                n, steps, layers, both = 2, 60, 1, 0
            layer = kind(into, hidden, num_layers=layers, bias=bool(bias), batch_first=True,
                         bidirectional=bool(both)).double()
            inputs = [x.c.normal(n, steps, into)]
            if i % 3 == 2:
                inputs.append(torch.from_numpy(x.r.integers(1, steps + 1, n)))

            def call(t, lengths=None, layer=layer, steps=steps):
                if lengths is None:
                    y, state = layer(t)
                else:
                    packed = nn.utils.rnn.pack_padded_sequence(t, lengths, batch_first=True,
                                                               enforce_sorted=False)
                    y, state = layer(packed)
                    y, _ = nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=steps)
                return (y, *state) if isinstance(state, tuple) else (y, state)

            x.options(name, i, [into, hidden, layers, both, bias])
            x.c.module(f"{name}.{i}", layer, inputs, call)


def functions(x):
    for i in range(COUNT):
        rank = x.below(1, 4)
        shape = [[1], [0, 3], [257]][i] if i < 3 else [x.below(1, 5) for _ in range(rank)]
        axis = x.below(0, len(shape) - 1)
        for name, function in {
                "softmax": lambda t: t.softmax(axis), "log_softmax": lambda t: t.log_softmax(axis),
                "cumsum": lambda t: t.cumsum(axis), "cumprod": lambda t: t.cumprod(axis),
                "sort": lambda t: t.sort(dim=axis, stable=True)[0], "flip": lambda t: t.flip(axis),
                "roll": lambda t: t.roll(2, axis), "repeat": lambda t: t.repeat_interleave(2, axis),
                "mean": lambda t: t.mean(axis), "variance": lambda t: t.var(axis, unbiased=False),
        }.items():
            if shape[axis] == 0 and name in ("mean", "variance"):
                continue
            x.options(name, i, [axis])
            x.c.add(f"{name}.{i}", function, [x.c.normal(*shape, scale=0.5 if name == "cumprod" else 1.0)])
        heads, each = x.below(1, 2), x.below(1, 2)
        n, t, s, d = (1, 1, 1, 4) if i == 0 else (1, 2, 257, 4) if i == 1 else (
            x.below(1, 2), x.below(1, 4), x.below(1, 7), 4)
        causal = int(i > 1 and t <= s and x.below(0, 1))
        masked = i % 2
        mask = torch.from_numpy(x.r.integers(0, 2, (n, s))).bool()
        mask[:, 0] = True
        inputs = [x.c.normal(n, heads * each, t, d), x.c.normal(n, heads, s, d), x.c.normal(n, heads, s, d)]

        def attend(q, k, v, m=None, each=each, causal=causal):
            k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            keep = torch.ones(q.shape[-2], k.shape[-2]).bool()
            if causal:
                keep = keep.tril(k.shape[-2] - q.shape[-2])
            if m is not None:
                keep = keep & m[:, None, None, :]
            return scores.masked_fill(~keep, float("-inf")).softmax(-1) @ v

        x.options("attention", i, [causal])
        x.c.add(f"attention.{i}", attend, inputs + ([mask] if masked else []))


x = Random("random", int(sys.argv[1]) if len(sys.argv) > 1 else 61)
for family in (convolutions, transposed, pooling, norms, recurrent, functions):
    family(x)
x.c.save()
