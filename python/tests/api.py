"""The public API of C++ and of Python, as lists of names: python python/tests/api.py prints what
has no counterpart and no reason."""

from __future__ import annotations

import fnmatch
import os
import re
import types
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(os.environ.get("PLIMSOLL_ROOT", Path(__file__).resolve().parent.parent.parent))
REASONS = Path(__file__).resolve().parent / "api_without_python.txt"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TYPE = re.compile(r"(?:class|struct|enum class|enum)\s+(?:\[\[\w+\]\]\s*)?(\w+)")
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\(")


def _statements(text: str) -> Iterator[str]:
    """What is declared in namespaces, without bodies."""
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", "", _COMMENT.sub(" ", text), flags=re.MULTILINE)
    at, begin = 0, 0
    while at < len(text):
        if text[at] == ";":
            yield text[begin:at].strip()
            begin = at + 1
        elif text[at] == "}":
            begin = at + 1
        elif text[at] == "{":
            statement = text[begin:at].strip()
            if not re.match(r"(inline\s+)?namespace\b", statement):
                depth = 1
                while depth:
                    at += 1
                    depth += (text[at] == "{") - (text[at] == "}")
                yield statement + " {}"
            begin = at + 1
        at += 1


def cpp_names() -> dict[str, str]:
    """Functions and types of include/plimsoll, each with its header: "nn/losses.h"."""
    names: dict[str, str] = {}
    folder = ROOT / "include" / "plimsoll"
    for header in sorted(folder.rglob("*.h")):
        for statement in _statements(header.read_text()):
            statement = re.sub(r"^template\s*<[^{}]*?>\s*(requires [^{}]*?> )?", "", statement, count=1)
            is_type = _TYPE.match(statement)
            if is_type is not None:
                if "{}" in statement:
                    names.setdefault(is_type[1], str(header.relative_to(folder)))
                continue
            found = _FUNCTION.search(statement.split("=")[0].split("[[")[0])
            if found and found[1] not in ("static_assert", "requires") and "operator" not in statement and not statement.startswith(("using", "friend")):
                names.setdefault(found[1], str(header.relative_to(folder)))
    return names


def python_names() -> set[str]:
    """Names of the package, its modules and the members of its classes."""
    import plimsoll

    names: set[str] = set()
    modules: list[Any] = [plimsoll]
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("_"):
                continue
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith("plimsoll.") and value not in modules:
                    modules.append(value)
                continue
            names.add(name)
            if isinstance(value, type):
                builtin = {each for base in (tuple, list, dict) if issubclass(value, base) for each in dir(base)}
                names.update(each for each in dir(value) if not each.startswith("_") and each not in builtin)
    return names


def reasons() -> list[tuple[str, str, str]]:
    """(header, name, reason) of what has no counterpart; headers and names may be patterns."""
    found = []
    for line in REASONS.read_text().splitlines():
        if line and not line.startswith("#"):
            what, reason = line.split(":", 1)
            header, _, name = what.partition(" ")
            found.append((header, name.strip() or "*", reason.strip()))
    return found


def without_counterpart() -> dict[str, str]:
    """Names of C++ that Python has not, and that no line of the list is about."""
    ours = python_names()
    listed = reasons()
    return {
        name: header
        for name, header in cpp_names().items()
        if name not in ours
        and not any(fnmatch.fnmatch(header, h) and fnmatch.fnmatch(name, n) for h, n, _ in listed)
    }


if __name__ == "__main__":
    for name, header in sorted(without_counterpart().items(), key=lambda item: item[1]):
        print(f"{header} {name}")
