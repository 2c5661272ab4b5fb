"""What is wrong with a call whose arguments fit no signature, in words that name the argument."""

from __future__ import annotations

import difflib
import os
from typing import Any, Iterator, NamedTuple, NoReturn

from . import _core

_ANYTHING = ("Any", "object", "typing.Any", "typing.Callable")
_PHRASES = {
    "Tensor": "a tensor: pm.tensor(...) makes one of numbers and arrays",
    "Variable": "a variable, such as a parameter of a module",
    "Device": 'a device: pm.device("cpu"), a session, or a name',
    "Module": "a module: pm.nn.Dense(10), or your own pm.nn.Module",
    "Symbolic": "a component of an element, within a function that map() traces",
    "DType": "a dtype: pm.f32, or its name",
    "Optimizer": "an optimizer: pm.optim.adamw(1e-3)",
    "os.PathLike[str]": "a path",
    "int": "an integer",
    "float": "a number",
    "bool": "True or False",
    "str": "text",
    "bytes": "bytes",
    "dict": "a dict",
    "typing.Mapping": "a dict",
    "typing.Callable": "a function",
}


class Parameter(NamedTuple):
    name: str
    types: list[str]
    required: bool
    by_position: bool
    takes_all: bool = False
    """*operands: what is left of those by position."""


def _split(text: str, separator: str) -> list[str]:
    """Parts between separators that are in no bracket and no string."""
    parts, depth, quote, begin = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    parts.append(text[begin:].strip())
    return [each for each in parts if each]


def _parameters(signature: str) -> list[Parameter]:
    declared = signature.rpartition(" -> ")[0] or signature
    inside = declared[declared.index("(") + 1 : declared.rindex(")")]
    found, by_position = [], True
    for each in _split(inside, ","):
        if each.startswith("*"):
            by_position = False
            if each[1:] and each[1] != "*":
                found.append(Parameter(_split(each[1:], ":")[0], ["Any"], False, False, True))
        elif each not in ("self", "/"):
            declared, *default = _split(each, "=")
            name, *annotation = _split(declared, ":")
            types = _split(annotation[0], "|") if annotation else ["Any"]
            types = [kind.replace("plimsoll._core.", "").replace("collections.abc.", "typing.") for kind in types]
            if name != "self":
                found.append(Parameter(name, types, not default, by_position))
    return found


def _fits(value: Any, kind: str) -> bool:
    base, _, rest = kind.partition("[")
    if base == "None":
        return value is None
    if base == "bool":
        return isinstance(value, bool)
    if base == "int":
        return hasattr(value, "__index__")
    if base == "float":
        return hasattr(value, "__float__") and not isinstance(value, _core.Tensor)
    if base in ("str", "bytes"):
        return isinstance(value, str if base == "str" else bytes)
    if base in ("typing.Sequence", "list", "tuple"):
        inner = _split(_split(rest.rstrip("]"), ",")[0], "|") if rest else ["Any"]
        return isinstance(value, (list, tuple)) and all(any(_fits(x, each) for each in inner) for x in value)
    if base in ("dict", "typing.Mapping"):
        return isinstance(value, dict)
    if base == "os.PathLike":
        return isinstance(value, os.PathLike)
    if base == "typing.Callable":
        return callable(value)
    known = getattr(_core, base, None)
    return isinstance(value, known) if isinstance(known, type) else True


def _wanted(types: list[str]) -> str:
    said: list[str] = []
    for kind in types:
        base = kind.partition("[")[0]
        if base in ("typing.Sequence", "list", "tuple"):
            phrase = "integers: (2, 3)" if "[int" in kind else "a list of tensors" if "[Tensor" in kind else "a list"
        elif kind == "None" or (base in ("Variable", "Session", "str", "int") and said):
            continue
        else:
            phrase = _PHRASES.get(kind) or _PHRASES.get(base) or f"a {base.rpartition('.')[2]}"
        said.append(phrase)
    said.sort(key=lambda phrase: ":" in phrase)
    return " or ".join(said[:3]) + (", or None" if "None" in types else "")


def shown(value: Any) -> str:
    """A value in a message: 'abc' (a str), the class ReLU, a list_iterator."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value).__name__
    kind = f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
    text = repr(value)
    if " at 0x" in text or "\n" in text:
        return kind
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({kind})"


def _problems(parameters: list[Parameter], given: tuple[Any, ...], named: dict[str, Any]) -> Iterator[str]:
    names = [each.name for each in parameters]
    for name in named:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(names) or 'none'}"
            yield f"there is no argument {name}; {hint}"
    places = [each for each in parameters if each.by_position]
    if len(given) > len(places) and not any(each.takes_all for each in parameters):
        others = [f"{each.name}=" for each in parameters if not each.by_position]
        hint = f"; name the others: {', '.join(others)}" if others else f": {', '.join(names) or 'none'}"
        yield f"{len(given)} arguments are given, and it takes {len(places)} by position{hint}"
    values = dict(zip((each.name for each in places), given))
    for name in named:
        if name in values:
            yield f"{name} is given twice, by position and by name"
    values.update(named)
    for each in parameters:
        if each.required and each.name not in values:
            yield f"{each.name} is missing; it must be {_wanted(each.types)}"
    for each in parameters:
        if each.name in values and not any(_fits(values[each.name], kind) for kind in each.types):
            yield f"{each.name} is {shown(values[each.name])}; it must be {_wanted(each.types)}"


def explain(
    name: str, signatures: list[str], instance: Any, given: tuple[Any, ...], named: dict[str, Any]
) -> NoReturn:
    """Raises the TypeError for a call that fits none of the signatures."""
    if name in ("__init__", "__call__"):
        name = type(instance).__name__
    who = name.lstrip("_").removesuffix("_python").removesuffix("_native").removesuffix("_program")
    # Of several the one that most arguments fit; the last is the most general.
    best = None
    for signature in reversed(signatures):
        problems = list(_problems(_parameters(signature), given, named))
        if best is None or len(problems) < len(best):
            best = problems
    text = best[0] if best else f"these arguments do not fit; it is {signatures[-1].removeprefix('def ')}"
    raise TypeError(f"[{who}] {text}")



def binder(name: str, parameters: str) -> tuple[Any, list[str]]:
    """A function that gives the arguments of a call in the order of the signature, with defaults,
    and the names of the parameters."""
    known = _parameters(f"def {name}({parameters})")
    names = [each.name for each in known]
    plain = []
    for part in _split(parameters, ","):
        declared, *default = _split(part, "=")
        plain.append(_split(declared, ":")[0] + (f"={default[0]}" if default else ""))
    made: dict[str, Any] = {}
    order = ", ".join(each + "," if i + 1 == len(names) else each for i, each in enumerate(names))
    exec(f"def bind({', '.join(plain)}): return ({order})", {}, made)
    bind = made["bind"]

    def call(*given: Any, **named: Any) -> Any:
        try:
            return bind(*given, **named)
        except TypeError:
            explain(name, [f"def {name}({parameters})"], None, given, named)

    return call, names
