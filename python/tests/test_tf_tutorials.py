"""What tutorials print, save and ask for: texts of tensors, checkpoints that wait, pictures, names that may be missing."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll.compat.tf as tf

layers = tf.keras.layers


def test_tensors_look_as_in_tensorflow() -> None:
    assert str(tf.constant([[1, 2], [3, 4]])) == "tf.Tensor(\n[[1 2]\n [3 4]], shape=(2, 2), dtype=int32)"
    assert str(tf.constant([1.5, 2.0])) == "tf.Tensor([1.5 2. ], shape=(2,), dtype=float32)"
    assert repr(tf.constant([[1, 2]], tf.int64)) == "<tf.Tensor: shape=(1, 2), dtype=int64, numpy=array([[1, 2]])>"
    assert repr(tf.constant(0.1)) == "<tf.Tensor: shape=(), dtype=float32, numpy=0.1>"
    assert repr(tf.constant(["a"])) == "<tf.Tensor: shape=(1,), dtype=string, numpy=array([b'a'], dtype=object)>"
    assert f"{tf.constant([b'male', b'female'])}" == "[b'male' b'female']"
    assert "{:.2f}".format(tf.constant(1.234)) == "1.23"
    assert repr(tf.Variable([[1.0], [2.0]])).endswith("numpy=\narray([[1.],\n       [2.]], dtype=float32)>")


def test_integers_are_numpys_own() -> None:
    assert tf.constant([1], tf.int64).numpy().dtype.char == np.dtype(np.int64).char
    (element,) = tf.data.Dataset.range(2).batch(2).as_numpy_iterator()
    assert repr(element) == "array([0, 1])"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "bool", "uint8", "int32"])
def test_parts_of_variables_of_any_type_keep_their_values(dtype: str) -> None:
    v = tf.Variable(tf.cast([[1, 0], [0, 1]], dtype))
    kept = [v[0], v[:, 1], tf.reshape(v, [4]), tf.convert_to_tensor(v), tf.expand_dims(v, 0), *tf.unstack(v)]
    before = [tf.cast(each, tf.float32).numpy().tolist() for each in kept]
    v.assign(tf.cast([[0, 1], [1, 0]], dtype))
    assert [tf.cast(each, tf.float32).numpy().tolist() for each in kept] == before


def test_products_that_do_not_fit_are_named_as_in_tensorflow() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Matrix size-incompatible: In\[0\]: \[2, 3\]"):
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
    assert tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)), transpose_b=True).shape == (2, 2)


class Net(tf.keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.second, self.first = layers.Dense(2), layers.Dense(3)  # not in the order in which they are built

    def call(self, x: Any) -> Any:
        return self.second(self.first(x))


def step(net: Any, optimizer: Any, x: Any) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(net(x) - 1.0))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))


def test_checkpoints_wait_for_layers_that_are_built_later(tmp_path: Path) -> None:
    x, net, optimizer = np.ones((4, 5), "float32"), Net(), tf.keras.optimizers.Adam()
    step(net, optimizer, x)
    path = tf.train.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "ckpt")

    again, other = Net(), tf.keras.optimizers.Adam()
    tf.train.Checkpoint(net=again, optimizer=other).restore(path)
    assert np.array_equal(again(x), net(x))
    assert int(other.iterations) == 1
    reader = tf.train.load_checkpoint(tmp_path)
    assert np.array_equal(reader.get_tensor("net/first/kernel/.ATTRIBUTES/VARIABLE_VALUE"), net.first.kernel.numpy())
    for _ in range(2):  # with the moments of before
        step(net, optimizer, x)
        step(again, other, x)
    assert all(np.array_equal(a, b) for a, b in zip(net.get_weights(), again.get_weights()))
    assert reader.get_variable_to_shape_map()["net/second/bias"] == [2]
    with pytest.raises(tf.errors.NotFoundError, match="net/third not found"):
        reader.get_tensor("net/third")


def test_models_are_not_kept_by_checkpoints_that_wait(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(net=Net(), other=tf.Variable(1.0), more=[tf.Variable(2.0)]).write(tmp_path / "a")
    net = Net()
    tf.train.Checkpoint(net=net).read(path)
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_iterators_with_random_draws_say_why_they_cannot_be_restored(tmp_path: Path) -> None:
    def numbers() -> Any:
        return iter(tf.data.Dataset.range(8).shuffle(8, reshuffle_each_iteration=False))

    path = tf.train.Checkpoint(data=numbers()).write(tmp_path / "one")
    with pytest.raises(tf.errors.InvalidArgumentError, match="tf.random.set_seed"):
        tf.train.Checkpoint(data=numbers()).read(path)


def test_names_that_are_missing_can_be_asked_for() -> None:
    for module in (tf, tf.strings, tf.io, tf.image, tf.data, tf.ragged, tf.sparse, tf.keras.backend, tf.compat.v1.metrics):
        assert not hasattr(module, "nothing_of_that_name")
    with pytest.raises(NotImplementedError, match="tf.strings.unsorted_segment_join.*tf.strings has"):
        tf.strings.unsorted_segment_join


def test_ragged_tensors_refuse_by_name() -> None:
    rows = tf.ragged.constant([[1, 2], [3]])
    with pytest.raises(NotImplementedError, match=r"RaggedTensor over axis 0.*to_tensor\(\)"):
        tf.reduce_sum(rows, axis=0)
    with pytest.raises(NotImplementedError, match=r"tf.one_hot of a RaggedTensor.*to_tensor\(\)"):
        tf.one_hot(rows, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different lengths"):
        tf.add(rows, tf.ragged.constant([[1], [2, 3]]))
    with pytest.raises(NotImplementedError, match="a tensor of shape"):
        tf.add(rows, tf.ones((2, 2), tf.int32))


def test_arrays_become_pictures(tmp_path: Path) -> None:
    tf.keras.utils.save_img(tmp_path / "a.png", np.linspace(0, 1, 12).reshape(2, 2, 3))
    found = tf.io.decode_png(tf.io.read_file(str(tmp_path / "a.png"))).numpy()
    assert found.shape == (2, 2, 3) and found.min() == 0 and found.max() == 255
    with pytest.raises(NotImplementedError, match="'gif'.*png"):
        tf.keras.utils.save_img(tmp_path / "a.gif", found)
    with pytest.raises(ValueError, match="rank 3"):
        tf.keras.utils.save_img(tmp_path / "b.png", np.ones((2, 2)))
    try:
        import PIL  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="save_img"):
            tf.keras.utils.array_to_img(found)
    else:
        assert tf.keras.utils.array_to_img(found).size == (2, 2)


def test_summaries_connect_layers_only_where_paths_branch(capsys: pytest.CaptureFixture[str]) -> None:
    x = tf.keras.Input((4,))
    h = layers.Dense(3)(x)
    tf.keras.Model(x, layers.Dense(2)(h)).summary()
    assert "Connected to" not in capsys.readouterr().out
    tf.keras.Model(x, layers.Add()([h, layers.Dense(3)(h)])).summary()
    assert "Connected to" in capsys.readouterr().out


def test_settings_of_keras_and_sessions() -> None:
    assert tf.keras.config.dtype_policy().name == "float32" and tf.keras.config.floatx() == "float32"
    session = tf.compat.v1.Session()
    tf.compat.v1.keras.backend.set_session(session)
    assert tf.keras.backend.get_session() is session
    tf.config.optimizer.set_experimental_options({"layout_optimizer": False})
    assert tf.config.optimizer.get_experimental_options() == {"layout_optimizer": False}
    with pytest.raises(NotImplementedError, match="verbose=2|flash|scores"):
        tf.keras.config.disable_flash_attention()


def test_models_with_ops_between_layers_can_be_cloned() -> None:
    x = tf.keras.Input((4,))
    shared = layers.Dense(4)
    model = tf.keras.Model(x, tf.keras.ops.mean(shared(shared(x)) * 2.0, axis=-1))
    clone = tf.keras.models.clone_model(model)
    assert len(clone.weights) == 2 and clone.layers[1] is not model.layers[1]
    clone.set_weights(model.get_weights())
    assert np.allclose(clone(np.eye(4, dtype="f")), model(np.eye(4, dtype="f")))


def test_loops_in_graphs_read_variables_around_them() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        scale = v1.get_variable("scale", initializer=3.0)
        rows = v1.placeholder(tf.float32, [None, 2])

        def twice(row: Any) -> Any:
            return row * scale + rows[0, 0]

        made = tf.map_fn(twice, rows)
        gradient = tf.gradients(tf.reduce_sum(made), scale)[0]
        session.run(v1.global_variables_initializer())
        values, slope = session.run([made, gradient], {rows: [[1.0, 2.0], [3.0, 4.0]]})
    assert values.tolist() == [[4.0, 7.0], [10.0, 13.0]] and slope == 10.0
