"""tf.profiler: writes who held memory at the peak, and how much."""

from __future__ import annotations

from . import _names
from typing import Any

__all__ = ["experimental"]


class experimental:
    """tf.profiler.experimental: start(folder), stop(), Profile(folder)."""

    class ProfilerOptions:
        def __init__(self, host_tracer_level: int = 2, python_tracer_level: int = 0, device_tracer_level: int = 1, delay_ms: Any = None) -> None:
            self.host_tracer_level = host_tracer_level

    class Profile:
        """What a block took, written to a folder at its end."""

        def __init__(self, logdir: Any, options: Any = None) -> None:
            self._folder = logdir

        def __enter__(self) -> None:
            experimental.start(self._folder)

        def __exit__(self, *raised: Any) -> None:
            experimental.stop()

    class Trace:
        """A named part of a profile."""

        def __init__(self, name: str, **details: Any) -> None:
            self._name = name

        def __enter__(self) -> None:
            from ._profile import begin

            begin(self._name)

        def __exit__(self, *raised: Any) -> None:
            from ._profile import end

            end(self._name)

        def set_metadata(self, **details: Any) -> None:
            """Details of a part are not written."""
            from ._errors import unsupported

            unsupported("tf.profiler.experimental.Trace.set_metadata")

    @staticmethod
    def start(logdir: Any, options: Any = None) -> None:
        """Begins to watch the memory of the default device."""
        from ._profile import start

        start(logdir)

    @staticmethod
    def stop(save: bool = True) -> None:
        """Writes memory.json: the peak since start(), who held it, and the times of the parts."""
        from ._profile import stop

        stop(save)


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.profiler.{name}", __all__)
