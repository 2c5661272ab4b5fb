"""What is wrong with a call whose arguments fit no signature, in words that name the argument."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterator, NamedTuple

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
    "Dataset": "a dataset: pm.data.from_tensor_slices((x, y)).batch(32)",
    "Path": "a path",
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


# What NumPy, PyTorch, TensorFlow and Keras call arguments, and what they may be called here.
_ELSEWHERE = {
    "dim": "axis axes",
    "dims": "axes axis",
    "axis": "axes",
    "axes": "axis",
    "keepdim keep_dims": "keepdims",
    "kernel_size pool_size": "size",
    "units filters out_channels out_features": "out",
    "hidden_size": "hidden out",
    "strides": "stride",
    "use_bias": "bias",
    "data_format": "layout",
    "kernel_initializer": "init",
    "learning_rate": "lr",
    "beta_1 betas": "beta1",
    "beta_2": "beta2",
    "eps": "epsilon",
    "p": "rate probability",
    "num_heads": "heads",
    "num_layers": "layers",
    "embed_dim embedding_dim output_dim": "features",
    "num_embeddings": "count",
    "buffer_size": "window",
    "batch_size": "size",
    "drop_last": "drop_remainder",
    "num_parallel_calls num_workers": "parallel threads",
    "map_func predicate": "function",
    "validation_data": "validation",
    "verbose": "progress",
    "min a_min min_value clip_value_min": "low",
    "max a_max max_value clip_value_max": "high",
    "fill_value": "value",
    "loc": "mean",
    "scale std stddev": "deviation",
    "weight class_weight": "class_weights",
    "label_smoothing": "smoothing",
}
_INSTEAD = {
    "activation": "put it behind the layer, as pm.nn.ReLU() in a pm.nn.Sequential or pm.relu(x) in forward()",
    "input_shape input_dim": "leave it out: what comes in is inferred from the first call",
    "from_logits": "leave it out: losses take logits",
    "reduction": "leave it out: a loss is a mean",
    "batch_size": "the dataset has the batches: dataset.batch(32)",
    "shuffle": "shuffle the dataset: dataset.shuffle()",
    "validation_split": "dataset.split(0.8) gives two datasets",
    "num_workers pin_memory": "leave it out: a pipeline has threads of its own",
    "causal key_mask is_causal use_causal_mask": "attention.attend(query, key, value, causal=True) has it",
    "requires_grad": "leave it out: gradients are recorded within pm.GradientTape()",
}


def _hint(name: str, names: list[str]) -> str:
    """What to write instead of an argument that is not there."""
    import difflib  # not needed before there is a mistake

    for others, ours in _ELSEWHERE.items():
        if name in others.split():
            for each in ours.split():
                if each in names:
                    return f"use {each}="
    for others, text in _INSTEAD.items():
        if name in others.split():
            return text
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean {close[0]}?" if close else f"it takes {', '.join(names) or 'none'}"


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
        return hasattr(value, "__index__") and not isinstance(value, _core.Tensor)
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
    if base == "Dataset":
        return hasattr(value, "_dataset")
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
            yield f"there is no argument {name}; {_hint(name, names)}"
    places = [each for each in parameters if each.by_position]
    for each, value in zip(places, given):
        if len(given) > len(places) and value is not None and not any(_fits(value, kind) for kind in each.types):
            yield f"{each.name} is {shown(value)}; it must be {_wanted(each.types)}"
    if len(given) > len(places) and not any(each.takes_all for each in parameters):
        others = [f"{each.name}=" for each in parameters if not each.by_position]
        hint = f"; name the others: {', '.join(others)}" if others else f": {', '.join(names) or 'none'}"
        count = "1 argument is" if len(given) == 1 else f"{len(given)} arguments are"
        yield f"{count} given, and it takes {len(places)} by position{hint}"
    values = dict(zip((each.name for each in places), given))
    for name in named:
        if name in values:
            yield f"{name} is given twice, by position and by name"
    values.update(named)
    for each in parameters:
        if each.required and each.name not in values:
            wanted = "" if any(kind in _ANYTHING for kind in each.types) else f"; it must be {_wanted(each.types)}"
            yield f"{each.name} is missing{wanted}"
    for each in parameters:
        if each.name in values and not any(_fits(values[each.name], kind) for kind in each.types):
            yield f"{each.name} is {shown(values[each.name])}; it must be {_wanted(each.types)}"
        elif isinstance(values.get(each.name), int) and "int" in each.types and not -(2**63) <= values[each.name] < 2**63:
            yield f"{each.name} is {values[each.name]}; it must fit in 64 bits"
        elif each.required and each.name in values and values[each.name] is None and "None" not in each.types:
            yield f"{each.name} is None; give a value"


def _first(problems: list[str], name: str, otherwise: str) -> TypeError:
    who = name.lstrip("_").removesuffix("_python").removesuffix("_native").removesuffix("_program")
    return TypeError(f"[{who}] {problems[0] if problems else otherwise}")


def _is_initialised(module: _core.Module) -> bool:
    try:
        return module.parameter_count >= 0
    except TypeError:  # super().__init__() was not called
        return False


def explain(
    name: str, signatures: list[str], instance: Any, given: tuple[Any, ...], named: dict[str, Any]
) -> TypeError:
    """The error for a call that fits none of the signatures; whoever asked for it raises it."""
    makes = name == "__init__"
    if name in ("__init__", "__call__"):
        name = type(instance).__name__
    # Of several the one that most arguments fit; the last is the most general.
    best = None
    for signature in reversed(signatures):
        problems = list(_problems(_parameters(signature), given, named))
        if best is None or len(problems) < len(best):
            best = problems
    shown_as = re.sub(r" = \\\d+", " = ...", signatures[-1].removeprefix("def ")).replace("plimsoll._core.", "pm.")
    otherwise = f"these arguments do not fit; it is {shown_as}"
    if not (best or makes) and isinstance(instance, _core.Module) and not _is_initialised(instance):
        otherwise = "the module was not initialised; call super().__init__() first in its __init__"
    return _first(best or [], name, otherwise)


def _typed(annotation: Any) -> list[str]:
    """The types of an annotation as bindings write them."""
    if not isinstance(annotation, str):
        return ["Any"]
    kinds = [each.removeprefix("_core.") for each in _split(annotation, "|")]
    return [f"typing.{each}" if each.startswith(("Sequence", "Mapping", "Callable")) else each for each in kinds]


def of_call(f: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> TypeError | None:
    """The same for a function in Python; None if the arguments fit."""
    import inspect

    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return None  # of ours, such as a module or pm.relu, which answer for themselves
    try:
        signature.bind(*given, **named)
        return None
    except TypeError as error:
        otherwise = str(error)
    owner, _, name = f.__qualname__.rpartition(".")
    parameters = []
    for each in signature.parameters.values():
        if each.name == "self":
            given = given[1:]
        elif each.kind != each.VAR_KEYWORD:
            by_position = each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
            takes_all = each.kind == each.VAR_POSITIONAL
            required = each.default is each.empty and not takes_all
            parameters.append(Parameter(each.name, _typed(each.annotation), required, by_position, takes_all))
    who = owner.rpartition(".")[2] if name in ("__init__", "__call__") else name
    return _first(list(_problems(parameters, given, named)), who, otherwise)


def binder(name: str, parameters: str) -> tuple[Any, list[str]]:
    """A function that gives the arguments of a call in the order of the signature, with defaults, or
    the error to raise if they do not fit it; and the names of the parameters."""
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
            return explain(name, [f"def {name}({parameters})"], None, given, named)

    return call, names
