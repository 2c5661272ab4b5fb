"""TensorFlow ends the scripts of test_tf_memory_slow.py with out-of-memory under a limit of 1 GiB: after its import
and after the script has made its own arrays."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tf"))

from groups import NoGroups, group, run_in  # noqa: E402
from script_runs import tensorflow_python  # noqa: E402
from test_tf_memory_slow import LIMIT, NAMES, SCRIPTS, environment  # noqa: E402


@pytest.mark.parametrize("name", NAMES)
def test_tensorflow_runs_out_of_memory(name: str) -> None:
    python = tensorflow_python()
    if python is None:
        pytest.skip("there is no .venv-tf with TensorFlow")
    try:
        with group(LIMIT) as place:
            done = run_in(place, [python, str(SCRIPTS / f"{name}.py")], environment(PYTHONPATH=""))
    except NoGroups as error:
        pytest.skip(str(error))
    assert "READY" in done.stdout, "neither the import nor the script's own arrays are the problem"
    assert done.returncode != 0 and "RESULT" not in done.stdout
