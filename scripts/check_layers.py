#!/usr/bin/env python3
"""Checks every #include against the folder table of docs/design.md.

    scripts/check_layers.py [ROOT]

A folder may use the public headers (include/plimsoll/<folder>) of folders above it in the table,
and its own. Headers under src/ are private to their folder. Every folder with sources must be in
the table. Prints one line per violation and exits with 1 if there is any.
"""

import pathlib
import re
import sys

SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<plimsoll/(?P<public>[^>]+)>|"(?P<private>[^"]+)")')


def read_table(design):
    """The folders of the table under "## Folders", in order, each with its row number."""
    rows = {}
    section = re.search(r"^## Folders$(.*?)^## ", design, re.MULTILINE | re.DOTALL)
    if section is None:
        sys.exit("check_layers: docs/design.md has no section '## Folders'")
    for row, line in enumerate(section.group(1).splitlines()):
        if not line.startswith("| `"):
            continue
        for name in re.findall(r"`([^`]+)`", line.split("|")[1]):
            rows[name] = row
    if not rows:
        sys.exit("check_layers: the section '## Folders' of docs/design.md has no table")
    return rows


def folder_of(path, rows):
    """The longest folder of the table that `path` lies in; None if there is none."""
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        name = "/".join(parts[:length])
        if name in rows:
            return name
    return None


def sources(root):
    """Every source with its path below its root: src, include/plimsoll, or tools."""
    for base, prefix in (("src", ""), ("include/plimsoll", ""), ("tools", "tools/")):
        for path in sorted((root / base).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path, prefix + path.relative_to(root / base).as_posix()


def check(root):
    rows = read_table((root / "docs/design.md").read_text(encoding="utf-8"))
    problems = []
    for path, place in sources(root):
        shown = path.relative_to(root)
        here = folder_of(place, rows)
        if here is None:
            if "/" in place:  # the umbrella header lies in no folder
                problems.append(f"{shown}: its folder is not in the table of docs/design.md")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if found is None:
                continue
            target = found["public"] or found["private"]
            there = folder_of(target, rows)
            if there is None or there == here:
                continue
            if found["private"]:
                problems.append(
                    f'{shown}:{number}: "{target}" is private to {there}; '
                    f"{here} may include <plimsoll/{there}/...> only"
                )
            elif rows[there] > rows[here]:
                problems.append(
                    f"{shown}:{number}: <plimsoll/{target}> points up: "
                    f"{there} is below {here} in the table of docs/design.md"
                )
    return problems


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    problems = check(root.resolve())
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"check_layers: {len(problems)} includes or folders break the layers")
    print("layers: clean")


if __name__ == "__main__":
    main()
