"""The same as test_tf_data_api.py with all arguments that were recorded."""

from __future__ import annotations

import pytest

from test_tf_data_api import RECORDED, compare


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_all_results_are_tensorflows(name: str) -> None:
    compare(name, len(RECORDED[name]))
