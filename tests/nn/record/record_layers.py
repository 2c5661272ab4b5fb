"""Records PyTorch's activations, norms, recurrent layers, convolutions and attention.

    python tests/nn/record/record_layers.py [FAMILY ...]
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm, weight_norm

from torch_cases import Cases


def activations():
    c = Cases("activations", 1)
    functions = {
        "selu": F.selu, "celu": lambda x: F.celu(x, 0.7), "mish": F.mish,
        "hard_sigmoid": F.hardsigmoid, "hard_swish": F.hardswish, "hard_tanh": F.hardtanh,
        "relu6": F.relu6, "log_sigmoid": F.logsigmoid, "softsign": F.softsign,
    }
    for name, function in functions.items():
        x = c.normal(6, 7, scale=3)
        # Off the kinks, where derivatives are a matter of taste and of rounding; far out, too.
        for kink in [-3.0, -1.0, 0.0, 1.0, 3.0, 6.0]:
            x = torch.where((x - kink).abs() < 0.125, torch.full_like(x, kink + 0.25), x)
        x[0] = torch.tensor([-100.0, -20.0, -4.5, 0.125, 4.5, 20.0, 100.0])
        c.add(name, function, [x])
        c.add(name + "_one", function, [c.normal(1)])
    c.add("prelu_one", lambda x, w: F.prelu(x, w), [c.normal(3, 4), c.normal(1)])
    c.add("prelu_channels", lambda x, w: F.prelu(x, w), [c.normal(3, 4, 2, 5), c.normal(4)])
    c.module("prelu_module", nn.PReLU(3), [c.normal(2, 3, 4)])
    c.add("glu", lambda x: F.glu(x, -1), [c.normal(3, 8)])
    c.add("glu_channels", lambda x: F.glu(x, 1), [c.normal(2, 6, 3, 2)])
    c.add("swiglu", lambda x: x.chunk(2, -1)[0] * F.silu(x.chunk(2, -1)[1]), [c.normal(3, 8)])
    c.add("geglu", lambda x: x.chunk(2, -1)[0] * F.gelu(x.chunk(2, -1)[1]), [c.normal(3, 8)])
    c.save()


def norms():
    c = Cases("norms", 2)
    c.module("group_norm", nn.GroupNorm(3, 6), [c.normal(2, 6, 5, 4)])
    c.module("group_norm_rows", nn.GroupNorm(2, 4), [c.normal(3, 4)])
    c.module("group_norm_one_group", nn.GroupNorm(1, 4, eps=1e-3), [c.normal(3, 4, 7)])
    c.module("group_norm_plain", nn.GroupNorm(2, 4, affine=False), [c.normal(2, 4, 3, 3, 2)])
    c.module("instance_norm", nn.InstanceNorm2d(3), [c.normal(2, 3, 5, 4)])
    c.module("instance_norm_affine", nn.InstanceNorm1d(3, affine=True), [c.normal(2, 3, 9)])
    c.module("batch_norm_1d", nn.BatchNorm1d(4), [c.normal(3, 4, 6)])
    c.module("batch_norm_1d_rows", nn.BatchNorm1d(4), [c.normal(5, 4)])
    c.module("batch_norm_3d", nn.BatchNorm3d(3), [c.normal(2, 3, 2, 4, 3)])
    frozen = nn.BatchNorm3d(3).eval()
    frozen.running_mean.copy_(c.normal(3))
    frozen.running_var.copy_(c.normal(3).abs() + 0.5)
    c.module("batch_norm_3d_eval", frozen, [c.normal(2, 3, 2, 4, 3)])
    c.module("weight_norm_dense", weight_norm(nn.Linear(5, 3)), [c.normal(4, 5)])
    c.module("weight_norm_conv", weight_norm(nn.Conv2d(4, 6, 3, padding=1, groups=2)),
             [c.normal(2, 4, 5, 5)])
    c.module("spectral_norm_dense", spectral_norm(nn.Linear(5, 3)), [c.normal(4, 5)])
    c.module("spectral_norm_conv", spectral_norm(nn.Conv2d(3, 4, 3)), [c.normal(2, 3, 5, 5)])
    c.module("spectral_norm_eval", spectral_norm(nn.Linear(5, 3)).eval(), [c.normal(4, 5)])
    c.save()


def recurrent():
    c = Cases("recurrent", 3)

    def flat(module):
        def call(x, lengths=None):
            if lengths is not None:
                packed = nn.utils.rnn.pack_padded_sequence(
                    x, lengths, batch_first=True, enforce_sorted=False)
                y, state = module(packed)
                y, _ = nn.utils.rnn.pad_packed_sequence(y, batch_first=True,
                                                        total_length=x.shape[1])
            else:
                y, state = module(x)
            return (y, *state) if isinstance(state, tuple) else (y, state)
        return call

    kinds = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
    for name, kind in kinds.items():
        for case, options, shape, lengths in [
                ("plain", {}, (3, 5, 4), None),
                ("stacked", {"num_layers": 2}, (2, 4, 3), None),
                ("both", {"bidirectional": True}, (2, 4, 3), None),
                ("lengths", {"num_layers": 2, "bidirectional": True}, (4, 6, 3), [6, 1, 4, 3]),
                ("no_bias", {"bias": False}, (2, 3, 4), None),
                ("one_step", {}, (2, 1, 3), None),
                ("one", {}, (1, 1, 1), None),
                ("long", {}, (2, 40, 2), None)]:
            module = kind(shape[2], 1 if case == "one" else 5, batch_first=True, **options)
            inputs = [c.normal(*shape)]
            if lengths:
                inputs.append(torch.tensor(lengths))
            c.module(f"{name}_{case}", module, inputs, flat(module.double()))
    relu = nn.RNN(3, 4, nonlinearity="relu", batch_first=True)
    c.module("rnn_relu", relu, [c.normal(2, 5, 3)], flat(relu.double()))

    # With a first state.
    lstm = nn.LSTM(3, 4, num_layers=2, batch_first=True).double()
    c.module("lstm_first", lstm, [c.normal(2, 3, 3), c.normal(2, 2, 4), c.normal(2, 2, 4)],
             lambda x, h, k: (lambda r: (r[0], *r[1]))(lstm(x, (h, k))))
    c.save()


def convolutions():
    c = Cases("convolutions", 4)
    c.module("conv2d_oblong", nn.Conv2d(3, 4, (1, 5), stride=(1, 2), padding=(0, 2)),
             [c.normal(2, 3, 4, 9)])
    c.module("conv2d_same", nn.Conv2d(3, 4, (3, 4), padding="same", dilation=(1, 2)),
             [c.normal(2, 3, 5, 6)])
    c.module("depthwise", nn.Conv2d(3, 6, 3, padding=1, groups=3), [c.normal(2, 3, 5, 4)])

    class Separable(nn.Module):
        def __init__(self):
            super().__init__()
            self.depthwise = nn.Conv2d(3, 6, 3, groups=3, bias=False)
            self.pointwise = nn.Conv2d(6, 5, 1)

        def forward(self, x):
            return self.pointwise(self.depthwise(x))

    c.module("separable", Separable(), [c.normal(2, 3, 5, 6)])
    for name, options, shape in [
            ("plain", {"stride": 2, "padding": 1, "output_padding": 1}, (2, 4, 3, 4)),
            ("groups", {"stride": (2, 3), "groups": 2, "dilation": (2, 1)}, (2, 4, 3, 2)),
            ("no_bias", {"stride": 1, "bias": False}, (1, 4, 1, 1))]:
        c.module(f"conv_transpose2d_{name}", nn.ConvTranspose2d(4, 6, 3, **options),
                 [c.normal(*shape)])
    for name, options, shape in [
            ("plain", {"kernel_size": 3, "stride": 2, "padding": 1}, (2, 4, 9)),
            ("groups", {"kernel_size": 3, "groups": 2, "dilation": 2}, (2, 4, 8)),
            ("same", {"kernel_size": 4, "padding": "same"}, (2, 4, 7)),
            ("one", {"kernel_size": 1, "bias": False}, (1, 4, 1))]:
        c.module(f"conv1d_{name}", nn.Conv1d(4, 6, **options), [c.normal(*shape)])
    causal = nn.Conv1d(4, 6, 3, dilation=2)
    c.module("conv1d_causal", causal, [c.normal(2, 4, 7)],
             lambda x: causal(F.pad(x, (4, 0))))
    for name, options, shape in [
            ("plain", {"kernel_size": 4, "stride": 2, "padding": 1}, (2, 4, 5)),
            ("more", {"kernel_size": 3, "stride": 3, "output_padding": 2, "groups": 2}, (2, 4, 3))]:
        c.module(f"conv_transpose1d_{name}", nn.ConvTranspose1d(4, 6, **options),
                 [c.normal(*shape)])
    c.add("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), [c.normal(2, 3, 8)])
    c.add("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1, count_include_pad=False),
          [c.normal(2, 3, 8)])
    c.add("max_pool2d_oblong", lambda x: F.max_pool2d(x, (2, 3), (2, 1), (1, 1)),
          [c.normal(2, 3, 6, 7)])
    c.add("avg_pool2d_oblong",
          lambda x: F.avg_pool2d(x, (1, 3), (1, 2), (0, 1), count_include_pad=False),
          [c.normal(2, 3, 6, 7)])
    c.add("global_max_pool2d", lambda x: x.amax((2, 3)), [c.normal(2, 3, 4, 5)])
    c.add("global_max_pool1d", lambda x: x.amax(2), [c.normal(2, 3, 5)])
    c.add("global_avg_pool1d", lambda x: x.mean(2), [c.normal(2, 3, 5)])
    for mode in ["reflect", "replicate", "circular"]:
        c.add(f"pad2d_{mode}", lambda x, mode=mode: F.pad(x, (2, 1, 0, 3), mode=mode),
              [c.normal(2, 2, 4, 3)])
        c.add(f"pad1d_{mode}", lambda x, mode=mode: F.pad(x, (2, 1), mode=mode),
              [c.normal(2, 2, 3)])
    c.add("pad2d_zeros", lambda x: F.pad(x, (2, 1, 0, 3)), [c.normal(2, 2, 4, 3)])
    for name, size, corners in [("twice", (8, 6), False), ("odd", (7, 5), False),
                                ("corners", (7, 5), True), ("smaller", (2, 2), False),
                                ("one", (1, 1), False)]:
        c.add(f"bilinear_{name}",
              lambda x, size=size, corners=corners: F.interpolate(
                  x, size, mode="bilinear", align_corners=corners), [c.normal(2, 3, 4, 3)])
    c.add("linear1d", lambda x: F.interpolate(x, 9, mode="linear"), [c.normal(2, 3, 4)])
    c.save()


def attention():
    c = Cases("attention", 5)

    def repeated(t, heads):
        return t.repeat_interleave(heads // t.shape[1], dim=1)

    def attend(q, k, v, mask=None, bias=None, causal=False, scale=None):
        k, v = repeated(k, q.shape[1]), repeated(v, q.shape[1])
        scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        if causal:
            t, s = scores.shape[-2:]
            scores = scores.masked_fill(~torch.ones(t, s).bool().tril(s - t), float("-inf"))
        return scores.softmax(-1) @ v

    def qkv(n, heads, keys_heads, queries, keys, size):
        return [c.normal(n, heads, queries, size), c.normal(n, keys_heads, keys, size),
                c.normal(n, keys_heads, keys, size)]

    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    c.add("grouped", attend, qkv(2, 6, 2, 5, 7, 4))
    c.add("grouped_causal", lambda q, k, v: attend(q, k, v, causal=True), qkv(2, 4, 1, 5, 7, 4))
    c.add("masked", lambda q, k, v, m: attend(q, k, v, m), [*qkv(2, 4, 2, 5, 7, 4), mask])
    c.add("masked_causal", lambda q, k, v, m: attend(q, k, v, m, causal=True),
          [*qkv(2, 2, 2, 7, 7, 4), mask])
    c.add("bias", lambda q, k, v, b: attend(q, k, v, bias=b, scale=0.3),
          [*qkv(2, 2, 2, 5, 7, 4), c.normal(1, 2, 5, 7)])
    c.add("one", attend, qkv(1, 1, 1, 1, 1, 1))

    mha = nn.MultiheadAttention(8, 2, batch_first=True).double()
    c.module("mha_self", mha, [c.normal(2, 5, 8)], lambda x: mha(x, x, x)[0])
    mha = nn.MultiheadAttention(8, 2, batch_first=True, bias=False).double()
    c.module("mha_cross", mha, [c.normal(2, 5, 8), c.normal(2, 3, 8)],
             lambda q, m: mha(q, m, m)[0])
    mha = nn.MultiheadAttention(8, 4, batch_first=True, kdim=6, vdim=3).double()
    c.module("mha_other", mha, [c.normal(2, 5, 8), c.normal(2, 3, 6), c.normal(2, 3, 3)],
             lambda q, k, v: mha(q, k, v)[0])

    keep = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    for first in [False, True]:
        options = dict(d_model=8, nhead=2, dim_feedforward=12, dropout=0.0, batch_first=True,
                       norm_first=first, activation="gelu" if first else "relu")
        e = nn.TransformerEncoderLayer(**options).double()
        c.module(f"encoder_{'pre' if first else 'post'}", e, [c.normal(2, 5, 8)])
        e = nn.TransformerEncoderLayer(**options).double()
        c.module(f"encoder_mask_{'pre' if first else 'post'}", e, [c.normal(2, 5, 8), keep],
                 lambda x, m, e=e: e(x, src_key_padding_mask=~m))
        d = nn.TransformerDecoderLayer(**options).double()
        causal = torch.ones(4, 4).triu(1).bool()
        c.module(f"decoder_{'pre' if first else 'post'}", d, [c.normal(2, 4, 8), c.normal(2, 5, 8), keep],
                 lambda x, m, k, d=d: d(x, m, tgt_mask=causal, memory_key_padding_mask=~k))

    def turned(x, style, theta=10000.0, first=0):
        t, size = x.shape[-2:]
        f = theta ** (-torch.arange(0, size, 2).double() / size)
        a = (torch.arange(t).double() + first)[:, None] * f
        if style == "halves":
            p, q = x[..., :size // 2], x[..., size // 2:]
            return torch.cat([p * a.cos() - q * a.sin(), q * a.cos() + p * a.sin()], -1)
        p, q = x[..., ::2], x[..., 1::2]
        return torch.stack([p * a.cos() - q * a.sin(), q * a.cos() + p * a.sin()], -1).flatten(-2)

    c.add("rope_halves", lambda x: turned(x, "halves"), [c.normal(2, 3, 9, 6)])
    c.add("rope_interleaved", lambda x: turned(x, "interleaved", 500.0, 7), [c.normal(2, 9, 8)])
    c.save()


FAMILIES = {f.__name__: f for f in [activations, norms, recurrent, convolutions, attention]}
for name in sys.argv[1:] or FAMILIES:
    FAMILIES[name]()
