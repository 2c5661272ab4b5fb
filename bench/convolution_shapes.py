"""Convolutions of any shape: what bench/convolutions.py draws."""

from __future__ import annotations

import random
from dataclasses import astuple, dataclass

from product_shapes import MOST_BYTES, MOST_FLOPS, SIZES, log_uniform

MOST_CHANNELS = 2048


@dataclass(frozen=True)
class Convolution:
    """A convolution of n pictures; padding is top, bottom, left, right."""

    precision: str
    nhwc: int
    n: int
    inputs: int
    height: int
    width: int
    outputs: int
    groups: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int, int, int]

    def out_size(self) -> tuple[int, int]:
        """Of the result: rows and columns."""
        top, bottom, left, right = self.padding
        return (
            (self.height + top + bottom - self.dilation[0] * (self.kernel[0] - 1) - 1)
            // self.stride[0]
            + 1,
            (self.width + left + right - self.dilation[1] * (self.kernel[1] - 1) - 1)
            // self.stride[1]
            + 1,
        )

    def flops(self) -> float:
        rows, columns = self.out_size()
        window = self.kernel[0] * self.kernel[1] * (self.inputs // self.groups)
        return 2.0 * self.n * rows * columns * self.outputs * window

    def line(self) -> str:
        """As bench_convolutions reads it."""
        words: list[str] = []
        for value in astuple(self):
            words += map(str, value) if isinstance(value, tuple) else [str(value)]
        return " ".join(words)

    def fits(self) -> bool:
        rows, columns = self.out_size()
        if rows < 1 or columns < 1:
            return False
        size = SIZES[self.precision]
        largest = max(
            self.n * self.inputs * self.height * self.width,
            self.n * self.outputs * rows * columns,
            self.outputs * (self.inputs // self.groups) * self.kernel[0] * self.kernel[1],
        )
        return largest * size <= MOST_BYTES and self.flops() <= MOST_FLOPS


def parse(line: str) -> Convolution:
    """What Convolution.line() gave."""
    precision, *words = line.split()
    n = [int(word) for word in words]
    return Convolution(
        precision, *n[:7], (n[7], n[8]), (n[9], n[10]), (n[11], n[12]), (n[13], n[14], n[15], n[16])
    )


def channels(rng: random.Random) -> int:
    value = log_uniform(rng, 1, MOST_CHANNELS)
    # Half of them as they come, half as people choose them.
    unit = rng.choice([1, 1, 1, 8, 16, 32])
    return max(unit, value // unit * unit) if value >= unit else value


def draw_one(rng: random.Random, precision: str, nhwc: int) -> Convolution:
    inputs, outputs, groups = channels(rng), channels(rng), 1
    kind = rng.random()
    if kind < 0.15:
        outputs = groups = inputs
    elif kind < 0.35:
        groups = log_uniform(rng, 2, 64)
        inputs = max(1, inputs // groups) * groups
        outputs = max(1, outputs // groups) * groups
    height = log_uniform(rng, 4, 256)
    width = height if rng.random() < 0.5 else log_uniform(rng, 4, 256)
    high = rng.choice([1, 1, 2, 3, 3, 3, 4, 5, 7])
    wide = high if rng.random() < 0.7 else rng.choice([1, 3, 5, 7])
    down = rng.choice([1, 1, 1, 2, 3])
    across = down if rng.random() < 0.8 else rng.choice([1, 2])
    spread = (1, 1)
    if rng.random() < 0.2:
        spread = (rng.choice([1, 2, 3]), rng.choice([1, 2, 3]))
    same = rng.random() < 0.6
    above = spread[0] * (high - 1) // 2 if same else rng.randint(0, high - 1)
    before = spread[1] * (wide - 1) // 2 if same else rng.randint(0, wide - 1)
    return Convolution(
        precision, nhwc, log_uniform(rng, 1, 256), inputs, height, width, outputs, groups,
        (high, wide), (down, across), spread, (above, above, before, before),
    )


def draw(seed: str, count: int, precision: str, nhwc: int = 1) -> list[Convolution]:
    """`count` convolutions of 1 to 2048 channels with groups, strides and dilations."""
    rng = random.Random(f"convolutions {seed} {precision}")
    found: list[Convolution] = []
    while len(found) < count:
        each = draw_one(rng, precision, nhwc)
        if each.inputs <= MOST_CHANNELS and each.outputs <= MOST_CHANNELS and each.fits():
            found.append(each)
    return found


def resnet50(batch: int, precision: str, nhwc: int) -> list[Convolution]:
    """Every convolution of ResNet-50 once."""
    found = [
        Convolution(precision, nhwc, batch, 3, 224, 224, 64, 1, (7, 7), (2, 2), (1, 1), (3, 3, 3, 3))
    ]

    def add(inputs: int, size: int, outputs: int, kernel: int, stride: int) -> None:
        pad = kernel // 2
        found.append(
            Convolution(
                precision, nhwc, batch, inputs, size, size, outputs, 1, (kernel, kernel),
                (stride, stride), (1, 1), (pad, pad, pad, pad),
            )
        )

    size, inputs = 56, 64
    for stage, narrow in enumerate((64, 128, 256, 512)):
        stride = 1 if stage == 0 else 2
        add(inputs, size, narrow, 1, 1)
        add(narrow, size, narrow, 3, stride)
        add(inputs, size, 4 * narrow, 1, stride)
        size //= stride
        add(narrow, size, 4 * narrow, 1, 1)
        add(4 * narrow, size, narrow, 1, 1)
        add(narrow, size, narrow, 3, 1)
        inputs = 4 * narrow
    return found
