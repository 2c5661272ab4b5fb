"""Scripts in the spirit of the articles' code run here, unedited, within a budget: by the ledger and by RSS."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tf"))

from script_runs import SCRIPTS, memory_here  # noqa: E402

ARTICLES = sorted(path.name for path in SCRIPTS.glob("a*.py"))
BUDGET = 96
LOADED = 32  # MiB of the package and of libraries that are loaded at their first use
peaks: dict[str, tuple[float, float]] = {}


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


def _memory(script: str, pictures: Path) -> tuple[float, float]:
    if script not in peaks:
        peaks[script] = memory_here(script, pictures, PLIMSOLL_BUDGET=f"{BUDGET}MiB")
    return peaks[script]


def test_there_is_a_script_for_each_block_of_the_articles() -> None:
    assert len(ARTICLES) == 18


@pytest.mark.parametrize("script", ARTICLES)
def test_a_script_keeps_within_its_budget(script: str, pictures: Path) -> None:
    growth, ledger = _memory(script, pictures)
    assert 0 < ledger <= BUDGET
    assert growth <= ledger + LOADED, "what the ledger counts is what the system counts"


@pytest.mark.parametrize("less, more", [
    ("a004_4_in_batches.py", "a004_3_all_at_once.py"),  # batches of a dataset against everything at once
    ("a004_2_batches_of_tensors.py", "a004_1_one_by_one.py"),
    ("a004_5_accumulated.py", "a004_6_stacked.py"),  # the article has it the other way round: a stack is kept
])
def test_what_streams_or_adds_up_takes_less(less: str, more: str, pictures: Path) -> None:
    assert _memory(less, pictures)[1] < 0.5 * _memory(more, pictures)[1]
