"""Feeding a PyTorch loop on a GPU from a folder of JPEGs: Plimsoll beside DataLoader with OpenCV.

bench/feed_gpu.py [--cpu] [WORKERS [IMAGES [STEPS]]] compares
- input alone: pictures on the GPU per second, and the memory of the input (PSS of the loader's processes
  and what this one holds more, pinned memory included);
- a compiled ResNet-50 in bf16 from files against the same loop on batches that are on the GPU already;
- the batches after `load_state_dict`.
Both sides send bytes, channels last, which the compiled model converts: the best way for both.
Bars: 2.2 times DataLoader's rate, a tenth of its memory, 0.95 of the loop's speed without input.
It needs PyTorch and torchvision with CUDA, and OpenCV.

With --cpu, batches stay on the host and only the input alone is compared, for machines without a GPU: both
sides by turns, WORKERS threads against WORKERS processes. Processor time per image (of all threads and
processes) and memory mean something on a machine with fewer cores than WORKERS, and on one that others use;
the rate by the clock does not."""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

import cv2  # type: ignore[import-not-found]
import numpy as np
import torch  # type: ignore[import-not-found]

import plimsoll as pm
from feed_pytorch import children, family

SIZE, BATCH, GPU = 224, 128, "cuda:0"


class Pictures(torch.utils.data.Dataset):  # type: ignore[misc]
    """As people write it for speed: OpenCV, no PIL."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*/*.jpg"))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Any:
        cv2.setNumThreads(0)
        picture = cv2.cvtColor(cv2.imread(str(self.files[i])), cv2.COLOR_BGR2RGB)
        picture = cv2.resize(picture, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
        return torch.from_numpy(picture), int(self.files[i].parent.name[5:])


def write_pictures(folder: Path, count: int) -> None:
    for label in range(10):
        (folder / f"class{label}").mkdir()

    def write(i: int) -> None:
        coarse = np.random.default_rng((1, i)).integers(0, 256, (47, 63, 3), dtype=np.uint8)
        picture = cv2.resize(coarse, (500, 375), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(folder / f"class{i % 10}" / f"{i}.jpg"), picture, [cv2.IMWRITE_JPEG_QUALITY, 90])

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, range(count)))


def endless(loader: Iterable[Any]) -> Iterator[Any]:
    while True:
        yield from loader


class OnGpu:
    """DataLoader's batches on the GPU."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        for images, labels in self.loader:
            yield images.to(GPU, non_blocking=True), labels.to(GPU, non_blocking=True)


def input_alone(loader: Iterable[Any], batches: int) -> tuple[float, int]:
    """Images per second, and the most memory of the input."""
    gc.collect()
    before = family()
    source = endless(loader)
    for _ in range(batches // 4):
        next(source)
    torch.cuda.synchronize()
    start, images, most = time.perf_counter(), 0, 0
    for i in range(batches):
        x, _ = next(source)
        images += len(x)
        if i == batches // 2:
            pause = time.perf_counter()
            most = family() - before
            start += time.perf_counter() - pause
    torch.cuda.synchronize()
    return images / (time.perf_counter() - start), most


def processor_seconds() -> float:
    """Of this process and its children, all threads together."""
    ticks = 0
    for pid in [os.getpid(), *children()]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def input_on_host(loader: Iterable[Any], batches: int) -> tuple[float, float, int]:
    """Images per second, milliseconds of processor time per image, and the memory of the input."""
    gc.collect()
    before = family()
    source = endless(loader)
    for _ in range(max(batches // 4, 2)):
        next(source)
    start, cpu, images = time.perf_counter(), processor_seconds(), 0
    for _ in range(batches):
        images += len(next(source)[0])
    seconds, cpu = time.perf_counter() - start, processor_seconds() - cpu
    return images / seconds, cpu * 1000 / images, family() - before


def compare_on_host(ours: Any, theirs: Callable[[], Any], workers: int, batches: int, turns: int = 3) -> bool:
    def threads() -> Iterator[Any]:
        with ours.iterate(threads=workers) as pipeline:
            for images, labels in pipeline:
                yield torch.from_dlpack(images), torch.from_dlpack(labels)

    results = [(input_on_host(threads(), batches), input_on_host(theirs(), batches)) for _ in range(turns)]
    memories = [each[2] for each in results[0]]  # of the first turn: later ones find memory that is there already
    for side, who in enumerate(("plimsoll", "DataLoader")):
        rate, cpu = (statistics.median(each[side][i] for each in results) for i in range(2))
        memory = memories[side]
        print(f"{who:10} {rate:7.0f} images/s   {cpu:6.3f} ms of processor time per image   {memory / 2**20:6.0f} MiB")
    less = statistics.median(peer[1] / mine[1] for mine, peer in results)
    print(f"DataLoader with {workers} workers takes {less:.2f} times the processor time of as many threads", flush=True)
    share = memories[0] / memories[1]
    return verdict(f"  memory {share:.3f} of it (at most 0.1)", share <= 0.1)


def loop(step: Any, source: Iterator[Any], steps: int) -> float:
    for _ in range(steps // 4):  # until the input has found how many threads the loop needs
        step(*next(source))
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step(*next(source))
    torch.cuda.synchronize()
    return BATCH * steps / (time.perf_counter() - start)


def make_step() -> Any:
    from torchvision.models import resnet50  # type: ignore[import-not-found]

    model = resnet50(num_classes=10).to(GPU, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)

    @torch.compile  # type: ignore[untyped-decorator]
    def forward(x: Any, y: Any) -> Any:
        with torch.autocast("cuda", torch.bfloat16):
            return torch.nn.functional.cross_entropy(model(x.permute(0, 3, 1, 2).float().div(255)), y)

    def step(x: Any, y: Any) -> None:
        forward(x, y).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def verdict(text: str, held: bool) -> bool:
    print(f"{text}: {'PASS' if held else 'FAIL'}", flush=True)
    return held


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--cpu", action="store_true", help="the input alone, on the host")
    for name, default in (("workers", 16), ("images", 4096), ("steps", 300)):
        arguments.add_argument(name, nargs="?", type=int, default=default)
    given = arguments.parse_args()
    workers, count, steps = given.workers, given.images, given.steps
    torch.backends.cudnn.benchmark = True
    pm.set_default_device(pm.device("cpu", limit="160MiB"))
    ok = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pictures(folder, count)

        def prepared(epochs: int | None = None) -> Any:
            return (
                pm.data.image_folder(folder).shuffle(seed=1)
                .map(lambda image, label: (pm.cast(pm.image.resize(image, SIZE) + 0.5, pm.u8), label))
                .repeat(epochs).batch(BATCH, drop_remainder=True).prefetch()
            )

        def ours(epochs: int | None = None) -> Any:
            return prepared(epochs).to_torch(GPU)

        def theirs() -> Any:
            return torch.utils.data.DataLoader(
                Pictures(folder), batch_size=BATCH, shuffle=True, num_workers=workers,
                pin_memory=not given.cpu, persistent_workers=True, drop_last=True,
            )

        if given.cpu:
            torch.set_num_threads(1)
            return 0 if compare_on_host(prepared(), theirs, workers, count // BATCH) else 1
        torch.zeros(1, device=GPU)
        gpu = pm.device(GPU)  # what opening it takes is not the input's
        batches = count // BATCH * 3
        mine, memory = input_alone(ours(), batches)
        loader = theirs()
        peer, its_memory = input_alone(OnGpu(loader), batches)
        del loader
        print(f"input alone: {mine:.0f} images/s and {memory / 2**20:.0f} MiB; DataLoader with {workers} workers "
              f"{peer:.0f} and {its_memory / 2**20:.0f} MiB", flush=True)
        ok &= verdict(f"  rate {mine / peer:.2f} times (at least 2.2)", mine >= 2.2 * peer)
        ok &= verdict(f"  memory {memory / its_memory:.3f} of it (at most 0.1)", memory <= 0.1 * its_memory)

        step = make_step()
        x = torch.randint(0, 256, (BATCH, SIZE, SIZE, 3), dtype=torch.uint8, device=GPU)
        y = torch.randint(0, 10, (BATCH,), device=GPU)
        there = loop(step, itertools.repeat((x, y)), steps)
        from_files = loop(step, endless(ours()), steps)
        there = max(there, loop(step, itertools.repeat((x, y)), steps))
        print(f"ResNet-50: {from_files:.0f} images/s from files, {there:.0f} from batches on the GPU", flush=True)
        ok &= verdict(f"  {from_files / there:.3f} of its speed (at least 0.95)", from_files >= 0.95 * there)

        first = ours(epochs=1)
        source = iter(first)
        for _ in range(5):
            next(source)
        state = first.state_dict()
        rest = [labels.cpu() for _, labels in source]
        second = ours(epochs=1)
        second.load_state_dict(state)
        same = all(torch.equal(a, b.cpu()) for a, (_, b) in zip(rest, second, strict=True))
        del gpu
        ok &= verdict("  the same batches after load_state_dict", same)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
