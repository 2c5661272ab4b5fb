"""tf.autograph: functions are traced as they are written, so that there is nothing to convert."""

from __future__ import annotations

from typing import Any, Callable

from . import _names

__all__ = ["experimental", "set_verbosity", "to_code"]


class experimental:
    @staticmethod
    def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
        """The function itself."""
        return func if func is not None else (lambda f: f)

    @staticmethod
    def set_loop_options(**options: Any) -> None:
        from ._errors import unsupported

        unsupported("tf.autograph.experimental.set_loop_options", way="loops are unrolled")


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """There is nothing that it would say."""


def to_code(entity: Any, *_: Any, **__: Any) -> str:
    import inspect

    return inspect.getsource(entity)


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.autograph.{name}", __all__)
