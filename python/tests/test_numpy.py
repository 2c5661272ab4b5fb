"""NumPy's functions and arrays beside tensors."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")

np_: Any = np  # NumPy's annotations do not know of other types beside its numbers
A = np.array([[0.25, 1.0, 4.0], [9.0, 16.0, 25.0]], np.float32)


@pytest.mark.parametrize("f", [
    np.exp, np.sqrt, np.log1p, np.abs, np.sign, np.isfinite, np.square, lambda x: np.maximum(x, 2),
    lambda x: np.add(x, A), lambda x: np.add.reduce(x, axis=0), lambda x: np.multiply.outer(x[0], x[1]),
    lambda x: np.where(np.greater(x, 3), x, 0), lambda x: np.arctan2(A, x), lambda x: np.modf(x)[1],
])
def test_functions_of_numpy_take_tensors_and_give_arrays(f: Callable[[Any], Any]) -> None:
    result = f(pm.tensor(A))
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, f(A))
    np.testing.assert_array_equal(f(pm.Variable(pm.tensor(A))), f(A))


def test_numbers_of_numpy_beside_tensors_give_tensors() -> None:
    x = pm.tensor(A)
    for given in (np_.float32(2) * x, x * np_.float32(2), np_.float64(2) * x, np_.int64(2) * x):
        assert isinstance(given, pm.Tensor) and given.dtype == pm.f32 and given.tolist() == (2 * A).tolist()
    assert (np_.float32(1) - x).tolist() == (1 - A).tolist() and (np_.float32(1) / x).tolist() == (1 / A).tolist()
    assert (np_.float32(4) >= x).tolist() == (A <= 4).tolist()
    assert (x * np.array(0.5)).tolist() == (A / 2).tolist() == (np.array(0.5) * x).tolist()
    assert pm.full((2,), np_.array(0.5)).tolist() == [0.5, 0.5]
    with pytest.raises(TypeError, match=r"\[eye\] size is .*; it must be an integer"):
        pm.eye(np_.array(2.5))
    with pm.GradientTape() as tape:
        w = pm.Variable(x)
        loss = (np_.float32(3) * (w * 1)).sum()
    gradient = tape.gradient(loss, w)
    assert gradient is not None and gradient.tolist() == np.full(A.shape, 3).tolist()


def test_an_array_takes_what_is_added_to_it_in_place() -> None:
    total = np.zeros((2, 3), np.float32)
    for _ in range(3):
        total += pm.tensor(A)
    np.testing.assert_array_equal(total, 3 * A)


def test_operators_between_arrays_and_tensors_say_what_to_do() -> None:
    x = pm.tensor(A)
    for f in (lambda: A + x, lambda: x + A, lambda: A == x, lambda: A @ x):
        with pytest.raises(TypeError, match=r"\[operator\] one side is .*; make it a tensor first: pm.tensor\(array\)"):
            f()


def test_traced_values_are_refused_with_the_function_to_use() -> None:
    rows = pm.data.from_tensor_slices(A)
    with pytest.raises(TypeError, match="NumPy's sqrt cannot compute with components .*; use pm.sqrt, or map"):
        rows.map(lambda x: np.sqrt(x))
    with pytest.raises(TypeError, match="use functions of pm, such as pm.sqrt, or map"):
        rows.map(lambda x: np.spacing(x))
    assert [x.tolist() for x in rows.map(lambda x: np.float32(2) * x + A[0])] == (2 * A + A[0]).tolist()
    with pytest.raises(pm.InvalidArgument, match="NumPy's absolute cannot compute with tensors .*; use pm.abs"):
        pm.function(lambda x: np.abs(x))(pm.tensor(A))


def test_arrays_in_the_other_byte_order_are_converted_where_they_are_copied() -> None:
    for dtype in (">f4", ">f8", ">i2", ">i4", ">i8", ">u2"):
        other = np.arange(6).reshape(2, 3).astype(dtype)
        x = pm.tensor(other)
        assert x.tolist() == other.tolist() and x.numpy().dtype == np.dtype(dtype[1:])
        with pytest.raises(pm.InvalidArgument, match=rf"elements are {dtype}.*array.astype\(\"{np.dtype(dtype).name}\"\)"):
            pm.from_numpy(other)
        assert [row.tolist() for row in pm.data.from_tensor_slices(other)] == other.tolist()


def test_arrays_of_text_are_byte_strings() -> None:
    for text in (np.array(["a", "bé"]), np.array([b"a", "bé".encode()])):
        assert pm.tensor(text).tolist() == [b"a", "bé".encode()]
        assert list(pm.data.from_tensor_slices(text)) == [b"a", "bé".encode()]


@pytest.mark.parametrize("array, remedy", [
    (np.zeros(2, np.complex64), r"convert its parts: array.real.astype\(\"float32\"\)"),
    (np.zeros(2, [("a", np.float32)]), r"give its fields one by one: array\[\"name\"\]"),
    (np.zeros(2, np.uint32), r"convert it: array.astype\(\"int64\"\)"),
    (np.zeros(2, np.longdouble), r"convert it: array.astype\(\"float64\"\)"),
    (np.array([1, "a"], dtype=object), r"convert it: array.astype\(\"float32\"\)"),
])
def test_arrays_of_other_dtypes_say_how_to_convert_them(array: Any, remedy: str) -> None:
    with pytest.raises(pm.InvalidArgument, match=f"and no dtype here is like that; {remedy}"):
        pm.tensor(array)


def test_lists_take_numbers_in_any_form() -> None:
    losses = [pm.tensor(1.5), pm.tensor(2.5)]
    assert pm.tensor(losses).tolist() == [1.5, 2.5] and pm.tensor(losses).dtype == pm.f32
    assert pm.tensor([np.float32(1), np.array(2.0), 3]).tolist() == [1, 2, 3]
    assert pm.tensor([np.bool_(True), np.bool_(False)]).dtype == pm.bool_
    assert pm.tensor([np.int32(1), 2]).dtype == pm.i64
    assert pm.tensor(range(4)).tolist() == [0, 1, 2, 3]
    assert pm.tensor([range(2), range(2, 4)]).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(TypeError, match=r"a part of data is a Tensor of shape \(2,\); .* pm.stack\(\[a, b\]\)"):
        pm.tensor([pm.ones((2,)), pm.ones((2,))])
    with pytest.raises(TypeError, match=r"data is a generator; make a list .*: pm.tensor\(list\(values\)\)"):
        pm.tensor(i for i in range(3))


def test_shapes_may_be_arrays() -> None:
    shape: Any = np.array([2, 3])
    assert pm.zeros(shape).shape == pm.zeros((6,)).reshape(shape).shape == pm.ones(pm.tensor(shape)).shape == (2, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"shape is a ndarray of shape \(2,\); it must be an integer"):
        pm.zeros(shape + 0.5)


def test_a_tensor_without_dimensions_is_rounded_as_a_number() -> None:
    assert round(pm.tensor(2.567, dtype=pm.f64), 1) == 2.6 and round(pm.tensor(2.567)) == 3
    with pytest.raises(pm.InvalidArgument, match="has no single value"):
        round(pm.ones((2,)))
