"""Plans without a trainer: buffers placed, recorded allocations replayed, devices described.

>>> pm.plan.place([(4096, 0, 3), (1024, 2, 5), (4096, 3, 6)]).height
"""

from __future__ import annotations

from ._core import known_devices
from ._core._plan import Placement, place, replay

__all__ = ["Placement", "known_devices", "place", "replay"]
