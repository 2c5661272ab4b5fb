"""Every piece of Python in README.md and docs/ runs, page by page, in the order it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("PLIMSOLL_ROOT", Path(__file__).resolve().parent.parent.parent))
BLOCK = re.compile(r"(<!-- not run -->\n)?```python\n(.*?)```", re.DOTALL)


def blocks(page: Path) -> str:
    """The page's Python as one file, whose lines have the page's numbers."""
    text = page.read_text()
    lines = [""] * (text.count("\n") + 1)
    for found in BLOCK.finditer(text):
        if found[1] is None:
            first = text.count("\n", 0, found.start(2))
            for i, line in enumerate(found[2].splitlines()):
                lines[first + i] = line
    return "\n".join(lines)


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if blocks(page).strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    script = tmp_path / f"{page.stem}.py"
    script.write_text(blocks(page))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=250, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_pages_for_users_show_python_beside_cpp() -> None:
    # An op, a stage, a page source or a backend is written in C++.
    for page in (ROOT / "docs").glob("*.md"):
        if not page.name.startswith("write-") and "```cpp" in page.read_text():
            assert "```python" in page.read_text(), page.name
