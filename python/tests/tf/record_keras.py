"""Records what TensorFlow gives for the cases and programs of tf.keras.

    TensorFlow's Python: python record_keras.py [cases | programs | NAME ...]

Names of programs record those again, and keep the others.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import runpy
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
HERE = pathlib.Path(__file__).parent
TO = pathlib.Path(os.environ.get("RECORD_TO", HERE))
sys.path.insert(0, str(HERE))


def rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return value


def main() -> None:
    import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

    import keras_cases

    found: dict[str, dict[str, object]] = {}
    what = sys.argv[1:] or ["cases", "programs"]
    for kind, (cases, run) in keras_cases.KINDS.items() if "cases" in what else ():
        for name in cases:
            try:
                found.setdefault(kind, {})[name] = rounded(run(tf, name))
            except Exception as error:  # it is the case that is wrong then
                print(kind, name, type(error).__name__, str(error)[:300])
    if "cases" in what:
        (TO / "keras_expected.json").write_text(json.dumps(found, separators=(",", ":")))
    programs = json.loads((HERE / "programs_expected.json").read_text())
    for path in sorted((HERE / "programs").glob("*.py")):
        if "programs" not in what and path.stem not in what:
            continue
        tf.keras.backend.clear_session()
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                runpy.run_path(str(path), run_name="__main__")
            programs[path.stem] = rounded(json.loads(printed.getvalue().strip().splitlines()[-1]))
        except Exception as error:
            print(path.stem, type(error).__name__, str(error)[:300])
    (TO / "programs_expected.json").write_text(json.dumps(programs, separators=(",", ":")))
    print(sum(len(each) for each in found.values()), "cases,", len(programs), "programs")


main()
