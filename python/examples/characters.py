"""Learns the bytes of a text and goes on writing in its manner: characters.py TEXT [EPOCHS [COUNT]]"""

from __future__ import annotations

import math
import random
import sys

import plimsoll as pm

CONTEXT = 48


def windows(ids: pm.Tensor) -> pm.data.Dataset:
    """Windows of CONTEXT bytes."""
    slices = pm.data.from_tensor_slices(ids)
    return slices.window(CONTEXT, shift=CONTEXT // 4, drop_remainder=True)


def following(trainer: pm.Trainer, text: list[int], draw: random.Random) -> int:
    """The byte that follows the text, drawn as the model thinks likely."""
    logits = trainer.predict(pm.tensor([text[-CONTEXT:]]))[0, -1].tolist()
    weights = [math.exp(each / 0.7) for each in logits]  # 0.7 is the temperature
    return draw.choices(range(128), weights)[0]


def main(path: str, epochs: int = 10, count: int = 200) -> None:
    pm.set_default_device(pm.device("cpu", limit="256MiB"))
    with open(path, "rb") as file:
        text = [byte & 127 for byte in file.read()]
    if len(text) <= CONTEXT:
        raise SystemExit("characters: the text is too short")
    ids = pm.tensor(text)
    train = pm.data.zip(windows(ids[:-1]), windows(ids[1:])).shuffle(1024).batch(16)
    model = pm.nn.gpt2(vocabulary=128, context=CONTEXT, features=64, layers=2, heads=4, dropout=0)
    trainer = pm.Trainer(model, optimizer=pm.optim.adamw(3e-3))
    history = trainer.fit(train, epochs=epochs)
    written, draw = text[:CONTEXT], random.Random(1)
    for _ in range(count):
        written.append(following(trainer, written, draw))
    print(f"loss {history['loss'][-1]}\n{bytes(written).decode()}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
