"""What tutorials use besides the basics: gradients and steps of one's own, averages, branches, pictures that are
changed at random, sounds, ragged rows, files of earlier Keras. Numbers that are not obvious are TensorFlow's."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any, Iterator

import pytest

np = pytest.importorskip("numpy")

import plimsoll.compat.tf as tf  # noqa: E402

v1 = tf.compat.v1
X = np.arange(16).reshape(8, 2).astype("f") / 10
Y = X.sum(1, keepdims=True)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    tf.keras.backend.clear_session()


def small(optimizer: Any) -> Any:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.set_weights([np.full((2, 1), 0.5, "f"), np.zeros(1, "f")])
    model.compile(optimizer, "mse")
    return model


# -- gradients -------------------------------------------------------------------------------------


@tf.custom_gradient  # type: ignore[untyped-decorator]
def clipped(x: Any) -> Any:
    return tf.identity(x), lambda dy: tf.clip_by_norm(dy, 0.5)


def test_a_gradient_of_ones_own_is_used() -> None:
    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def log1pexp(x: Any) -> Any:
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    x = tf.constant(100.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
    assert float(tape.gradient(y, x)) == 1
    v = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            z = clipped(v * v * v) * v
        g = inner.gradient(z, v)
    assert float(g) == 14 and float(outer.gradient(g, v)) == 12


def test_a_gradient_of_ones_own_is_part_of_planned_steps_and_graphs() -> None:
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)
    model = tf.keras.Sequential([tf.keras.Input((1,)), layer, tf.keras.layers.Lambda(clipped)])
    model.compile(tf.keras.optimizers.SGD(1.0), loss=lambda t, p: tf.reduce_sum(p * 8.0))
    model.fit(np.ones((1, 1), "f"), np.ones((1, 1), "f"), verbose=0)
    assert float(layer.kernel[0, 0]) == 0.5
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        (g,) = tf.gradients(clipped(x * 3.0) * 5.0, [x])
        with v1.Session() as session:
            assert session.run(g, {x: 1.0}) == 1.5


def test_variables_in_such_a_function_need_their_own_gradients() -> None:
    w = tf.Variable(3.0)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def scaled(x: Any) -> Any:
        def back(dy: Any, variables: Any = None) -> Any:
            return dy * w, [dy * x * 10.0 for _ in variables]

        return x * w, back

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x)
    assert [float(g) for g in tape.gradient(y, [x, w])] == [3, 20]


def test_seeds_weigh_gradients_by_variables() -> None:
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = w * w
    assert tape.gradient(y, w, output_gradients=tf.constant([1.0, 10.0])).numpy().tolist() == [2, 40]


def test_jacobians_and_several_targets_need_no_persistent_tape() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**3
    assert np.allclose(tape.jacobian(y, x), np.diag([3.0, 12.0]))
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.jacobian(y, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = x * 2.0, x**2
    assert tape.gradient({"a": a, "b": b}, x).numpy().tolist() == [4, 6]


# -- optimizers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, losses, weights, updates", [
    (("SGD", dict(use_ema=True, ema_momentum=0.9)), [0.2727, 0.04032], [0.65066, 0.66741], 8),
    (("Adam", dict(use_ema=True, ema_overwrite_frequency=2)), [0.26082, 0.22838], [0.6077, 0.60782], 8),
    (("Adam", dict(gradient_accumulation_steps=3)), [0.55608, 0.16176], [0.69996, 0.70006], 2),
    (("SGD", dict(momentum=0.9, gradient_accumulation_steps=2, clipnorm=0.1)), [0.74196, 0.59386], [0.5589, 0.56865], 4),
])
def test_averages_and_gathered_gradients_are_kerass(options: Any, losses: Any, weights: Any, updates: int) -> None:
    name, more = options
    optimizer = getattr(tf.keras.optimizers, name)(0.1, **more)
    model = small(optimizer)
    history = model.fit(X, Y, batch_size=2, epochs=2, shuffle=False, verbose=0)
    assert np.allclose(history.history["loss"], losses, atol=2e-5)
    assert np.allclose(model.get_weights()[0].ravel(), weights, atol=2e-5)
    assert int(optimizer.iterations) == updates


def test_averages_of_a_graph_follow_the_updates() -> None:
    with tf.Graph().as_default():
        w = v1.get_variable("w", initializer=tf.constant(1.0))
        step = v1.assign(w, w * 2.0)
        average = v1.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([step]):
            both = average.apply([w])
            after = w * 10.0
        shadow = average.average(w)
        assert shadow.name == "w/ExponentialMovingAverage:0"
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            assert session.run([both, after])[1] == 20
            assert session.run([w, shadow]) == [2, 1.5]


# -- models ----------------------------------------------------------------------------------------


def test_a_step_of_ones_own_sees_the_metrics_of_compile() -> None:
    class Own(tf.keras.Model):  # type: ignore[misc]
        def test_step(self, data: Any) -> Any:
            x, y = data
            y_pred = self(x, training=False)
            loss = self.compute_loss(y=y, y_pred=y_pred)
            for metric in self.metrics:
                metric.update_state(*((loss,) if metric.name == "loss" else (y, y_pred)))
            return {m.name: m.result() for m in self.metrics}

    inputs = tf.keras.Input((2,))
    model = Own(inputs, tf.keras.layers.Dense(1, kernel_initializer="zeros")(inputs))
    model.compile("sgd", "mse", metrics=["mae"])
    assert [each.name for each in model.metrics] == ["loss", "compile_metrics"]
    loss, mae = model.evaluate(X, Y, verbose=0)
    assert np.isclose(loss, (Y**2).mean()) and np.isclose(mae, Y.mean())


def test_variables_that_are_trained_are_weights_and_others_are_kept_by_checkpoints(tmp_path: pathlib.Path) -> None:
    class Scale(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.by = tf.Variable(1.0)

    class Counting(tf.keras.layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.offset, self.scale = tf.Variable(0.5), Scale()
            self.count = tf.Variable(0, trainable=False)
            self.kept = tf.keras.Variable(2.0, trainable=False)

        def call(self, x: Any) -> Any:
            self.count.assign_add(1)
            return x * self.scale.by + self.offset + self.kept

    model = tf.keras.Sequential([tf.keras.Input((1,)), Counting()])
    assert len(model.trainable_weights) == 2 and len(model.weights) == 3
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    model.fit(np.ones((4, 1), "f"), np.ones((4, 1), "f"), verbose=0, epochs=2)
    layer = model.layers[0]
    assert float(layer.offset) != 0.5 and float(layer.scale.by) != 1.0 and float(layer.kept) == 2.0
    counted = int(layer.count)
    path = tf.train.Checkpoint(model=model).save(tmp_path / "c")
    layer.count.assign(0)
    layer.scale.by.assign(0.0)
    tf.train.Checkpoint(model=model).restore(path)
    assert int(layer.count) == counted > 0 and float(layer.scale.by) != 0


def test_h5_models_come_back_with_their_optimizer(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "model.h5")
    model = small(tf.keras.optimizers.Adam(0.1))
    model.fit(X, Y, verbose=0)
    try:
        import h5py  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: F401
    except ImportError:
        with pytest.raises(NotImplementedError, match="h5py"):
            model.save(path)
        return
    model.save(path)
    again = tf.keras.models.load_model(path)
    assert np.allclose(again.predict(X, verbose=0), model.predict(X, verbose=0))
    assert int(again.optimizer.iterations) == 1 and again.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)
    other = small("sgd")
    other.load_weights(path)
    assert np.array_equal(other.get_weights()[0], model.get_weights()[0])


# -- branches --------------------------------------------------------------------------------------


def test_branches_that_return_or_assign_become_choices() -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def f(x: Any) -> Any:
        if x > 0 and not x > 10:
            return x * 2
        elif x >= 10:
            return x
        return -x

    @tf.function  # type: ignore[untyped-decorator]
    def g(x: Any) -> Any:
        for i in tf.range(3):
            if x > 5.0:
                x = x - 1.0
            else:
                x = x + 10.0
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [float(f(tf.constant(v))) for v in (1.0, 20.0, -3.0)] == [2, 20, 3]
        assert float(g(tf.constant(1.0))) == 9


def test_a_name_that_only_one_branch_assigns_runs_op_by_op() -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def f(x: Any) -> Any:
        if x > 0:
            y = x
        return y if x > 0 else x

    with pytest.warns(UserWarning, match="y must have a value in both branches"):
        assert float(f(tf.constant(2.0))) == 2


def test_a_layer_that_decides_by_a_draw_is_part_of_a_model() -> None:
    class RandomInvert(tf.keras.layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return self.invert(x)

        def invert(self, x: Any, share: float = 0.5) -> Any:
            if tf.random.uniform([]) < share:
                x = 255 - x
            else:
                x
            return x

    model = tf.keras.Sequential([tf.keras.Input((2,)), RandomInvert()])
    found = {float(model(np.ones((1, 2), "f"))[0, 0]) for _ in range(40)}
    assert found == {1.0, 254.0}


# -- data ------------------------------------------------------------------------------------------


def test_pictures_are_changed_at_random_as_by_keras() -> None:
    generator = tf.keras.preprocessing.image.ImageDataGenerator(
        horizontal_flip=True, rescale=1 / 255.0, channel_shift_range=20)
    pictures = np.random.RandomState(0).randint(0, 255, (5, 8, 8, 3)).astype("uint8")
    flow = generator.flow(pictures, np.arange(5), batch_size=2, seed=3)
    found = [next(flow) for _ in range(3)]
    assert [y.tolist() for _, y in found] == [[3, 4], [1, 0], [2]] and len(flow) == 3
    assert np.allclose([x.sum() for x, _ in found], [202.951, 186.827, 83.226], atol=2e-3)
    turned = tf.keras.preprocessing.image.ImageDataGenerator(fill_mode="constant", cval=-1.0)
    moved = turned.apply_transform(pictures[0].astype("f"), {"theta": 90})
    assert np.allclose(moved, np.rot90(pictures[0], axes=(0, 1)), atol=1e-3) or np.allclose(
        moved, np.rot90(pictures[0], axes=(1, 0)), atol=1e-3)
    assert (turned.apply_transform(pictures[0].astype("f"), {"tx": 8.5, "ty": 0}) == -1).all()


def test_folders_of_pictures_flow(tmp_path: pathlib.Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in range(5):
            picture = np.full((4, 6, 3), 100 if name == "a" else 200, "uint8")
            tf.io.write_file(str(tmp_path / name / f"{i}.png"), tf.io.encode_png(picture))
    generator = tf.keras.preprocessing.image.ImageDataGenerator(rescale=0.01, validation_split=0.4)
    flow = generator.flow_from_directory(tmp_path, (3, 3), class_mode="binary", batch_size=4, subset="training", shuffle=False)
    assert flow.samples == 6 and flow.class_indices == {"a": 0, "b": 1}
    x, y = next(flow)
    assert x.shape == (4, 3, 3, 3) and y.tolist() == [0, 0, 0, 1] and np.allclose(x[:, 0, 0, 0], [1, 1, 1, 2])
    model = tf.keras.Sequential([tf.keras.Input((3, 3, 3)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(flow, epochs=2, verbose=0).history["loss"]) == 2


def test_spectra_are_the_same_traced_and_eager(tmp_path: pathlib.Path) -> None:
    wave = (np.sin(np.arange(400) * 0.3) + np.cos(np.arange(400) * 1.1)).astype("f")
    eager = tf.signal.stft(wave, 64, 32)
    assert eager.shape == (11, 33) and eager.dtype == tf.complex64
    assert np.allclose(tf.abs(eager)[3, :6], [0.0413, 0.129, 7.329, 15.9741, 8.6626, 0.1772], atol=1e-4)
    traced = tf.function(lambda x: tf.abs(tf.signal.stft(x, 64, 32)))(tf.constant(wave))
    assert np.allclose(traced, tf.abs(eager), atol=1e-4)
    mel = tf.signal.linear_to_mel_weight_matrix(10, 33, 8000, 80.0, 3600.0)
    assert np.allclose(mel[5, 2:4], [0.5856, 0.4144], atol=1e-4)
    cepstrum = tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(tf.matmul(tf.abs(eager), mel) + 1e-6))
    assert np.allclose(cepstrum[0, :4], [-0.1182, 5.6653, -2.9546, 4.482], atol=1e-3)
    back = tf.signal.inverse_stft(eager, 64, 32, window_fn=tf.signal.inverse_stft_window_fn(32))
    assert np.allclose(back[64:300], wave[64:300], atol=1e-5)
    path = str(tmp_path / "wave.wav")
    tf.io.write_file(path, tf.audio.encode_wav(wave[:, None] / 3, 16000))

    def spectrum(path: Any) -> Any:
        audio, rate = tf.audio.decode_wav(tf.io.read_file(path), desired_channels=1, desired_samples=400)
        return tf.abs(tf.signal.stft(tf.squeeze(audio, -1), 64, 32))[..., tf.newaxis], rate

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = tf.data.Dataset.from_tensor_slices([path]).map(spectrum).batch(1)
    (found, rate), = dataset
    assert found.shape == (1, 11, 33, 1) and int(rate[0]) == 16000
    assert np.allclose(found[0, ..., 0] * 3, tf.abs(eager), atol=5e-3)


def test_ragged_batches_and_rows_of_strings() -> None:
    rows = tf.data.Dataset.range(4).map(lambda i: tf.range(i)).ragged_batch(3)
    assert [each.to_list() for each in rows] == [[[], [0], [0, 1]], [[0, 1, 2]]]
    assert [each.numpy().tolist() for each in rows.map(lambda r: r.to_tensor())] == [[[0, 0], [0, 0], [0, 1]], [[0, 1, 2]]]
    words = np.array([["x", "y"], ["zz", ""], ["u", "v"]])
    batches = list(tf.data.Dataset.from_tensor_slices({"w": words, "n": np.arange(3)}).batch(2))
    assert batches[0]["w"].numpy().tolist() == [[b"x", b"y"], [b"zz", b""]] and batches[1]["w"].shape == (1, 2)
