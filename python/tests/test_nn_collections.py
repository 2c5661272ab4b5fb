"""Lists, tuples and dicts of modules and parameters, and parameters that several modules have."""

from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import plimsoll as pm


class Lists(pm.nn.Module):
    """Layers in all the ways that people keep several."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes = [4, 4]
        self.blocks: list[Any] = []  # filled below
        for size in self.sizes:
            self.blocks.append(pm.nn.Dense(size))
        self.blocks += [[pm.nn.Dense(4), pm.nn.Lambda(pm.relu)]]
        self.pair = (pm.nn.LayerNorm(), 2.0)
        self.heads: dict[str, Any] = {"age": pm.nn.Dense(1), "rest": pm.nn.ModuleList([pm.nn.Dense(1)])}
        self.scales = [pm.Variable([1.0]), pm.nn.Parameter((1,), init=1.0)]
        later: list[pm.nn.Module] = []
        self.log: list[int] = []
        self.seen: dict[str, int] = {}
        self.later = later
        later.append(pm.nn.Dense(4))

    def forward(self, x: pm.Tensor) -> pm.Tensor:
        for block in self.blocks[:2]:
            x = pm.relu(block(x))
        for block in (*self.blocks[2], *self.later):
            x = block(x)
        x = self.pair[0](x) * self.pair[1] * self.scales[0] * self.scales[1]
        result: pm.Tensor = self.heads["age"](x) + self.heads["rest"][0](x)
        return result


LISTED = """blocks.0.weight blocks.0.bias blocks.1.weight blocks.1.bias blocks.2.0.weight blocks.2.0.bias
pair.0.weight pair.0.bias heads.age.weight heads.age.bias heads.rest.0.weight heads.rest.0.bias scales.0 scales.1
later.0.weight later.0.bias"""


def test_what_is_in_lists_tuples_and_dicts_is_trained_and_saved() -> None:
    net = Lists()
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(16, 4)
    net.build((16, 4))
    net.materialize()
    assert sorted(net.state_dict()) == sorted(LISTED.split())
    before = {name: parameter.numpy().copy() for name, parameter in net.state_dict().items()}
    data = pm.data.from_tensor_slices((x, x[:, :1])).batch(8)
    pm.Trainer(net, loss="mean_squared_error", optimizer=pm.optim.adam(0.01)).fit(data, epochs=2)
    for name, parameter in net.state_dict().items():
        assert not np.array_equal(before[name], parameter.numpy()), name
    other = Lists()
    other.build((16, 4))
    other.load_state_dict(net.state_dict())
    assert other(pm.tensor(x)).tolist() == net(pm.tensor(x)).tolist()
    assert [len(net.blocks), len(net.later), list(net.sizes)] == [3, 1, [4, 4]]
    assert not net.eval().blocks[0].training


def test_lists_of_modules_grow_and_other_lists_are_lists() -> None:
    net = Lists()
    with pytest.raises(ValueError, match=r"\[ModuleList\] pop is not possible.*assign another"):
        net.blocks.pop()
    with pytest.raises(ValueError, match=r"\[ModuleDict\] 'age' is there already"):
        net.heads["age"] = pm.nn.Dense(3)
    with pytest.raises(ValueError, match="there is a 'blocks' already"):
        net.blocks = [pm.nn.Dense(3)]
    log: list[int] = []
    net.log = log
    log += [3, 1]
    net.seen["a"] = 1
    assert net.log == [3, 1] and sorted(net.log) == [1, 3] and net.log.pop() == 1 and net.seen.pop("a") == 1
    assert [name for name, _ in net.named_modules() if "log" in name or "seen" in name] == []
    with pytest.raises(ValueError, match="log is a Own of modules"):
        net.log = type("Own", (list,), {})([pm.nn.Dense(3)])


class Bare(pm.nn.Module):
    """Gets its attributes from tests."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def forward(self, x: pm.Tensor) -> pm.Tensor:
        return x


def own(value: float = 0.0) -> pm.nn.Parameter:
    return pm.nn.Parameter((1,), init=value)


def names_of(net: pm.nn.Module) -> list[str]:
    return [name for name, _ in net.named_parameters()]


def test_keys_may_be_whatever_a_module_itself_has() -> None:
    keys = ["age", "name", "training", "path", "parameters", "forward", "_adopt"]
    net = Bare(heads={key: Bare(scale=own()) for key in keys}, scales=pm.nn.ModuleDict({key: own() for key in keys}))
    assert names_of(net) == [f"heads.{key}.scale" for key in keys] + [f"scales.{key}" for key in keys]
    assert list(net.heads) == keys and net.heads["name"].scale.name == "heads.name.scale"


def test_lists_in_lists_may_be_filled_later() -> None:
    net = Bare(stages=[], heads={})
    for stage in range(2):
        net.stages.append([])
        for _ in range(2):
            net.stages[stage].append(own())
    net.heads["a"] = {}
    net.heads["a"]["b"] = own()
    assert names_of(net) == ["stages.0.0", "stages.0.1", "stages.1.0", "stages.1.1", "heads.a.b"]


def test_a_list_that_is_filled_under_its_old_name_is_followed_at_each_read() -> None:
    blocks: list[Any] = []
    net = Bare(blocks=blocks)
    for count in range(1, 4):
        blocks.append(own())
        assert len(net.blocks) == count
    blocks.append(own())
    net.blocks.append(own())
    assert names_of(net) == [f"blocks.{i}" for i in range(5)] and net.blocks[3] is blocks[3]


def test_what_is_merged_into_a_dict_belongs_to_the_module() -> None:
    net = Bare(heads={"a": own()})
    net.heads |= {"b": own()}
    assert names_of(net) == ["heads.a", "heads.b"]
    with pytest.raises(ValueError, match=r"\[ModuleDict\] 'a' is there already"):
        net.heads |= {"a": own()}


def test_a_new_parameter_that_is_given_twice_is_shared() -> None:
    scale = own(2.0)
    net = Bare(first=scale, second=scale)
    net.inner = Bare(scales=[scale])
    assert names_of(net) == ["first"]
    net.materialize()
    assert net.second.item() == 2.0 and net.inner.scales[0].name == "first"
    # Also where an attribute has the name that messages use before there is another.
    odd = Bare(parameter=own())
    odd.other = odd.parameter
    assert names_of(odd) == ["parameter"]
    shared = [own()]
    assert names_of(Bare(left=Bare(scales=shared), right=Bare(scales=shared))) == ["left.scales.0"]


def test_a_parameter_that_is_shared_from_outside_under_a_name_within_is_refused() -> None:
    class Head(Bare):
        def forward(self, x: pm.Tensor) -> pm.Tensor:
            result: pm.Tensor = x * self.words * self.scale
            return result

    words = Bare(scale=own(1.0))
    head = Head(words=words.scale, scale=own(1.0))
    x = np.ones((8, 1), np.float32)
    data = pm.data.from_tensor_slices((x, x)).batch(4)
    with pytest.raises(ValueError, match=r"\[Trainer\] two parameters of the model are called 'scale'.*part of the"):
        pm.Trainer(head, loss="mean_squared_error").fit(data, epochs=1)
    head.materialize()
    with pytest.raises(ValueError, match=r"\[state_dict\] two parameters are called 'scale'"):
        head.state_dict()
    both = pm.nn.Sequential(words, head)
    assert sorted(both.state_dict()) == ["0.scale", "1.scale"]
    pm.Trainer(both, loss="mean_squared_error").fit(data, epochs=1)


def test_copies_of_lists_and_dicts_of_a_module_are_its_no_more() -> None:
    net = Bare(log=[], seen={}, pair=(own(), 2), scales=[own()])
    net.log += [3, 1]
    net.seen["a"] = net.log
    assert json.dumps(net.seen) == '{"a": [3, 1]}'
    for copied in (copy.copy(net.log), copy.deepcopy(net.log), pickle.loads(pickle.dumps(net.log))):
        assert type(copied) is list and copied == [3, 1]
        copied.append(own())
    for seen in (copy.copy(net.seen), copy.deepcopy(net.seen), pickle.loads(pickle.dumps(net.seen))):
        assert type(seen) is dict and seen == {"a": [3, 1]}
    assert type(copy.copy(net.pair)) is tuple and copy.copy(net.pair)[0] is net.pair[0]
    scales = copy.copy(net.scales)
    scales.append(own())
    assert names_of(net) == ["pair.0", "scales.0"]


def test_a_list_that_contains_itself_is_a_list() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert Bare(ring=ring).ring is ring


def test_a_variable_is_assigned_to_and_not_replaced_by_a_tensor() -> None:
    net = Bare(steps=pm.Variable([1.0], trainable=False), scale=own(1.0), inner=Bare(), blocks=[own()])
    with pytest.raises(ValueError, match=r"steps is a variable.*self\.steps\.assign\(tensor\)"):
        net.steps += 1
    with pytest.raises(ValueError, match="scale is a variable"):
        net.scale = pm.ones((1,))
    net.steps.assign(net.steps + 1)
    assert net.steps.item() == 2.0
    for name in ("steps", "scale", "inner", "blocks"):
        setattr(net, name, getattr(net, name))
    assert names_of(net) == ["scale", "blocks.0"]
