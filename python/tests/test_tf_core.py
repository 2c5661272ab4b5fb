"""plimsoll.compat.tf: variables, tapes, functions, graphs and sessions, and memory that comes back."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest

import plimsoll as pm
import plimsoll.compat.tf as tf

v1 = tf.compat.v1


def rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.fixture
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as made:
        yield made


# -- tensors and variables -------------------------------------------------------------------------


def test_dtypes_follow_tensorflow() -> None:
    assert tf.constant(1).dtype == tf.int32 and tf.constant(1.0).dtype == "float32"
    assert tf.constant(np.ones(2)).dtype == np.float64
    assert (tf.constant(5) / tf.constant(2)).dtype == tf.float64
    with pytest.raises(tf.errors.InvalidArgumentError, match="was expected to be a int32 tensor"):
        tf.constant(1) + tf.constant(1.0)
    with pytest.raises(TypeError, match="Cannot convert"):
        tf.constant(1) * 1.5


def test_a_variable_read_before_a_change_keeps_its_value() -> None:
    v = tf.Variable([1.0, 2.0])
    before, first = v.read_value(), tf.identity(v)
    v.assign([5.0, 6.0])
    assert before.numpy().tolist() == [1.0, 2.0] and first.numpy().tolist() == [1.0, 2.0]
    v.assign_add([1.0, 1.0])
    v.scatter_nd_update([[0]], [9.0])
    assert v.numpy().tolist() == [9.0, 7.0]
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign([1.0])


def test_refusals_name_what_is_not_there() -> None:
    with pytest.raises(NotImplementedError, match="tf.math.bessel_i0 is not supported"):
        tf.math.bessel_i0
    assert not hasattr(tf, "no_such_name")
    assert tf.errors.ResourceExhaustedError is pm.OutOfMemory


# -- tapes and functions ---------------------------------------------------------------------------


def test_tapes_nest_and_give_none_where_nothing_leads() -> None:
    x, other = tf.Variable(3.0), tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        slope = inner.gradient(y, x)
    assert float(slope) == 27 and float(outer.gradient(slope, x)) == 18
    with tf.GradientTape(persistent=True) as tape:
        z = {"a": x * 2.0, "b": tf.stop_gradient(x) * x}
    assert tape.gradient(z["a"], [x, other])[1] is None
    assert float(tape.gradient(z["b"], x)) == 3
    with tf.GradientTape() as once:
        y = x * x
    once.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent"):
        once.gradient(y, x)


def test_a_watched_tensor_and_a_jacobian() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.jacobian(y, x).numpy().tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_a_function_is_traced_once_per_signature_and_changes_variables() -> None:
    w = tf.Variable([[1.0], [1.0]])
    seen = []

    def train(x: Any, rate: float = 0.1) -> Any:
        seen.append(x.shape)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        w.assign_sub(rate * tape.gradient(loss, w))
        return loss, tf.shape(x)[0]

    step = tf.function(train)
    x = tf.constant([[0.5, 1.0], [1.0, 0.25]])
    losses = [float(step(x)[0]) for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and len(seen) == 1
    assert int(step(tf.ones([3, 2]))[1]) == 3 and len(seen) == 2


def test_an_outer_tape_follows_a_function() -> None:
    w = tf.Variable(2.0)
    square = tf.function(lambda x: x * w * w)
    with tf.GradientTape() as tape:
        y = square(tf.constant(3.0))
    assert float(tape.gradient(y, w)) == 12


def test_an_if_on_a_traced_tensor_is_planned() -> None:
    def choose(x: Any) -> Any:
        return x if tf.reduce_sum(x) > 0 else -x

    f = tf.function(choose)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(tf.ones([2])).numpy().tolist() == [1, 1]
    assert f(-2 * tf.ones([2])).numpy().tolist() == [2, 2], "by the value, not by how it was called first"
    assert f.experimental_get_tracing_count() >= 1
    tf.config.run_functions_eagerly(True)
    try:
        assert f(tf.ones([2])).numpy().tolist() == [1, 1]
    finally:
        tf.config.run_functions_eagerly(False)


def test_a_while_on_a_traced_tensor_runs_op_by_op_and_says_what_to_write() -> None:
    def halve(x: Any) -> Any:
        while tf.reduce_sum(x) > 1:
            x = x / 2
        return x

    f = tf.function(halve)
    with pytest.warns(UserWarning, match=r"halve cannot be traced .*test_tf_core.py:\d+.*tf.where"):
        assert f(tf.ones([2])).numpy().tolist() == [0.5, 0.5]
    assert f(2 * tf.ones([2])).numpy().tolist() == [0.5, 0.5]


# -- graphs and sessions ---------------------------------------------------------------------------


def test_the_line_is_named_in_a_folder_called_plimsoll_too() -> None:
    code = compile("def halve(x):\n    while x > 1:\n        x = x / 2\n    return x\n", "/home/me/plimsoll/a.py", "exec")
    names: dict[str, Any] = {}
    exec(code, names)
    with pytest.warns(UserWarning, match=r"halve cannot be traced \(/home/me/plimsoll/a.py:2\)"):
        tf.function(names["halve"])(tf.ones([]))


def test_a_graph_trains_in_a_session(graph: Any) -> None:
    x, y = v1.placeholder(tf.float32, [None, 3]), v1.placeholder(tf.float32, [None, 1])
    w = v1.get_variable("w", [3, 1], initializer=v1.zeros_initializer())
    b = tf.Variable(tf.zeros([1]))
    prediction = tf.matmul(x, w) + b
    assert prediction.shape.as_list() == [None, 1]
    loss = tf.reduce_mean(tf.square(prediction - y))
    train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    rows = np.random.RandomState(0).randn(32, 3).astype("f")
    wanted = rows @ np.array([[1.0], [2.0], [-1.0]], "f") + 0.5
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(60):
            _, value = session.run([train, loss], feed_dict={x: rows, y: wanted})
        assert value < 1e-3
        found = session.run({"w": w, "rest": [b, tf.shape(x)[0]]}, {x: rows[:7]})
        assert found["rest"][1] == 7 and np.allclose(found["w"].ravel(), [1, 2, -1], atol=0.05)


@pytest.mark.parametrize("name", ["AdamOptimizer", "RMSPropOptimizer", "AdagradOptimizer"])
def test_optimizers_of_graphs_make_a_loss_smaller(graph: Any, name: str) -> None:
    w = tf.Variable([3.0, -2.0])
    loss = tf.reduce_sum(tf.square(w))
    train = getattr(v1.train, name)(0.1).minimize(loss)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        first = session.run(loss)
        for _ in range(10):
            session.run(train)
        assert session.run(loss) < first


def test_sessions_have_values_of_their_own(graph: Any) -> None:
    count = tf.Variable(0)
    more = count.assign_add(1)
    with tf.control_dependencies([more]):
        after = tf.identity(tf.constant(1.0))
    init = v1.global_variables_initializer()
    one, other = v1.Session(), v1.Session()
    one.run(init), other.run(init)
    one.run(after), one.run(more)
    assert one.run(count) == 2 and other.run(count) == 0
    one.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        one.run(count)
    other.close()


def test_gradients_by_placeholders_and_of_gradients(graph: Any) -> None:
    x = v1.placeholder(tf.float32, [None])
    y = x * x * x
    (first,) = tf.gradients(y, [x])
    (second,) = tf.gradients(first, [x])
    with v1.Session() as session:
        a, b = session.run([first, second], {x: [1.0, 2.0]})
    assert a.tolist() == [3, 12] and b.tolist() == [6, 12]


def test_errors_of_sessions_name_the_placeholder(graph: Any) -> None:
    x = v1.placeholder(tf.float32, [None, 2], name="rows")
    y = tf.Variable([1.0]) + tf.reduce_sum(x)
    with v1.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="initialized"):
            session.run(y, {x: [[1, 2]]})
        session.run(v1.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'rows'"):
            session.run(y)
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            session.run(y, {x: [[1, 2, 3]]})
    with pytest.raises(RuntimeError, match="eager execution"):
        with tf.init_scope():
            v1.placeholder(tf.float32, [None])


def test_scopes_share_variables(graph: Any) -> None:
    with v1.variable_scope("layer", reuse=v1.AUTO_REUSE):
        a, b = v1.get_variable("w", [2]), v1.get_variable("w", [2])
    assert a is b and a.name == "layer/w:0"
    with pytest.raises(ValueError, match="already exists"):
        with v1.variable_scope("layer"):
            v1.get_variable("w", [2])


def test_a_saver_restores_a_session(graph: Any, tmp_path: Path) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    zero, saver = w.assign([0.0, 0.0]), v1.train.Saver()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        path = saver.save(session, tmp_path / "model", global_step=3)
        session.run(zero)
        assert session.run(w).tolist() == [0, 0]
        saver.restore(session, v1.train.latest_checkpoint(tmp_path))
        assert session.run(w).tolist() == [1, 2] and path.endswith("model-3")


# -- memory ----------------------------------------------------------------------------------------


def test_closing_a_session_gives_memory_back(graph: Any) -> None:
    rows = v1.placeholder(tf.float32, [None, 1024])
    w = tf.Variable(tf.zeros([1024, 8192]))
    total = tf.reduce_sum(tf.matmul(rows, w))
    gc.collect()
    used, resident = pm.default_device().used, rss()
    session = v1.Session()
    session.run(v1.global_variables_initializer())
    session.run(total, {rows: np.ones([256, 1024], "f")})
    assert pm.default_device().used - used > 32 << 20
    session.close()
    gc.collect()
    assert pm.default_device().used - used < 8 << 20
    assert rss() - resident < 16 << 20


def test_a_session_keeps_to_its_share(graph: Any) -> None:
    w = tf.Variable(tf.zeros([1 << 16, 1 << 14]))
    config = v1.ConfigProto(gpu_options=v1.GPUOptions(per_process_gpu_memory_fraction=0.01))
    with v1.Session(config=config) as session:
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(w.initializer)


# -- devices, checkpoints, scripts -----------------------------------------------------------------


def test_placement_is_logged_with_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)
    try:
        tf.matmul(tf.ones([2, 3]), tf.ones([3, 2]))
    finally:
        tf.debugging.set_log_device_placement(False)
    lines = capfd.readouterr().err.splitlines()
    assert "Executing op matmul in device cpu:0: f32[2, 2], 16 bytes" in lines


def test_checkpoints_of_objects(tmp_path: Path) -> None:
    class Net(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([1.0, 2.0])

    net, step = Net(), tf.Variable(4)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(net=net, step=step), tmp_path, max_to_keep=2)
    manager.save()
    net.w.assign([0.0, 0.0])
    tf.train.Checkpoint(net=net, step=step).restore(manager.latest_checkpoint).assert_consumed()
    assert net.w.numpy().tolist() == [1, 2]


def test_one_replica_and_no_more() -> None:
    strategy = tf.distribute.MirroredStrategy(["/CPU:0"])
    assert strategy.num_replicas_in_sync == 1
    with strategy.scope():
        assert float(strategy.run(lambda x: x * 2, (tf.constant(2.0),))) == 4
    with pytest.raises(NotImplementedError, match="2 devices"):
        tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])


SCRIPT = """
import sys
import tensorflow as tf
from tensorflow.compat.v1 import Session
x = tf.constant([1.0, 2.0])
print(tf.reduce_sum(x).numpy(), sys.argv[1])
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plimsoll.compat.tf", *arguments], capture_output=True, text=True, timeout=120
    )


def test_a_script_runs_without_being_edited(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = run(str(script), "given")
    assert done.stdout.strip() == "3.0 given", done.stderr


def test_check_lists_what_is_not_supported_without_running(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import tensorflow as tf\ntf.sets.union(1, 2)\ntf.add(1, 2)\ntf.math.bessel_i0(1.0)\nraise SystemExit(5)\n")
    done = run("--check", str(script))
    assert done.returncode == 1, done.stderr
    assert [line.split(":")[1] for line in done.stdout.splitlines()] == ["2", "4"]


def test_decompositions_have_gradients_and_are_traced() -> None:
    draw = np.random.RandomState(0).normal(size=(2, 3, 3))
    matrix = tf.constant(draw @ draw.transpose(0, 2, 1) + 3 * np.eye(3))

    def computed(a: Any) -> Any:
        factor = tf.linalg.cholesky(a)
        solved = tf.linalg.solve(a, tf.ones([2, 3, 1], tf.float64))
        return (tf.reduce_sum(tf.linalg.logdet(a)) + tf.reduce_sum(solved) + tf.reduce_sum(tf.linalg.inv(a))
                + tf.reduce_sum(tf.linalg.svd(a, compute_uv=False)) + tf.reduce_sum(tf.linalg.triangular_solve(factor, a)))

    value: Any = tf.function(computed)
    with tf.GradientTape() as tape:
        tape.watch(matrix)
        found = value(matrix)
    slope = tape.gradient(found, matrix).numpy()
    along = np.random.RandomState(1).normal(size=(2, 3, 3))
    along += along.transpose(0, 2, 1)
    step = 1e-6
    above, below = (float(value(matrix + sign * step * along)) for sign in (1, -1))
    np.testing.assert_allclose((slope * along).sum(), (above - below) / (2 * step), rtol=1e-5)


def test_a_penalty_of_gradients_is_differentiated_through_tanh_and_square() -> None:
    x, w = tf.constant([[0.3, -0.7]]), tf.Variable([[0.5], [0.2]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.square(tf.tanh(tf.matmul(x, w)))
        penalty = tf.reduce_sum(tf.square(inner.gradient(y, x)))
    found = outer.gradient(penalty, w).numpy().ravel()

    def value(v: Any) -> float:
        z = (x.numpy() @ v).item()
        return float((((2 * np.tanh(z) * (1 - np.tanh(z) ** 2)) * v) ** 2).sum())

    for i in range(2):
        step = np.zeros((2, 1))
        step[i] = 1e-5
        expected = (value(w.numpy() + step) - value(w.numpy() - step)) / 2e-5
        np.testing.assert_allclose(found[i], expected, rtol=1e-3)
