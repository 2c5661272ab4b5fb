"""Scripts in the spirit of the articles' data pipelines run here, unedited, within a budget."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tf"))

from script_runs import SCRIPTS, here  # noqa: E402

PIPELINES = sorted(path.name for path in SCRIPTS.glob("a*.py"))


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


@pytest.mark.parametrize("script", PIPELINES)
def test_a_script_runs_within_a_budget(script: str, pictures: Path) -> None:
    reports = here(script, pictures, PLIMSOLL_BUDGET="96MiB")
    assert reports, "the script reports numbers"
