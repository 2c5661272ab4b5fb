"""tf.data and what goes with it, as scripts use them: structures, tracing, files, memory."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll as pm
import plimsoll.compat.tf as tf

pytestmark = pytest.mark.usefixtures("device")


def write_pictures(folder: Path, count: int = 6) -> list[str]:
    paths = []
    for i in range(count):
        y, x = np.mgrid[0:40 + i, 0:50].astype(np.float32)
        picture = np.stack([x * 4, y * 5, np.full_like(x, 20 * i)], axis=-1).clip(0, 255).astype(np.uint8)
        path = folder / f"{i}.jpg"
        tf.io.write_file(str(path), tf.io.encode_jpeg(picture))
        paths.append(str(path))
    return paths


def test_elements_are_tensors_in_the_structure_that_was_given() -> None:
    dataset = tf.data.Dataset.from_tensor_slices({"x": np.eye(3, dtype=np.float32), "y": ([1, 2, 3], ["a", "b", "c"])})
    element = next(iter(dataset.batch(2)))
    assert sorted(element) == ["x", "y"] and isinstance(element["y"], tuple)
    assert element["x"].shape == (2, 3) and element["y"][0].dtype == tf.int32
    assert element["y"][1].numpy().tolist() == [b"a", b"b"]
    assert dataset.batch(2).element_spec["x"] == tf.TensorSpec((None, 3), tf.float32)


def test_a_function_is_traced_once_and_runs_without_python() -> None:
    calls = []

    def double(x: Any) -> Any:
        calls.append(x)
        return x * 2 + 1

    mapped = tf.data.Dataset.range(1000).map(double, num_parallel_calls=tf.data.AUTOTUNE)
    assert [int(each) for each in mapped.as_numpy_iterator()] == [2 * i + 1 for i in range(1000)]
    assert len(calls) == 1


def test_pictures_are_read_decoded_and_resized_in_one_program(tmp_path: Path) -> None:
    paths = write_pictures(tmp_path)

    def load(path: Any, label: Any) -> Any:
        image = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.cast(tf.image.resize(image, [32, 24]), tf.float32) / 255.0, label

    dataset = tf.data.Dataset.from_tensor_slices((paths, np.arange(6))).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    assert "call_function" not in dataset._pm.signature
    images, labels = next(iter(dataset.batch(6)))
    assert images.shape == (6, 32, 24, 3) and labels.numpy().tolist() == list(range(6))
    alone = [load(path, 0)[0].numpy() for path in paths]
    np.testing.assert_allclose(images.numpy(), np.stack(alone), atol=1e-6)


def test_an_if_on_an_element_is_traced() -> None:
    def odd(x: Any) -> Any:
        if x % 2 == 1:
            return x * 10
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapped = tf.data.Dataset.range(5).map(odd)
    assert [int(each) for each in mapped.as_numpy_iterator()] == [0, 10, 2, 30, 4]


def test_a_loop_on_an_element_runs_as_python_and_warns() -> None:
    def small(x: Any) -> Any:
        while x > 2:
            x = x - 2
        return x

    with pytest.warns(UserWarning, match="cannot be traced"):
        mapped = tf.data.Dataset.range(5).map(small)
    assert [int(each) for each in mapped.as_numpy_iterator()] == [0, 1, 2, 1, 2]


def test_an_op_without_an_instruction_is_called_in_python() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(["a1b22", "c3"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapped = dataset.map(lambda x: tf.strings.regex_replace(tf.strings.upper(x), "[0-9]+", "-"))
    assert list(mapped.as_numpy_iterator()) == [b"A-B-", b"C-"]


def test_numpy_functions_run_in_the_middle_of_a_program() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.float32).reshape(3, 2))

    def noisy(x: Any) -> Any:
        y = tf.numpy_function(lambda a: a[::-1].copy(), [x * 2.0], tf.float32)
        y.set_shape((2,))
        return y + 1.0

    mapped = dataset.map(noisy)
    assert mapped.element_spec == tf.TensorSpec((2,), tf.float32)
    assert [each.tolist() for each in mapped.batch(3).as_numpy_iterator()] == [[[3, 1], [7, 5], [11, 9]]]


def test_random_ops_draw_for_each_element_and_epoch() -> None:
    dataset = tf.data.Dataset.from_tensors(tf.zeros((4, 4, 3))).repeat(50)
    dataset = dataset.map(lambda x: tf.image.random_brightness(x, 0.3)[0, 0, 0])
    first, second = (list(dataset.as_numpy_iterator()) for _ in range(2))
    assert len(set(first)) > 40 and first != second
    assert max(map(abs, first)) <= 0.3


def test_a_seed_makes_shuffles_and_draws_the_same() -> None:
    def run() -> list[Any]:
        tf.random.set_seed(3)
        dataset = tf.data.Dataset.range(20).shuffle(20).map(lambda i: (i, tf.random.uniform([])))
        return [(int(i), float(u)) for i, u in dataset]

    assert run() == run()


def test_filters_that_can_be_traced_run_natively() -> None:
    kept = tf.data.Dataset.range(20).filter(lambda x: x % 3 == 0)
    assert not kept._kept
    assert [int(each) for each in kept.as_numpy_iterator()] == [0, 3, 6, 9, 12, 15, 18]


def test_windows_become_batches() -> None:
    series = tf.data.Dataset.range(7).window(3, shift=2, drop_remainder=True)
    assert [w.tolist() for w in series.flat_map(lambda w: w.batch(3)).as_numpy_iterator()] == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert [[int(x) for x in window.as_numpy_iterator()] for window in series] == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]


def test_a_cache_on_disk_is_used_by_the_next_dataset(tmp_path: Path) -> None:
    calls = []

    def load(x: Any) -> Any:
        calls.append(int(x))
        return np.int64(x * x)

    def make() -> Any:
        return tf.data.Dataset.range(4).map(lambda x: tf.numpy_function(load, [x], tf.int64)).cache(str(tmp_path / "cache"))

    assert [int(each) for each in make().as_numpy_iterator()] == [0, 1, 4, 9]
    assert [int(each) for each in make().as_numpy_iterator()] == [0, 1, 4, 9]
    assert len(calls) == 4


def test_records_are_written_read_and_parsed(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(5):
            features = {
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "values": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])),
                "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[f"n{i}".encode()])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    spec = {
        "label": tf.io.FixedLenFeature([], tf.int64), "values": tf.io.FixedLenFeature([2], tf.float32),
        "name": tf.io.FixedLenFeature([], tf.string),
    }
    dataset = tf.data.TFRecordDataset(path).map(lambda record: tf.io.parse_single_example(record, spec))
    assert "call_function" not in dataset._pm.signature
    batch = next(iter(dataset.batch(5)))
    assert batch["label"].numpy().tolist() == [0, 1, 2, 3, 4]
    assert batch["values"].numpy()[3].tolist() == [3.0, 3.5]
    assert batch["name"].numpy().tolist() == [b"n0", b"n1", b"n2", b"n3", b"n4"]


def test_examples_survive_the_way_to_bytes_and_back() -> None:
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([1, -2, 1 << 40])
    example.features.feature["b"].float_list.value.append(0.5)
    again = tf.train.Example.FromString(example.SerializeToString())
    assert list(again.features.feature["a"].int64_list.value) == [1, -2, 1 << 40]
    assert again == example and again.features.feature["b"].WhichOneof("kind") == "float_list"


def test_labels_come_from_folder_names(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name)
    names = np.array(["cat", "dog"])

    def label_of(path: Any) -> Any:
        parts = tf.strings.split(path, os.path.sep)
        return tf.argmax(tf.cast(parts[-2] == names, tf.int32)), tf.io.read_file(path)

    dataset = tf.data.Dataset.list_files(str(tmp_path / "*" / "*.txt"), shuffle=False).map(label_of)
    assert [(int(i), text) for i, text in dataset.as_numpy_iterator()] == [(0, b"cat"), (1, b"dog")]


def test_interleave_reads_lines_of_several_files(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text("x,y\n" + "".join(f"{i},{j}\n" for j in range(2)))
    files = tf.data.Dataset.list_files(str(tmp_path / "*.csv"), shuffle=False)
    lines = files.interleave(lambda f: tf.data.TextLineDataset(f).skip(1), cycle_length=3)
    rows = lines.map(lambda line: tf.stack(tf.io.decode_csv(line, [[0.0], [0.0]])))
    assert [row.tolist() for row in rows.as_numpy_iterator()] == [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]


def test_tables_look_up_keys_in_a_map() -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    dataset = tf.data.Dataset.from_tensor_slices(["b", "z"]).map(table.lookup)
    assert [int(each) for each in dataset.as_numpy_iterator()] == [2, -1]


def test_saved_datasets_are_loaded_with_their_structure(tmp_path: Path) -> None:
    dataset = tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0], "y": ([3, 4],)})
    dataset.save(str(tmp_path / "set"))
    again = tf.data.Dataset.load(str(tmp_path / "set"))
    assert [(float(e["x"]), int(e["y"][0])) for e in again] == [(1.0, 3), (2.0, 4)]


def test_a_pipeline_stays_within_the_budget(tmp_path: Path, device: pm.Device) -> None:
    paths = write_pictures(tmp_path) * 20
    device.budget.limit = "8MiB"
    dataset = tf.data.Dataset.from_tensor_slices(paths).map(
        lambda path: tf.image.resize(tf.image.decode_jpeg(tf.io.read_file(path), channels=3), [64, 64]),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    count = 0
    for batch in dataset.batch(16).prefetch(tf.data.AUTOTUNE):
        count += int(batch.shape[0])
    assert count == 120 and device.budget.used <= 8 << 20


def test_unsupported_things_are_named() -> None:
    dataset = tf.data.Dataset.range(3)
    with pytest.raises(NotImplementedError, match="ragged batches"):
        dataset.map(tf.range).ragged_batch(2).shuffle(3)
    with pytest.raises(NotImplementedError, match="tf.data.NoSuchThing"):
        tf.data.NoSuchThing  # noqa: B018
    with pytest.raises(NotImplementedError, match="reader_func"):
        dataset.snapshot("x", reader_func=lambda x: x)


def test_errors_of_elements_are_tensorflows() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(["/no/such/file"]).map(tf.io.read_file)
    with pytest.raises(tf.errors.NotFoundError):
        next(iter(dataset))
    with pytest.raises(tf.errors.OutOfRangeError):
        iter(tf.data.Dataset.range(0)).get_next()


def test_shapes_that_depend_on_values_are_not_taken_for_fixed() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.float32).reshape(2, 3))
    masked = dataset.map(lambda x: tf.boolean_mask(x, x > 1))
    assert [each.tolist() for each in masked.as_numpy_iterator()] == [[2], [3, 4, 5]]
    assert masked.element_spec.shape.as_list() == [None]


def test_new_dimensions_and_paddings_are_instructions() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(np.ones((2, 3), np.float32))
    mapped = dataset.map(lambda x: tf.pad(x[tf.newaxis, 1:, tf.newaxis], [[0, 0], [1, 0], [0, 2]]))
    assert "call_function" not in mapped._pm.signature
    expected = np.pad(np.ones((2,), np.float32)[np.newaxis, :, np.newaxis], [[0, 0], [1, 0], [0, 2]])
    assert next(mapped.as_numpy_iterator()).tolist() == expected.tolist()


def test_a_cache_that_may_not_fit_in_memory_goes_to_files() -> None:
    with pm.default_device().session("data", limit="24MiB") as session:
        elements = tf.data.Dataset.range(64).map(lambda i: tf.fill([256, 512], tf.cast(i, tf.float32))).cache()
        sums = [sum(float(tf.reduce_mean(each)) for each in elements) for _ in range(2)]
        assert sums == [sum(range(64))] * 2
        assert session.budget.peak <= 24 << 20
        del elements
