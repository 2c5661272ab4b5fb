#!/usr/bin/env python3
"""Checks that sources that are compiled together do not share names that are meant to be their own.

    scripts/check_names.py [ROOT]

Sources of a folder are compiled several at a time (cmake/PlimsollUnits.cmake). What two of them have in
anonymous namespaces under one name is then an error or, which is worse, an overload. Aliases for the
same type may repeat. Prints one line per name and exits with 1 if there is any.
"""

import collections
import pathlib
import re
import sys

# Whose sources are compiled alone: see cmake/PlimsollLibrary.cmake and tests/CMakeLists.txt.
ALONE = re.compile(r"src/backend/(cpu|cuda/.*)|src/data/image|tests/(ops/cases|fuzz|additions/.*)")
# Tests whose names end alike go into one program; GoogleTest's macros may repeat.
KIND = re.compile(r"_(?:(?:fault|timing|cuda|slow)_)?test$")
MACRO = re.compile(r"(?:TYPED_)?TEST(?:_[FP])?$|INSTANTIATE_\w+$")

TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)")
ALIAS = re.compile(r"using (\w+) = (.*)")
# A function or a variable: the last word before its parameters, its initializer or its end.
OTHER = re.compile(r"([\w:]+)(?:\[[^\]]*\])*\s*[({;=]")
PREFIXES = re.compile(r"\[\[.*?\]\] ?|alignas\(.*?\) ?|__attribute__\(\(.*?\)\) ?|^template ?<.*?> ?(?=\w)")


def own_names(path):
    """(namespace, name, line, alias) of what the anonymous namespaces of a file declare. In formatted
    sources that is what begins in the first column."""
    namespaces = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if opened := re.match(r"namespace (?:([\w:]+) )?\{$", line):
            namespaces.append(opened.group(1))
        elif line.startswith("}  // namespace") and namespaces:
            namespaces.pop()
        elif namespaces and namespaces[-1] is None and re.match(r"[A-Za-z\[]", line):
            code = PREFIXES.sub("", line)
            following = number
            while not re.search(r"[({;=]", code) and following < len(lines):
                code += " " + lines[following].strip()
                following += 1
            found = TYPE.match(code) or ALIAS.match(code) or OTHER.search(code)
            members = found and "::" in found.group(1)
            if found and not members and not re.match(r"using [\w:]+;|namespace ", code):
                alias = found.group(2) if found.re is ALIAS else None
                yield "::".join(n for n in namespaces if n), found.group(1), number, alias


def check(root):
    bases = ("src", "tools", "tests")
    folders = {path.parent for base in bases for path in (root / base).rglob("*.cpp")}
    problems = []
    for folder in sorted(folders):
        if ALONE.fullmatch(folder.relative_to(root).as_posix()):
            continue
        found = collections.defaultdict(dict)
        for path in sorted(folder.glob("*.cpp")):
            kind = KIND.search(path.stem)
            for namespace, name, number, alias in own_names(path):
                if not MACRO.match(name):
                    found[kind.group() if kind else "", namespace, name].setdefault(path, (number, alias))
        for (_, _, name), places in sorted(found.items()):
            aliases = {alias for _, alias in places.values()}
            if len(places) > 1 and (None in aliases or len(aliases) > 1):
                shown = [f"{p.relative_to(root)}:{line}" for p, (line, _) in places.items()]
                problems.append(f"{shown[0]}: '{name}' is also in {', '.join(shown[1:])}")
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    problems = check(root)
    print("\n".join(problems) if problems else "names: clean")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
