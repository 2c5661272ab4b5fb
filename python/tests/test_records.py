"""Files of records, stages that mix and sample, what is saved and cached, augmentation."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll as pm
from test_data import write_png

pytestmark = pytest.mark.usefixtures("device")


def numbered(count: int = 10) -> pm.data.Dataset:
    return pm.data.from_tensor_slices(
        {"x": np.arange(count * 2, dtype=np.float32).reshape(count, 2), "label": np.arange(count)}
    )


@pytest.mark.parametrize("format", ["tfrecord", "webdataset", "mds"])
def test_records_are_written_and_read(format: str, tmp_path: Path) -> None:
    elements = pm.data.from_tensor_slices({"label": np.arange(10)}) if format == "mds" else numbered()
    count, size, files = pm.data.write_records(elements, tmp_path, format=format, shards=2)
    assert count == 10 and size > 0 and len(files) >= 2
    if format == "tfrecord":
        assert pm.data.tfrecord_features(files)["label"] == (pm.i64, ())
        read = pm.data.tfrecords(tmp_path / "shard-*", {"label": pm.i64, "x": (pm.f32, (2,))})
    elif format == "webdataset":
        read = pm.data.webdataset(files, {"label": pm.i64, "x.npy": (pm.f32, (2,))})
    else:
        assert "label" in pm.data.mds_columns(tmp_path)
        read = pm.data.mds(tmp_path, ["label"])
    labels = [element[0] if isinstance(element, tuple) else element for element in read]
    assert sorted(labels) == list(range(10))


def test_rows_of_csv_are_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,age\nAda,36\nGrace,85\n")
    assert pm.data.csv_columns(tmp_path / "people.csv")["age"] == (pm.i64, ())
    assert list(pm.data.csv(tmp_path / "people.csv", {"age": pm.f32, "name": "bytes"})) == [
        (36.0, b"Ada"), (85.0, b"Grace"),
    ]


def test_records_of_one_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "some.bin").write_bytes(bytes(range(9)))
    layout = {"label": pm.u8, "pixels": (pm.u8, (2,))}
    read = list(pm.data.fixed_records(tmp_path / "some.bin", layout))
    assert [int(label) for label, _ in read] == [0, 3, 6]
    assert read[1][1].tolist() == [4, 5]


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    assert numbered().save(tmp_path / "set") == 10
    assert [label for _, label in pm.data.load(tmp_path / "set")] == list(range(10))


def test_a_cache_on_disk_is_listed_and_cleared(tmp_path: Path) -> None:
    list(numbered().cache(tmp_path))
    [entry] = pm.data.list_cache(tmp_path, verify=True)
    assert entry["complete"] and entry["elements"] == 10 and entry["broken"] == []
    assert pm.data.clear_cache(tmp_path, entry["name"]) > 0
    assert pm.data.list_cache(tmp_path) == []


def test_datasets_are_mixed_by_their_weights() -> None:
    low, high = pm.data.range(1000), pm.data.range(1000, 2000)
    mixed = list(pm.data.sample_from_datasets([low, high], [0.9, 0.1], seed=1).take(500))
    assert 20 < sum(i >= 1000 for i in mixed) < 100
    chosen = pm.data.choose_from_datasets([low, high], pm.data.from_tensor_slices(np.array([0, 1, 1])))
    assert list(chosen) == [0, 1000, 1001]


def test_elements_are_drawn_with_replacement() -> None:
    drawn = list(pm.data.range(3).sample_weighted([0.0, 1.0, 1.0], count=200, seed=1))
    counts = collections.Counter(drawn)
    assert counts[0] == 0 and counts[1] > 50 and counts[2] > 50


def test_scan_hands_a_state_on_and_take_while_ends() -> None:
    sums = pm.data.range(5).scan(0, lambda total, i: (total + i, total + i))
    assert list(sums) == [0, 1, 3, 6, 10]
    assert list(sums.take_while(lambda total: total < 5)) == [0, 1, 3]
    assert [len(each) for each in pm.data.range(6).batch(3).rebatch(2)] == [2, 2, 2]


def test_buckets_have_elements_of_one_length() -> None:
    rows = pm.data.from_generator(
        lambda: (np.ones(n, np.float32) for n in (1, 5, 2, 6, 1)), spec=[(pm.f32, (None,))]
    )
    shapes = [tuple(x.shape) for x in rows.bucket_by_sequence_length(len, [4], [2, 2])]
    assert sorted(shapes) == [(1, 1), (2, 2), (2, 6)]


def test_groups_are_reduced() -> None:
    def sums(key: int, window: list[Any]) -> pm.data.Dataset:
        return pm.data.from_tensor_slices(np.array([sum(int(each) for each in window)]))

    made = list(pm.data.range(6).group_by_window(lambda i: int(i) % 2, sums, 3))
    assert sorted(int(each) for each in made) == [6, 9]


def test_augmentation_is_traced_and_repeatable() -> None:
    pictures = pm.data.from_tensor_slices(np.arange(4 * 8 * 8 * 3, dtype=np.uint8).reshape(4, 8, 8, 3))

    def augment(x: pm.data.Symbolic) -> pm.data.Symbolic:
        x = pm.image.random_brightness(x, 0.4)
        x = pm.image.random_hue(pm.image.random_saturation(pm.image.random_contrast(x, 0.4), 0.4), 0.1)
        x = pm.image.random_erase(pm.image.random_blur(pm.image.random_rotate(x, 15), 3))
        x = pm.image.random_solarize(pm.image.random_grayscale(x), 128)
        return pm.image.affine(pm.image.posterize(pm.image.invert(x), 4), angle=5, scale=1.1)

    made = pictures.map(augment)
    first = [x.numpy().copy() for x in made.iterate(seed=1)]
    again = [x.numpy().copy() for x in made.iterate(seed=1)]
    assert all((a == b).all() for a, b in zip(first, again)) and first[0].shape == (8, 8, 3)
    assert "hue" in repr(pictures.trace(augment))


def test_images_in_records_are_decoded_as_they_are(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", 6, 5, level=51)
    contents = (tmp_path / "a.png").read_bytes()
    pm.data.write_records(
        pm.data.from_tensor_slices({"png": [contents] * 3, "cls": [0, 1, 2]}), tmp_path / "packed", format="webdataset"
    )
    packed = pm.data.webdataset(tmp_path / "packed" / "*.tar", {"png": "bytes", "cls": pm.i64})
    whole = packed.map(lambda png, cls: (pm.image.decode(png, contents=True), cls))
    assert [(x.shape, y, (x == 51).all().item()) for x, y in whole] == [((6, 5, 3), i, True) for i in range(3)]
    small = packed.map(lambda png, cls: pm.image.resize(pm.image.decode(png, contents=True), 4) / 255).batch(3)
    np.testing.assert_allclose(next(iter(small)).numpy(), np.full((3, 4, 4, 3), 0.2), rtol=1e-6)
    with pytest.raises(pm.DataError, match=r"bytes are not the path of a file; .* pm.image.decode\(x, contents=True\)"):
        list(packed.map(lambda png, cls: pm.image.resize(png, 4)))
