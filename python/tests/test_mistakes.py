"""The errors a newcomer makes: each message names the argument and the remedy, and none has a name
that belongs to the inside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import typing
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")

INSIDE = re.compile(r"nanobind|_core|nb_|std::|PyObject|capsule object|0x[0-9a-f]{6}|plimsoll::|\w::\w|\{\.\w|\bk[A-Z]")


class NoForward(pm.nn.Module):
    pass


class NoReturn(pm.nn.Module):
    def forward(self, x: pm.Tensor) -> None:
        pm.relu(x)


class NoSuper(pm.nn.Module):
    def __init__(self) -> None:
        self.layer = pm.nn.Dense(3)


class SetOfLayers(pm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = {pm.nn.Dense(3), pm.nn.Dense(3)}


class ListOfLayers(pm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [pm.nn.Dense(3), pm.nn.Dense(3)]


def batches() -> pm.data.Dataset:
    return pm.data.from_tensor_slices((np.zeros((8, 4), np.float32), np.zeros(8, np.int64))).batch(4)


def look_at_values() -> Any:
    @pm.function
    def f(x: pm.Tensor) -> pm.Tensor:
        if x.sum() > 0:
            return x
        return -x

    return f(pm.ones((3,)))


def closed_session() -> Any:
    with pm.default_device().session("scratch") as scope:
        x = pm.ones((3,))
    return x.numpy()


def enter_closed_session() -> Any:
    scope = pm.default_device().session("scratch")
    scope.close()
    with scope:
        pass


def twice_a_tape() -> Any:
    w = pm.Variable([1.0], name="w")
    with pm.GradientTape() as tape:
        loss = pm.sum(w * w)
    tape.gradient(loss, w)
    return tape.gradient(loss, w)


class HooksOfOthers(pm.Callback):
    def on_epoch_end(self, run: Any) -> None:
        pass


class HookOfNothing:
    def on_epoch(self) -> None:
        pass


class TwoInputs(pm.nn.Module):
    def forward(self, x: pm.Tensor, y: pm.Tensor) -> pm.Tensor:
        return x + y


class LayerInForward(pm.nn.Module):
    def forward(self, x: pm.Tensor) -> Any:
        return pm.nn.Dense(3)(x)


def fit(**options: Any) -> Any:
    return pm.Trainer(pm.nn.Sequential(pm.nn.Dense(3)), loss="cross_entropy").fit(batches(), **{"epochs": 1, **options})


def loss_that_depends_on_nothing() -> Any:
    net = pm.nn.Dense(3)
    with pm.GradientTape() as tape:
        loss = pm.sum(pm.tensor(net(pm.ones((2, 4))).numpy()))
    pm.optim.sgd(0.1).apply(tape.gradient(loss, net))


def weights_of_a_closed_session() -> Any:
    net = pm.nn.Dense(3)
    with pm.default_device().session("gone"):
        net(pm.ones((2, 4)))
    return net(pm.ones((2, 4)))


def of_another_shape() -> Any:
    net = pm.nn.Dense(3, in_features=4)
    return net.load_state_dict({"weight": np.ones((2, 2), np.float32), "bias": np.ones(3, np.float32)})


def into_itself() -> Any:
    net = pm.nn.Sequential(pm.nn.Dense(3))
    net.append(net)


# What is done, the class of the error, and what its message has in it.
CASES: dict[
    str, tuple[Callable[[], Any], type[Exception] | tuple[type[Exception], ...], list[str]]
] = {
    "a shape of text": (lambda: pm.zeros("abc"), TypeError, ["[zeros]", "shape", "'abc'", "(2, 3)"]),  # type: ignore[arg-type]
    "a shape of floats": (lambda: pm.zeros((2.5, 3)), TypeError, ["[zeros]", "shape", "2.5", "integer"]),  # type: ignore[arg-type]
    "a negative extent": (lambda: pm.zeros((-1, 3)), ValueError, ["[zeros]", "shape", "negative"]),
    "an unknown dtype": (lambda: pm.zeros((2,), dtype="float33"), ValueError, ["dtype", "float33", "f32"]),
    "a dtype that is a number": (lambda: pm.zeros((2,), dtype=3), TypeError, ["[zeros]", "dtype", "pm.f32"]),  # type: ignore[arg-type]
    "an unknown device": (lambda: pm.device("gpu"), ValueError, ["gpu", "cpu"]),
    "a device that is a number": (lambda: pm.zeros((2,), device=0), TypeError, ["[zeros]", "device", 'pm.device("cpu")']),  # type: ignore[arg-type]
    "a size without a unit": (lambda: pm.device("cpu", limit="8 gigs"), ValueError, ["limit", "8 gigs"]),
    "a share above 1": (lambda: pm.device("cpu", limit=8.0), ValueError, ["limit", "8.0", "8GiB"]),
    "another limit": (lambda: pm.device("cpu", limit="1GiB"), ValueError, ["[device] cpu:0 is already open", "move the limit of its budget"]),
    "shapes that do not broadcast": (lambda: pm.ones((2, 3)) + pm.ones((4,)), ValueError, ["[2,3]", "[4]"]),
    "shapes that do not multiply": (lambda: pm.ones((2, 3)) @ pm.ones((2, 3)), ValueError, ["[matmul]", "[2,3]"]),
    "dtypes that do not mix": (lambda: pm.ones((2,)) + pm.ones((2,), dtype=pm.i64), ValueError, ["f32", "i64", "cast"]),
    "a number that does not fit": (lambda: pm.ones((2,), dtype=pm.u8) + 300, ValueError, ["300", "u8"]),
    "an array where a tensor is meant": (lambda: pm.relu(np.ones(3)), TypeError, ["[relu]", "x", "pm.tensor"]),  # type: ignore[arg-type]
    "an array beside a tensor": (lambda: pm.ones((3,)) + np.ones(3), TypeError, ["pm.tensor(array)"]),
    "a tensor beside an array": (lambda: np.ones(3) * pm.ones((3,)), TypeError, ["pm.tensor(array)"]),
    "ragged lists": (lambda: pm.tensor([[1, 2], [3]]), ValueError, ["[tensor]", "data", "equal lengths"]),
    "objects as data": (lambda: pm.tensor(object()), TypeError, ["[tensor]", "data", "numbers"]),
    "an index outside": (lambda: pm.ones((2, 3))[5], IndexError, ["5", "dimension 0", "2 elements"]),
    "too many indices": (lambda: pm.ones((2,))[0, 0], IndexError, ["2 indices", "[2]"]),
    "an index of text": (lambda: pm.ones((2,))["a"], TypeError, ["[index]", "'a'", "integers"]),
    "an index of text": (lambda: pm.ones((4,))["a"], TypeError, ["index", "integers"]),
    "a mask of another size": (lambda: pm.ones((4,))[[True, False]], ValueError, ["mask"]),
    "an axis that is not there": (lambda: pm.sum(pm.ones((2,)), axis=3), ValueError, ["3"]),
    "a tensor as a condition": (lambda: bool(pm.ones((3,))), ValueError, ["[3]", "all()", "any()"]),
    "one value of many": (lambda: pm.ones((3,)).item(), ValueError, ["[item]", "[3]", "tolist()"]),
    "bf16 to NumPy": (lambda: pm.ones((3,), dtype=pm.bf16).numpy(), ValueError, ["[numpy]", "bf16", "x.to(pm.f32)"]),
    "an array of objects": (lambda: pm.from_numpy(np.array([{}, {}])), ValueError, ["[from_numpy]", "array", "astype"]),
    "a reversed array": (lambda: pm.from_numpy(np.arange(3)[::-1]), ValueError, ["[from_numpy]", "array.copy()"]),
    "a list as an array": (lambda: pm.from_numpy([1, 2]), TypeError, ["[from_numpy]", "array", "NumPy"]),
    "no forward": (lambda: NoForward()(pm.ones((2,))), ValueError, ["NoForward", "forward(self, x)"]),
    "no return": (lambda: NoReturn()(pm.ones((2,))), TypeError, ["NoReturn", "forward()", "return"]),
    "no super().__init__()": (lambda: NoSuper(), pm.Error, ["super().__init__()"]),
    "a module in itself": (into_itself, ValueError, ["contains the module"]),
    "a set of layers": (lambda: SetOfLayers(), ValueError, ["layers", "pm.nn.ModuleList"]),
    "a list that loses a layer": (lambda: ListOfLayers().layers.pop(), ValueError, ["[ModuleList]", "pop", "assign another"]),
    "a class instead of a module": (lambda: pm.nn.Sequential(pm.nn.ReLU), TypeError, ["[Sequential]", "parentheses"]),  # type: ignore[arg-type]
    "a function instead of a module": (lambda: pm.Trainer(pm.relu, loss="cross_entropy"), TypeError, ["[Trainer]", "model", "pm.nn.Dense"]),  # type: ignore[arg-type]
    "an unknown loss": (lambda: pm.Trainer(pm.nn.Dense(3), loss="crossentropy"), ValueError, ["crossentropy", "cross_entropy"]),
    "an unknown metric": (lambda: pm.Trainer(pm.nn.Dense(3), loss="cross_entropy", metrics=["acc"]), ValueError, ["acc", "accuracy"]),
    "an unknown optimizer": (lambda: pm.Trainer(pm.nn.Dense(3), optimizer="adamax"), ValueError, ["optimizer", "adamax", "adamw"]),
    "a learning rate of text": (lambda: pm.optim.sgd("fast"), TypeError, ["[sgd]", "lr", "number"]),  # type: ignore[arg-type]
    "a negative learning rate": (lambda: pm.optim.sgd(-1.0), ValueError, ["-1"]),
    "an unknown precision": (lambda: pm.Trainer(pm.nn.Dense(3), precision="fp8"), ValueError, ["fp8", "bf16"]),
    "arrays instead of a dataset": (lambda: pm.Trainer(pm.nn.Dense(3), loss="cross_entropy").fit(np.ones(3), epochs=1), TypeError, ["[fit]", "train", "from_tensor_slices"]),  # type: ignore[arg-type]
    "neither epochs nor steps": (lambda: pm.Trainer(pm.nn.Dense(3), loss="cross_entropy").fit(batches()), ValueError, ["epochs", "steps"]),
    "a callback without hooks": (lambda: pm.Trainer(pm.nn.Dense(3), loss="cross_entropy").fit(batches(), epochs=1, callbacks=[print]), TypeError, ["[fit]", "callbacks", "pm.Callback"]),
    "no loss at all": (lambda: pm.Trainer(pm.nn.Dense(3)).fit(batches(), epochs=1), ValueError, ["loss", "cross_entropy"]),
    "a budget that is too small": (lambda: pm.Trainer(pm.nn.make_model("resnet18")).plan(batch=64, budget="8MiB"), pm.BudgetTooSmall, ["smallest budget"]),
    "a lambda that looks at values": (look_at_values, ValueError, ["traced", "pm.where"]),
    "a closed session": (closed_session, pm.Error, ["scratch"]),
    "a session that is entered again": (enter_closed_session, pm.Error, ["scratch", "device.session"]),
    "a tape that was used": (twice_a_tape, ValueError, ["persistent"]),
    "gradients by nothing": (lambda: pm.GradientTape().gradient(pm.ones((1,)), pm.ones((1,))), ValueError, ["with pm.GradientTape() as tape"]),
    "a map that looks at values": (lambda: pm.data.range(3).map(lambda i: i if i > 1 else -i), ValueError, ["[map]", "pm.where", "python=True"]),
    "a map that loops over values": (lambda: pm.data.range(3).map(lambda i: list(i)), ValueError, ["[map]", "python=True"]),
    "a map that uses NumPy": (lambda: pm.data.range(3).map(lambda i: np.sqrt(i)), TypeError, ["[map]", "NumPy", "python=True"]),
    "a map without a return": (lambda: pm.data.range(3).map(lambda i: None), TypeError, ["[map]", "return"]),
    "a map of what is not known": (lambda: pm.data.from_generator(lambda: [1]).map(lambda i: i), ValueError, ["[map]", "spec="]),
    "a tensor op on a picture": (lambda: pm.data.range(3).map(lambda i: pm.conv2d(i, i)), TypeError, ["[conv2d]", "x"]),
    "a batch size of text": (lambda: pm.data.range(3).batch("8"), TypeError, ["[batch]", "size", "integer"]),  # type: ignore[arg-type]
    "a batch of none": (lambda: pm.data.range(3).batch(0), ValueError, ["batch", "0"]),
    "a window of none": (lambda: pm.data.range(3).shuffle(0), ValueError, ["[shuffle]", "window"]),
    "a folder that is not there": (lambda: pm.data.image_folder("/no/such/folder"), pm.DataError, ["/no/such/folder"]),
    "a generator that was begun": (lambda: pm.data.from_generator(iter([1])), TypeError, ["[from_generator]", "lambda"]),  # type: ignore[arg-type]
    "tensors of unequal lengths": (lambda: pm.data.from_tensor_slices((np.ones(3), np.ones(4))), ValueError, ["3", "4"]),
    "the length of an endless set": (lambda: len(pm.data.range(3).repeat()), TypeError, ["[len]", "no end"]),
    "None for a tensor": (lambda: pm.relu(None), TypeError, ["[relu]", "x is None", "pm.tensor"]),  # type: ignore[arg-type]
    "None for a shape": (lambda: pm.zeros(None), TypeError, ["[zeros]", "shape is None", "(2, 3)"]),  # type: ignore[arg-type]
    "None for a target": (lambda: pm.nn.huber(pm.ones((3,)), None), TypeError, ["[huber]", "target is None", "tensor"]),  # type: ignore[arg-type]
    "None for a module": (lambda: pm.nn.Sequential(None), TypeError, ["[Sequential]", "None", "pm.nn.Dense"]),  # type: ignore[arg-type]
    "None for a model": (lambda: pm.Trainer(None), TypeError, ["[Trainer]", "None", "pm.nn.Dense"]),  # type: ignore[arg-type]
    "None for a size": (lambda: pm.nn.Dense(None), TypeError, ["[Dense]", "out is None", "integer"]),  # type: ignore[arg-type]
    "None for a rate": (lambda: pm.optim.sgd(None), TypeError, ["[sgd]", "lr is None", "number"]),  # type: ignore[arg-type]
    "None for a batch size": (lambda: pm.data.range(3).batch(None), TypeError, ["[batch]", "None", "integer"]),  # type: ignore[arg-type]
    "None for a function": (lambda: pm.data.range(3).map(None), TypeError, ["[map]", "None", "function"]),  # type: ignore[arg-type]
    "None for a folder": (lambda: pm.data.image_folder(None), TypeError, ["[image_folder]", "None", "path"]),  # type: ignore[arg-type]
    "a name that is misspelt": (lambda: pm.nn.Conv2D(8, 3, strid=2), TypeError, ["[Conv2D]", "strid", "did you mean stride?"]),  # type: ignore[call-arg]
    "a name of an op that is misspelt": (lambda: pm.zeros((2,), dtpe=pm.f32), TypeError, ["[zeros]", "dtpe", "did you mean dtype?"]),  # type: ignore[call-arg]
    "an argument that is missing": (lambda: pm.nn.cross_entropy(pm.ones((2, 3))), TypeError, ["[cross_entropy]", "labels is missing", "tensor"]),  # type: ignore[call-arg]
    "too many arguments": (lambda: pm.nn.Conv2D(8, 3, 1, 1), TypeError, ["[Conv2D]", "4 arguments", "stride="]),  # type: ignore[call-arg]
    "an argument that is given twice": (lambda: pm.relu(pm.ones((2,)), x=1), TypeError, ["[relu]", "x is given twice"]),  # type: ignore
    "text for a flag": (lambda: pm.nn.Conv2D(8, 3, bias="no"), TypeError, ["[Conv2D]", "bias", "True or False"]),  # type: ignore[arg-type]
    "a padding that is not there": (lambda: pm.nn.Conv2D(8, 3, padding="valid"), ValueError, ["[Conv2D]", "padding", "same"]),
    "a gate that is not there": (lambda: pm.nn.glu(pm.ones((2, 4)), gate="swish"), ValueError, ["[glu]", "gate", "silu"]),
    "an odd number of gates": (lambda: pm.nn.glu(pm.ones((2, 3))), ValueError, ["3"]),
    "heads that do not divide": (lambda: pm.nn.MultiHeadAttention(10, 3), ValueError, ["10", "3"]),
    "groups that do not divide": (lambda: pm.nn.GroupNorm(3)(pm.ones((2, 4, 5))), ValueError, ["3", "4"]),
    "an equation that does not fit": (lambda: pm.einsum("ij,jk->ik", pm.ones((2, 3)), pm.ones((4, 5))), ValueError, ["einsum", "3", "4"]),
    "a model that is not there": (lambda: pm.nn.make_model("resnet19"), ValueError, ["resnet19", "resnet18"]),
    "a model's option that is not there": (lambda: pm.nn.resnet18(depth=3), TypeError, ["[resnet18]", "depth"]),  # type: ignore[call-arg]
    "records that are not there": (lambda: pm.data.tfrecords("/no/such-*.tfrecord"), pm.DataError, ["/no/such-"]),
    "features that are a list": (lambda: pm.data.tfrecords("x", ["image"]), TypeError, ["[tfrecords]", "features", "dict"]),  # type: ignore[arg-type]
    "a log that is not there": (lambda: pm.report.read_run("/no/such/log.jsonl"), pm.DataError, ["/no/such/log"]),
    "a run that is a number": (lambda: pm.report.html(3), TypeError, ["[html]", "runs", "read_run"]),  # type: ignore[arg-type]
    "a picture that is a tensor": (lambda: pm.image.resize(pm.ones((4, 4, 3)), 8), TypeError, ["[resize]", "picture"]),  # type: ignore[arg-type]
    "weights of another number": (lambda: pm.data.sample_from_datasets([pm.data.range(3)], [0.5, 0.5]), ValueError, ["weight"]),
    "a scan without a state": (lambda: list(pm.data.range(3).scan(0, lambda state, i: i)), (TypeError, pm.DataError), ["two things"]),
    "a schedule of too few rates": (lambda: pm.optim.Schedule.piecewise([10], [0.1]), ValueError, ["1"]),
    "a call of what is no function": (lambda: pm.function(3), TypeError, ["[function]", "3"]),  # type: ignore[call-overload]
    "a path that is a number": (lambda: pm.load_safetensors(3), TypeError, ["[load_safetensors]", "path", "Path"]),  # type: ignore[arg-type]
    "no features": (lambda: pm.nn.Dense(0), ValueError, ["[Dense]", "0 features", "at least 1"]),
    "rows that are negative": (lambda: pm.nn.Embedding(-3, 2), ValueError, ["[Embedding]", "-3", "at least 1"]),
    "labels that are bytes": (lambda: pm.nn.cross_entropy(pm.ones((2, 3)), pm.zeros((2,), dtype=pm.u8)), ValueError, ["[cross_entropy]", "i64", "cast"]),
    "features that are integers": (lambda: pm.nn.Dense(3)(pm.arange(6).reshape(2, 3)), ValueError, ["[linear]", "i64", "cast"]),
    "early stopping without patience": (lambda: fit(early_stopping="loss"), ValueError, ["[fit]", "early_stopping", "patience=3"]),
    "the best without checkpoints": (lambda: fit(best="loss"), ValueError, ["[fit]", "best", "checkpoints"]),
    "resuming without checkpoints": (lambda: fit(resume=True), ValueError, ["[fit]", "resume", "checkpoints"]),
    "a hook that is Keras's": (lambda: fit(callbacks=[HooksOfOthers()]), TypeError, ["[fit]", "on_epoch_end", "on_epoch"]),
    "a hook without the run": (lambda: fit(callbacks=[HookOfNothing()]), TypeError, ["[fit]", "on_epoch", "run"]),
    "inputs that are missing": (lambda: pm.Trainer(TwoInputs(), loss="cross_entropy").fit(batches(), epochs=1), TypeError, ["[Trainer]", "'y'", "inputs="]),
    "a layer that is made in forward": (lambda: pm.Trainer(LayerInForward(), loss="cross_entropy").fit(batches(), epochs=1), ValueError, ["[attach]", "forward()"]),
    "a metric that is a function": (lambda: pm.Trainer(pm.nn.Dense(3), metrics=[lambda y, t: y]), TypeError, ["[Trainer]", "metrics", "pm.Metric"]),  # type: ignore[list-item]
    "a loss that depends on nothing": (loss_that_depends_on_nothing, ValueError, ["[apply]", "weight", "tape"]),
    "weights of a closed session": (weights_of_a_closed_session, pm.Error, ["session cpu:0/gone", "closed"]),
    "weights of another shape": (of_another_shape, ValueError, ["[load_state_dict]", "weight", "strict=False"]),
    "nothing to predict": (lambda: pm.Trainer(pm.nn.Dense(3)).predict(), TypeError, ["[predict]", "dataset"]),
    "too many inputs of a layer": (lambda: pm.nn.Dense(3)(pm.ones((2, 3)), pm.ones((2, 3))), ValueError, ["[Module]", "2 inputs", "takes one"]),
    "None as a component": (lambda: pm.data.from_tensor_slices((None, np.ones(3))), TypeError, ["[from_tensor_slices]", "None", "arrays"]),
    "None as data": (lambda: pm.tensor(None), TypeError, ["[tensor]", "data is None"]),
    "an index of a dataset": (lambda: pm.data.range(3)[0], TypeError, ["[Dataset]", "next(iter(dataset))"]),
    "the sum of datasets": (lambda: pm.data.range(3) + pm.data.range(3), TypeError, ["[Dataset]", "concatenate"]),
    "arrays where datasets are meant": (lambda: pm.data.zip([np.ones((2, 3))]), TypeError, ["[zip]", "ndarray of shape (2, 3)"]),  # type: ignore[list-item]
    "a component in text": (lambda: pm.data.range(3).map(lambda i: f"{i:.2f}"), ValueError, ["[map]", "python=True"]),
    "a map that uses NumPy's functions": (lambda: pm.data.range(3).map(lambda i: np.mean(i)), TypeError, ["[map]", "mean", "python=True"]),
    "a function that uses NumPy": (lambda: pm.function(lambda x: np.mean(x))(pm.ones((3,))), ValueError, ["[function]", "mean", "pm"]),
    "a spec of one dtype": (lambda: pm.data.from_generator(lambda: [1], spec=pm.i64), TypeError, ["[from_generator]", "spec", "list"]),  # type: ignore[arg-type]
    "a function without its argument": (lambda: pm.function(lambda x: x)(), TypeError, ["x is missing"]),  # type: ignore[call-arg]
    "a function with one argument too many": (lambda: pm.function(lambda x: x)(pm.ones((1,)), 2), TypeError, ["2 arguments", "1 by position"]),  # type: ignore[call-arg]
    "an unknown component": (lambda: pm.Trainer(pm.nn.Dense(3), loss="cross_entropy", inputs=["img"], targets=["1"]).fit(batches(), epochs=1), ValueError, ["img"]),
    "a name of a module elsewhere": (lambda: pm.nn.Dense(3).cuda(), AttributeError, ["device"]),  # type: ignore[attr-defined]
    "a name of an optimizer elsewhere": (lambda: pm.optim.sgd(0.1).zero_grad(), AttributeError, ["GradientTape"]),  # type: ignore[attr-defined]
    "a name of a tensor elsewhere": (lambda: pm.ones((1,)).backward(), AttributeError, ["tape.gradient"]),  # type: ignore[attr-defined]
    "a file that is not there": (lambda: pm.load_safetensors("/no/such/file"), pm.DataError, ["/no/such/file"]),
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


# Words of C++ in messages that Python's users cannot meet: what a C++ function threw, and a file's syntax.
_FOR_CXX_ONLY = ("std::exception", "nullptr")


def test_messages_of_the_library_are_worded_for_both_languages() -> None:
    """"[Device::open]" is translated; the rest of a message names no spelling of C++."""
    sources = Path(os.environ.get("PLIMSOLL_ROOT", Path(__file__).resolve().parent.parent.parent)) / "src"
    if not sources.is_dir():
        pytest.skip("the sources are not here")
    spelling = re.compile(r"\w::\w|\{\{?\.\w|\bpm::|\bk[A-Z][a-z]\w+|\bnullptr\b|\.\w+ = (true|false)")
    found = []
    for file in sorted(sources.rglob("*.cpp")):
        for line in file.read_text().splitlines():
            if line.lstrip().startswith(("//", "#", "///")):
                continue
            for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line.replace("'\"'", "")):
                text = re.sub(r"\[\w+::(\w+|\{\})\]|^\w+::\w+$", "", literal)
                if spelling.search(text) and not any(word in text for word in _FOR_CXX_ONLY):
                    found.append(f"{file.name}: {literal}")
    assert not found, "\n".join(found)


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function and class that people call."""
    for module in (pm, pm.nn, pm.optim, pm.image, pm.strings, pm.data, pm.report, pm.ops):
        for name in getattr(module, "__all__", None) or vars(module):
            value = getattr(module, name)
            if callable(value) and not name.startswith("_") and not isinstance(value, (pm.DType, typing.TypeVar)):
                if not (isinstance(value, type) and issubclass(value, (Exception, pm.errors.Holder, pm.errors.Remedy))):
                    yield f"{module.__name__}.{name}", value


@pytest.mark.parametrize("arguments", [(), (None,), (None, None), (None, None, None)], ids=len)
def test_none_is_never_answered_in_words_of_the_inside(arguments: tuple[None, ...]) -> None:
    for name, function in public():
        for named in ({}, {"no_such_argument": 1}):
            if name in ("plimsoll.data.list_files", "plimsoll.set_default_device"):
                continue
            try:
                function(*arguments, **named)
            except Exception as error:
                message = str(error)
                assert not INSIDE.search(message) and "incompatible function" not in message, (name, message)
            finally:
                pm.set_default_device(None)


def test_a_forked_child_is_told_to_use_spawn() -> None:
    code = """
        import os
        import plimsoll as pm
        x = pm.ones((2,))
        pid = os.fork()
        if pid == 0:
            try:
                pm.ones((2,))
            except pm.Error as error:
                os.write(1, str(error).encode())
            os._exit(0)
        os.waitpid(pid, 0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert "spawn" in done.stdout, done.stdout + done.stderr


def test_a_child_that_was_forked_before_anything_was_used_works() -> None:
    code = """
        import os
        import plimsoll as pm
        pid = os.fork()
        if pid == 0:
            os.write(1, str(pm.ones((2,)).sum().item()).encode())
            os._exit(0)
        os.waitpid(pid, 0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "2.0", done.stderr


def test_help_shows_the_signature_that_people_write() -> None:
    shown = pm.relu.__doc__ or ""
    assert shown.startswith("relu(x: Tensor | Variable) -> Tensor\n") and "max(x, 0)" in shown
    for function in (pm.relu, pm.matmul, pm.nn.Dense.__init__, pm.image.resize, pm.Tensor.reshape):
        assert "*args" not in (function.__doc__ or ""), function.__doc__
