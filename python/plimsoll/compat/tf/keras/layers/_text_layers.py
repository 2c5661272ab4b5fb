"""Texts to numbers: on the host."""

from __future__ import annotations

import re
import string as string_module
from collections import Counter
from typing import Any

import numpy as np

from ..._convert import convert_to_tensor
from ._lookup import StringLookup, _batches, _Host, _text

_PUNCTUATION = re.compile("[" + re.escape(r'!"#$%&()*+,-./:;<=>?@[\]^_`{|}~' + "'") + "]")
assert set(string_module.punctuation) == set(r'!"#$%&()*+,-./:;<=>?@[\]^_`{|}~' + "'")


class TextVectorization(_Host):
    """Texts to ids of their words."""

    def __init__(
        self, max_tokens: int | None = None, standardize: Any = "lower_and_strip_punctuation",
        split: Any = "whitespace", ngrams: Any = None, output_mode: str = "int",
        output_sequence_length: int | None = None, pad_to_max_tokens: bool = False, vocabulary: Any = None,
        idf_weights: Any = None, sparse: bool = False, ragged: bool = False, encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if ragged or sparse:
            raise NotImplementedError("TextVectorization(ragged=True, sparse=True) is not supported; leave them out, and rows "
                                      "are padded")
        if output_mode not in ("int", "multi_hot", "count", "tf_idf"):
            raise ValueError(f"output_mode must be 'int', 'multi_hot', 'count' or 'tf_idf'. Received: output_mode={output_mode}")
        self.standardize, self.split, self.ngrams = standardize, split, ngrams
        self.output_mode, self.output_sequence_length = output_mode, output_sequence_length
        self.max_tokens, self.pad_to_max_tokens = max_tokens, pad_to_max_tokens
        self._lookup = StringLookup(max_tokens, mask_token="" if output_mode == "int" else None,
                                    vocabulary=vocabulary)
        self._idf = None if idf_weights is None else self._whole_idf(np.asarray(idf_weights, np.float32))

    def _whole_idf(self, weights: Any) -> Any:
        """The weights of all tokens: what is not in the vocabulary has their mean."""
        return np.concatenate([[weights.mean()], weights]).astype(np.float32)

    def _words(self, text: Any) -> list[str]:
        if callable(self.standardize):
            found = self.standardize(convert_to_tensor([text if isinstance(text, bytes) else str(text).encode()]))
            text = found.numpy()[0] if hasattr(found, "numpy") else found[0]
        shown = _text(text)
        if self.standardize in ("lower_and_strip_punctuation", "lower"):
            shown = shown.lower()
        if self.standardize in ("lower_and_strip_punctuation", "strip_punctuation"):
            shown = _PUNCTUATION.sub("", shown)
        if self.split == "whitespace":
            words = shown.split()
        elif self.split == "character":
            words = list(shown)
        elif callable(self.split):
            found = self.split(convert_to_tensor([shown.encode()]))
            words = [_text(each) for each in np.asarray(found).reshape(-1).tolist()]
        else:
            words = [shown]
        if self.ngrams is None:
            return words
        sizes = range(1, self.ngrams + 1) if isinstance(self.ngrams, int) else self.ngrams
        return [" ".join(words[i:i + n]) for n in sizes for i in range(len(words) - n + 1)]

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        self._lookup.reset_state()
        documents, within = 0, Counter[str]()
        for each in _batches(data):
            for text in np.asarray(each).reshape(-1).tolist():
                words = self._words(text)
                self._lookup.update_state(np.asarray(words, object))
                documents += 1
                within.update(set(words))
        self._lookup.finalize_state()
        if self.output_mode == "tf_idf":
            counts = np.asarray([within[each] for each in self.get_vocabulary(include_special_tokens=False)], np.float32)
            self._idf = self._whole_idf(np.log(1 + documents / (1 + counts)))

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        self._lookup.set_vocabulary(vocabulary)
        if self.output_mode == "tf_idf":
            if idf_weights is None:
                raise ValueError("`idf_weights` must be set if output_mode is 'tf_idf'.")
            self._idf = self._whole_idf(np.asarray(idf_weights, np.float32))

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        return self._lookup.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        return self._lookup.vocabulary_size()

    def of_array(self, values: Any) -> Any:
        flat = np.asarray(values, object).reshape(-1).tolist()
        rows = [[self._lookup._id(word) for word in self._words(each)] for each in flat]
        single = np.ndim(values) == 0
        if self.output_mode != "int":
            size = self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()
            made = np.zeros((len(rows), size), np.float32)
            for i, row in enumerate(rows):
                for each in row:
                    made[i, each] = 1 if self.output_mode == "multi_hot" else made[i, each] + 1
            if self.output_mode == "tf_idf":
                if self._idf is None:
                    raise ValueError("TextVectorization(output_mode='tf_idf') has no weights yet: call adapt(texts) first")
                made[:, : len(self._idf)] *= self._idf
            return convert_to_tensor(made[0] if single else made)
        length = self.output_sequence_length or max((len(row) for row in rows), default=0)
        ids = np.zeros((len(rows), length), np.int64)
        for i, row in enumerate(rows):
            ids[i, : min(len(row), length)] = row[:length]
        return convert_to_tensor(ids[0] if single else ids)

    def result_shape(self, shape: tuple[int, ...], unknown: int) -> tuple[int, ...]:
        lead = shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape
        if self.output_mode != "int":
            size = self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()
            return (*lead, size)
        return (*lead, self.output_sequence_length or unknown)

    def get_config(self) -> dict[str, Any]:
        weights = None if self._idf is None else [float(each) for each in self._idf[1:]]
        return {**super().get_config(), "vocabulary": list(self._lookup._tokens) or None, "idf_weights": weights}
