"""All 200 recorded cases of every function: see test_tf_api.py."""

from __future__ import annotations

import pytest
from test_tf_api import FUNCTIONS, wrong_cases


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=[name for _, name in FUNCTIONS])
def test_function_gives_what_tensorflow_gives_in_every_case(module: str, name: str) -> None:
    wrong = wrong_cases(module, name, 1)
    assert not wrong, f"{len(wrong)} cases of {name} differ:\n" + "\n".join(wrong[:5])
