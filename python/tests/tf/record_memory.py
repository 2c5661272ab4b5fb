"""Records what TensorFlow gives for the scripts of memory/, without a limit.

    TensorFlow's Python: python record_memory.py [NAME ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parent / "memory"
EXPECTED = SCRIPTS / "expected.json"


def main() -> None:
    found = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    known = sorted(path.stem for path in SCRIPTS.glob("*.py") if path.stem != "common")
    for name in sys.argv[1:] or known:
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(SCRIPTS)}
        done = subprocess.run(
            [sys.executable, str(SCRIPTS / f"{name}.py")], env=env, capture_output=True, text=True, check=False
        )
        results = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if done.returncode != 0 or len(results) != 1:
            print(name, done.returncode, done.stderr[-500:])
            continue
        found[name] = {key: [float(f"{x:.7g}") for x in values] for key, values in results[0].items()}
    kept = {name: found[name] for name in known if name in found}
    EXPECTED.write_text(json.dumps(kept, separators=(",", ":"), sort_keys=True) + "\n")
    print(len(kept), "scripts")


main()
