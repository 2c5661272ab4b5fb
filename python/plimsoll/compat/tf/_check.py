"""What a script uses of TensorFlow that is not supported: read from its syntax, without running it."""

from __future__ import annotations

import ast
import importlib
from typing import Any, NamedTuple

ROOT = "plimsoll.compat.tf"
_NAMES = ("tensorflow", "keras", "tensorflow.compat.v1", "plimsoll.compat.tf")


class Use(NamedTuple):
    line: int
    name: str
    why: str


class _Reader(ast.NodeVisitor):
    """Finds dotted names that begin with TensorFlow's modules."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.found: dict[str, int] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            if _is_ours(each.name):
                short = each.asname or each.name.split(".")[0]
                self.aliases[short] = each.name if each.asname else each.name.split(".")[0]
                self.found.setdefault(each.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module is None or not _is_ours(node.module):
            return
        for each in node.names:
            full = f"{node.module}.{each.name}"
            self.aliases[each.asname or each.name] = full
            self.found.setdefault(full, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        full = self._dotted(node)
        if full is None:
            self.generic_visit(node)
        else:
            self.found.setdefault(full, node.lineno)

    def _dotted(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in self.aliases:
            return ".".join([self.aliases[node.id], *reversed(parts)])
        return None


def _is_ours(name: str) -> bool:
    return name.split(".")[0] in ("tensorflow", "keras") or name.startswith(ROOT)


def _ours(name: str) -> str:
    """The name under plimsoll.compat.tf."""
    if name.startswith(ROOT):
        return name
    head, _, rest = name.partition(".")
    start = ROOT if head == "tensorflow" else f"{ROOT}.keras"
    return f"{start}.{rest}" if rest else start


def resolve(name: str) -> str | None:
    """None if a name is supported, else why not."""
    path = _ours(name).removeprefix(ROOT).lstrip(".")
    value: Any = importlib.import_module(ROOT)
    shown = "tf"
    for part in [each for each in path.split(".") if each and each != "*"]:
        shown += f".{part}"
        try:
            value = getattr(value, part)
        except (NotImplementedError, AttributeError) as error:
            submodule = f"{getattr(value, '__name__', '')}.{part}"
            try:
                value = importlib.import_module(submodule)
                continue
            except (ImportError, NotImplementedError, ValueError):
                pass
            if isinstance(value, type) or not hasattr(value, "__name__"):
                return None  # a method or attribute of an object: only running it can tell
            return str(error) if isinstance(error, NotImplementedError) else f"{shown} is not supported by plimsoll.compat.tf"
        if not (hasattr(value, "__path__") or type(value).__name__ == "module" or isinstance(value, type)):
            return None
    return None


def unsupported_uses(source: str, path: str) -> list[Use]:
    """Names of a script that are not supported, in the order of its lines."""
    reader = _Reader()
    reader.visit(ast.parse(source, path))
    found = []
    for name, line in sorted(reader.found.items(), key=lambda each: each[1]):
        why = resolve(name)
        if why is not None:
            found.append(Use(line, name, why))
    return found
