"""Elements as PyTorch tensors, where PyTorch wants them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Callable

from . import _core
from ._core import Tensor
from ._pipeline import Converted, by_component

if TYPE_CHECKING:
    from ._dataset import Dataset

# Elements whose copy PyTorch may not have made yet, at most.
_IN_FLIGHT = 2


def to_torch(dataset: Dataset, device: Any) -> Converted:
    """The dataset's elements on `device`; None: where they are."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:
        raise ModuleNotFoundError("[to_torch] PyTorch is not installed here; to_numpy() needs NumPy alone") from None
    if device is None:
        return Converted(dataset, by_component(_share), "to_torch")
    place = torch.device(device)
    if place.type == "cuda":
        ordinal = torch.cuda.current_device() if place.index is None else place.index
        try:
            # Copied by the pipeline, through pinned memory, while PyTorch computes.
            return Converted(dataset.prefetch_to(f"cuda:{ordinal}"), _owned(torch.device("cuda", ordinal)), "to_torch")
        except (ValueError, RuntimeError):
            pass  # this build has no CUDA: PyTorch copies
    return Converted(
        dataset, by_component(lambda x: _share(x).to(place, non_blocking=True) if _is_numbers(x) else x), "to_torch"
    )


def _is_numbers(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype != _core.DType.bytes


def _share(x: Any) -> Any:
    import torch

    return torch.from_dlpack(x) if _is_numbers(x) else x


def _owned(place: Any) -> Callable[[Any], Any]:
    """Tensors of PyTorch's own allocator, which knows the streams that use them. The copy costs next to
    nothing within a GPU, and the pipeline has its memory back as soon as it is made."""
    import torch

    waiting: deque[tuple[Any, Any]] = deque()

    def own(x: Any) -> Any:
        if not _is_numbers(x):
            return x
        if x.device.name.startswith("cpu"):  # a scalar
            return torch.from_dlpack(x).to(place)
        # -1: the element has arrived; nothing else on the GPU has to be waited for.
        return torch.from_dlpack(x.__dlpack__(stream=-1)).clone()

    take = by_component(own)

    def convert(element: Any) -> Any:
        made = take(element)
        copied = torch.cuda.Event(blocking=True)  # whoever waits for it sleeps: decoding needs the core
        copied.record(torch.cuda.current_stream(place))
        waiting.append((element, copied))
        if len(waiting) > _IN_FLIGHT:
            waiting[0][1].synchronize()
        while waiting and waiting[0][1].query():
            waiting.popleft()
        return made

    return convert
