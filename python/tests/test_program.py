"""Functions that map() traces into programs, which run without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import plimsoll as pm
from test_data import write_png

pytestmark = pytest.mark.usefixtures("device")


def test_a_function_is_called_once_and_runs_without_python() -> None:
    calls = []

    def double(x: pm.data.Symbolic) -> pm.data.Symbolic:
        calls.append(x)
        return x * 2 + 1

    mapped = pm.data.range(1000).map(double)
    assert list(mapped) == [2 * i + 1 for i in range(1000)]
    assert len(calls) == 1


def test_programs_compute_what_numpy_computes() -> None:
    a = np.random.default_rng(1).normal(size=(6, 4, 3)).astype(np.float32)
    rows = pm.data.from_tensor_slices((a, np.arange(6)))
    cases: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        (lambda x, i: (x - 1) / 2, lambda x: (x - 1) / 2),
        (lambda x, i: 1 - x, lambda x: 1 - x),
        (lambda x, i: pm.where(x > 0, x, 0), lambda x: np.where(x > 0, x, 0)),
        (lambda x, i: pm.maximum(x, 0.5), lambda x: np.maximum(x, 0.5)),
        (lambda x, i: x.mean(axis=0), lambda x: x.mean(0)),
        (lambda x, i: pm.sum(abs(x)), lambda x: np.abs(x).sum()),
        (lambda x, i: x.transpose(1, 0), lambda x: x.transpose(1, 0)),
        (lambda x, i: x[1:, ..., :2], lambda x: x[1:, ..., :2]),
        (lambda x, i: x[0], lambda x: x[0]),
        (lambda x, i: x.reshape(-1), lambda x: x.reshape(-1)),
        (lambda x, i: pm.concat([x, x * 2], axis=1), lambda x: np.concatenate([x, x * 2], 1)),
        (lambda x, i: x * np.array([1, 2, 3], np.float32), lambda x: x * np.array([1, 2, 3], np.float32)),
        (lambda x, i: x.to("f64"), lambda x: x.astype(np.float64)),
    ]
    for ours, theirs in cases:
        for row, expected in zip(rows.map(ours), a):
            made = row.numpy() if isinstance(row, pm.Tensor) else row
            np.testing.assert_allclose(made, theirs(expected), rtol=1e-5, atol=1e-6)


def test_components_can_be_named_and_are_a_tuple() -> None:
    mapped = pm.data.range(3).map(lambda i: {"number": i, "square": i * i})
    assert mapped.names == ["number", "square"]
    assert list(mapped) == [(0, 0), (1, 1), (2, 4)]


def test_pictures_of_unknown_size_are_read_decoded_and_resized(tmp_path: Path) -> None:
    for name, height in (("cat", 10), ("dog", 30)):
        (tmp_path / name).mkdir()
        write_png(tmp_path / name / "a.png", height, 12, level=51)
    files = pm.data.image_folder(tmp_path)
    mapped = files.map(lambda image, label: (pm.image.resize(image, (8, 6)) / 255, label))
    assert mapped.element_spec == [(pm.f32, (8, 6, 3)), (pm.i64, ())]
    images, labels = next(iter(mapped.batch(2)))
    assert images.shape == (2, 8, 6, 3)
    assert images.mean().item() == pytest.approx(0.2, abs=1e-6)
    assert labels.tolist() == [0, 1]
    paths = pm.data.image_paths(tmp_path)
    again, _ = next(iter(paths.map(lambda path, label: (pm.image.resize(path, (8, 6)) / 255, label)).batch(2)))
    assert again.tolist() == images.tolist()
    text = repr(paths.trace(lambda path, label: (pm.image.resize(path, (8, 6)) / 255, label)))
    assert "read_file" in text and "resize" in text


def test_lines_become_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6\n")
    lines = pm.data.text_lines(tmp_path / "a.csv")
    rows = list(lines.map(lambda line: pm.strings.to_number(pm.strings.split(line, ","))))
    assert [row.tolist() for row in rows] == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_an_error_while_tracing_ends_in_the_line_of_the_function() -> None:
    def look(i: pm.data.Symbolic) -> pm.data.Symbolic:
        if i > 0:
            return i
        return -i

    with pytest.raises(pm.InvalidArgument) as caught:
        pm.data.range(3).map(look)
    assert caught.traceback[-1].name == "look"


def test_a_program_is_part_of_the_signature_and_of_saved_positions() -> None:
    one = pm.data.range(5).map(lambda i: i + 1)
    same = pm.data.range(5).map(lambda i: i + 1)
    other = pm.data.range(5).map(lambda i: i + 2)
    assert one.signature == same.signature != other.signature
    with pytest.raises(pm.InvalidArgument):
        other.load_state_dict(one.state_dict())


AUGMENTATIONS: dict[str, Callable[[Any], Any]] = {
    "adjust_sharpness": lambda x: pm.image.adjust_sharpness(x, 2.0),
    "autocontrast": lambda x: pm.image.autocontrast(x),
    "equalize": lambda x: pm.image.equalize(x),
    "random_posterize": lambda x: pm.image.random_posterize(x, 4, 0.5),
    "augment": lambda x: pm.image.augment(x, "ShearX", 0.1),
    "random_affine": lambda x: pm.image.random_affine(x, 10, translate=(0.1, 0.1), scale=(0.9, 1.1), shear=5),
    "color_jitter": lambda x: pm.image.color_jitter(x, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1),
    "rand_augment": lambda x: pm.image.rand_augment(x, count=3, level=5),
    "tf_adjust_brightness": lambda x: pm.image.tf_adjust_brightness(x, 0.1),
    "tf_adjust_contrast": lambda x: pm.image.tf_adjust_contrast(x, 1.5),
    "tf_adjust_saturation": lambda x: pm.image.tf_adjust_saturation(x, 0.5),
}


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_pictures_are_augmented_the_same_in_every_run(name: str) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (2, 12, 10, 3)).astype(np.uint8)
    mapped = pm.data.from_tensor_slices(pixels).map(AUGMENTATIONS[name])
    made = [np.array(each) for each in mapped]
    assert all(each.shape == (12, 10, 3) and each.dtype == np.uint8 for each in made)
    again = pm.data.from_tensor_slices(pixels).map(AUGMENTATIONS[name])
    assert all((a == np.array(b)).all() for a, b in zip(made, again))


def test_a_part_of_a_picture_is_resized(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", 30, 20, level=51)
    paths = pm.data.from_tensor_slices([str(tmp_path / "a.png").encode()])
    crop = paths.map(lambda path: pm.image.random_resized_crop(path, (8, 6), scale=(0.2, 0.5), filter="bicubic"))
    (picture,) = list(crop)
    assert picture.shape == (8, 6, 3)
    np.testing.assert_allclose(picture.numpy(), 51, atol=1e-3)


def test_batches_are_mixed_with_their_labels() -> None:
    pictures = np.stack([np.full((4, 4, 3), i, np.float32) for i in range(4)])
    batches = pm.data.from_tensor_slices((pictures, np.arange(4))).batch(4)
    x, y = next(iter(batches.map(lambda a, b: pm.image.mixup(a, b, 4, 0.75))))
    np.testing.assert_allclose(x.numpy()[1], 0.75, rtol=1e-6)
    np.testing.assert_allclose(y.numpy()[1], [0.25, 0.75, 0, 0], rtol=1e-6)
    x, y = next(iter(batches.map(lambda a, b: pm.image.cutmix(a, b, 4, 0, 0, (2, 4)))))
    assert x.numpy()[1, 0, 0, 0] == 0 and x.numpy()[1, 3, 0, 0] == 1
    np.testing.assert_allclose(y.numpy()[1], [0.5, 0.5, 0, 0], rtol=1e-6)
    for mix in (pm.image.random_mixup, pm.image.random_cutmix):
        _, y = next(iter(batches.map(lambda a, b: mix(a, b, 4, 0.4))))
        np.testing.assert_allclose(y.numpy().sum(1), 1, rtol=1e-5)


def test_random_numbers_are_drawn_for_each_element() -> None:
    zeros = pm.data.from_tensor_slices(np.zeros((500, 3), np.float32))
    noisy = zeros.map(lambda x: x + pm.random_normal((3,), 1.0, 2.0))
    drawn = np.stack([np.asarray(x) for x in noisy])
    assert len(np.unique(drawn)) > 1490
    assert abs(drawn.mean() - 1) < 0.2 and abs(drawn.std() - 2) < 0.2
    again = np.stack([np.asarray(x) for x in noisy])
    assert (again != drawn).all()  # another epoch
    first, second = (np.stack([np.asarray(x) for x in noisy.iterate(seed=5)]) for _ in range(2))
    assert (first == second).all()
    even = zeros.map(lambda x: pm.where(pm.random_uniform(()) < 0.5, x[0], x[0] + 1))
    assert 180 < sum(even) < 320
    whole = zeros.map(lambda x: pm.random_uniform((2,), 0, 10, dtype=pm.i64))
    assert set(np.stack([np.asarray(x) for x in whole]).ravel()) == set(range(10))
    assert isinstance(pm.random_normal((2,)), pm.Tensor)  # not traced any more


def test_more_of_numpy_can_be_traced() -> None:
    a = np.random.default_rng(4).normal(size=(6, 4, 3)).astype(np.float32)
    w = np.random.default_rng(5).normal(size=(3, 2)).astype(np.float32)
    rows = pm.data.from_tensor_slices(a)
    cases: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        (lambda x: x[None], lambda x: x[None]),
        (lambda x: x[1:, ..., None], lambda x: x[1:, ..., None]),
        (lambda x: x @ pm.tensor(w), lambda x: x @ w),
        (lambda x: pm.variance(x), lambda x: x.var()),
        (lambda x: x.variance(axis=0), lambda x: x.var(0)),
        (lambda x: (x > 0).sum(), lambda x: (x > 0).sum()),
        (lambda x: (x > 0).mean(axis=1), lambda x: (x > 0).mean(1)),
    ]
    for traced, expected in cases:
        for given, found in zip(a, rows.map(traced)):
            np.testing.assert_allclose(np.asarray(found), expected(given), rtol=1e-5, atol=1e-6)
    with pytest.raises(pm.InvalidArgument, match=r"\[index\] the step is -1.*python=True"):
        rows.map(lambda x: x[::-1])
    with pytest.raises(TypeError, match=r"\[index\] the index is \[0, 2\].*pm.gather"):
        rows.map(lambda x: x[[0, 2]])


def test_components_mix_with_numbers_and_tensors() -> None:
    a = np.random.default_rng(6).normal(size=(6, 3)).astype(np.float32)
    b = np.array([1.0, -1.0, 0.5], np.float32)
    labels = np.arange(6) % 2
    table = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    rows = pm.data.from_tensor_slices((a, labels))
    ours = pm.tensor(b)
    cases: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        (lambda x, i: pm.clip(x, 0, 1), lambda x, i: np.clip(x, 0, 1)),
        (lambda x, i: pm.maximum(x, 0), lambda x, i: np.maximum(x, 0)),
        (lambda x, i: pm.minimum(0, x), lambda x, i: np.minimum(0, x)),
        (lambda x, i: pm.maximum(ours, x), lambda x, i: np.maximum(b, x)),
        (lambda x, i: pm.where(x > 0, x, ours), lambda x, i: np.where(x > 0, x, b)),
        (lambda x, i: pm.where(x > 0, 1, x), lambda x, i: np.where(x > 0, 1, x)),
        (lambda x, i: pm.concat([ours, x]), lambda x, i: np.concatenate([b, x])),
        (lambda x, i: pm.stack([x[0], pm.tensor(2.0)]), lambda x, i: np.stack([x[0], np.float32(2)])),
        (lambda x, i: pm.gather(pm.tensor(table), i), lambda x, i: table[i]),
        (lambda x, i: pm.tanh(x) + pm.sin(x) * pm.square(x), lambda x, i: np.tanh(x) + np.sin(x) * x * x),
    ]
    for traced, expected in cases:
        for x, i, found in zip(a, labels, rows.map(traced)):
            np.testing.assert_allclose(np.asarray(found), expected(x, i), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match=r"\[where\] . is .\.0.*one of a and b must be a component"):
        rows.map(lambda x, i: pm.where(x > 0, 1.0, 0.0))
    with pytest.raises(TypeError, match=r"\[cumsum\] it cannot be traced by map\(\).*python=True"):
        rows.map(lambda x, i: pm.cumsum(x))


def test_pictures_are_divided_once_to_normalize_them() -> None:
    a = np.random.default_rng(7).integers(0, 256, (4, 5, 6, 3)).astype(np.uint8)
    pictures = pm.data.from_tensor_slices(a)
    mean, deviation = [0.5, 0.4, 0.3], [0.25, 0.5, 0.125]
    expected = (a / 255 - np.array(mean)) / np.array(deviation)
    whole = pictures.map(lambda x: pm.image.normalize(x, mean, deviation))
    unit = pictures.map(lambda x: pm.image.normalize(x / 255, mean, deviation, most=1))
    for found in (whole, unit):
        np.testing.assert_allclose(np.stack([x.numpy() for x in found]), expected, rtol=1e-4, atol=1e-4)
    for divided in (lambda x: x / 255, pm.image.to_unit):
        with pytest.raises(pm.InvalidArgument, match=r"\[normalize\].*divided already.*most=1"):
            pictures.map(lambda x: pm.image.normalize(divided(x), mean, deviation))


def test_integers_and_floats_divide_with_rest_as_in_python() -> None:
    whole = [-7, -6, -1, 0, 1, 6, 7]
    rows = pm.data.from_tensor_slices(np.array(whole))
    for by in (3, -3):
        found = list(rows.map(lambda n: (n // by, n % by, n.to(pm.f64) // by, n.to(pm.f64) % by)))
        assert found == [(n // by, n % by, float(n) // by, float(n) % by) for n in whole]
    below = pm.data.range(1, 5)
    assert list(below.map(lambda n: (7 // n, 7 % n))) == [divmod(7, n) for n in range(1, 5)]
    assert list(pm.data.range(6).map(lambda n: pm.where(n % 2 == 0, n, -n))) == [0, -1, 2, -3, 4, -5]


def test_image_ops_of_one_array_say_how_to_run_them() -> None:
    picture = pm.zeros((8, 8, 3), dtype=pm.u8)
    with pytest.raises(TypeError, match=r"picture is a Tensor .* of one array: next\(iter\(pm.data.from_tensor_slices"):
        pm.image.resize(picture, 4)  # type: ignore[arg-type, unused-ignore]
    assert next(iter(pm.data.from_tensor_slices(picture[None]).map(lambda x: pm.image.resize(x, 4)))).shape == (4, 4, 3)


def test_shapes_are_changed_in_traced_maps_as_those_of_tensors() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    changes: list[Callable[[Any], Any]] = [
        lambda x: x.flatten(), lambda x: x.flatten(1), lambda x: x.swapaxes(0, -1), lambda x: pm.pad(x, [1, 0, 0], [0, 0, 2], -1),
        lambda x: pm.gather(x, pm.tensor([2, 0, 2]), axis=1), lambda x: pm.gather(x, pm.tensor([3, 1]), axis=-1),
    ]
    for change in changes:
        found = next(iter(pm.data.from_tensor_slices(x[None]).map(change)))
        np.testing.assert_array_equal(found.numpy(), change(pm.tensor(x)).numpy())
    with pytest.raises(pm.InvalidArgument, match=r"\[swapaxes\] b is 3 \(an int\); there are 3 dimensions"):
        pm.data.from_tensor_slices(x[None]).map(lambda x: x.swapaxes(0, 3))
