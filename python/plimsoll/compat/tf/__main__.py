"""Runs a script of TensorFlow's as it is: `python -m plimsoll.compat.tf script.py [arguments]`.

`--check script.py ...` lists what scripts use that is not supported, without running them.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from ._alias import install
from ._check import unsupported_uses

_USAGE = "usage: python -m plimsoll.compat.tf [--check] script.py [arguments]"


def check(paths: list[str]) -> int:
    """Prints uses that are not supported; 1 if there are any."""
    count = 0
    for path in paths:
        for use in unsupported_uses(Path(path).read_text(), path):
            print(f"{path}:{use.line}: {use.name}: {use.why}")
            count += 1
    if count == 0:
        print("everything that can be told from the names is supported")
    return 1 if count else 0


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        return 0 if arguments else 2
    if arguments[0] == "--check":
        if len(arguments) < 2:
            print(_USAGE, file=sys.stderr)
            return 2
        return check(arguments[1:])
    script = arguments[0]
    if not Path(script).exists():
        print(f"plimsoll.compat.tf: there is no script {script}", file=sys.stderr)
        return 2
    install()
    sys.argv = arguments
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
