"""Matrix products of any shape: what bench/products.py draws."""

from __future__ import annotations

import math
import random

# precision, transpose a, transpose b, batches, m, n, k
Product = tuple[str, int, int, int, int, int, int]

SIZES = {"bf16": 2, "f16": 2, "f32": 4, "tf32": 4}
MOST_BYTES = 2 << 30
MOST_FLOPS = 10e12
MOST_EXTENT = 1 << 17


def log_uniform(rng: random.Random, least: int, most: int) -> int:
    return int(round(math.exp(rng.uniform(math.log(least), math.log(most)))))


def extent(rng: random.Random) -> int:
    value = log_uniform(rng, 1, MOST_EXTENT)
    # Half of them as they come, half as people choose them.
    unit = rng.choice([1, 1, 1, 8, 16, 64])
    return max(1, value // unit * unit) if unit > 1 and value >= unit else value


def draw(seed: str, count: int, precision: str) -> list[Product]:
    """`count` products c[m,n] = a[m,k] b[k,n] as (precision, ta, tb, batches, m, n, k)."""
    rng = random.Random(f"products {seed} {precision}")
    size = SIZES[precision]
    found: list[Product] = []
    while len(found) < count:
        m, n, k = (extent(rng) for _ in range(3))
        batches = 1 if rng.random() < 0.6 else log_uniform(rng, 2, 512)
        ta, tb = rng.random() < 0.5, rng.random() < 0.5
        largest = max(m * k, k * n, m * n) * batches * size
        if largest > MOST_BYTES or 2.0 * m * n * k * batches > MOST_FLOPS:
            continue
        found.append((precision, int(ta), int(tb), batches, m, n, k))
    return found


# From models: MLP-Mixer's token mixing, heads, first layers, gradients of narrow layers.
MODELS = [
    (1, 0, 1, 384, 196, 98304),
    (1, 0, 1, 196, 384, 98304),
    (0, 0, 1, 98304, 384, 196),
    (0, 1, 1, 98304, 196, 384),
    (0, 1, 1, 98304, 384, 196),
    (0, 0, 1, 98304, 196, 384),
    (1, 0, 1, 768, 3072, 25088),
    (0, 1, 1, 25216, 3072, 768),
    (1, 0, 1, 2304, 768, 16384),
    (0, 1, 1, 16384, 50257, 768),
    (1, 0, 1, 1000, 768, 128),
    (0, 1, 1, 4099, 4099, 4099),
    (0, 0, 1, 4096, 4096, 4100),
    (1, 0, 1, 10, 84, 60000),
    (1, 0, 1, 27, 64, 1605632),
    (1, 0, 16, 64, 64, 4096),
]


def models(precision: str) -> list[Product]:
    return [(precision, *shape) for shape in MODELS]
