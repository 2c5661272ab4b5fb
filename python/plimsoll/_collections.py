"""Lists and dicts of modules and variables: where one is an attribute of a module, what is in it belongs to that
module, by its place or key, like what is assigned to attributes of its own."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Iterable

from ._core import Module, Variable
from ._traceback import boundary
from .errors import InvalidArgument


class _Part(Module):
    """Has the modules and variables of a list or dict, under their places or keys."""


def _holds(value: Any, owner: Any = None, within: tuple[int, ...] = ()) -> bool:
    """Whether it is a module or a variable, or has one."""
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        if id(value) in within:
            return False  # it contains itself
        items = value.values() if isinstance(value, dict) else value
        return any(_holds(each, owner, (*within, id(value))) for each in items)
    return isinstance(value, (Module, Variable)) and value is not owner


class _Members:
    """What a list or dict has of modules and variables."""

    def __init__(self) -> None:
        self.part: _Part | None = None
        self._owners: list[tuple[weakref.ref[Module | _Members], str]] = []

    def take(self, name: str, value: Any) -> Any:
        """What stands for `value` in the list or dict."""
        if isinstance(value, (Module, Variable)):
            return self.own_part()._adopt(name, value)
        return attached(self, name, value)

    def own_part(self) -> _Part:
        """Made when there is something to put into it."""
        if self.part is None:
            part = _Part()
            for reference, name in self._owners:
                owner = reference()
                if owner is not None:
                    _adopt_by(owner, name, part)
            self.part = part
        return self.part

    def attach(self, owner: Module | _Members, name: str) -> None:
        if any(reference() is owner and known == name for reference, known in self._owners):
            return  # as after `self.blocks += [block]`
        if self.part is not None:
            _adopt_by(owner, name, self.part)
        self._owners.append((weakref.ref(owner), name))


def _adopt_by(owner: Module | _Members, name: str, part: _Part) -> None:
    (owner.own_part() if isinstance(owner, _Members) else owner)._adopt(name, part)


def _only_if_plain(kind: type, name: str) -> Callable[..., Any]:
    """A method that changes more than what comes last: not where modules or variables have names."""
    plain = getattr(kind, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._follow()
        if self._members.part is not None or any(_holds(each) for each in args):
            raise InvalidArgument(f"[{type(self).__name__}] {name} is not possible, because what is in it has names "
                                  "in its module; assign another list or dict")
        return plain(self, *args, **kwargs)

    method.__name__ = name
    return boundary(method)


def _followed(name: str) -> Callable[..., Any]:
    """A method that reads a list."""
    plain = getattr(list, name)

    def method(self: Any, *args: Any) -> Any:
        self._follow()
        return plain(self, *args)

    method.__name__ = name
    return method


class ModuleList(list[Any]):
    """A list of modules, variables, or lists of them, that can grow. Lists that are assigned to attributes of a
    module become one.

    >>> self.blocks = pm.nn.ModuleList(pm.nn.Dense(64) for _ in range(3))
    """

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__()
        self._members = _Members()
        self._source: list[Any] | None = None  # an empty list that became this one, and may grow under its old name
        self._followed = 0  # items of it that are here
        self.extend(items)

    def append(self, item: Any) -> None:
        self._follow()
        super().append(self._members.take(str(super().__len__()), item))

    def extend(self, items: Iterable[Any]) -> None:
        for each in list(items):
            self.append(each)

    def __iadd__(self, items: Iterable[Any]) -> ModuleList:  # type: ignore[misc]
        self.extend(items)
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return list, (list(self),)  # a copy is no module's attribute

    def _follow(self) -> None:
        if self._source is not None and len(self._source) > self._followed:
            new = self._source[self._followed:]
            self._followed = len(self._source)
            self.extend(new)


class ModuleDict(dict[Any, Any]):
    """A dict of modules, variables, or lists of them, that can grow. Dicts that are assigned to attributes of a
    module become one.

    >>> self.heads = pm.nn.ModuleDict({"age": pm.nn.Dense(1), "name": pm.nn.Dense(50)})
    """

    def __init__(self, items: Any = (), **more: Any) -> None:
        super().__init__()
        self._members = _Members()
        self.update(items, **more)

    def _follow(self) -> None:
        pass

    @boundary
    def __setitem__(self, key: Any, value: Any) -> None:
        if key in self and (_holds(self[key]) or _holds(value)):
            raise InvalidArgument(f"[ModuleDict] {key!r} is there already; assign another dict")
        super().__setitem__(key, self._members.take(str(key), value))

    def update(self, items: Any = (), **more: Any) -> None:  # type: ignore[override]
        for key, value in dict(items, **more).items():
            self[key] = value

    def __ior__(self, items: Any) -> ModuleDict:  # type: ignore[misc]
        self.update(items)
        return self

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)


class _Tuple(tuple[Any, ...]):
    """A tuple that is an attribute of a module."""

    _members: _Members

    @staticmethod
    def of(items: tuple[Any, ...]) -> _Tuple:
        members = _Members()
        made = _Tuple(members.take(str(i), each) for i, each in enumerate(items))
        made._members = members
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


for _name in ("__add__ __contains__ __eq__ __ge__ __getitem__ __gt__ __iter__ __le__ __len__ __lt__ __mul__ __ne__ "
              "__repr__ __reversed__ __rmul__ copy count index").split():
    setattr(ModuleList, _name, _followed(_name))
for _kind, _base, _names in (
    (ModuleList, list, "__delitem__ __imul__ __setitem__ clear insert pop remove reverse sort"),
    (ModuleDict, dict, "__delitem__ clear pop popitem"),
):
    for _name in _names.split():
        setattr(_kind, _name, _only_if_plain(_base, _name))


@boundary
def attached(owner: Module | _Members, name: str, value: Any) -> Any:
    """What a module, list or dict has as `name` when this list, tuple or dict is assigned."""
    made = value
    if isinstance(value, (ModuleList, ModuleDict, _Tuple)):
        pass
    elif type(value) is tuple and _holds(value, owner):
        made = _Tuple.of(value)
    elif type(value) is list and (not value or _holds(value, owner)):
        made = ModuleList(value)
        made._source = None if value else value
    elif type(value) is dict and (not value or _holds(value, owner)):
        made = ModuleDict(value)
    elif _holds(value, owner):
        raise InvalidArgument(f"[Module] {name} is a {type(value).__name__} of modules or variables, which would not "
                              "be found; use pm.nn.ModuleList(modules), or a list, tuple or dict")
    else:
        return value
    made._members.attach(owner, name)
    return made
