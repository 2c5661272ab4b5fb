"""What programs ran into that were written from the documentation alone."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")

LARGE = 2**60 + 1
BEYOND_DOUBLES = 2**53 + 1


def test_numbers_beside_integers_are_exact() -> None:
    x = pm.tensor([1, -2, LARGE])
    assert (x + LARGE).tolist() == [1 + LARGE, -2 + LARGE, 2 * LARGE]
    assert (LARGE - x).tolist() == [LARGE - 1, LARGE + 2, 0]
    assert (x == LARGE).tolist() == [False, False, True] and not (x == LARGE - 1).any().item()
    assert (x // BEYOND_DOUBLES).tolist() == [n // BEYOND_DOUBLES for n in (1, -2, LARGE)]
    assert (x % BEYOND_DOUBLES).tolist() == [n % BEYOND_DOUBLES for n in (1, -2, LARGE)]
    assert pm.maximum(x, BEYOND_DOUBLES).tolist() == [BEYOND_DOUBLES, BEYOND_DOUBLES, LARGE]
    assert pm.where(x > 0, x, -LARGE).tolist() == [1, -LARGE, LARGE]
    assert pm.clip(x, 0, BEYOND_DOUBLES).tolist() == [1, 0, BEYOND_DOUBLES]
    assert pm.clip(x, LARGE, LARGE).tolist() == [LARGE] * 3
    assert pm.full((2,), LARGE, dtype=pm.i64).tolist() == [LARGE, LARGE]
    assert pm.arange(LARGE, LARGE + 3).tolist() == [LARGE, LARGE + 1, LARGE + 2]
    x[0] = LARGE
    assert x[0].item() == LARGE
    x[1] = 3.0  # a whole number
    assert x[1].item() == 3

    @pm.function
    def traced(y: pm.Tensor) -> Any:
        return y * 3 + LARGE, y == BEYOND_DOUBLES

    more, same = traced(pm.tensor([0, BEYOND_DOUBLES]))
    assert more.tolist() == [LARGE, 3 * BEYOND_DOUBLES + LARGE] and same.tolist() == [False, True]
    mapped = pm.data.from_tensor_slices(np.array([0, BEYOND_DOUBLES])).map(lambda i: (i + LARGE, i == BEYOND_DOUBLES))
    assert list(mapped) == [(LARGE, False), (BEYOND_DOUBLES + LARGE, True)]


def test_a_spec_says_what_elements_are() -> None:
    def elements(make: Any, *spec: Any) -> list[Any]:
        return list(pm.data.from_generator(make, spec=list(spec)))

    assert elements(lambda: [2.0, 3], pm.i64) == [2, 3]
    assert elements(lambda: [2.0**24 + 1, 2.0**53 - 1], pm.i64) == [2**24 + 1, 2**53 - 1]
    assert elements(lambda: [1, True], pm.f32) == [1.0, 1.0]
    assert elements(lambda: [0.1], pm.f64) == [0.1]
    assert elements(lambda: [([0.1, 1],)], (pm.f64, (2,)))[0].tolist() == [0.1, 1]
    [narrow] = elements(lambda: [np.ones(2)], (pm.f32, (2,)))
    assert narrow.dtype == pm.f32
    [pixels] = elements(lambda: [np.array([0, 255])], (pm.u8, (2,)))
    assert pixels.dtype == pm.u8 and pixels.tolist() == [0, 255]
    with pytest.raises(pm.DataError, match="i64 .*, and spec states u8"):
        elements(lambda: [np.array([0, 256])], (pm.u8, (2,)))
    with pytest.raises(pm.DataError, match="300, and spec states u8"):
        elements(lambda: [300], pm.u8)
    with pytest.raises(pm.DataError, match="33554432.25, and spec states i64"):
        elements(lambda: [2.0**25 + 0.25], pm.i64)
    called = pm.data.range(3).map(lambda i: np.full(2, i), python=True, spec=[(pm.f32, (2,))])
    assert [x.dtype for x in called] == [pm.f32] * 3


def test_gradients_have_a_norm_and_variables_are_converted() -> None:
    w, unused = pm.Variable([3.0, 4.0], name="w"), pm.Variable([1.0], name="unused")
    with pm.GradientTape() as tape:
        loss = pm.sum(w * w) / 2
    assert float(pm.global_norm(tape.gradient(loss, [w, unused]))) == 5
    assert w.to(pm.i64).tolist() == [3, 4] and w.to("bf16").dtype == pm.bf16


def test_a_generator_that_is_made_anew_is_read_in_each_epoch() -> None:
    rows = pm.data.from_generator(lambda: iter([1, 2]), spec=[pm.i64])
    assert [list(rows), list(rows)] == [[1, 2], [1, 2]]

    class Rows:
        at = 0
        anew = True

        def __iter__(self) -> Any:
            self.at = 0 if self.anew else self.at
            return self

        def __next__(self) -> int:
            if self.at == 2:
                raise StopIteration
            self.at += 1
            return self.at

    reader = Rows()  # an iterator that its own __iter__ begins again
    rows = pm.data.from_generator(lambda: reader, spec=[pm.i64])
    assert [list(rows), list(rows)] == [[1, 2], [1, 2]] and list(rows.repeat(2)) == [1, 2, 1, 2]
    reader.anew = False
    for used in (reader, iter([1, 2]), (i for i in range(2))):
        rows = pm.data.from_generator(lambda: used, spec=[pm.i64])
        list(rows)
        with pytest.raises(pm.DataError, match="gave the same .* again, which the last epoch has used"):
            list(rows)


def test_a_model_is_evaluated_within_a_session(device: pm.Device) -> None:
    net = pm.nn.Sequential(pm.nn.Dense(8), pm.nn.ReLU(), pm.nn.Dense(3))
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    outside = net(pm.tensor(x)).numpy()
    used = device.used
    with device.session("evaluation", limit="8MiB") as scope:
        y = net(pm.tensor(x))
        assert y.device.name == "cpu:0/evaluation" and scope.used > 0
        inside = y.numpy().copy()
        with pm.GradientTape() as tape:
            loss = pm.sum(net(pm.tensor(x)))
        pm.optim.sgd(0.1).apply(tape.gradient(loss, net))  # the weights stay where they are
        del y, tape, loss
    assert np.array_equal(inside, outside) and device.used == used
    assert all(each.value.device.name == "cpu:0" for each in net.parameters())
    net(pm.tensor(x))


def png(path: Path, colour: int) -> None:
    def chunk(kind: bytes, contents: bytes) -> bytes:
        whole = kind + contents
        return struct.pack(">I", len(contents)) + whole + struct.pack(">I", zlib.crc32(whole))

    rows = (b"\0" + bytes([colour] * 24)) * 8
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


def test_two_folders_of_images_are_one_set(tmp_path: Path) -> None:
    for part, colours in (("old", range(6)), ("new", range(100, 104))):
        for colour in colours:
            png(tmp_path / part / ("even" if colour % 2 == 0 else "odd") / f"{colour}.png", colour)
    both = pm.data.image_folder(tmp_path / "old").concatenate(pm.data.image_folder(tmp_path / "new"))
    assert both.classes == ["even", "odd"] and both.class_counts == [5, 5]

    def colours_of(dataset: pm.data.Dataset) -> list[int]:
        found = []
        for image, label in dataset.map(lambda image, label: (pm.cast(image, pm.f32).mean(), label)):
            assert int(image) % 2 == label
            found.append(int(image))
        return found

    every = sorted([*range(6), *range(100, 104)])
    shuffled = colours_of(both.shuffle())
    assert sorted(shuffled) == every and shuffled != every
    train, held = both.split(0.7)
    assert sorted(colours_of(train.shuffle()) + colours_of(held)) == every


def test_bools_are_compared_with_0_and_1_alone() -> None:
    mask = pm.tensor([True, False])
    assert (mask == 1).tolist() == [True, False] and (mask < True).tolist() == [False, True]
    for number in (0.5, 2, -1, float("nan")):
        with pytest.raises(pm.InvalidArgument, match="does not fit the dtype of bool"):
            _ = mask > number
    with pytest.raises(pm.InvalidArgument, match="0.5 does not fit the dtype of"):
        pm.data.from_tensor_slices(np.array([True])).map(lambda b: b > 0.5)


def test_text_is_compared_in_traced_maps() -> None:
    names = pm.data.from_tensor_slices(["cat", "dog"])
    assert list(names.map(lambda n: (n == "cat", n != b"cat"))) == [(True, False), (False, True)]


def test_arrays_are_saved_beside_tensors(tmp_path: Path) -> None:
    pm.save_safetensors(tmp_path / "a.safetensors", {"a": np.arange(3), "b": pm.ones((2,))})
    loaded = pm.load_safetensors(tmp_path / "a.safetensors")
    assert loaded["a"].tolist() == [0, 1, 2] and loaded["b"].tolist() == [1, 1]


def test_a_state_is_whole_or_an_error() -> None:
    net = pm.nn.Sequential(pm.nn.Dense(3, in_features=4), pm.nn.Dense(2))
    assert not net.is_built
    net.materialize()
    with pytest.raises(pm.InvalidArgument, match=r"\[state_dict\] 1 has no parameters yet"):
        net.state_dict()
    net.build((1, 4))
    assert net.is_built
    net.materialize()
    assert len(net.state_dict()) == 4
    assert pm.nn.Sequential(pm.nn.ReLU(), pm.nn.InstanceNorm()).state_dict() == {}


def test_a_budget_that_is_too_small_says_what_works() -> None:
    trainer = pm.Trainer(pm.nn.mlp(in_features=64, hidden=(256,), classes=10), optimizer="sgd")
    with pytest.raises(pm.BudgetTooSmall) as caught:
        trainer.plan(batch=4096, budget="4MiB")
    refused = caught.value
    assert refused.smallest_budget is not None and refused.largest_batch is not None
    assert trainer.plan(batch=4096, budget=refused.smallest_budget).total <= refused.smallest_budget
    if refused.largest_batch > 0:
        trainer.plan(batch=refused.largest_batch, budget="4MiB")
    data = pm.data.from_tensor_slices(np.zeros((8, 1 << 20), np.float32)).batch(8)
    with pytest.raises(pm.BudgetTooSmall) as caught:
        list(data.iterate(limit="1MiB"))
    assert caught.value.smallest_budget is not None and caught.value.smallest_budget > 32 << 20
    assert caught.value.largest_batch is None


def test_what_is_printed_names_no_inside() -> None:
    matrix = pm.nn.ConfusionMatrix(2)
    matrix.update(pm.tensor([[1.0, 0.0], [1.0, 0.0]]), pm.tensor([0, 1]))
    mean = pm.nn.Mean()
    mean.update(pm.tensor(0.5))
    metric = pm.Metric("bias", lambda y, t: pm.sum(y - t))
    shown = [repr(each) for each in (matrix, matrix.of(0), mean, metric, pm.data.range(3).iterate())]
    assert shown[0] == "ConfusionMatrix(accuracy 0.5)" and shown[2] == "Mean(0.5)" and shown[3] == "Metric('bias')"
    assert not any("object at" in each for each in shown), shown
