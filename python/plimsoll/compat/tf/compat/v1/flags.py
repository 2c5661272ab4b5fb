"""tf.compat.v1.flags: options of the command line, read when the first of them is asked for."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Callable

from ... import _names

__all__ = [
    "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum", "DEFINE_float", "DEFINE_integer", "DEFINE_list", "DEFINE_string",
    "FLAGS", "mark_flag_as_required",
]


class FlagValues:
    """The flags by name: FLAGS.batch_size."""

    def __init__(self) -> None:
        self.__dict__["_defined"] = {}
        self.__dict__["_values"] = {}
        self.__dict__["_rest"] = None

    def _define(self, name: str, default: Any, help: Any, of: Callable[[str], Any], **how: Any) -> None:
        if name in self._defined:
            raise ValueError(f"The flag '{name}' is defined twice.")
        self._defined[name] = (default, help, of, how)
        self._values[name] = default

    def __call__(self, argv: Any, known_only: bool = False) -> list[str]:
        """Reads the flags of a command line; gives what is left of it."""
        parser = argparse.ArgumentParser(prog=str(argv[0]), allow_abbrev=False)
        for name, (default, help, of, how) in self._defined.items():
            if of is _truth:
                parser.add_argument(f"--{name}", f"-{name}", dest=name, type=of, nargs="?", const=True, default=default, help=help)
                parser.add_argument(f"--no{name}", f"-no{name}", dest=name, action="store_false", help=argparse.SUPPRESS)
            else:
                parser.add_argument(f"--{name}", f"-{name}", dest=name, type=of, default=default, help=help, **how)
        found, rest = parser.parse_known_args(list(argv[1:]))
        unknown = [each for each in rest if each.startswith("-")]
        if unknown and not known_only:
            parser.error(f"Unknown command line flag '{unknown[0].lstrip('-')}'")
        self._values.update(vars(found))
        self.__dict__["_rest"] = [argv[0], *rest]
        return [argv[0], *rest]

    def __getattr__(self, name: str) -> Any:
        if name not in self._defined:
            raise AttributeError(f"there is no flag '{name}': tf.compat.v1.flags.DEFINE_string({name!r}, default, help) defines one")
        if self._rest is None:
            self(sys.argv, known_only=True)
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defined:
            raise AttributeError(f"there is no flag '{name}'")
        if self._rest is None:
            self(sys.argv, known_only=True)
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._defined

    def flag_values_dict(self) -> dict[str, Any]:
        return dict(self._values)


FLAGS = FlagValues()


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "t", "1", "false", "f", "0"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() in ("true", "t", "1")


def DEFINE_string(name: str, default: Any, help: Any = None, **_: Any) -> None:
    FLAGS._define(name, default, help, str)


def DEFINE_integer(name: str, default: Any, help: Any = None, **_: Any) -> None:
    FLAGS._define(name, default, help, int)


def DEFINE_float(name: str, default: Any, help: Any = None, **_: Any) -> None:
    FLAGS._define(name, default, help, float)


def DEFINE_boolean(name: str, default: Any, help: Any = None, **_: Any) -> None:
    FLAGS._define(name, default, help, _truth)


DEFINE_bool = DEFINE_boolean


def DEFINE_list(name: str, default: Any, help: Any = None, **_: Any) -> None:
    FLAGS._define(name, default.split(",") if isinstance(default, str) else default, help, lambda text: text.split(","))


def DEFINE_enum(name: str, default: Any, enum_values: Any, help: Any = None, **_: Any) -> None:
    FLAGS._define(name, default, help, str, choices=list(enum_values))


def mark_flag_as_required(flag_name: str) -> None:
    default, help, of, how = FLAGS._defined[flag_name]
    FLAGS._defined[flag_name] = (default, help, of, {**how, "required": True})


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.compat.v1.flags.{name}", __all__)
