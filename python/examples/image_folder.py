"""Trains a network on pictures, a folder per class, within 200 MiB: image_folder.py FOLDER [EPOCHS]"""

from __future__ import annotations

import sys

import plimsoll as pm


class Net(pm.nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.body = pm.nn.Sequential(self.block(16), self.block(32), self.block(64))
        self.head = pm.nn.Dense(classes)

    @staticmethod
    def block(out: int) -> pm.nn.Module:
        return pm.nn.Sequential(
            pm.nn.Conv2D(out, 3, padding=1), pm.nn.BatchNorm2D(), pm.nn.ReLU(), pm.nn.MaxPool2D(2)
        )

    def forward(self, x: pm.Tensor) -> pm.Tensor:
        if self.training:
            x = x * pm.random_uniform((x.shape[0], 1, 1, 1), 0.8, 1.2, dtype=x.dtype)
        logits: pm.Tensor = self.head(pm.global_avg_pool2d(self.body(x)))
        return logits


def pictures(files: pm.data.Dataset, flip: bool = False) -> pm.data.Dataset:
    return files.map(pm.data.load_images(32, layout="channels_first", flip=flip))


def main(folder: str, epochs: int = 5) -> None:
    pm.set_default_device(pm.device("cpu", limit="200MiB"))
    pictures_of = pm.data.image_folder(folder)
    files, held_out = pictures_of.split(0.8)
    train = pictures(files).concatenate(pictures(files, flip=True)).shuffle(512).batch(32)
    trainer = pm.Trainer(
        Net(len(pictures_of.classes)), loss="cross_entropy", metrics=["accuracy"],
        optimizer=pm.optim.adamw(3e-3),
    )
    history = trainer.fit(train, pictures(held_out).batch(32), epochs=epochs)
    print(f"accuracy {history['validation_accuracy'][-1]}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
