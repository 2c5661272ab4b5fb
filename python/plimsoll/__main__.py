"""The command `plimsoll`, which comes with the package: python -m plimsoll --help"""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> None:
    command = pathlib.Path(__file__).resolve().parent / "bin" / "plimsoll"
    if not command.exists():
        sys.exit("plimsoll: the command is not in this build; ./dev build has it in build/release/bin")
    os.execv(command, ["plimsoll", *sys.argv[1:]])


if __name__ == "__main__":
    main()
