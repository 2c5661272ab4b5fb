"""Layers, losses, metrics, optimizers and functions that C++ has: each is there and does its work.
Values are compared with PyTorch's by the C++ tests."""

from __future__ import annotations

import itertools
import math
from typing import Any, Callable

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")

nn = pm.nn
PICTURES, SEQUENCES, TOKENS = (2, 4, 8, 8), (2, 4, 8), (2, 5, 16)
VOLUMES = (2, 4, 6, 8, 8)

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], tuple[int, ...]]] = {
    "Conv1D": (lambda: nn.Conv1D(6, 3, padding="same"), SEQUENCES, (2, 6, 8)),
    "Conv1D causal": (lambda: nn.Conv1D(6, 3, padding="causal"), SEQUENCES, (2, 6, 8)),
    "ConvTranspose1D": (lambda: nn.ConvTranspose1D(6, 2), SEQUENCES, (2, 6, 16)),
    "Conv2D same": (lambda: nn.Conv2D(6, (3, 5), padding="same", stride=(2, 1)), PICTURES, (2, 6, 4, 8)),
    "Conv2D spectral": (lambda: nn.Conv2D(6, 3, form="spectral_norm"), PICTURES, (2, 6, 6, 6)),
    "ConvTranspose2D": (lambda: nn.ConvTranspose2D(6, 3, stride=2, padding=1, output_padding=1), PICTURES, (2, 6, 16, 16)),
    "DepthwiseConv2D": (lambda: nn.DepthwiseConv2D(3, multiplier=2), PICTURES, (2, 8, 6, 6)),
    "SeparableConv2D": (lambda: nn.SeparableConv2D(6, 3, padding=1), PICTURES, (2, 6, 8, 8)),
    "DepthwiseConv1D": (lambda: nn.DepthwiseConv1D(3, multiplier=2, padding="causal"), SEQUENCES, (2, 8, 8)),
    "SeparableConv1D": (lambda: nn.SeparableConv1D(6, 3, stride=2, padding=1), SEQUENCES, (2, 6, 4)),
    "Conv3D": (lambda: nn.Conv3D(6, (3, 1, 3), padding="same", stride=(2, 1, 1)), VOLUMES, (2, 6, 3, 8, 8)),
    "ConvTranspose3D": (lambda: nn.ConvTranspose3D(3, 2), VOLUMES, (2, 3, 12, 16, 16)),
    "MaxPool3D": (lambda: nn.MaxPool3D(2), VOLUMES, (2, 4, 3, 4, 4)),
    "AvgPool3D": (lambda: nn.AvgPool3D((2, 1, 1), stride=1), VOLUMES, (2, 4, 5, 8, 8)),
    "GlobalAvgPool3D": (lambda: nn.GlobalAvgPool3D(), VOLUMES, (2, 4)),
    "GlobalMaxPool3D": (lambda: nn.GlobalMaxPool3D(), VOLUMES, (2, 4)),
    "MaxPool1D": (lambda: nn.MaxPool1D(2), SEQUENCES, (2, 4, 4)),
    "AvgPool1D": (lambda: nn.AvgPool1D(2, stride=1), SEQUENCES, (2, 4, 7)),
    "MaxPool2D": (lambda: nn.MaxPool2D((2, 1)), PICTURES, (2, 4, 4, 8)),
    "GlobalAvgPool1D": (lambda: nn.GlobalAvgPool1D(), SEQUENCES, (2, 4)),
    "GlobalMaxPool1D": (lambda: nn.GlobalMaxPool1D(), SEQUENCES, (2, 4)),
    "GlobalMaxPool2D": (lambda: nn.GlobalMaxPool2D(), PICTURES, (2, 4)),
    "Pad1D": (lambda: nn.Pad1D(1, 2, mode="reflect"), SEQUENCES, (2, 4, 11)),
    "Pad2D": (lambda: nn.Pad2D((1, 2, 0, 3), mode="circular"), PICTURES, (2, 4, 11, 11)),
    "Upsample2D": (lambda: nn.Upsample2D(2, mode="bilinear"), PICTURES, (2, 4, 16, 16)),
    "GroupNorm": (lambda: nn.GroupNorm(2), PICTURES, PICTURES),
    "InstanceNorm": (lambda: nn.InstanceNorm(affine=True), PICTURES, PICTURES),
    "BatchNorm1D": (lambda: nn.BatchNorm1D(), SEQUENCES, SEQUENCES),
    "Dense weight_norm": (lambda: nn.Dense(3, form="weight_norm"), TOKENS, (2, 5, 3)),
    "LSTM": (lambda: nn.LSTM(6, layers=2, bidirectional=True), TOKENS, (2, 5, 12)),
    "GRU": (lambda: nn.GRU(6), TOKENS, (2, 5, 6)),
    "SimpleRNN": (lambda: nn.SimpleRNN(6, activation="relu"), TOKENS, (2, 5, 6)),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(16, 4), TOKENS, TOKENS),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(16, 4, hidden=32), TOKENS, TOKENS),
    "GatedFeedForward": (lambda: nn.GatedFeedForward(16, 32), TOKENS, TOKENS),
    "GLU": (lambda: nn.GLU(gate="silu"), TOKENS, (2, 5, 8)),
    "PReLU": (lambda: nn.PReLU(4), PICTURES, PICTURES),
    "DropPath": (lambda: nn.DropPath(0.5), TOKENS, TOKENS),
    **{
        kind.__name__: (kind, TOKENS, TOKENS)
        for kind in (
            nn.SELU, nn.CELU, nn.ELU, nn.LeakyReLU, nn.Softplus, nn.Mish, nn.HardSigmoid, nn.HardSwish,
            nn.HardTanh, nn.ReLU6, nn.LogSigmoid, nn.Softsign,
        )
    },
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_and_has_gradients(name: str) -> None:
    make, given, wanted = LAYERS[name]
    layer, x = make(), pm.random_normal(given)
    with pm.GradientTape() as tape:
        y = layer(x)
        loss = pm.sum(y * y)
    assert tuple(y.shape) == wanted
    if layer.parameters():
        assert all(np.isfinite(each.numpy()).all() for each in tape.gradient(loss, layer))


def test_recurrent_layers_take_lengths_and_states() -> None:
    lstm, x = nn.LSTM(6), pm.random_normal(TOKENS)
    y, h, c = lstm.run(x, pm.tensor([5, 3]))
    assert c is not None and h.shape == c.shape == (1, 2, 6)
    assert not y.numpy()[1, 3:].any()
    assert lstm.run(x, h=h, c=c)[0].shape == (2, 5, 6)
    assert nn.GRU(6).run(x)[2] is None


def test_cells_are_what_layers_run_in_each_step() -> None:
    lstm, gru, x = nn.LSTM(6, bias=False), nn.GRU(6, bias=False), pm.random_normal((2, 1, 5))
    for layer, parts in ((lstm, 4), (gru, 3)):
        y = layer(x)
        products = pm.linear(pm.reshape(x, (2, 5)), layer.parameters()[0])
        zeros = pm.zeros((2, 6))
        cell = pm.lstm_cell if parts == 4 else pm.gru_cell
        h = cell(products, pm.zeros((2, parts * 6)), zeros)[0]
        np.testing.assert_allclose(h.numpy(), y.numpy()[:, 0], atol=1e-6)


def test_attention_leaves_out_keys_that_do_not_count() -> None:
    q, k, v = (pm.random_normal((1, 2, 3, 4)) for _ in range(3))
    alone = nn.attention(q, k[:, :, :2], v[:, :, :2])
    masked = nn.attention(q, k, v, key_mask=pm.tensor([[True, True, False]]))
    np.testing.assert_allclose(alone.numpy(), masked.numpy(), atol=1e-5)
    decoder = nn.TransformerDecoderLayer(16, 4, hidden=32, dropout=0)
    assert decoder(pm.random_normal(TOKENS), pm.random_normal((2, 7, 16))).shape == TOKENS
    cosines, sines = nn.rope_tables(q, tokens=3, size=4)
    assert nn.rope(q, cosines, sines, style="interleaved").shape == q.shape


def test_attention_takes_queries_keys_and_values_as_one_product_gives_them() -> None:
    heads, key_heads, size = 4, 2, 6
    qkv = pm.random_normal((2, 5, (heads + 2 * key_heads) * size))
    cosines, sines = nn.rope_tables(qkv, tokens=5, size=size)
    mask = pm.tensor([[True] * 5, [True, True, False, True, False]])
    turned = nn.rope(qkv, cosines, sines, size=size, heads=heads + key_heads)
    together = pm.self_attention(turned, heads, key_heads=key_heads, key_mask=mask)
    ends = [0, heads * size, (heads + key_heads) * size, (heads + 2 * key_heads) * size]
    q, k, v = (nn.split_heads(qkv[:, :, a:b], count)
               for a, b, count in zip(ends, ends[1:], (heads, key_heads, key_heads)))
    q, k = (nn.rope(x, cosines, sines) for x in (q, k))
    apart = pm.ops.attention(q, k, v, key_mask=mask)
    np.testing.assert_allclose(together.numpy(), nn.merge_heads(apart).numpy(), atol=1e-5)
    written_out = nn.attention(q, k, v, key_mask=mask, bias=pm.zeros((1,)))
    np.testing.assert_allclose(apart.numpy(), written_out.numpy(), atol=1e-5)


def test_bags_are_weighed() -> None:
    bag = nn.EmbeddingBag(10, 4, mode="sum")
    ids = pm.tensor([[1, 2]])
    once, twice = bag(ids, pm.ones((1, 2))), bag(ids, pm.full((1, 2), 2.0))
    np.testing.assert_allclose(once.numpy() * 2, twice.numpy(), rtol=1e-6)


def test_a_window_hides_keys_that_are_far_away() -> None:
    q, k, v = (pm.random_normal((1, 2, 6, 4)) for _ in range(3))
    places = np.arange(6)[:, None] - np.arange(6)[None, :]
    for causal in (False, True):
        seen = (np.abs(places) < 3) & ((places >= 0) | (not causal))
        bias = pm.tensor(np.where(seen, 0, -1e9).astype(np.float32))
        expected = nn.attention(q, k, v, bias=bias).numpy()
        np.testing.assert_allclose(nn.attention(q, k, v, causal=causal, window=3).numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(nn.attention(q, k, v, window=6).numpy(), nn.attention(q, k, v).numpy(), atol=1e-6)
    with pytest.raises(pm.InvalidArgument, match="the window is -1"):
        nn.attention(q, k, v, window=-1)


def test_ctc_sums_over_all_alignments() -> None:
    logits = np.random.default_rng(3).normal(size=(2, 4, 3)).astype(np.float32)
    labels = np.array([[1, 2], [2, -1]])
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    steps = [4, 3]

    def chance(row: int, wanted: list[int]) -> float:
        total = 0.0
        for path in itertools.product(range(3), repeat=steps[row]):
            if [k for k, _ in itertools.groupby(path) if k != 0] == wanted:
                total += float(np.prod([chances[row, t, k] for t, k in enumerate(path)]))
        return total

    expected = [-math.log(chance(0, [1, 2])), -math.log(chance(1, [2]))]
    x, y, lengths = pm.tensor(logits), pm.tensor(labels), pm.tensor(np.array(steps))
    assert np.allclose(pm.nn.ctc_loss(x, y, lengths, reduction="none").numpy(), expected, atol=1e-5)
    assert pm.nn.ctc_loss(x, y, lengths).item() == pytest.approx((expected[0] / 2 + expected[1]) / 2, abs=1e-5)
    short = pm.tensor(np.array([1, 3]))
    assert pm.nn.ctc_loss(x, y, short, reduction="sum").item() == math.inf
    assert pm.nn.ctc_loss(x, y, short, reduction="sum", zero_infinity=True).item() == pytest.approx(expected[1], abs=1e-5)
    with pytest.raises(pm.InvalidArgument, match="is 0, the blank"):
        pm.nn.ctc_loss(x, pm.tensor(np.array([[1, 0], [2, 1]])))


def test_losses_are_means_with_weights() -> None:
    x, y = pm.tensor([[1.0, 2.0], [3.0, 5.0]]), pm.tensor([[1.0, 4.0], [3.0, 1.0]])
    assert nn.mean_squared_error(x, y).item() == 5
    assert nn.mean_squared_error(x, y, weights=pm.tensor([1.0, 0.0])).item() == 2
    assert nn.huber(x, y, delta=1.0).item() == pytest.approx((1.5 + 3.5) / 4)
    labels = pm.tensor([0, 1])
    weighed = nn.cross_entropy(x, labels, class_weights=pm.tensor([1.0, 0.0]))
    assert weighed.item() == pytest.approx(math.log(1 + math.e))
    assert nn.focal(x, labels, gamma=0.0).item() == pytest.approx(nn.cross_entropy(x, labels).item(), rel=1e-5)
    assert nn.triplet(x, x, y, margin=0.0).item() == 0
    for loss in (nn.log_cosh, nn.hinge, nn.squared_hinge, nn.mean_absolute_error, nn.cosine_distance):
        assert math.isfinite(loss(x, y).item())
    assert nn.poisson(x, y).item() > 0 and nn.smooth_l1(x, y).item() > 0
    assert nn.kl_divergence(pm.log_softmax(x), pm.softmax(x)).item() == pytest.approx(0, abs=1e-6)


def test_metrics_count_over_batches() -> None:
    logits, targets = pm.tensor([2.0, -1.0, 3.0, -2.0]), pm.tensor([1.0, 1.0, 0.0, 0.0])
    counts = nn.BinaryCounts(nn.binary_counts(logits, targets).tolist())
    assert (counts.precision, counts.recall, counts.f1, counts.accuracy) == (0.5, 0.5, 0.5, 0.5)
    assert nn.auc(nn.roc_counts(logits, targets).tolist()) == 0.5
    matrix = nn.ConfusionMatrix(2)
    matrix.update(pm.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), pm.tensor([0, 1, 1]))
    assert matrix.counts.tolist() == [[1, 0], [1, 1]] and matrix.accuracy == pytest.approx(2 / 3)
    assert matrix.of(1).recall == 0.5
    mean = nn.Mean()
    mean.update(pm.tensor(1.0), 3)
    mean.update(pm.tensor(5.0))
    assert mean.result() == 2


@pytest.mark.parametrize("name", ["adagrad", "adadelta", "nadam", "lion", "lamb", "adafactor", "sgd", "adamw", "adamw_8bit"])
def test_an_optimizer_lowers_the_loss(name: str) -> None:
    net, x = nn.Dense(1), pm.random_normal((16, 4))
    optimizer = getattr(pm.optim, name)(0.05)

    def step() -> float:
        with pm.GradientTape() as tape:
            loss = nn.mean_squared_error(net(x), pm.sum(x, axis=1, keepdims=True))
        optimizer.apply(tape.gradient(loss, net))
        return float(loss.item())

    losses = [step() for _ in range(60)]
    assert min(losses[1:]) < losses[0]


def test_adamw_8bit_keeps_a_quarter_of_the_state() -> None:
    def state_bytes(name: str) -> int:
        net, optimizer = nn.Dense(128, bias=False), getattr(pm.optim, name)(1e-3)
        with pm.GradientTape() as tape:
            loss = pm.sum(net(pm.ones((2, 128))))
        optimizer.apply(tape.gradient(loss, net))
        return int(optimizer.state_bytes)

    assert state_bytes("adamw_8bit") < 0.3 * state_bytes("adamw")


def test_groups_change_some_parameters_only() -> None:
    net, x = nn.Sequential(nn.Dense(3), nn.Dense(2)), pm.ones((2, 4))
    net(x)
    before = [each.numpy().copy() for each in net.parameters()]
    optimizer = pm.optim.sgd(0.1, groups=[pm.optim.Group("0.", rate_factor=0.0)])
    with pm.GradientTape() as tape:
        loss = pm.sum(net(x))
    optimizer.apply(tape.gradient(loss, net))
    changed = [bool((a != b.numpy()).any()) for a, b in zip(before, net.parameters())]
    assert changed == [False, False, True, True]


def test_schedules_and_averages() -> None:
    make = pm.optim.Schedule
    assert make.piecewise([2], [0.1, 0.01]).at(2) == 0.01
    assert make.polynomial(1.0, 10).at(5) == pytest.approx(0.5)
    assert make.exponential(1.0, 0.5, 2).at(2) == pytest.approx(0.5)
    assert make.warm_restarts(1.0, 4).at(4) == 1
    assert make.one_cycle(1.0, 10).at(3) == pytest.approx(1, abs=0.1)
    net = nn.Dense(1)
    net(pm.ones((1, 1)))
    weight = net.weight
    weight.assign(pm.ones((1, 1)))
    average = pm.optim.WeightAverage(net, decay=0.5)
    weight.assign(pm.full((1, 1), 3.0))
    average.update()
    average.swap()
    assert weight.numpy()[0, 0] == 2 and average.updates == 1


def test_functions_of_tensors() -> None:
    x = pm.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert pm.einsum("ij,ij->i", x, x).tolist() == [5, 25]
    assert pm.roll(x, 1, axis=1).tolist() == [[2, 1], [4, 3]]
    assert pm.repeat(x, 2, axis=0).shape == (4, 2)
    assert pm.flip(x, axis=0).tolist() == [[3, 4], [1, 2]]
    assert pm.tril(x).tolist() == [[1, 0], [3, 4]] and pm.triu(x).tolist() == [[1, 2], [0, 4]]
    assert pm.norm(x).item() == pytest.approx(math.sqrt(30)) and pm.norm(x, kind="largest").item() == 4
    assert pm.lower_triangle(2, 2, x).tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize(
    "model, shape",
    [
        (lambda: nn.resnet18(classes=3, size=32), (1, 3, 32, 32)),
        (lambda: nn.vit(classes=3, size=32, patch=16, features=32, layers=1, heads=2), (1, 3, 32, 32)),
        (lambda: nn.mixer(classes=3, size=32, features=32, layers=1), (1, 3, 32, 32)),
        (lambda: nn.convnext(classes=3, size=32, blocks=(1, 1, 1, 1), widths=(8, 8, 8, 8)), (1, 3, 32, 32)),
    ],
)
def test_models_take_their_options(model: Callable[[], Any], shape: tuple[int, ...]) -> None:
    net = model()
    net.eval()
    assert net(pm.random_normal(shape)).shape == (1, 3)


def test_a_language_model_takes_its_options() -> None:
    net = nn.llama(vocabulary=50, context=8, features=16, hidden=32, layers=1, heads=4, key_heads=2)
    assert net(pm.zeros((1, 8), dtype=pm.i64)).shape == (1, 8, 50)
