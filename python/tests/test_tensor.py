"""Tensors: making them, arithmetic, indexing, values."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


def test_lists_become_tensors_with_the_dtype_of_their_numbers() -> None:
    assert pm.tensor([[1, 2], [3, 4]]).dtype == pm.i64
    assert pm.tensor([[1.0, 2], [3, 4]]).dtype == pm.f32
    assert pm.tensor([True, False]).dtype == pm.bool_
    assert pm.tensor(3.5).shape == ()
    assert pm.tensor([1, 2], dtype="f16").dtype == pm.f16
    assert pm.tensor([b"a", "bc"]).tolist() == [b"a", b"bc"]
    assert pm.tensor(np.zeros((2, 3))).dtype == pm.f64


def test_creation_gives_what_it_says() -> None:
    assert pm.zeros((2, 3)).tolist() == [[0.0] * 3] * 2
    assert pm.ones(2, dtype=pm.i32).tolist() == [1, 1]
    assert pm.full((2,), 0.5).tolist() == [0.5, 0.5]
    assert pm.arange(4).tolist() == [0, 1, 2, 3]
    assert pm.arange(1, 2, 0.25).tolist() == [1.0, 1.25, 1.5, 1.75]
    assert pm.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0]
    assert pm.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_random_numbers_depend_on_the_seed_alone() -> None:
    pm.set_seed(7)
    first = pm.random_normal((4,)).tolist()
    pm.set_seed(7)
    assert pm.random_normal((4,)).tolist() == first
    pm.set_seed(0)


def test_arithmetic_is_that_of_numpy() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    b = np.array([1, 2, 4], np.float32)
    x, y = pm.tensor(a), pm.tensor(b)
    for ours, theirs in [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (x**2, a**2),
        (1 + x, 1 + a), (1 - x, 1 - a), (2 * x, 2 * a), (2 / x, 2 / a), (-x, -a), (abs(-x), a),
        (x // y, a // b), (2**x, 2**a), (x @ y.reshape(3, 1), a @ b.reshape(3, 1)),
        (pm.exp(x), np.exp(a)), (pm.sum(x, axis=0), a.sum(0)), (x.mean(axis=1, keepdims=True), a.mean(1, keepdims=True)),
        (x.max(), a.max()), (x.transpose(), a.T), (pm.where(x > 2, x, 0), np.where(a > 2, a, 0)),
        (pm.concat([x, x], axis=1), np.concatenate([a, a], 1)), (pm.softmax(x).sum(axis=-1), np.ones(2)),
    ]:
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)


def test_comparisons_give_bool_tensors() -> None:
    x = pm.tensor([1.0, 2.0, 3.0])
    assert (x == 2).tolist() == [False, True, False]
    assert (x != 2).tolist() == [True, False, True]
    assert (x >= pm.tensor([2.0, 2.0, 2.0])).tolist() == [False, True, True]
    assert ((x > 1) & (x < 3)).tolist() == [False, True, False]
    assert (~(x > 1)).tolist() == [True, False, False]
    assert bool((x > 0).all())


def test_indexing_is_that_of_numpy_and_shares_memory() -> None:
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = pm.tensor(a)
    np.testing.assert_array_equal(x[1].numpy(), a[1])
    np.testing.assert_array_equal(x[-1, 1:, ::2].numpy(), a[-1, 1:, ::2])
    np.testing.assert_array_equal(x[..., 0].numpy(), a[..., 0])
    np.testing.assert_array_equal(x[:, None].numpy(), a[:, None])
    np.testing.assert_array_equal(x[pm.tensor([1, 0])].numpy(), a[[1, 0]])
    assert [row.shape for row in x] == [(3, 4), (3, 4)]
    x[0, 0] = 9
    x[1] = pm.ones((4,))
    assert x[0, 0].tolist() == [9.0] * 4
    assert x[1].sum().item() == 12
    view = x[0]
    view[1, 1] = -1
    assert x[0, 1, 1].item() == -1


def test_values_come_out_as_python_numbers() -> None:
    assert pm.tensor(3).item() == 3
    assert float(pm.tensor(2.5)) == 2.5
    assert int(pm.tensor(2.5)) == 2
    assert list(range(pm.tensor(3))) == [0, 1, 2]
    assert len(pm.zeros((4, 2))) == 4
    assert hash(pm.zeros(2)) != hash(pm.zeros(2))


def test_numpy_and_tensor_share_memory_both_ways() -> None:
    array = np.zeros((2, 3), np.float32)
    x = pm.from_numpy(array)
    array[0, 1] = 5
    assert x[0, 1].item() == 5
    back = x.numpy()
    back[1, 2] = 7
    assert array[1, 2] == 7
    assert np.shares_memory(array, back)
    assert np.asarray(x).__array_interface__["data"] == array.__array_interface__["data"]


def test_strides_and_read_only_arrays_are_kept() -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2]
    x = pm.from_numpy(array)
    assert x.strides == (4, 2)
    np.testing.assert_array_equal(x.numpy(), array)
    array.setflags(write=False)
    frozen = pm.from_numpy(array).numpy()
    assert not frozen.flags.writeable
    assert memoryview(pm.zeros((2, 3))).shape == (2, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "dtype", ["f64", "f32", "f16", "i64", "i32", "i16", "i8", "u16", "u8", "bool"]
)
def test_every_dtype_of_numpy_goes_there_and_back(dtype: str) -> None:
    x = pm.tensor([0, 1, 1], dtype=dtype)
    assert pm.from_numpy(x.numpy()).dtype == x.dtype
    assert pm.from_dlpack(x).tolist() == x.tolist()
    assert np.from_dlpack(x).tolist() == x.tolist()
    again = pickle.loads(pickle.dumps(x))
    assert (again.dtype, again.tolist()) == (x.dtype, x.tolist())


def test_dlpack_shares_memory_and_outlives_the_tensor() -> None:
    x = pm.zeros((2, 3))
    array = np.from_dlpack(x)
    y = pm.from_dlpack(x)
    x[0, 0] = 4
    assert array[0, 0] == 4
    assert y[0, 0].item() == 4
    del x, y
    assert array.sum() == 4
    source = np.arange(3.0)
    z = pm.from_dlpack(source)
    source[0] = 8
    assert z[0].item() == 8


def test_pickling_keeps_strings_and_shapes() -> None:
    x = pm.tensor([[b"a", b"bc"], [b"", b"d"]])
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(pm.zeros((0, 3)))).shape == (0, 3)


def test_a_tensor_goes_to_another_dtype_and_device(device: pm.Device) -> None:
    x = pm.ones((2,))
    assert x.to(pm.f16).dtype == pm.f16
    assert x.to("bf16").dtype == pm.bf16
    assert x.to(dtype="i64").tolist() == [1, 1]
    with device.session("other") as scope:
        assert x.to(scope).device == scope.device
    assert x.to("cpu") is not None


def test_a_tensor_shows_itself() -> None:
    x = pm.ones((2, 2))
    assert "f32 [2,2] on cpu:0" in repr(x)
    assert "<table>" in x._repr_html_()


def test_indices_may_be_lists_masks_tensors_and_steps_backwards() -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = pm.tensor(array)
    np.testing.assert_array_equal(x[:, ::-1, 1].numpy(), array[:, ::-1, 1])
    np.testing.assert_array_equal(x[[1, 0, 1]].numpy(), array[[1, 0, 1]])
    np.testing.assert_array_equal(x[:, [0, 2], [1, 3]].numpy(), array[:, [0, 2], [1, 3]])
    np.testing.assert_array_equal(x[x > 11].numpy(), array[array > 11])
    np.testing.assert_array_equal(x[np.array([True, False])].numpy(), array[[True, False]])
    np.testing.assert_array_equal(x[..., pm.tensor([3, -1])].numpy(), array[..., [3, -1]])
    with pytest.raises(pm.InvalidArgument, match="setitem.*pm.where"):
        x[[0, 1]] = 0


def test_sorting_sums_and_linear_algebra_are_numpys() -> None:
    rng = np.random.default_rng(1)
    array = rng.normal(size=(4, 5)).astype(np.float32)
    x = pm.tensor(array)
    np.testing.assert_allclose(pm.cumsum(x, 0).numpy(), array.cumsum(0), rtol=1e-5)
    np.testing.assert_allclose(pm.cumprod(x).numpy(), array.cumprod(1), rtol=1e-5)
    values, order = pm.sort(x, descending=True)
    np.testing.assert_array_equal(values.numpy(), -np.sort(-array, 1))
    np.testing.assert_array_equal(pm.argsort(x, 0).numpy(), array.argsort(0))
    np.testing.assert_array_equal(pm.take_along(x, order).numpy(), values.numpy())
    square = (array @ array.T + 4 * np.eye(4)).astype(np.float32)
    a = pm.tensor(square)
    np.testing.assert_allclose(pm.solve(a, x).numpy(), np.linalg.solve(square, array), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(pm.cholesky(a).numpy(), np.linalg.cholesky(square), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(pm.svd(x)[1].numpy(), np.linalg.svd(array)[1], rtol=1e-4)
    found, inverse, counts = pm.unique(pm.tensor([3, 1, 3, 3]))
    assert (found.tolist(), inverse.tolist(), counts.tolist()) == ([1, 3], [1, 0, 1, 1], [1, 3])
    assert pm.nonzero(pm.tensor([0, 2, 0, 5])).tolist() == [[1], [3]]
