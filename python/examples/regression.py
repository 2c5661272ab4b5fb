"""Fits y [n,1] to x [n,k] with a loss and a loop of its own: regression.py X.npy Y.npy [EPOCHS]"""

from __future__ import annotations

import sys

import plimsoll as pm


def main(x_file: str, y_file: str, epochs: int = 50) -> None:
    pm.set_default_device(pm.device("cpu", limit="64MiB"))
    rows = pm.data.zip(pm.data.from_npy(x_file), pm.data.from_npy(y_file))
    batches = rows.shuffle(1024).batch(32)
    net = pm.nn.Sequential(pm.nn.Dense(32), pm.nn.Tanh(), pm.nn.Dense(1))
    optimizer = pm.optim.adam(1e-2)

    @pm.function
    def step(x: pm.Tensor, y: pm.Tensor) -> pm.Tensor:
        with pm.GradientTape() as tape:  # sqrt(1 + error²) - 1 is less moved by outliers than error²
            loss = pm.mean(pm.sqrt(pm.square(net(x) - y) + 1) - 1)
        optimizer.apply(tape.gradient(loss, net))
        return loss

    for _ in range(epochs):
        for x, y in batches:
            loss = step(x, y)
    print(f"loss {loss.item():.6f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
