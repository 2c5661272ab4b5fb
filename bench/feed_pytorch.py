"""Feeding a PyTorch loop from a folder of JPEGs: Plimsoll beside DataLoader with torchvision.

bench/feed_pytorch.py [WORKERS [IMAGES [TURNS]]] takes turns and prints images per second and the memory
of the input: what the loader's processes hold (PSS), and what this process holds more while it runs.
It needs PyTorch, torchvision and Pillow."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterable

import numpy as np
import torch  # type: ignore[import-not-found]
from PIL import Image  # type: ignore[import-not-found]
from torchvision import datasets, transforms  # type: ignore[import-not-found]

import plimsoll as pm

SIZE, BATCH = 224, 32


def write_pictures(folder: Path, count: int) -> None:
    random = np.random.default_rng(1)
    for i in range(count):
        label = folder / f"class{i % 4}"
        label.mkdir(exist_ok=True)
        coarse = random.integers(0, 256, (15, 20, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((500, 375), Image.BICUBIC).save(label / f"{i}.jpg", quality=90)


def pss(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def children() -> list[int]:
    """The processes that this one has started."""
    own = os.getpid()
    return [
        int(each.parent.name) for each in Path("/proc").glob("[0-9]*/stat")
        if (text := _text(each)) and int(text.rpartition(")")[2].split()[1]) == own
    ]


def family() -> int:
    """Bytes that this process and its children hold."""
    return sum(map(pss, [os.getpid(), *children()]))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def measured(make: Callable[[], Iterable[Any]], count: int) -> tuple[float, int]:
    """Images per second of one epoch after a warm one, and the most memory beyond that before."""
    gc.collect()
    before, most, done = family(), 0, threading.Event()
    loader = make()
    for _ in loader:
        pass

    def watch() -> None:
        nonlocal most
        while not done.wait(0.2):
            most = max(most, family() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    for images, labels in loader:
        assert images.shape[1:] in ((3, SIZE, SIZE), (SIZE, SIZE, 3)) and len(labels) == len(images)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return count / seconds, most


def main() -> None:
    workers, count, turns = (int(x) for x in (sys.argv[1:] + [2, 512, 3][len(sys.argv) - 1 :])[:3])
    torch.set_num_threads(1)
    pm.set_default_device(pm.device("cpu", limit="96MiB"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pictures(folder, count)

        def theirs() -> Iterable[Any]:
            prepare = transforms.Compose([transforms.Resize((SIZE, SIZE)), transforms.ToTensor()])
            return torch.utils.data.DataLoader(  # type: ignore[no-any-return]
                datasets.ImageFolder(name, prepare), batch_size=BATCH, shuffle=True, num_workers=workers,
                persistent_workers=workers > 0,
            )

        def ours() -> Iterable[Any]:
            return (
                pm.data.image_folder(folder).shuffle()
                .map(lambda image, label: (pm.image.resize(image, SIZE) / 255, label))
                .batch(BATCH).prefetch().to_torch()
            )

        results = [(measured(ours, count), measured(theirs, count)) for _ in range(turns)]
    speed = statistics.median(a[0] / b[0] for a, b in results)
    for who, which in (("plimsoll", 0), ("DataLoader", 1)):
        rate = statistics.median(each[which][0] for each in results)
        memory = statistics.median(each[which][1] for each in results)
        print(f"{who:10} {rate:7.0f} images/s   {memory / 2**20:6.0f} MiB")
    print(f"{speed:.2f} times the speed of DataLoader with {workers} workers")


if __name__ == "__main__":
    main()
