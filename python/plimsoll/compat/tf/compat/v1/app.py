"""tf.compat.v1.app: a main function with flags."""

from __future__ import annotations

import sys
from typing import Any

from ... import _names
from . import flags as flags

__all__ = ["flags", "run"]


def run(main: Any = None, argv: Any = None) -> None:
    """Reads the flags, calls main(argv) and ends the program."""
    rest = flags.FLAGS(sys.argv if argv is None else argv)
    sys.exit((main or sys.modules["__main__"].main)(rest))


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.compat.v1.app.{name}", __all__)
