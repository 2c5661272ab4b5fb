"""keras.preprocessing.text and .sequence, as older scripts use them: plain Python."""

from __future__ import annotations

import collections
import json
import random
from typing import Any, Iterable

import numpy as np

_FILTERS = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n"


def text_to_word_sequence(input_text: str, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """The words of a text."""
    text = input_text.lower() if lower else input_text
    return [each for each in text.translate({ord(c): split for c in filters}).split(split) if each]


def one_hot(input_text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ", **_: Any) -> list[int]:
    """Words as numbers from 1 to n - 1, by a hash."""
    return [hash(word) % (n - 1) + 1 for word in text_to_word_sequence(input_text, filters, lower, split)]


class Tokenizer:
    """Numbers for words, in the order of how often they come."""

    def __init__(
        self, num_words: int | None = None, filters: str = _FILTERS, lower: bool = True, split: str = " ",
        char_level: bool = False, oov_token: str | None = None, analyzer: Any = None, **_: Any,
    ) -> None:
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.word_counts: collections.OrderedDict[str, int] = collections.OrderedDict()
        self.word_docs: dict[str, int] = collections.defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}
        self.document_count = 0

    def _words(self, text: Any) -> list[str]:
        if self.char_level or isinstance(text, list):
            return [each.lower() if self.lower else each for each in text]
        if self.analyzer is not None:
            return list(self.analyzer(text))
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = [word for word, _ in sorted(self.word_counts.items(), key=lambda each: each[1], reverse=True)]
        ordered = ordered if self.oov_token is None else [self.oov_token, *ordered]
        self.word_index = {word: i for i, word in enumerate(ordered, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        unknown = self.word_index.get(self.oov_token) if self.oov_token is not None else None
        found = []
        for text in texts:
            numbers: list[int] = []
            for word in self._words(text):
                at = self.word_index.get(word)
                if at is None or (self.num_words and at >= self.num_words):
                    at = unknown
                if at is not None:
                    numbers.append(at)
            found.append(numbers)
        return found

    def sequences_to_texts(self, sequences: Iterable[Any]) -> list[str]:
        unknown = [self.oov_token] if self.oov_token is not None else []
        return [" ".join(word for at in row for word in ([self.index_word[at]] if at in self.index_word else unknown))
                for row in sequences]

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> Any:
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> Any:
        if mode not in ("binary", "count", "freq"):
            raise NotImplementedError(f"Tokenizer's mode={mode!r} is not supported; use TextVectorization with tf_idf")
        made = np.zeros((len(sequences), self.num_words or len(self.word_index) + 1))
        for row, numbers in zip(made, sequences):
            for at, count in collections.Counter(numbers).items():
                row[at] = 1 if mode == "binary" else count if mode == "count" else count / len(numbers)
        return made

    def get_config(self) -> dict[str, Any]:
        return {"num_words": self.num_words, "filters": self.filters, "lower": self.lower, "split": self.split,
                "char_level": self.char_level, "oov_token": self.oov_token, "document_count": self.document_count,
                "word_counts": json.dumps(self.word_counts), "word_index": json.dumps(self.word_index)}

    def to_json(self, **kwargs: Any) -> str:
        return json.dumps({"class_name": "Tokenizer", "config": self.get_config()}, **kwargs)


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> Any:
    """The odds of keeping the i-th most frequent word."""
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    f = sampling_factor * inverse
    return np.minimum(1.0, f / np.sqrt(f))


def skipgrams(
    sequence: Any, vocabulary_size: int, window_size: int = 4, negative_samples: float = 1.0, shuffle: bool = True,
    categorical: bool = False, sampling_table: Any = None, seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Pairs of words that are near each other, and pairs that are not, with labels 1 and 0."""
    couples: list[list[int]] = []
    labels: list[Any] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                couples.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        words = [each[0] for each in couples]
        random.shuffle(words)
        count = int(len(labels) * negative_samples)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        order = random.Random(seed if seed is not None else random.randint(0, 10**7))
        pairs = list(zip(couples, labels))
        order.shuffle(pairs)
        couples, labels = [list(each) for each, _ in pairs], [each for _, each in pairs]
    return couples, labels
