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
        (lambda x, i: x.transpose(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
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
