"""The library's messages: records of logging.getLogger("plimsoll")."""

from __future__ import annotations

import logging

logger = logging.getLogger("plimsoll")


def log(level: int, message: str) -> None:
    logger.log(level, "%s", message)
