"""Runs are logged, read, shown as pages and exported; buffers are placed and traces replayed."""

from __future__ import annotations

import json
import logging
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import plimsoll as pm
import plimsoll._logging

pytestmark = pytest.mark.usefixtures("device")


def batches() -> pm.data.Dataset:
    x = np.random.default_rng(1).normal(size=(32, 4)).astype(np.float32)
    return pm.data.from_tensor_slices((x, (x[:, 0] > 0).astype(np.int64))).batch(8)


def test_a_run_is_logged_read_and_shown(tmp_path: Path) -> None:
    trainer = pm.Trainer(pm.nn.Dense(2), loss="cross_entropy", metrics=["accuracy"])
    log = tmp_path / "run.jsonl"
    trainer.fit(batches(), batches(), epochs=2, log=log)
    run = pm.report.read_run(log)
    assert run.state == "finished" and len(run.steps) == 8 and run.problems == []
    assert any(each["name"] == "validation_accuracy" for each in run.metrics)
    assert "planned peak" in run.verdict
    pm.report.write_html(run, tmp_path / "run.html", title="a title")
    assert "a title" in (tmp_path / "run.html").read_text()
    assert pm.report.html([run, log]).startswith("<!")
    pm.report.write_csv(run, tmp_path / "csv")
    assert (tmp_path / "csv" / "steps.csv").read_text().count("\n") == 9
    pm.report.write_json([run], tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())
    pm.report.write_tensorboard(run, tmp_path / "board")
    pm.report.write_perfetto(run, tmp_path / "run.pftrace")
    pm.report.write_memory_viz(run, tmp_path / "run.pickle")
    assert (tmp_path / "run.pftrace").stat().st_size > 0 and (tmp_path / "run.pickle").stat().st_size > 0


def test_a_notebook_shows_runs_and_refusals(tmp_path: Path) -> None:
    trainer = pm.Trainer(pm.nn.Dense(2), loss="cross_entropy")
    trainer.fit(batches(), epochs=1, log=tmp_path / "run.jsonl")
    page = pm.report(tmp_path / "run.jsonl")  # type: ignore[operator]  # modules that can be called are unknown to it
    shown = page._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"') and "<script" not in shown
    page.save(tmp_path / "run.html")
    assert "<script" in (tmp_path / "run.html").read_text()
    with pytest.raises(pm.OutOfMemory) as refused:
        pm.zeros((1 << 40,))
    text = pm.report.show([refused.value, tmp_path / "run.jsonl"], title="<b>two</b>").text
    assert '"state":"reported"' in text and f'"requested":{refused.value.requested}' in text
    assert "<b>two" not in text


def test_callbacks_of_the_library_are_taken(capfd: pytest.CaptureFixture[str]) -> None:
    server = pm.report.MetricsServer()
    trainer = pm.Trainer(pm.nn.Dense(2), loss="cross_entropy", optimizer=pm.optim.sgd(1e-12))
    plateau = pm.train.reduce_on_plateau(metric="loss", patience=1, factor=0.5)
    trainer.fit(batches(), epochs=4, callbacks=[plateau, server.callback(), pm.report.chart()])
    assert trainer.optimizer.rate_factor < 1
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        assert b"plimsoll" in answer.read()
    assert "loss" in capfd.readouterr().out


def test_buffers_are_placed() -> None:
    placed = pm.plan.place([(4096, 0, 3), (1024, 2, 5), (4096, 3, 6)])
    assert placed.height == placed.lower_bound == 5120 and placed.proven_optimal
    assert len(placed.offsets) == 3


def test_a_trace_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "step.csv").write_text("id,lower,upper,size\na,0,2,4096\nb,1,3,4096\n")
    result = pm.plan.replay(tmp_path / "step.csv", passes=2)
    assert result["live_peak"] == 8192 and result["operations"] == 8


def test_messages_of_the_library_are_records_of_logging(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with caplog.at_level(logging.INFO, logger="plimsoll"):
        plimsoll._logging.log(logging.WARNING, "a message")
    assert [(each.name, each.message) for each in caplog.records] == [("plimsoll", "a message")]
