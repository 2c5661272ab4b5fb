"""Scripts that TensorFlow ends with out-of-memory under a limit of 1 GiB finish here under the same limit, with
the same batches and the same results. The results are TensorFlow's without a limit: tf/record_memory.py."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tf"))

from groups import NoGroups, group, run_in  # noqa: E402
from script_runs import differences  # noqa: E402

SCRIPTS = Path(__file__).parent / "tf" / "memory"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py") if path.stem != "common")
EXPECTED = json.loads((SCRIPTS / "expected.json").read_text())
LIMIT = 1 << 30


def environment(**more: str) -> dict[str, str]:
    found = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", **more}
    found["PYTHONPATH"] = os.pathsep.join([str(SCRIPTS), found.get("PYTHONPATH", "")])
    return found


def _within_limit(command: list[str]) -> subprocess.CompletedProcess[str]:
    """In a group of 1 GiB; where none can be made, with a budget that leaves room for the interpreter."""
    try:
        with group(LIMIT) as place:
            return run_in(place, command, environment())
    except NoGroups:
        done = subprocess.run(
            command, env=environment(PLIMSOLL_BUDGET="800MiB"), capture_output=True, text=True, check=False
        )
        assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 <= LIMIT
        return done


@pytest.mark.parametrize("name", NAMES)
def test_a_script_finishes_within_a_gibibyte(name: str) -> None:
    done = _within_limit([sys.executable, "-m", "plimsoll.compat.tf", str(SCRIPTS / f"{name}.py")])
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    reports = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert not differences(reports, [EXPECTED[name]], 1e-4)


def test_there_are_twenty_such_scripts() -> None:
    assert len(NAMES) >= 20 and sorted(EXPECTED) == NAMES
