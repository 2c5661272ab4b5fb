"""keras.datasets, from files that are on this machine: nothing is downloaded."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

__all__ = ["boston_housing", "california_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist",
           "reuters"]


def _folder() -> str:
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    return os.path.join(home, "datasets")


def _file(name: str, dataset: str) -> str:
    path = name if os.path.isabs(name) else os.path.join(_folder(), name)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"keras.datasets.{dataset}.load_data() needs {path}: nothing is downloaded here. Put the file "
            "there, or set KERAS_HOME to the folder that has datasets/ in it; pm.data.load_digits() comes "
            "with the library")
    return path


class _Set:
    """One of the sets, with load_data()."""

    def __init__(self, name: str, load: Any) -> None:
        self.__name__ = f"keras.datasets.{name}"
        self._name, self._load = name, load

    def load_data(self, *args: Any, **kwargs: Any) -> Any:
        """(x_train, y_train), (x_test, y_test)."""
        return self._load(self._name, *args, **kwargs)


def _npz(name: str, path: str | None = None) -> Any:
    with np.load(_file(path or f"{name}.npz", name), allow_pickle=False) as file:
        return (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])


def _fashion(name: str) -> Any:
    import gzip

    found = []
    for part in ("train", "t10k"):
        base = os.path.join("fashion-mnist", part)
        with gzip.open(_file(f"{base}-labels-idx1-ubyte.gz", name), "rb") as file:
            labels = np.frombuffer(file.read(), np.uint8, offset=8)
        with gzip.open(_file(f"{base}-images-idx3-ubyte.gz", name), "rb") as file:
            images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(len(labels), 28, 28)
        found.append((images, labels))
    return found[0], found[1]


def _batch(path: str, key: str) -> tuple[Any, Any]:
    with open(path, "rb") as file:
        data = pickle.load(file, encoding="bytes")
    pictures = data[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return pictures, np.asarray(data[key.encode()])[:, None]


def _cifar10(name: str) -> Any:
    folder = _file("cifar-10-batches-py", name)
    parts = [_batch(os.path.join(folder, f"data_batch_{i}"), "labels") for i in range(1, 6)]
    return (np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])), _batch(
        os.path.join(folder, "test_batch"), "labels")


def _cifar100(name: str, label_mode: str = "fine") -> Any:
    folder = _file("cifar-100-python", name)
    return (_batch(os.path.join(folder, "train"), f"{label_mode}_labels"),
            _batch(os.path.join(folder, "test"), f"{label_mode}_labels"))


def _housing(
    name: str, path: str | None = None, test_split: float = 0.2, seed: int = 113, version: str = "large"
) -> Any:
    default = "california_housing.npz" if name == "california_housing" else "boston_housing.npz"
    with np.load(_file(path or default, name), allow_pickle=False) as file:
        x, y = file["x"], file["y"]
    if name == "california_housing" and version == "small":
        near = (x[:, 0] > -122.5) & (x[:, 0] < -121.5)
        x, y = x[near], y[near]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


def _words(
    name: str, path: str | None = None, num_words: int | None = None, skip_top: int = 0,
    maxlen: int | None = None, seed: int = 113, start_char: int | None = 1, oov_char: int | None = 2,
    index_from: int = 3, test_split: float = 0.2,
) -> Any:
    with np.load(_file(path or f"{name}.npz", name), allow_pickle=True) as file:
        if name == "imdb":
            parts = [(file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])]
        else:
            parts = [(file["x"], file["y"])]
    rng = np.random.RandomState(seed)
    rows: list[Any] = []
    labels: list[Any] = []
    for x, y in parts:
        order = np.arange(len(x))
        rng.shuffle(order)
        rows.extend(x[order])
        labels.extend(y[order])
    start = [] if start_char is None else [start_char]
    texts = [start + [w + index_from for w in row] for row in rows]
    if maxlen:
        kept = [(t, y) for t, y in zip(texts, labels) if len(t) < maxlen]
        texts, labels = [t for t, _ in kept], [y for _, y in kept]
    most = num_words or max(max(t) for t in texts) + 1
    if oov_char is not None:
        texts = [[w if skip_top <= w < most else oov_char for w in t] for t in texts]
    else:
        texts = [[w for w in t if skip_top <= w < most] for t in texts]
    at = len(parts[0][0]) if name == "imdb" else int(len(texts) * (1 - test_split))
    array = np.array(texts, dtype=object)
    return (array[:at], np.array(labels[:at])), (array[at:], np.array(labels[at:]))


mnist = _Set("mnist", _npz)
fashion_mnist = _Set("fashion_mnist", _fashion)
cifar10 = _Set("cifar10", _cifar10)
cifar100 = _Set("cifar100", _cifar100)
boston_housing = _Set("boston_housing", _housing)
california_housing = _Set("california_housing", _housing)
imdb = _Set("imdb", _words)
reuters = _Set("reuters", _words)
