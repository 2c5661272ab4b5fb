"""What is said of assignments that would change nothing: to what is read-only, and to names that a class does not have."""

from __future__ import annotations

import re
import sys
import types
from typing import Any, Callable, NoReturn

from . import _core
from ._mistakes import explain, shown
from ._traceback import worded

# By class: names, and what to write instead of an assignment to them.
_INSTEAD = {
    "Tensor": {
        "shape": "x.reshape(shape), which gives another tensor",
        "dtype": "x.to(dtype), which gives another tensor",
        "device": "x.to(device), which gives another tensor",
    },
    "Variable": {"value": "v.assign(value)", "dtype": "v.to(dtype), which gives a tensor"},
    "Module": {"training": "net.train(), or net.eval()"},
    "Optimizer": {
        "lr learning_rate rate": "optimizer.rate_factor = 0.1, which multiplies the schedule's rate in all steps to come, "
        "or give it a pm.optim.Schedule",
    },
    "Trainer": {
        "lr learning_rate": "trainer.optimizer.rate_factor = 0.1, which multiplies the schedule's rate",
        "model optimizer device loss metrics precision": "another pm.Trainer, which takes it as an argument",
    },
    "Dataset": {"batch_size": "dataset.batch(size), which gives another dataset"},
}


def _instead(kind: type, name: str) -> str:
    for each in kind.__mro__:
        for names, text in _INSTEAD.get(each.__name__, {}).items():
            if name in names.split():
                return f"; use {text}"
    return ""


def _refuses(name: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: Any, value: Any) -> NoReturn:
        said = _instead(type(self), name)
        if not said and isinstance(getattr(self, name, None), _core.Variable):
            said = f"; use net.{name}.assign(values)"
        raise AttributeError(
            f"[{type(self).__name__}] {name} cannot be set to {shown(value)}: it is read-only{said}", name=name, obj=self
        )

    return worded(refuse)


def _checks(name: str, assign: Any) -> Callable[[Any, Any], None]:
    """The setter, which says in words what cannot be set."""
    signatures = [re.sub(r"\(self, \w+:", f"(self, {name}:", each[0]) for each in assign.__nb_signature__]

    def checked(self: Any, value: Any) -> None:
        try:
            assign(self, value)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
            raise explain(type(self).__name__, signatures, self, (value,), {}) from None

    return worded(checked)


def _properties_of(scope: Any, seen: set[int]) -> None:
    for value in list(vars(scope).values()):
        if isinstance(value, types.ModuleType) and value.__name__.startswith("plimsoll._core"):
            _properties_of(value, seen)
        elif isinstance(value, type) and value.__module__.startswith("plimsoll") and id(value) not in seen:
            seen.add(id(value))
            refuse_to_set(value)


def refuse_to_set(kind: type) -> None:
    """Gives the properties of a class setters that say what cannot be set."""
    for name, found in list(vars(kind).items()):
        if type(found) is property:
            can_be_set = hasattr(found.fset, "__nb_signature__")
            if found.fset is None or can_be_set:
                assign = _checks(name, found.fset) if can_be_set else _refuses(name)
                setattr(kind, name, property(found.fget, assign, doc=found.__doc__))


def known_names_only(kind: type) -> None:
    """Refuses other attributes of a class, which nothing would read. Those of classes that derive from it are theirs."""

    def assign(self: Any, name: str, value: Any) -> None:
        if type(self) is kind and not name.startswith("_") and not hasattr(kind, name):
            raise AttributeError(
                f"[{kind.__name__}] there is no {name} that could be set to {shown(value)}{_instead(kind, name)}",
                name=name, obj=self,
            )
        object.__setattr__(self, name, value)

    setattr(kind, "__setattr__", worded(assign))


if not (sys.argv and sys.argv[0].endswith("stubgen.py")):  # stubs have what can be set
    _properties_of(_core, set())
