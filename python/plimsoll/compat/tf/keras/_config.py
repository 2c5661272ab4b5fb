"""Objects that can be written down and made again: get_config, from_config, and lookup by name."""

from __future__ import annotations

import difflib
import inspect
import re
from typing import Any, Callable, Mapping

_custom: dict[str, Any] = {}
_registered_names: dict[Any, str] = {}


def similar(name: Any, known: Any) -> str:
    """"; did you mean 'accuracy'?" for a message, or nothing."""
    names = [str(each) for each in known]
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def snake_case(name: str) -> str:
    """"MeanSquaredError" -> "mean_squared_error", "Conv2D" -> "conv2d": as Keras names layers."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


class Configured:
    """What has a configuration."""

    def get_config(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(**config)

    def serialized(self) -> dict[str, Any]:
        return {"class_name": registered_name(type(self)), "config": self.get_config()}


def fitting(cls: Any, config: dict[str, Any]) -> dict[str, Any]:
    """A configuration without what only Keras itself knows: arguments that no __init__ of the class takes and that
    say nothing."""
    known = {name for each in cls.__mro__ if "__init__" in vars(each) for name in inspect.signature(each.__init__).parameters}
    return {key: value for key, value in config.items()
            if key in known or not (value is None or value is False or key in _SAYS_NOTHING)}


def with_defaults(cls: Any, base: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments with those that have a default, of a class of this package; not those that every `base` takes."""
    found: dict[str, Any] = {}
    if not cls.__module__.startswith(str(__package__)):
        return given
    for each in cls.__mro__[: cls.__mro__.index(base)]:
        if "__init__" not in vars(each):
            continue
        parameters = inspect.signature(each.__init__).parameters.values()
        found.update({p.name: given.get(p.name, p.default) for p in parameters
                      if p.name not in found and (p.default is not p.empty or p.name in given)})
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return {**found, **given}


_SAYS_NOTHING = ("input_axes", "output_axes", "renorm_momentum")  # without what they would go with


def registered_name(cls: Any) -> str:
    return _registered_names.get(cls, str(getattr(cls, "__name__", cls)))


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[Any], Any]:
    """As Keras's: load_model then finds the class or function."""

    def decorate(thing: Any) -> Any:
        full = f"{package}>{name or thing.__name__}"
        _custom[full] = thing
        _custom.setdefault(name or thing.__name__, thing)
        _registered_names[thing] = full
        return thing

    return decorate


def get_custom_objects() -> dict[str, Any]:
    return _custom


class CustomObjectScope:
    """Names that are known within a `with` block."""

    def __init__(self, *objects: Mapping[str, Any]) -> None:
        self.objects = objects

    def __enter__(self) -> CustomObjectScope:
        self.before = dict(_custom)
        for each in self.objects:
            _custom.update(each)
        return self

    def __exit__(self, *raised: object) -> None:
        _custom.clear()
        _custom.update(self.before)


custom_object_scope = CustomObjectScope


def lookup(
    identifier: Any, classes: Mapping[str, Any], what: str, other_names: Mapping[str, str] | None = None
) -> Any:
    """The object that `identifier` means: None, a name, a configuration, a class or an object."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        if "class_name" not in identifier:
            raise ValueError(f"Could not interpret {what} identifier: {identifier}")
        config = identifier.get("config", {})
        name = str(identifier["class_name"])
        if name == "function":
            return lookup(config, classes, what, other_names)
        found = _find(identifier.get("registered_name") or name, classes, other_names)
        found = found if found is not None else _find(name, classes, other_names)
        if found is None:
            raise ValueError(f"Unknown {what}: '{name}'. Pass it in custom_objects.")
        made: Any = found
        return made.from_config(fitting(found, config)) if isinstance(found, type) else found
    if isinstance(identifier, str):
        found = _find(identifier, classes, other_names)
        if found is None:
            known = ", ".join(sorted(classes))
            near = similar(identifier, [*classes, *map(snake_case, classes), *(other_names or {})])
            raise ValueError(f"Could not interpret {what} identifier: {identifier}{near or f'; there are {known}'}")
        return found() if isinstance(found, type) else found
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier) or hasattr(identifier, "get_config"):
        return identifier
    raise ValueError(f"Could not interpret {what} identifier: {identifier}")


def _find(name: str, classes: Mapping[str, Any], other_names: Mapping[str, str] | None) -> Any:
    if name in _custom:
        return _custom[name]
    if name in classes:
        return classes[name]
    if other_names and name in other_names:
        return classes[other_names[name]]
    for each, found in classes.items():
        if snake_case(each) == name or each.lower() == name.lower():
            return found
    return None
