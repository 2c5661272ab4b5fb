"""Records what TensorFlow gives for the calls of data_cases.py: record_data.py OUTPUT [NAME ...], in an
environment that has TensorFlow. With names only those are recorded again."""

import gzip
import json
import os
import sys

import tensorflow as tf

import data_pipelines  # noqa: F401
from data_cases import CASES, COUNT, draws
from data_results import outcome

found = {}
if len(sys.argv) > 2 and os.path.exists(sys.argv[1]):
    with gzip.open(sys.argv[1], "rb") as before:
        found = json.load(before)
for name, function in CASES.items():
    if sys.argv[2:] and name not in sys.argv[2:]:
        continue
    # TensorFlow 2.21 itself ends with a segmentation fault at one of the last pipelines.
    found[name] = [outcome(lambda: function(tf, draws(name, i))) for i in range(COUNT if name != "data.stages" else COUNT - 5)]
    failed = sum(1 for each in found[name] if "error" in each)
    print(f"{name}: {failed} of {COUNT} are errors", flush=True)
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
        file.write(json.dumps(found, separators=(",", ":")).encode())
