"""The logger that scripts make quiet: tf.get_logger and tf.compat.v1.logging."""

from __future__ import annotations

import logging


def get_logger() -> logging.Logger:
    return logging.getLogger("tensorflow")
