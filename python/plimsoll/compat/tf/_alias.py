"""`tensorflow`, `tensorflow.keras.*` and `keras` as names of plimsoll.compat.tf."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Sequence

_ROOT = "plimsoll.compat.tf"


class _Loader(importlib.abc.Loader):
    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        try:
            return importlib.import_module(self._target)
        except ModuleNotFoundError as error:
            if error.name != self._target:
                raise
        parent, _, name = self._target.rpartition(".")
        found = getattr(importlib.import_module(parent), name)
        if isinstance(found, ModuleType):
            return found
        made = ModuleType(spec.name)
        made.__dict__.update({key: getattr(found, key) for key in dir(found) if not key.startswith("_")})
        return made

    def exec_module(self, module: ModuleType) -> None:
        """It is loaded already."""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds TensorFlow's modules among those of this package."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        head, _, rest = fullname.partition(".")
        if head not in ("tensorflow", "keras"):
            return None
        if rest.startswith("python."):
            raise ImportError(f"{fullname} is a private module of TensorFlow; use the public name of what you need")
        start = _ROOT if head == "tensorflow" else f"{_ROOT}.keras"
        own = f"{start}.{rest}" if rest else start
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(own), is_package=True)
        return spec


def install() -> None:
    """From now on `import tensorflow` imports this package."""
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in [each for each in sys.modules if each.split(".")[0] in ("tensorflow", "keras")]:
        del sys.modules[name]
    sys.modules["tensorflow"] = importlib.import_module(_ROOT)
