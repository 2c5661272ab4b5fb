"""More of the errors a newcomer makes: habits of Keras, PyTorch and NumPy, labels, files, generators."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import plimsoll as pm
from test_mistakes import INSIDE, batches

pytestmark = pytest.mark.usefixtures("device")

ROWS = np.zeros((8, 4), np.float32)


def net() -> pm.nn.Sequential:
    return pm.nn.Sequential(pm.nn.Dense(3))


def data(*arrays: Any) -> pm.data.Dataset:
    return pm.data.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0])


def fit(labels: Any = None, *, rows: Any = ROWS, loss: Any = "cross_entropy", model: Any = None, batch: int = 4) -> Any:
    set_of = batches() if labels is None else data(rows, labels).batch(batch)
    return pm.Trainer(model or net(), loss=loss).fit(set_of, epochs=1)


def traced(f: Callable[[pm.Tensor], Any]) -> Any:
    return pm.function(f)(pm.ones((3,)))


class Own(pm.nn.Module):
    def __init__(self, f: Callable[[Any, pm.Tensor], Any]) -> None:
        super().__init__()
        self.dense, self.f = pm.nn.Dense(3), f

    def forward(self, x: pm.Tensor) -> Any:
        return self.f(self, x)


def unbuilt_within() -> Any:
    model = pm.nn.Sequential(pm.nn.Dense(3, in_features=4), pm.nn.BatchNorm1D())
    model.materialize()
    return model.state_dict()


def twice_over_a_generator() -> Any:
    rows = iter([1, 2, 3])
    numbers = pm.data.from_generator(lambda: rows)
    return [list(numbers), list(numbers)]


def another_component() -> Any:
    return next(iter(data({"x": ROWS, "y": np.zeros(8)}).batch(2)))["z"]


def file_with(contents: bytes) -> Any:
    path = Path(tempfile.mkdtemp()) / "weights.safetensors"
    path.write_bytes(contents)
    return pm.load_safetensors(path)


def cut_off() -> Any:
    header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    return file_with(struct.pack("<Q", len(header)) + header + b"1234")


def weights_of_another_model() -> Any:
    path = Path(tempfile.mkdtemp()) / "weights.safetensors"
    pm.save_safetensors(path, {"weight": pm.ones((3, 4))})
    return pm.Trainer(net(), loss="cross_entropy").load(path)


def into_a_closed_session() -> Any:
    with pm.default_device().session("done"):
        x = pm.ones((3,))
    x[0] = 1


def in_two_sessions() -> Any:
    cpu = pm.default_device()
    with cpu.session("one"):
        a = pm.ones((3,))
        with cpu.session("two") as other:
            b = pm.ones((3,), device=other)
        with cpu.session("three"):
            return a + pm.ones((3,)) + b


def limit_below_use() -> Any:
    held = pm.zeros((1 << 22,))
    pm.default_device().budget.limit = "1MiB"
    return held


def closed_pipeline() -> Any:
    pipeline = batches().iterate()
    pipeline.close()
    return next(pipeline)


def fraction() -> Any:
    x = pm.zeros((2,), dtype=pm.i64)
    x[0] = 1.5


def into_an_array_that_may_not_be_written() -> Any:
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    x = pm.from_numpy(array)
    x[0] = 1


def too_large() -> Any:
    x = pm.zeros((2,), dtype=pm.u8)
    x[0] = 300


def elements_of(make: Callable[[], Any], spec: Any) -> Any:
    return list(pm.data.from_generator(make, spec=spec))


def plus_one() -> Any:
    w = pm.Variable([1.0])
    w = w + 1  # type: ignore[assignment]
    w.assign(w)


# What is done, the class of the error, and what its message has in it.
CASES: dict[str, tuple[Callable[[], Any], type[Exception] | tuple[type[Exception], ...], list[str]]] = {
    # Names of arguments that others have.
    "dim of a sum": (lambda: pm.sum(pm.ones((2, 3)), dim=1), TypeError, ["[sum]", "no argument dim", "axis="]),  # type: ignore[call-overload]
    "dim of a method": (lambda: pm.ones((2, 3)).argmax(dim=1), TypeError, ["[argmax]", "dim", "axis="]),  # type: ignore[call-arg]
    "keepdim": (lambda: pm.ones((2, 3)).sum(axis=1, keepdim=True), TypeError, ["[sum]", "keepdim", "keepdims="]),  # type: ignore[call-arg]
    "max of a clip": (lambda: pm.clip(pm.ones((3,)), max=1), TypeError, ["[clip]", "max", "high="]),  # type: ignore[call-overload]
    "a kernel size": (lambda: pm.nn.Conv2D(16, kernel_size=3), TypeError, ["[Conv2D]", "kernel_size", "size="]),  # type: ignore[call-arg]
    "units": (lambda: pm.nn.Dense(units=3), TypeError, ["[Dense]", "units", "out="]),  # type: ignore[call-arg]
    "an activation of a layer": (lambda: pm.nn.Dense(3, activation="relu"), TypeError, ["[Dense]", "activation", "pm.nn.ReLU()"]),  # type: ignore[call-arg]
    "the shape of the input": (lambda: pm.nn.Dense(3, input_shape=(4,)), TypeError, ["[Dense]", "input_shape", "inferred"]),  # type: ignore[call-arg]
    "a learning rate by its long name": (lambda: pm.optim.adam(learning_rate=1e-3), TypeError, ["[adam]", "learning_rate", "lr="]),  # type: ignore[call-arg]
    "betas": (lambda: pm.optim.adam(1e-3, betas=(0.9, 0.99)), TypeError, ["[adam]", "betas", "beta1="]),  # type: ignore[call-arg]
    "parameters of an optimizer": (lambda: pm.optim.adam(net().parameters()), TypeError, ["[adam]", "lr", "optimizer.apply"]),  # type: ignore[arg-type]
    "a batch size of a fit": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches(), epochs=1, batch_size=4), TypeError, ["[fit]", "batch_size", "dataset.batch(32)"]),  # type: ignore[call-arg]
    "validation data": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches(), epochs=1, validation_data=batches()), TypeError, ["[fit]", "validation="]),  # type: ignore[call-arg]
    "verbosity": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches(), epochs=1, verbose=0), TypeError, ["[fit]", "verbose", "progress="]),  # type: ignore[call-arg]
    "a buffer size": (lambda: pm.data.range(10).shuffle(buffer_size=4), TypeError, ["[shuffle]", "buffer_size", "window="]),  # type: ignore[call-arg]
    "a dropped remainder": (lambda: pm.data.range(10).batch(4, drop_last=True), TypeError, ["[batch]", "drop_last", "drop_remainder="]),  # type: ignore[call-arg]
    "logits that are said": (lambda: pm.nn.cross_entropy(pm.ones((2, 3)), pm.arange(2), from_logits=True), TypeError, ["[cross_entropy]", "from_logits", "take logits"]),  # type: ignore[call-arg]
    "integers at random": (lambda: pm.randint, AttributeError, ["randint", "pm.random_uniform", ".to(pm.i64)"]),
    "causal attention of a layer": (lambda: pm.nn.MultiHeadAttention(8, 2)(pm.ones((1, 3, 8)), causal=True), TypeError, ["[MultiHeadAttention]", "causal", "attend"]),  # type: ignore[arg-type]
    # Layers and models.
    "a list in a Sequential": (lambda: pm.nn.Sequential([pm.nn.Dense(3), pm.nn.ReLU()]), TypeError, ["[Sequential]", "a list", "Sequential(*layers)"]),  # type: ignore[arg-type]
    "a function in a Sequential": (lambda: pm.nn.Sequential(pm.nn.Dense(3), pm.relu), TypeError, ["[Sequential]", "pm.nn.Lambda(f)"]),  # type: ignore[arg-type]
    "a module that is not there": (lambda: net()[5], IndexError, ["[Sequential]", "no module 5", "1 module"]),
    "a model of an array": (lambda: net()(ROWS), TypeError, ["[Module]", "ndarray of shape (8, 4)", "pm.tensor"]),  # type: ignore[arg-type]
    "channels last": (lambda: pm.nn.Conv2D(8, 3, in_channels=3)(pm.zeros((2, 32, 32, 3))), ValueError, ["[conv2d]", "32 channels", "takes 3"]),
    "a window larger than the picture": (lambda: pm.nn.Conv2D(8, 5)(pm.zeros((2, 3, 3, 3))), ValueError, ["[conv2d]", "height of 5", "only 3"]),
    "dropout in percent": (lambda: pm.nn.Dropout(50), ValueError, ["[Dropout]", "50", "[0, 1)"]),
    "words that are floats": (lambda: pm.nn.Embedding(10, 4)(pm.ones((2, 3))), ValueError, ["indices", "i64", "cast"]),
    "a word that is not in the table": (lambda: pm.nn.Embedding(10, 4)(pm.full((2,), 99, dtype=pm.i64)), ValueError, ["99", "10 elements"]),
    "another width": (lambda: [layer(pm.ones((2, n))) for layer in [pm.nn.Dense(5)] for n in (3, 4)], ValueError, ["[linear]", "4 features", "takes 3"]),
    "an attribute that is misspelt": (lambda: fit(model=Own(lambda self, x: self.dens(x))), AttributeError, ["Own", "dens"]),
    "weights before anything is known": (lambda: net().state_dict(), ValueError, ["[state_dict]", "0 has no parameters", "build("]),
    "some weights before they are known": (unbuilt_within, ValueError, ["[state_dict]", "1 has no parameters", "build("]),
    # Labels, losses, batches.
    "labels in one column": (lambda: fit(np.zeros((8, 1), np.int64)), ValueError, ["labels", "[4]", "squeeze"]),
    "labels that are floats": (lambda: fit(np.zeros(8, np.float32)), ValueError, ["labels", "i64", "cast"]),
    "labels that are text": (lambda: fit(["cat"] * 8), ValueError, ["[cross_entropy]", "labels", "numbers of the classes"]),
    "one-hot labels": (lambda: fit(np.eye(3, dtype=np.int64)[np.zeros(8, int)]), ValueError, ["labels", "one-hot", "argmax", "cast"]),
    "a label above the classes": (lambda: fit(np.full(8, 7)), ValueError, ["label 7", "3 classes"]),
    "targets without the last dimension": (lambda: fit(np.zeros(8, np.float32), loss="mean_squared_error"), ValueError, ["[mean_squared_error]", "[4,3]", "[4]", "reshape"]),
    "no batches": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(data(ROWS, np.zeros(8, np.int64)), epochs=1), ValueError, ["[Trainer]", "dataset.batch(32)", "i64 []"]),
    "no labels": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(data(ROWS).batch(4), epochs=1), ValueError, ["[Trainer]", "(input, target)"]),
    "pictures that are bytes": (lambda: fit(np.zeros(8, np.int64), rows=np.zeros((8, 4), np.uint8)), ValueError, ["[linear]", "u8", "cast"]),
    "doubles of NumPy": (lambda: fit(np.zeros(8, np.int64), rows=np.zeros((8, 4))), ValueError, ["[linear]", "f64", "cast"]),
    "nothing to train on": (lambda: fit(np.zeros(0, np.int64), rows=np.zeros((0, 4), np.float32)), ValueError, ["[fit]", "no elements"]),
    "a set without end": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches().repeat(), epochs=1), ValueError, ["[fit]", "never ends", "steps"]),
    "a loss that depends on no parameter": (lambda: fit(loss=lambda y, t: pm.sum(pm.ones((2,)))), ValueError, ["[Trainer]", "loss", "none of the parameters"]),
    "a loss for each row": (lambda: fit(loss=lambda y, t: y[:, 0]), ValueError, ["function gives", "mean"]),
    "a loss without a return": (lambda: fit(loss=lambda y, t: None), TypeError, ["[Trainer]", "loss function", "None"]),
    "a loss of one argument": (lambda: fit(loss=lambda y: y.mean()), TypeError, ["[Trainer]", "(prediction, target)"]),
    "epochs in fractions": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches(), epochs=1.5), TypeError, ["[fit]", "epochs", "integer"]),  # type: ignore[arg-type]
    "a metric of Keras's name": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches(), epochs=1, early_stopping="val_loss", patience=2), ValueError, ["val_loss", "there will be loss"]),
    # Traced functions.
    "a number of the loss": (lambda: traced(lambda x: x.sum().item()), ValueError, ["[item]", "traced"]),
    "an array in a traced function": (lambda: traced(lambda x: x.numpy()), ValueError, ["traced", "values outside"]),
    "a forward that prints": (lambda: fit(model=Own(lambda self, x: (float(x.mean()), self.dense(x))[1])), ValueError, ["traced"]),
    "writing within a traced function": (lambda: traced(lambda x: x.__setitem__(0, 1.0)), ValueError, ["[setitem]", "pm.where"]),
    # Numbers and dtypes.
    "a fraction among integers": (fraction, ValueError, ["[setitem]", "1.5", "i64", "cast"]),
    "a number above the range": (too_large, ValueError, ["[setitem]", "300", "u8"]),
    "an array that is read-only": (into_an_array_that_may_not_be_written, ValueError, ["[setitem]", "read-only", "clone()"]),
    "arrays in MDS": (lambda: pm.data.write_records(data({"x": ROWS}), tempfile.mkdtemp(), format="mds"), ValueError, ["[write_records]", '"x"', "tfrecord"]),
    "a full of a fraction": (lambda: pm.full((2,), 1.5, dtype=pm.i64), ValueError, ["[full]", "value", "1.5", "i64"]),
    "an integer of 65 bits": (lambda: pm.arange(3) + (1 << 64), ValueError, ["[add]", "does not fit", "i64"]),
    "unsigned integers": (lambda: pm.from_numpy(np.ones(3, np.uint32)), ValueError, ["[from_numpy]", "uint32", "astype(\"int64\")"]),
    "complex numbers": (lambda: pm.from_numpy(np.ones(3, np.complex64)), ValueError, ["[from_numpy]", "complex64", "astype"]),
    "a softmax of integers": (lambda: pm.softmax(pm.arange(3)), ValueError, ["[softmax]", "i64", "cast"]),
    "a variable that has become a tensor": (plus_one, AttributeError, ["assign", "pm.Variable"]),
    # Datasets.
    "one iterator for all epochs": (twice_over_a_generator, pm.DataError, ["[from_generator]", "again", "lambda"]),
    "a make that returns nothing": (lambda: elements_of(lambda: None, [pm.i64]), pm.DataError, ["[from_generator]", "None", "yield"]),
    "a fraction where integers are stated": (lambda: elements_of(lambda: [1.5], [pm.i64]), pm.DataError, ["[from_generator]", "component 0", "1.5", "i64"]),
    "an array of another kind": (lambda: elements_of(lambda: [np.ones(2)], [(pm.i64, (2,))]), pm.DataError, ["f64 [2]", "i64 [2]", "convert"]),
    "text where numbers are stated": (lambda: elements_of(lambda: ["7"], [pm.i64]), pm.DataError, ["bytes", "i64", "state"]),
    "other names than stated": (lambda: elements_of(lambda: [{"b": 1}], {"a": pm.i64}), pm.DataError, ["[from_generator]", "has b", "states a"]),
    "a filter without a return": (lambda: list(pm.data.range(3).filter(lambda i: None)), pm.DataError, ["[filter]", "None", "return"]),
    "a filter of many values": (lambda: list(data(ROWS).filter(lambda row: row > 0)), pm.DataError, ["[filter]", "ambiguous"]),
    "text put together": (lambda: data(["a.txt"]).map(lambda p: "x" + p), TypeError, ["[map]", "'x'", "pm.strings", "python=True"]),
    "a method of str": (lambda: data(["a.txt"]).map(lambda p: p.upper()), AttributeError, ["upper", "pm.strings.upper(x)"]),
    "a component that is not there": (another_component, KeyError, ["'z'", "x, y"]),
    "datasets in a dict": (lambda: pm.data.zip({"x": pm.data.range(3)}), TypeError, ["[zip]", "a dict", "zip([a, b])"]),  # type: ignore[arg-type]
    "datasets of other dtypes": (lambda: pm.data.range(3).concatenate(data(np.ones(3, np.float32))), ValueError, ["[concatenate]", "i64", "f32", "map"]),
    "a share in percent": (lambda: pm.data.range(10).split(80), ValueError, ["[split]", "80", "between 0 and 1"]),
    "a whole set of a generator": (lambda: pm.data.from_generator(lambda: [1]).shuffle(), ValueError, ["[shuffle]", "shuffle(1024)"]),
    # Files.
    "a folder that is missing": (lambda: pm.save_safetensors("/no/such/folder/a.safetensors", {"a": pm.ones((2,))}), pm.DataError, ["[save]", "/no/such/folder/a.safetensors", "No such file"]),
    "a device as a file": (lambda: pm.save_safetensors("/dev/full", {"a": pm.ones((2,))}), pm.DataError, ["/dev/full", "name a file"]),
    "a file that is no safetensors": (lambda: file_with(b"not one"), pm.DataError, ["[safetensors]", "7 bytes"]),
    "a file of PyTorch's": (lambda: file_with(b"PK\x03\x04" + bytes(100)), pm.DataError, ["[safetensors]", "torch.save", "safetensors.torch"]),
    "a file that was cut off": (cut_off, pm.DataError, ["[safetensors]", "cut"]),
    "weights of another model": (weights_of_another_model, pm.DataError, ["[load_checkpoint]", "'weight'"]),
    "a path as weights": (lambda: net().load_state_dict("w.safetensors"), TypeError, ["[load_state_dict]", "state", "pm.load_safetensors"]),  # type: ignore[arg-type]
    "text as weights": (lambda: pm.save_safetensors("x", {"a": "text"}), TypeError, ["[save_safetensors]", 'tensors["a"]', "tensor or an array"]),
    "a file as a folder of checkpoints": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches(), epochs=1, checkpoints=__file__), pm.DataError, ["[save]", "folder", "Not a directory"]),
    "a log in no folder": (lambda: pm.Trainer(net(), loss="cross_entropy").fit(batches(), epochs=1, log="/no/such/run.jsonl"), pm.DataError, ["/no/such/run.jsonl", "No such file"]),
    "records in no format": (lambda: pm.data.write_records(data({"x": ROWS}), "packed", format="parquet"), ValueError, ["[write_records]", "format", "parquet", "tfrecord"]),
    # Devices, sessions, budgets.
    "a session that is over": (into_a_closed_session, pm.Error, ["session cpu:0/done", "closed"]),
    "tensors of two sessions": (in_two_sessions, pm.Error, ["cpu:0/"]),
    "a pipeline that is closed": (closed_pipeline, pm.Error, ["[Pipeline]", "closed", "iterate"]),
    "a pipeline of a kilobyte": (lambda: list(batches().iterate(limit="1KiB")), pm.BudgetTooSmall, ["batch(4)", "raise the budget to"]),
    "a limit below what is used": (limit_below_use, ValueError, ["[set_limit]", "16 MiB", "release"]),
    "a limit of words": (lambda: setattr(pm.default_device().budget, "limit", "lots"), ValueError, ["limit", "lots", "512MiB"]),
    "a session above its device": (lambda: pm.default_device().session("big", limit="1TiB"), ValueError, ["1 TiB", "256 MiB"]),
    "a plan of a GPU that nobody has": (lambda: pm.Trainer(pm.nn.lenet()).plan(batch=4, device="h300"), ValueError, ["h300", "h200"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_answered_with_its_remedy(name: str) -> None:
    mistake, kind, parts = CASES[name]
    with pytest.raises(kind) as caught:
        mistake()
    message = str(caught.value)
    for part in parts:
        assert part in message, message
    assert not INSIDE.search(message), message


def test_a_file_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    code = f"""
        import resource, signal
        import plimsoll as pm
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        try:
            pm.save_safetensors({str(tmp_path / "a.safetensors")!r}, {{"a": pm.ones((1024, 256))}})
        except pm.StorageError as error:
            print(isinstance(error, OSError), error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert "True [save]" in done.stdout and "ulimit -f" in done.stdout, done.stdout + done.stderr
    assert os.listdir(tmp_path) == []


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(pm.DataError, match="Permission denied"):
        pm.save_safetensors(tmp_path / "a.safetensors", {"a": pm.ones((2,))})
