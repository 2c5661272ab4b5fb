"""C++ of CUDA sources, for tests/emulated: emulate.py FROM_FOLDER TO_FOLDER.

Launches become calls of emulation::launch; memory that a block shares is a static variable, filled with ones before
the first thread of a block sees it."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def callee_begin(text: str, end: int) -> int:
    """Where the name, with its template's arguments, begins that ends at `end`."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(text[at], 0)
            if depth == 0:
                break
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_:"):
        at -= 1
    return at


def end_of(text: str, at: int, stop: str) -> int:
    """The place of `stop` behind `at` that is in no brackets opened after it."""
    depth = 0
    while depth != 0 or not text.startswith(stop, at):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return at


def with_launches(text: str) -> str:
    parts, done = [], 0
    for match in re.finditer("<<<", text):
        begin = callee_begin(text, match.start())
        end = end_of(text, match.end(), ">>>")
        arguments = text.index("(", end)
        close = end_of(text, arguments + 1, ")")
        call = text[begin:match.start()].strip() + text[arguments:close + 1]
        parts += [text[done:begin], f"emulation::launch([&] {{ {call}; }}, {text[match.end():end]})"]
        done = close + 1
    return "".join(parts) + text[done:]


def with_shared_memory(text: str) -> str:
    def declared(match: re.Match[str]) -> str:
        what = match.group(2)
        name = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", what)
        assert name is not None, what
        if match.group(1):
            kind = re.sub(r"__align__\(\d+\)", "", what[:name.start()]).strip()
            return f"auto* {name.group(1)} = static_cast<{kind}*>(emulation::dynamic_shared());"
        return f"static {what}; emulation::see_shared(&{name.group(1)}, sizeof({name.group(1)}));"

    return re.sub(r"(extern\s+)?__shared__\s+([^;]*);", declared, text)


def main(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in [*source.glob("*.cu"), *source.glob("*.cuh")]:
        text = with_launches(with_shared_memory(path.read_text()))
        text = text.replace('kRegistered("cuda"', 'kRegistered("emulated"')
        made = target / path.name.replace(".cu", ".cpp") if path.suffix == ".cu" else target / path.name
        if not made.exists() or made.read_text() != text:
            made.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
