"""Records what TensorFlow gives for the cases: `python record.py [core ...]`, with TensorFlow."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from api_cases import COUNT, outcome  # noqa: E402
from api_pack import HERE, pack, path_of  # noqa: E402


def main() -> None:
    import tensorflow as tf  # type: ignore[import-not-found, unused-ignore]

    modules = sys.argv[1:] or sorted(each.stem[6:] for each in HERE.glob("cases_*.py"))
    for module in modules:
        cases = importlib.import_module(f"cases_{module}").CASES
        found = {}
        for name, case in cases.items():
            found[name] = [outcome(tf, name, case, number) for number in range(COUNT)]
            failed = [kind for kind, _ in found[name] if kind != "ok"]
            if len(failed) > COUNT * 0.6:
                print(f"{name}: {len(failed)} of {COUNT} cases are errors: {sorted(set(failed))}")
        size = pack(path_of(module), found)
        print(f"{module}: {len(found)} functions, {size} bytes")


if __name__ == "__main__":
    main()
