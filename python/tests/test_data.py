"""Datasets and running pipelines."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


def test_elements_are_numbers_tensors_bytes_and_tuples_of_them() -> None:
    assert list(pm.data.range(3)) == [0, 1, 2]
    assert list(pm.data.range(2, 8, 3)) == [2, 5]
    pairs = list(pm.data.zip(pm.data.range(2), pm.data.range(5, 7)))
    assert pairs == [(0, 5), (1, 6)]
    rows = list(pm.data.from_tensor_slices((np.eye(2, dtype=np.float32), np.array([7, 8]))))
    assert rows[1][0].tolist() == [0.0, 1.0]
    assert rows[1][1] == 8


def test_stages_do_what_their_names_say() -> None:
    numbers = pm.data.range(10)
    assert [b.tolist() for b in numbers.batch(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(list(numbers.batch(4, drop_remainder=True))) == 2
    assert list(numbers.take(2).concatenate(numbers.skip(8))) == [0, 1, 8, 9]
    assert list(numbers.shard(3, 1)) == [1, 4, 7]
    assert list(numbers.take(2).repeat(2)) == [0, 1, 0, 1]
    assert list(numbers.take(2).enumerate(5)) == [(5, 0), (6, 1)]
    assert [w.tolist() for w in numbers.take(4).window(2, shift=1, drop_remainder=True)] == [
        [0, 1], [1, 2], [2, 3],
    ]
    assert list(numbers.batch(4).unbatch()) == list(range(10))
    assert sorted(numbers.shuffle(4, seed=1)) == list(range(10))
    assert list(numbers.cache().prefetch(2)) == list(range(10))
    train, validation = numbers.split(0.8)
    assert sorted([*train, *validation]) == list(range(10))
    assert list(numbers.filter(lambda i: i % 5 == 0)) == [0, 5]
    assert list(pm.data.range(3).flat_map(lambda i: pm.data.range(i))) == [0, 0, 1]


def test_what_a_dataset_is_is_known_without_running() -> None:
    batches = pm.data.from_tensor_slices({"x": np.zeros((10, 3), np.float32), "y": np.arange(10)}).batch(4)
    assert batches.names == ["x", "y"]
    assert batches.element_spec == [(pm.f32, (None, 3)), (pm.i64, (None,))]
    assert len(batches) == 3
    assert batches.repeat().cardinality is None
    assert "3 elements" in repr(batches)


def test_a_python_map_gets_numpy_arrays_and_gives_them() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)

    def double(row: np.ndarray, label: int) -> tuple[np.ndarray, int]:
        assert isinstance(row, np.ndarray)
        return row * 2, label + 1

    base = pm.data.from_tensor_slices((x, np.arange(4)))
    for parallel in (1, 2, None):
        mapped = base.map(double, python=True, parallel=parallel, spec=[(pm.f32, (3,)), (pm.i64, ())])
        rows = list(mapped)
        np.testing.assert_array_equal(np.stack([row.numpy() for row, _ in rows]), x * 2)
        assert [label for _, label in rows] == [1, 2, 3, 4]
        assert [b.shape for b, _ in mapped.batch(2)] == [(2, 3), (2, 3)]


def test_an_error_in_a_python_map_names_the_line_and_has_its_cause() -> None:
    def fail(i: int) -> int:
        raise ZeroDivisionError("mine")

    with pytest.raises(pm.DataError, match=r"ZeroDivisionError: mine \(.*test_data.py:\d+\)") as caught:
        list(pm.data.range(3).map(fail, python=True))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_broken_elements_can_be_left_out() -> None:
    def odd(i: int) -> int:
        if i % 2 == 0:
            raise ValueError("even")
        return i

    mapped = pm.data.range(6).map(odd, python=True)
    assert list(mapped.ignore_errors()) == [1, 3, 5]
    pipeline = mapped.iterate(skip_errors=-1)
    assert list(pipeline) == [1, 3, 5]
    assert len(pipeline.skipped()) == 3


def test_a_generator_is_read_by_a_thread_of_its_own() -> None:
    threads = set()

    def rows():  # type: ignore[no-untyped-def]
        for i in range(5):
            threads.add(threading.get_ident())
            yield np.full((2,), i, np.float32), i

    generated = pm.data.from_generator(rows)
    for _ in range(2):
        assert [int(label) for _, label in generated] == [0, 1, 2, 3, 4]
    assert threading.get_ident() not in threads


def test_each_iteration_is_another_epoch() -> None:
    shuffled = pm.data.range(100).shuffle(seed=3)
    first, second = list(shuffled), list(shuffled)
    assert first != second
    assert sorted(second) == list(range(100))
    assert list(zip(pm.data.range(3), pm.data.range(3))) == [(0, 0), (1, 1), (2, 2)]
    same = pm.data.range(3)
    assert list(zip(same, same)) == [(0, 0), (1, 1), (2, 2)]
    for _ in same:
        break
    assert list(same) == [0, 1, 2]


def test_the_same_elements_follow_a_saved_position() -> None:
    def make() -> pm.data.Dataset:
        return pm.data.range(100).shuffle(16, seed=5).batch(7)

    before = make()
    stream = iter(before)
    for _ in range(4):
        next(stream)
    state = pickle.loads(pickle.dumps(before.state_dict()))
    rest = [b.tolist() for b in stream]
    after = make()
    after.load_state_dict(state)
    assert [b.tolist() for b in after] == rest


def test_a_pipeline_keeps_to_its_limit_and_says_where_time_goes() -> None:
    with pm.data.range(1000).batch(100).prefetch(2).iterate(limit="1MiB", name="mine") as pipeline:
        assert sum(b.sum().item() for b in pipeline) == 499500
        assert pipeline.budget.limit == 1 << 20
        assert any(s["stage"].startswith("prefetch") for s in pipeline.stats())


def test_elements_convert_to_numpy() -> None:
    batches = list(pm.data.range(4).batch(2).to_numpy())
    assert isinstance(batches[0], np.ndarray)
    np.testing.assert_array_equal(batches[1], [2, 3])


def test_pictures_are_loaded_without_python(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        write_png(tmp_path / name / "a.png", 10, 12)
    files = pm.data.image_folder(tmp_path)
    assert files.classes == ["cat", "dog"]
    images, labels = next(iter(files.map(pm.data.load_images((8, 6), layout="channels_first")).batch(2)))
    assert images.shape == (2, 3, 8, 6)
    assert labels.tolist() == [0, 1]
    assert images.max().item() == pytest.approx(1.0)


def test_files_of_numpy_and_lines_of_text_are_sources(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6).reshape(3, 2))
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert [row.tolist() for row in pm.data.from_npy(tmp_path / "x.npy")] == [[0, 1], [2, 3], [4, 5]]
    assert list(pm.data.text_lines(tmp_path / "a.txt")) == [b"one", b"two"]
    assert len(pm.data.list_files(tmp_path / "*.txt")) == 1


def test_functions_of_a_dropped_dataset_are_collected() -> None:
    class Big:
        def __call__(self, i: int) -> int:
            return i

    function = Big()
    mapped = pm.data.range(4).map(function, python=True).batch(2)
    assert len(list(mapped)) == 2
    function.dataset = mapped  # type: ignore[attr-defined]
    dead = weakref.ref(function)
    del function, mapped
    gc.collect()
    assert dead() is None


def test_ctrl_c_ends_a_wait_at_once() -> None:
    code = """
        import os, signal, threading, time
        import plimsoll as pm
        signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
        go = threading.Event()
        def rows():
            yield 1
            threading.Event().wait(60)
        def interrupt():
            go.wait()
            os.kill(os.getpid(), signal.SIGINT)
        stream = iter(pm.data.from_generator(rows))
        next(stream)
        threading.Thread(target=interrupt, daemon=True).start()
        start = time.monotonic()
        try:
            go.set()
            next(stream)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - start < 30, flush=True)
            os._exit(0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["interrupted", "True"], done.stderr


def test_a_pipeline_that_runs_at_exit_is_stopped() -> None:
    code = """
        import itertools
        import plimsoll as pm
        stream = iter(pm.data.from_generator(lambda: itertools.count()).map(lambda i: i, python=True, parallel=2).prefetch(4))
        print(next(stream))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def write_png(path: Path, height: int, width: int, level: int = 255) -> None:
    """A picture of one level of gray."""
    import struct
    import zlib

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes([level]) * (3 * width) for _ in range(height))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def test_python_functions_run_in_threads_of_their_own() -> None:
    together = threading.Barrier(4, timeout=60)
    names = set()

    def wait(i: int) -> int:
        together.wait()  # never, if the pipeline's only thread ran all of them
        names.add(threading.get_ident())
        return i

    with pm.data.range(8).map(wait, python=True, parallel=4).iterate(threads=1) as pipeline:
        assert list(pipeline) == list(range(8))
    assert len(names) == 4 and threading.get_ident() not in names


def test_a_python_function_that_waits_holds_no_other_stage_up() -> None:
    reached = threading.Event()

    def wait(i: int) -> int:
        assert i == 0 or reached.wait(60), "the other branch was held up"
        return i

    def note(i: int) -> int:
        if i == 1:
            reached.set()
        return i

    both = pm.data.zip(pm.data.range(8).map(wait, python=True), pm.data.range(8).map(note, python=True))
    with both.iterate(threads=1) as pipeline:
        assert list(pipeline) == [(i, i) for i in range(8)]


def test_datasets_that_are_made_while_running_have_python_functions() -> None:
    def rows(i: int) -> pm.data.Dataset:
        odd = pm.data.range(4).filter(lambda j: j % 2 == 1)
        return odd.map(lambda j: 10 * i + j, python=True, parallel=2)

    def generated(i: int) -> pm.data.Dataset:
        return pm.data.from_generator(lambda: (10 * i + j for j in range(2)))

    outer = pm.data.range(3)
    assert list(outer.flat_map(rows)) == [1, 3, 11, 13, 21, 23]
    assert list(outer.flat_map(generated)) == [0, 1, 10, 11, 20, 21]
    for parallel in (1, 2):
        assert list(outer.interleave(rows, cycle_length=2, parallel=parallel)) == [1, 11, 3, 13, 21, 23]
    groups = pm.data.range(6).group_by_window(
        lambda i: i % 2, lambda key, found: pm.data.from_tensor_slices(np.array(found)).map(lambda i: i + 100 * key, python=True), 3
    )
    assert list(groups) == [0, 2, 4, 101, 103, 105]


def test_positions_within_datasets_that_have_python_functions_are_restored() -> None:
    def made() -> pm.data.Dataset:
        return pm.data.range(4).flat_map(lambda i: pm.data.range(3).map(lambda j: 10 * i + j, python=True))

    everything = list(made())
    for at in range(len(everything)):
        first, second = made(), made()
        iterator = iter(first)
        for _ in range(at):
            next(iterator)
        second.load_state_dict(first.state_dict())
        assert list(second) == everything[at:]


def test_functions_of_datasets_that_have_ended_are_let_go() -> None:
    class Adds:
        def __init__(self, amount: int) -> None:
            self.amount = amount

        def __call__(self, j: int) -> int:
            return self.amount + j

    alive: list[weakref.ref[Adds]] = []

    def rows(i: int) -> pm.data.Dataset:
        adds = Adds(i)
        alive.append(weakref.ref(adds))
        return pm.data.range(2).map(adds, python=True)

    dataset = pm.data.range(50).flat_map(rows)
    assert sum(dataset) == sum(i + j for i in range(50) for j in range(2))
    del dataset
    gc.collect()
    assert [each for each in alive if each() is not None] == []


def test_an_error_in_a_dataset_that_is_made_while_running_names_the_function() -> None:
    def broken(j: int) -> int:
        raise KeyError("row")

    dataset = pm.data.range(2).flat_map(lambda i: pm.data.range(2).map(broken, python=True))
    with pytest.raises(pm.DataError, match="broken") as caught:
        list(dataset)
    assert isinstance(caught.value.__cause__, KeyError)
