"""fit of tf.keras: within the budget, with callbacks, files and what is refused."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import pathlib
from typing import Any, Iterator

import pytest

np = pytest.importorskip("numpy")

import plimsoll as pm  # noqa: E402
import plimsoll.compat.tf as tf  # noqa: E402

K = tf.keras
L = tf.keras.layers


def rows(count: int = 64, width: int = 5, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.RandomState(seed)
    x = rng.normal(size=(count, width)).astype("float32")
    return x, (x[:, :1] * 2 + 1).astype("float32")


def mlp(loss: str = "mse", optimizer: Any = "sgd", **options: Any) -> Any:
    model = K.Sequential([K.Input((5,)), L.Dense(8, activation="relu"), L.Dense(1)])
    draw = np.random.RandomState(1)
    model.set_weights([draw.normal(size=w.shape).astype("float32") * 0.3 for w in model.get_weights()])
    model.compile(optimizer, loss, **options)
    return model


@contextlib.contextmanager
def limit(size: str) -> Iterator[Any]:
    """A part of the device with a limit of its own, which is the default device in the block."""
    with pm.default_device().session("keras", limit=size) as session:
        yield session
        gc.collect()


def pictures_model(normalized: bool = False) -> Any:
    model = K.Sequential([
        K.Input((24, 24, 3)), L.Conv2D(16, 3, padding="same", activation="relu"),
        *([L.BatchNormalization()] if normalized else []), L.Conv2D(16, 3, padding="same", activation="relu"),
        L.GlobalAveragePooling2D(), L.Dense(3)])
    model.compile("sgd", K.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def pictures(count: int = 64) -> tuple[Any, Any]:
    rng = np.random.RandomState(0)
    return rng.uniform(size=(count, 24, 24, 3)).astype("float32"), rng.randint(0, 3, count)


def test_batch_that_does_not_fit_is_worked_on_in_parts_with_the_same_results() -> None:
    x, y = pictures()
    whole = pictures_model()
    weights = whole.get_weights()
    expected = whole.fit(x, y, batch_size=64, epochs=2, shuffle=False, verbose=0).history["loss"]
    with limit("5MiB") as device:
        model = pictures_model()
        model.set_weights(weights)
        found = model.fit(x, y, batch_size=64, epochs=2, shuffle=False, verbose=0).history["loss"]
        assert model._split[64] > 1
        assert device.budget.peak <= 5 << 20
        del model
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_odd_batch_is_taken_apart_too() -> None:
    x, y = pictures(61)
    whole = pictures_model()
    weights = whole.get_weights()
    expected = whole.fit(x, y, batch_size=61, epochs=2, shuffle=False, verbose=0).history["loss"]
    with limit("5MiB"):
        model = pictures_model()
        model.set_weights(weights)
        found = model.fit(x, y, batch_size=61, epochs=2, shuffle=False, verbose=0).history["loss"]
        assert 1 < model._split[61] < 61
        del model
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_evaluate_and_predict_work_on_parts_of_a_batch() -> None:
    x, y = pictures(256)
    whole = pictures_model(normalized=True)
    weights = whole.get_weights()
    expected, predicted = whole.evaluate(x, y, batch_size=256, verbose=0), whole.predict(x, batch_size=256, verbose=0)
    with limit("5MiB") as device:
        model = pictures_model(normalized=True)
        model.set_weights(weights)
        np.testing.assert_allclose(model.evaluate(x, y, batch_size=256, verbose=0), expected, rtol=1e-5)
        np.testing.assert_allclose(model.predict(x, batch_size=256, verbose=0), predicted, rtol=1e-4, atol=1e-6)
        assert device.budget.peak <= 5 << 20
        del model


class MixesRows(K.Model):  # type: ignore[misc, name-defined]
    """Rows of a batch matter to each other."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = L.Conv2D(8, 3, activation="relu"), L.Dense(3)

    def call(self, x: Any) -> Any:
        x = self.conv(x)
        return self.head(tf.reduce_mean(x - tf.reduce_mean(x, axis=0, keepdims=True), axis=[1, 2]))


@pytest.mark.parametrize("kind", ["rows", "sum"])
def test_a_batch_whose_rows_matter_to_each_other_is_not_taken_apart(kind: str) -> None:
    rows_stand_alone = importlib.import_module("plimsoll.compat.tf.keras.models._rows").rows_stand_alone
    x, y = (tf.constant(each) for each in pictures(8))
    model = MixesRows() if kind == "rows" else pictures_model()
    loss = K.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="sum" if kind == "sum" else "sum_over_batch_size")
    model.compile("sgd", loss)
    model(x)
    assert not rows_stand_alone(model, (x, y), True)
    plain = pictures_model()
    plain(x)
    assert rows_stand_alone(plain, (x, y), True)


def test_gradients_of_the_binary_loss_are_right_where_weights_begin_at_zero() -> None:
    x = np.array([[1.0], [2.0], [3.0], [4.0]], "float32")
    y = np.array([[0.0], [1.0], [1.0], [1.0]], "float32")
    model = K.Sequential([K.Input((1,)), L.Dense(1, activation="sigmoid", kernel_initializer="zeros")])
    model.compile(K.optimizers.SGD(1.0), "binary_crossentropy")
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0].ravel(), [-np.mean((0.5 - y) * x)], rtol=1e-5)
    logits = tf.Variable([0.0, 0.0])
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=[0.0, 1.0], logits=logits))
    np.testing.assert_allclose(tape.gradient(value, logits).numpy(), [0.5, -0.5])


@pytest.mark.parametrize("given", [(None, ["mae"]), (["mae"],)])
def test_compile_takes_metrics_by_position_as_either_keras_has_it(given: tuple[Any, ...]) -> None:
    model = mlp()
    model.compile("sgd", "mse", *given)
    assert set(model.fit(*rows(8), verbose=0).history) == {"loss", "mae"}


def test_refusal_names_a_batch_that_fits() -> None:
    x, y = pictures(256)
    with limit("6MiB"):
        model = pictures_model(normalized=True)
        with pytest.raises(pm.BudgetTooSmall, match="largest batch for this budget: [1-9]") as refused:
            model.fit(x, y, batch_size=256, verbose=0)
        fits = int(str(refused.value).split("batch_size=")[1].split(")")[0])
        assert 1 <= fits < 256
        model.fit(x[:fits], y[:fits], batch_size=fits, verbose=0)
        del model


def test_steps_after_the_first_take_no_memory() -> None:
    x, y = rows(256)
    with limit("64MiB") as device:
        model = mlp()
        seen: list[int] = []
        model.fit(x, y, batch_size=32, epochs=3, verbose=0, callbacks=[
            K.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(device.budget.peak))])
        assert len(set(seen[2:])) == 1
        del model


def test_clear_session_gives_memory_back() -> None:
    x, y = rows(256, 5)
    with limit("128MiB") as device:
        used = device.budget.used
        model = K.Sequential([K.Input((5,)), L.Dense(2000), L.Dense(1000), L.Dense(1)])
        model.compile("adam", "mse")
        model.fit(x, y, verbose=0)
        assert device.budget.used > used + (8 << 20)
        del model
        K.backend.clear_session()
        assert device.budget.used <= used + (1 << 20)


def test_traced_once_for_each_kind_of_batch() -> None:
    x, y = rows(50)
    calls = []

    class Counted(L.Layer):  # type: ignore[misc, name-defined]
        def call(self, inputs: Any) -> Any:
            calls.append(1)
            return inputs * 2

    model = K.Sequential([K.Input((5,)), Counted(), L.Dense(1)])
    model.compile("sgd", "mse")
    before = len(calls)
    model.fit(x, y, batch_size=20, epochs=5, verbose=0)
    assert len(calls) - before == 2  # batches of 20, and the remainder of 10


def test_learning_rate_can_be_assigned_between_epochs() -> None:
    x, y = rows()
    model = mlp(optimizer=K.optimizers.SGD(0.1))
    model.optimizer.learning_rate = 0.0
    before = model.get_weights()
    model.fit(x, y, verbose=0)
    for a, b in zip(before, model.get_weights()):
        np.testing.assert_array_equal(a, b)
    model.optimizer.learning_rate.assign(0.1)
    model.fit(x, y, verbose=0)
    assert not np.array_equal(before[0], model.get_weights()[0])


def test_validation_split_takes_the_last_rows() -> None:
    x, y = rows(40)
    model = mlp(optimizer=K.optimizers.SGD(0.0))
    history = model.fit(x, y, validation_split=0.25, verbose=0).history
    assert history["val_loss"][0] == pytest.approx(model.evaluate(x[30:], y[30:], verbose=0), rel=1e-6)


def test_early_stopping_restores_the_best_weights() -> None:
    x, y = rows(40)
    model = mlp(optimizer=K.optimizers.SGD(0.1))
    stop = K.callbacks.EarlyStopping(monitor="loss", patience=1, mode="max", restore_best_weights=True)
    history = model.fit(x, y, epochs=10, verbose=0, callbacks=[stop])
    assert len(history.history["loss"]) < 10
    assert stop.best_epoch == 0


def test_bar_shows_numbers_and_memory() -> None:
    x, y = rows()
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        mlp(metrics=["mae"]).fit(x, y, epochs=2, verbose=1)
    text = shown.getvalue()
    assert "Epoch 2/2" in text and "2/2 ━━━━━━━━━━━━━━━━━━━━" in text
    assert "loss: " in text and "mae: " in text and "memory: " in text


def test_loss_that_is_not_finite_warns_and_goes_on() -> None:
    x, y = rows()
    model = mlp(optimizer=K.optimizers.SGD(1e30))
    with pytest.warns(UserWarning, match="not finite"):
        history = model.fit(x, y, epochs=3, verbose=0)
    assert len(history.history["loss"]) == 3


def test_terminate_on_nan_ends_the_run() -> None:
    x, y = rows()
    model = mlp(optimizer=K.optimizers.SGD(1e30))
    with pytest.warns(UserWarning, match="not finite"):
        history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, callbacks=[K.callbacks.TerminateOnNaN()])
    assert len(history.history["loss"]) == 1


def test_saved_model_goes_on_where_it_was(tmp_path: pathlib.Path) -> None:
    x, y = rows()
    model = mlp(optimizer="adam", metrics=["mae"])
    model.fit(x, y, epochs=2, shuffle=False, verbose=0)
    model.save(tmp_path / "model.keras")
    again = K.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(model.predict(x, verbose=0), again.predict(x, verbose=0))
    a = model.fit(x, y, epochs=2, shuffle=False, verbose=0).history
    b = again.fit(x, y, epochs=2, shuffle=False, verbose=0).history
    np.testing.assert_allclose(a["loss"], b["loss"], rtol=1e-6)
    np.testing.assert_allclose(a["mae"], b["mae"], rtol=1e-6)


def test_functional_model_is_made_again_from_its_configuration() -> None:
    left, right = K.Input((4,), name="left"), K.Input((3,), name="right")
    shared = L.Dense(5, activation="relu", kernel_regularizer=K.regularizers.L2(0.1), name="shared")
    h = L.Concatenate()([shared(left), shared(L.Dense(4)(right))])
    model = K.Model([left, right], [L.Dense(1, name="a")(h), L.Dense(2, name="b")(h)])
    again = K.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    x = [np.ones((2, 4), "float32"), np.ones((2, 3), "float32")]
    for a, b in zip(model.predict(x, verbose=0), again.predict(x, verbose=0)):
        np.testing.assert_array_equal(a, b)
    assert again.output_names == ["a", "b"] and len(again.losses) == 1


def test_weights_in_files(tmp_path: pathlib.Path) -> None:
    model, other = mlp(), mlp()
    model.set_weights([w + 1 for w in model.get_weights()])
    model.save_weights(tmp_path / "w.safetensors")
    other.load_weights(tmp_path / "w.safetensors")
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(FileNotFoundError):
        other.load_weights(tmp_path / "none.safetensors")


def test_weights_in_kerass_own_files(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("h5py")
    model, other = mlp(), mlp()
    model.set_weights([w + 1 for w in model.get_weights()])
    model.save_weights(tmp_path / "m.weights.h5")
    other.load_weights(tmp_path / "m.weights.h5")
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_summary_counts_parameters() -> None:
    lines: list[str] = []
    mlp().summary(print_fn=lines.append)
    text = "\n".join(lines)
    assert "dense" in text and "(None, 8)" in text and "Trainable params: 57" in text


def test_mixed_precision_in_both_spellings() -> None:
    x, y = rows()
    old = K.mixed_precision.experimental
    for begin, policy in ((K.mixed_precision.set_global_policy, "mixed_bfloat16"),
                          (old.set_policy, old.Policy("mixed_float16"))):
        begin(policy)
        try:
            model = K.Sequential([K.Input((5,)), L.Dense(8, activation="relu"), L.Dense(1, dtype="float32")])
        finally:
            K.mixed_precision.set_global_policy("float32")
        model.compile(K.optimizers.SGD(0.05), "mse")
        losses = model.fit(x, y, epochs=4, verbose=0).history["loss"]
        assert losses[-1] < losses[0] and model.layers[0].kernel.dtype == tf.float32
        assert model.layers[0](x[:1]).dtype in (tf.bfloat16, tf.float16)


def test_random_layers_change_pictures_in_training_only() -> None:
    x = np.random.RandomState(0).uniform(0, 255, size=(8, 6, 6, 3)).astype("float32")
    layers = [L.RandomFlip(), L.RandomRotation(0.2), L.RandomZoom(0.3), L.RandomTranslation(0.2, 0.2),
              L.RandomContrast(0.5), L.RandomBrightness(0.5)]
    for layer in layers:
        np.testing.assert_array_equal(layer(x, training=False).numpy(), x)
        changed = layer(x, training=True).numpy()
        assert changed.shape == x.shape and not np.array_equal(changed, x), layer.name
        assert changed.min() >= -1e-2 and changed.max() <= 255.01, layer.name


def test_dropout_keeps_the_mean_and_is_off_in_evaluation() -> None:
    x = np.ones((200, 100), "float32")
    layer = L.Dropout(0.25)
    dropped = layer(x, training=True).numpy()
    assert dropped.mean() == pytest.approx(1.0, abs=0.02) and (dropped == 0).mean() == pytest.approx(0.25, abs=0.02)
    np.testing.assert_array_equal(layer(x, training=False).numpy(), x)


def test_initial_values_are_kerass_and_follow_the_seed() -> None:
    K.utils.set_random_seed(3)
    first = L.Dense(300)
    first.build((None, 200))
    K.utils.set_random_seed(3)
    second = L.Dense(300)
    second.build((None, 200))
    np.testing.assert_array_equal(first.get_weights()[0], second.get_weights()[0])
    bound = np.sqrt(6 / 500)
    assert np.abs(first.get_weights()[0]).max() <= bound and first.get_weights()[0].std() == pytest.approx(
        bound / np.sqrt(3), rel=0.02)
    lstm = L.LSTM(4)
    lstm.build((None, 3, 2))
    assert lstm.get_weights()[2].tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8


@pytest.mark.parametrize("make, words", [
    (lambda: K.applications.ResNet50(), "imagenet"),
    (lambda: K.utils.plot_model(None), "summary"),
    (lambda: K.layers.ConvLSTM2D(4, 3, stateful=True), "ConvLSTM2D"),
    (lambda: K.preprocessing.image.ImageDataGenerator(zca_whitening=True), "zca_whitening"),
    (lambda: L.MultiHeadAttention(2, 2, attention_axes=(1, 2)), "attention_axes"),
    (lambda: L.NoSuchLayer(), "NoSuchLayer"),
])
def test_what_is_not_supported_is_refused_by_name(make: Any, words: str) -> None:
    with pytest.raises(NotImplementedError, match=words):
        make()


def test_mistakes_are_kerass_errors() -> None:
    x, y = rows()
    with pytest.raises(ValueError, match="compile"):
        K.Sequential([K.Input((5,)), L.Dense(1)]).fit(x, y)
    with pytest.raises(ValueError, match="cardinality"):
        mlp().fit(x, y[:-1], verbose=0)
    with pytest.raises(ValueError, match="optimizer"):
        mlp(optimizer="no such")
    with pytest.raises(ValueError, match="loss"):
        mlp(loss="no such")
    with pytest.raises(ValueError, match="weight"):
        mlp().set_weights([])
    with pytest.raises(ValueError, match="incompatible"):
        mlp().predict(np.ones((2, 6), "float32"), verbose=0)
    with pytest.raises(TypeError, match="unexpected"):
        mlp().fit(x, y, epoch=3)
    with pytest.raises(FileNotFoundError, match="nothing is downloaded"):
        K.datasets.mnist.load_data("no-such-file.npz")


def test_run_that_was_interrupted_goes_on_from_its_backup(tmp_path: pathlib.Path) -> None:
    x, y = rows()
    expected = mlp(optimizer="adam").fit(x, y, epochs=4, shuffle=False, verbose=0).history["loss"]

    class Interrupt(K.callbacks.Callback):  # type: ignore[misc, name-defined]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if epoch == 2:
                raise KeyboardInterrupt

    backup = K.callbacks.BackupAndRestore(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        mlp(optimizer="adam").fit(x, y, epochs=4, shuffle=False, verbose=0, callbacks=[backup, Interrupt()])
    again = mlp(optimizer="adam").fit(x, y, epochs=4, shuffle=False, verbose=0, callbacks=[backup])
    np.testing.assert_allclose(again.history["loss"], expected[2:], rtol=1e-6)


def test_steps_of_ones_own_may_call_kerass() -> None:
    x, y = rows()

    class Own(K.Model):  # type: ignore[misc, name-defined]
        def train_step(self, data: Any) -> Any:
            found = super().train_step(data)
            return {**found, "twice": found["loss"] * 2}

        def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None) -> Any:
            return tf.reduce_mean(tf.abs(y - y_pred))

    inputs = K.Input((5,))
    model = Own(inputs, L.Dense(1)(inputs))
    model.compile("sgd", metrics=["mse"])
    history = model.fit(x, y, epochs=2, verbose=0, validation_data=(x, y)).history
    assert sorted(history) == ["loss", "mse", "twice", "val_loss", "val_mse"]
    np.testing.assert_allclose(history["twice"], np.asarray(history["loss"]) * 2, rtol=1e-6)


def test_running_eagerly_gives_the_same() -> None:
    x, y = rows()
    planned = mlp(optimizer="adam", metrics=["mae"]).fit(x, y, epochs=2, shuffle=False, verbose=0).history
    eager = mlp(optimizer="adam", metrics=["mae"], run_eagerly=True).fit(
        x, y, epochs=2, shuffle=False, verbose=0).history
    for key in planned:
        np.testing.assert_allclose(planned[key], eager[key], rtol=1e-5)


def test_subclassed_model_is_saved_and_loaded(tmp_path: pathlib.Path) -> None:
    @K.utils.register_keras_serializable("tests")
    class Net(K.Model):  # type: ignore[misc, name-defined]
        def __init__(self, units: int = 4, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.units = units
            self.first, self.last = L.Dense(units), L.Dense(1)

        def call(self, inputs: Any) -> Any:
            return self.last(self.first(inputs))

        def get_config(self) -> dict[str, Any]:
            return {**super().get_config(), "units": self.units}

    x, y = rows()
    model = Net(6)
    model.compile("adam", "mse")
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "net.keras")
    again = K.models.load_model(tmp_path / "net.keras")
    np.testing.assert_array_equal(model.predict(x, verbose=0), again.predict(x, verbose=0))


def test_pictures_of_a_folder_train_a_model(tmp_path: pathlib.Path) -> None:
    for kind, value in (("dark", 20), ("light", 220)):
        (tmp_path / kind).mkdir()
        for i in range(4):
            picture = np.full((8 + i, 9, 3), value, "uint8")
            tf.io.write_file(str(tmp_path / kind / f"{i}.png"), tf.io.encode_png(picture))
    with contextlib.redirect_stdout(io.StringIO()):
        data = K.utils.image_dataset_from_directory(tmp_path, image_size=(6, 6), batch_size=4, seed=1)
    assert data.class_names == ["dark", "light"]
    model = K.Sequential([L.Rescaling(1 / 255, input_shape=(6, 6, 3)), L.Flatten(), L.Dense(2)])
    model.compile(K.optimizers.Adam(0.05), K.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(data, epochs=30, verbose=0)
    assert history.history["accuracy"][-1] == 1.0


def test_lengths_and_sizes_may_differ_from_batch_to_batch() -> None:
    ids = K.Input((None,), dtype="int64")
    model = K.Model(ids, L.Dense(1)(L.LSTM(3)(L.Embedding(9, 4, mask_zero=True)(ids))))
    model.compile("adam", "mse")
    batches = [(np.ones((2, n), "int64"), np.ones((2, 1), "float32")) for n in (3, 5, 4)]
    assert len(model.fit(iter(batches * 2), epochs=2, steps_per_epoch=3, verbose=0).history["loss"]) == 2
    pictures_in = K.Input((None, None, 3))
    conv = K.Model(pictures_in, L.GlobalMaxPooling2D()(L.Conv2D(4, 3)(pictures_in)))
    assert conv.output_shape == (None, 4)
    assert conv.predict(np.ones((2, 5, 6, 3), "float32"), verbose=0).shape == (2, 4)
