"""The public C++ API has a counterpart in Python, or a line that says why not."""

from __future__ import annotations

import fnmatch

import api


def test_what_cpp_has_python_has_or_a_reason() -> None:
    assert api.without_counterpart() == {}


def test_every_reason_is_about_something() -> None:
    names, ours = api.cpp_names(), api.python_names()
    for header, name, reason in api.reasons():
        about = [
            each for each, its in names.items()
            if fnmatch.fnmatch(its, header) and fnmatch.fnmatch(each, name) and each not in ours
        ]
        assert about and reason, f"{header} {name}"


def test_the_lists_are_not_empty() -> None:
    assert len(api.cpp_names()) > 800 and {"relu", "Trainer", "cosine", "adamw"} <= api.python_names()
