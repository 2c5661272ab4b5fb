"""Mistakes in scripts for TensorFlow: messages that name the argument and the remedy, in the script's line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

np = pytest.importorskip("numpy")

import plimsoll.compat.tf as tf  # noqa: E402

K = tf.keras
X = np.random.RandomState(0).rand(16, 4).astype("float32")
Y = np.arange(16) % 3


def model(*layers: Any, loss: Any = "sparse_categorical_crossentropy", **options: Any) -> Any:
    made = K.Sequential([K.Input((4,)), *layers])
    made.compile("sgd", loss, **options)
    return made


class WithoutReturn(K.Model):  # type: ignore[misc, name-defined, unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.dense = K.layers.Dense(3)

    def call(self, x: Any) -> Any:
        self.dense(x)


class WithoutSuper(K.layers.Layer):  # type: ignore[misc, name-defined, unused-ignore]
    def __init__(self) -> None:
        self.units = 3

    def call(self, x: Any) -> Any:
        return x


def without_return() -> None:
    made = WithoutReturn()
    made.compile("sgd", "mse")
    made.fit(X, Y, verbose=0)


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "optimizer": (lambda: model().compile("adamm", "mse"), "did you mean 'adam'"),
    "loss": (lambda: model(loss="mean_squared"), "did you mean 'mean_squared_error'"),
    "metric": (lambda: model(K.layers.Dense(3), metrics=["acuracy"]).fit(X, Y, verbose=0), "did you mean 'accuracy'"),
    "activation": (lambda: K.layers.Dense(3, activation="reluu"), "did you mean 'relu'"),
    "initializer": (lambda: K.layers.Dense(3, kernel_initializer="he_norm"), "did you mean 'he_normal'"),
    "argument": (lambda: K.layers.Dense(3, activaton="relu"), "did you mean 'activation'"),
    "shape": (lambda: model(K.layers.Conv2D(3, 3)), "(None, 4)"),
    "labels": (lambda: model(K.layers.Dense(3), loss="categorical_crossentropy").fit(X, Y, verbose=0), "to_categorical"),
    "no return": (without_return, "is there a `return`"),
    "no super": (lambda: WithoutSuper()(X), "super().__init__()"),
    "no return in map": (lambda: tf.data.Dataset.range(3).map(lambda x: None), "is there a `return`"),
    "split of a dataset": (
        lambda: model(K.layers.Dense(3)).fit(tf.data.Dataset.from_tensors((X, Y)), validation_split=0.2), "take() and skip()"),
    "no batches": (lambda: model(K.layers.Dense(3)).fit(tf.data.Dataset.from_tensor_slices((X, Y)), verbose=0), ".batch(32)"),
    "strings": (lambda: model(K.layers.Dense(3)).fit(np.array([["a"] * 4]), [0], verbose=0), "StringLookup"),
    "rows": (lambda: model(K.layers.Dense(3)).fit(np.array([[1, 2], [3]], dtype=object), [0, 1], verbose=0), "pad_sequences"),
    "old name": (lambda: tf.placeholder(tf.float32), "tf.compat.v1.placeholder"),
    "saved model": (lambda: tf.saved_model.save(None, "x"), "model.save("),
    "missing metric": (lambda: K.metrics.PearsonCorrelation(), "tf.keras.metrics.PearsonCorrelation is not supported"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_what_to_do(name: str) -> None:
    mistake, remedy = MISTAKES[name]
    with pytest.raises((ValueError, TypeError, RuntimeError, NotImplementedError)) as raised:
        mistake()
    assert remedy in str(raised.value)


def test_what_a_step_refuses_is_one_of_tf_errors() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="label 2"):
        model(K.layers.Dense(2, activation="softmax")).fit(X, Y, verbose=0)


@pytest.mark.parametrize("line", [
    "tf.lite.TFLiteConverter",
    "tf.keras.layers.Dense(-1)",
    "tf.constant([1.0]).numpy().nothing",
])
def test_an_uncaught_error_ends_in_the_scripts_line(line: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import tensorflow as tf\n\n{line}\n")
    run = [sys.executable, "-m", "plimsoll.compat.tf", str(script)]
    shown = subprocess.run(run, capture_output=True, text=True, check=False).stderr
    frames = [each for each in shown.splitlines() if each.startswith("  File")]
    assert len(frames) == 1 and "script.py\", line 3" in frames[0], shown
    whole = subprocess.run(run, capture_output=True, text=True, check=False, env={**os.environ, "PLIMSOLL_FULL_TRACEBACK": "1"})
    assert len([each for each in whole.stderr.splitlines() if each.startswith("  File")]) > 1


def test_classes_without_a_weight_weigh_one() -> None:
    first, second = (model(K.layers.Dense(3, kernel_initializer="ones")) for _ in range(2))
    a = first.fit(X, Y, class_weight={0: 2.0}, shuffle=False, verbose=0).history["loss"]
    b = second.fit(X, Y, class_weight={0: 2.0, 1: 1.0, 2: 1.0}, shuffle=False, verbose=0).history["loss"]
    assert a == b


def test_validation_begins_with_the_first_batch_in_every_epoch() -> None:
    made = K.Sequential([K.Input((1,)), K.layers.Dense(1, kernel_initializer="ones")])
    made.compile(K.optimizers.SGD(0.0), "mae")
    x = np.arange(8, dtype="float32")[:, None]
    batches = tf.data.Dataset.from_tensor_slices((x, x * 0)).batch(1)
    for data in (batches, batches.repeat(), (x, x * 0)):
        found = made.fit(x, x * 0, epochs=3, validation_data=data, validation_steps=2, validation_batch_size=1, verbose=0)
        assert found.history["val_loss"] == [0.5] * 3
