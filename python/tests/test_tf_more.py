"""What scripts of others use besides: keras.ops, keras.applications, TensorBoard, functions that cannot be traced."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll.compat.tf as tf

ops = tf.keras.ops


@pytest.mark.parametrize("name, top, parameters", [  # the counts that Keras documents
    ("ResNet50", True, 25_636_712), ("ResNet50V2", True, 25_613_800), ("MobileNet", True, 4_253_864),
    ("MobileNetV2", True, 3_538_984), ("DenseNet121", True, 8_062_504), ("EfficientNetB0", True, 5_330_571),
    ("Xception", True, 22_910_480), ("VGG16", False, 14_714_688), ("VGG19", False, 20_024_384),
])
def test_applications_have_kerass_parameters(name: str, top: bool, parameters: int) -> None:
    model = getattr(tf.keras.applications, name)(weights=None, include_top=top)
    assert model.count_params() == parameters


def test_applications_download_nothing() -> None:
    with pytest.raises(NotImplementedError, match="weights='imagenet'.*weights=None"):
        tf.keras.applications.ResNet50()


def test_ops_join_types_and_follow_numpy() -> None:
    assert ops.add(np.array([1], np.int32), np.array([0.5], np.float32)).dtype == tf.float32
    assert ops.mean([1, 2]).dtype == tf.float32 and ops.argmax([[1, 3], [5, 2]]).numpy() == 2
    assert [each.numpy().tolist() for each in ops.split(np.arange(6), [1, 4])] == [[0], [1, 2, 3], [4, 5]]
    assert ops.take([1, 2, 3], [-1]).numpy().tolist() == [3]
    assert ops.shape(tf.ones([2, 3])) == (2, 3)
    assert np.allclose(ops.tril(np.ones((3, 3))), np.tril(np.ones((3, 3))))
    assert np.allclose(ops.take_along_axis(np.eye(3, dtype="f"), [[2], [1], [0]], 1), [[0], [1], [0]])
    x = np.random.default_rng(0).normal(size=(2, 4, 6, 3)).astype("f")
    assert np.allclose(ops.image.extract_patches(x, (2, 3)), tf.image.extract_patches(
        x, [1, 2, 3, 1], [1, 2, 3, 1], [1, 1, 1, 1], "VALID"))


def test_patches_are_the_pixels_of_windows() -> None:
    x = np.arange(4 * 4, dtype="f").reshape(1, 4, 4, 1)
    assert ops.image.extract_patches(x, 2).numpy()[0, 1, 0].tolist() == [8, 9, 12, 13]


def test_loops_and_breaks_on_tensors_give_their_result() -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def count(n: Any) -> Any:
        total = 0
        for i in tf.range(n):
            if i % 2 == 0:
                total += 1
            elif i > 6:
                break
        return total

    with pytest.warns(UserWarning, match="count cannot be traced"):
        found = count(tf.constant(20))
    assert isinstance(found, tf.Tensor) and int(found) == 4
    assert int(count(tf.constant(3))) == 2


def test_what_a_failed_trace_assigned_is_assigned_once() -> None:
    v = tf.Variable(0.0)

    @tf.function  # type: ignore[untyped-decorator]
    def add(x: Any) -> Any:
        v.assign_add(1.0)
        while x < 0:
            x = -x
        return x

    with pytest.warns(UserWarning, match="cannot be traced"):
        add(tf.constant(-2.0))
    assert float(v) == 1


def test_event_files_have_the_numbers_of_epochs(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(np.ones((8, 2), "f"), np.ones((8, 1), "f"), epochs=2, verbose=0, validation_split=0.5,
                        callbacks=[tf.keras.callbacks.TensorBoard(tmp_path, histogram_freq=1)])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["train", "validation"]
    records = [bytes(each.numpy()) for each in tf.data.TFRecordDataset([str(next((tmp_path / "train").iterdir()))])]
    assert b"brain.Event:2" in records[0]
    losses = [struct.unpack("<f", r[r.index(b"epoch_loss") + 11:][:4])[0] for r in records if b"epoch_loss" in r]
    assert np.allclose(losses, history.history["loss"])


def test_a_mask_reaches_layers_of_ones_own() -> None:
    class Needs(tf.keras.layers.Layer):  # type: ignore[misc]
        def call(self, x: Any, mask: Any = None) -> Any:
            assert mask is not None
            return x * tf.cast(mask, tf.float32)[..., None]

    inputs = tf.keras.Input((None,), dtype="int32")
    x = tf.keras.layers.Embedding(9, 2, mask_zero=True, embeddings_initializer="ones")(inputs)
    model = tf.keras.Model(inputs, Needs()(x))
    assert model(np.array([[3, 0]], np.int32)).numpy().tolist() == [[[1, 1], [0, 0]]]


def test_a_part_of_a_variable_can_be_assigned() -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v[0, 1].assign(9.0)
    v[1].assign([7.0, 8.0])
    assert v.numpy().tolist() == [[1, 9], [7, 8]]


def test_rows_of_ragged_tensors_are_reduced() -> None:
    ragged = tf.ragged.constant([[1, 2, 3], [4]])
    assert tf.reduce_sum(ragged, axis=1).numpy().tolist() == [6, 4] and int(tf.reduce_max(ragged)) == 4


def test_a_row_of_layers_takes_other_lengths_than_the_first_batch() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Conv1D(2, 3), tf.keras.layers.Dense(1)])
    assert model(np.ones((2, 5, 1), "f")).shape == (2, 3, 1)
    assert model(np.ones((2, 9, 1), "f")).shape == (2, 7, 1)


def test_tokens_are_numbered_by_how_often_they_come() -> None:
    words = tf.keras.preprocessing.text.Tokenizer(num_words=3, oov_token="?")
    words.fit_on_texts(["a b b, c", "b a"])
    assert words.word_index == {"?": 1, "b": 2, "a": 3, "c": 4}
    assert words.texts_to_sequences(["b a!"]) == [[2, 1]]


def test_ctc_is_the_same_by_all_its_names() -> None:
    x = np.random.default_rng(5).normal(size=(2, 6, 4)).astype("f")
    labels, count, steps = np.array([[1, 1, 3], [2, 0, 0]]), np.array([3, 1]), np.array([6, 5])
    expected = [5.0431258, 4.6003838]  # torch.nn.functional.ctc_loss(..., reduction="none")
    major = tf.nn.ctc_loss(labels, np.swapaxes(x, 0, 1), count, steps)
    assert np.allclose(major, expected, atol=1e-5)
    assert np.allclose(tf.nn.ctc_loss(labels, x, count, steps, logits_time_major=False, blank_index=-4), expected, atol=1e-5)
    assert np.allclose(ops.ctc_loss(labels, x, count, steps), expected, atol=1e-5)
    # The blank of the old name is the last class, and it takes probabilities.
    moved = np.concatenate([x[..., 1:], x[..., :1]], -1)
    chances = tf.nn.softmax(moved)
    old = tf.keras.backend.ctc_batch_cost(labels - 1, chances, steps[:, None], count[:, None])
    assert old.shape == (2, 1) and np.allclose(old[:, 0], expected, atol=1e-4)
    # Keras's counts all steps, and labels up to the padding.
    whole = tf.nn.ctc_loss(labels, x, count, np.array([6, 6]), logits_time_major=False)
    assert np.allclose(tf.keras.losses.CTC()(labels.astype("f"), x), np.mean(whole), atol=1e-5)
    assert np.allclose(tf.keras.losses.get("ctc")(labels, x), whole, atol=1e-5)
    with pytest.raises(NotImplementedError, match="SparseTensor.*to_dense"):
        tf.nn.ctc_loss(tf.sparse.from_dense(labels), x, count, steps)


def test_a_model_learns_sequences_with_ctc() -> None:
    tf.keras.utils.set_random_seed(1)
    x = np.random.default_rng(6).normal(size=(8, 10, 3)).astype("f")
    labels = np.array([[1, 2, 0], [3, 3, 1], [2, 0, 0], [1, 3, 2]] * 2)
    model = tf.keras.Sequential([tf.keras.layers.Input((10, 3)), tf.keras.layers.Dense(32, activation="relu"),
                                 tf.keras.layers.Dense(4)])
    model.compile(tf.keras.optimizers.Adam(0.02), tf.keras.losses.CTC())
    losses = model.fit(x, labels, batch_size=8, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_normalisation_has_the_inputs_dtype_with_and_without_weights(dtype: str, scale: bool, center: bool) -> None:
    x = np.random.default_rng(0).normal(2, 3, size=(6, 5, 4)).astype(dtype)
    layers = tf.keras.layers
    for layer, axes, shape in (
        (layers.BatchNormalization(scale=scale, center=center, dtype=dtype), (0, 1), x.shape),
        (layers.LayerNormalization(scale=scale, center=center, dtype=dtype), (2,), x.shape),
        (layers.GroupNormalization(2, scale=scale, center=center, dtype=dtype), (1, 3), (6, 5, 2, 2)),
    ):
        given = x.astype(np.float64).reshape(shape)
        mean, spread = given.mean(axes, keepdims=True), given.var(axes, keepdims=True)
        expected = ((given - mean) / np.sqrt(spread + 1e-3)).reshape(x.shape)
        y = layer(tf.constant(x), training=True) if axes == (0, 1) else layer(tf.constant(x))
        assert y.dtype == dtype
        np.testing.assert_allclose(y.numpy(), expected, atol=4e-3 if dtype == "float16" else 1e-5)
        assert layer(tf.constant(x)).dtype == dtype  # with moving statistics, where it has some
