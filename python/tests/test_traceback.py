"""Where tracebacks end: in the user's line."""

from __future__ import annotations

import os
import traceback
from typing import Any, Callable

import numpy as np
import pytest

import plimsoll as pm
import test_mistakes_more
from test_mistakes import CASES, batches

pytestmark = pytest.mark.usefixtures("device")

PACKAGE = os.path.dirname(pm.__file__) + os.sep


def raised(mistake: Callable[[], Any]) -> BaseException:
    try:
        mistake()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def entries(error: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(error.__traceback__))


def ours(error: BaseException) -> list[traceback.FrameSummary]:
    return [each for each in entries(error) if each.filename.startswith(PACKAGE)]


ALL = CASES | test_mistakes_more.CASES


@pytest.mark.parametrize("name", ALL)
def test_a_mistake_ends_in_the_line_that_made_it(name: str) -> None:
    error = raised(ALL[name][0])
    assert not ours(error), traceback.format_exception(error)
    last = entries(error)[-1]
    tests = ("test_mistakes.py", "test_mistakes_more.py", os.path.basename(__file__))
    assert os.path.basename(last.filename) in tests, last
    text = "".join(traceback.format_exception(error))
    assert PACKAGE not in text, text


def test_all_frames_are_shown_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistake() -> None:
        pm.data.range(3).batch("8")  # type: ignore[arg-type]

    assert not ours(raised(mistake))
    monkeypatch.setenv("PLIMSOLL_FULL_TRACEBACK", "1")
    assert ours(raised(mistake))
    monkeypatch.setenv("PLIMSOLL_FULL_TRACEBACK", "0")
    assert not ours(raised(mistake))


def test_a_failure_that_is_not_the_users_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plimsoll.train._wants_progress", None)
    trainer = pm.Trainer(pm.nn.Dense(3), loss="cross_entropy")
    assert ours(raised(lambda: trainer.fit(batches(), epochs=1)))


def test_a_function_of_ones_own_is_the_end_of_its_traceback() -> None:
    class Net(pm.nn.Module):
        def forward(self, x: pm.Tensor) -> pm.Tensor:
            raise KeyError("layer")

    def planned() -> Any:
        return pm.function(lambda x: Net()(x))(pm.ones((1,)))

    def trained() -> Any:
        return pm.Trainer(Net(), loss="cross_entropy").fit(batches(), epochs=1)

    for call in (lambda: Net()(pm.ones((1,))), trained, planned):
        error = raised(call)
        assert isinstance(error, KeyError)
        assert entries(error)[-1].name == "forward" and not ours(error)


def test_an_error_while_iterating_ends_in_the_loop() -> None:
    def broken(i: Any) -> Any:
        raise RuntimeError("no such row")

    numbers = pm.data.range(3).map(broken, python=True)

    def loop() -> None:
        for _ in numbers:
            pass

    def converted() -> None:
        for _ in numbers.to_numpy():
            pass

    def by_hand() -> None:
        next(numbers.iterate())

    for each in (loop, converted, by_hand):
        error = raised(each)
        assert isinstance(error, pm.DataError) and "no such row" in str(error)
        assert entries(error)[-1].name == each.__name__ and not ours(error)
        assert isinstance(error.__cause__, RuntimeError)
        assert entries(error.__cause__)[-1].name == "broken"


@pytest.mark.parametrize(
    "call, parts",
    [
        (lambda: pm.data.range(3).batch(2, drop_remaindr=True), ["[batch]", "drop_remaindr", "did you mean drop_remainder?"]),  # type: ignore[call-arg]
        (lambda: pm.data.range(3).batch(), ["[batch]", "size is missing", "an integer"]),  # type: ignore[call-arg]
        (lambda: pm.data.range(3).batch(2, True), ["[batch]", "2 arguments", "drop_remainder="]),  # type: ignore[call-arg]
        (lambda: pm.data.image_folder(), ["[image_folder]", "folder is missing", "path"]),  # type: ignore[call-arg]
        (lambda: pm.Trainer(pm.nn.Dense(3), los="cross_entropy"), ["[Trainer]", "los", "did you mean loss?"]),  # type: ignore[call-arg]
        (lambda: pm.Trainer(pm.nn.Dense(3)).fit(), ["[fit]", "train is missing", "dataset"]),  # type: ignore[call-arg]
        (lambda: pm.Metric("bias"), ["[Metric]", "sums is missing", "function"]),  # type: ignore[call-arg]
        (lambda: pm.scan(lambda s, x: (s, None)), ["[scan]", "states is missing"]),  # type: ignore[call-arg]
    ],
)
def test_calls_that_fit_no_signature_are_answered_in_words(call: Callable[[], Any], parts: list[str]) -> None:
    error = raised(call)
    assert isinstance(error, TypeError)
    assert all(part in str(error) for part in parts), str(error)
    assert not ours(error)


def test_errors_that_user_functions_raise_are_theirs() -> None:
    def odd(x: Any) -> Any:
        return np.linalg.inv(np.zeros((2, 2)))

    error = raised(lambda: list(pm.data.range(1).map(odd, python=True)))
    cause = error.__cause__
    assert isinstance(cause, np.linalg.LinAlgError)
    assert "odd" in [each.name for each in entries(cause)]
