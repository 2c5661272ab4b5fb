"""Control groups that limit the memory of a command. They are made below the group that this process is in."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import Iterator


class NoGroups(Exception):
    """No group can be made here; the message says why."""


def _place() -> tuple[Path, str]:
    """The group to make others in, and the file of a limit there."""
    mounts = Path("/proc/self/mountinfo").read_text()
    own = Path("/proc/self/cgroup").read_text()
    found = re.search(r"^\S+ \S+ \S+ \S+ (\S+) .* - cgroup \S+ \S*\bmemory\b", mounts, re.MULTILINE)
    if found is not None:
        inside = re.search(r"^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$", own, re.MULTILINE)
        return Path(found[1] + (inside[1] if inside else "")), "memory.limit_in_bytes"
    found = re.search(r"^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 ", mounts, re.MULTILINE)
    if found is None:
        raise NoGroups("no control groups are mounted")
    inside = re.search(r"^0::(.*)$", own, re.MULTILINE)
    parent = Path(found[1] + (inside[1] if inside else ""))
    allowed = parent / "cgroup.subtree_control"
    if not allowed.exists() or "memory" not in allowed.read_text().split():
        raise NoGroups(f"{parent} does not let its children limit memory")
    return parent, "memory.max"


@contextlib.contextmanager
def group(limit: int) -> Iterator[Path]:
    """A group of `limit` bytes, without swap; NoGroups where that is not allowed."""
    parent, limit_file = _place()
    made = parent / f"plimsoll-test-{os.getpid()}"
    try:
        made.mkdir(exist_ok=True)
        (made / limit_file).write_text(str(limit))
        for name in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
            if (made / name).exists():
                (made / name).write_text(str(limit if "memsw" in name else 0))
    except OSError as error:
        with contextlib.suppress(OSError):
            made.rmdir()
        raise NoGroups(f"no group can be made in {parent}: {error}") from None
    try:
        yield made
    finally:
        with contextlib.suppress(OSError):
            made.rmdir()


def run_in(place: Path, command: list[str], env: dict[str, str], timeout: int = 600) -> subprocess.CompletedProcess[str]:
    """Runs a command in a group, with all that it starts."""
    join = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    return subprocess.run(
        ["bash", "-c", join, str(place), *command], env=env, capture_output=True, text=True, timeout=timeout, check=False
    )
