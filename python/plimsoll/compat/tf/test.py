"""tf.test: what scripts ask about devices."""

from __future__ import annotations

import tempfile
import unittest
from typing import Any

import numpy as np

from . import _names

__all__ = [
    "TestCase", "gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support", "is_built_with_rocm",
    "is_built_with_xla", "is_gpu_available", "main",
]


def _gpus() -> list[Any]:
    from . import config

    return list(config.list_physical_devices("GPU"))


def gpu_device_name() -> str:
    """The first GPU, or an empty string."""
    return "/device:GPU:0" if _gpus() else ""


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    return bool(_gpus())


def is_built_with_cuda() -> bool:
    return bool(_gpus())


is_built_with_gpu_support = is_built_with_cuda


def is_built_with_rocm() -> bool:
    return False


def is_built_with_xla() -> bool:
    return False


class TestCase(unittest.TestCase):
    """unittest.TestCase with comparisons of tensors."""

    def get_temp_dir(self) -> str:
        if not hasattr(self, "_folder"):
            self._folder = tempfile.mkdtemp()
        return self._folder

    def evaluate(self, tensors: Any) -> Any:
        from . import _nest

        return _nest.map_structure(lambda each: each.numpy() if hasattr(each, "numpy") else each, tensors)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol, err_msg=msg or "")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=msg or "")

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)


def main(argv: Any = None) -> None:
    unittest.main(argv=argv)


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.test.{name}", __all__)
