"""tf.data's side of `./dev bench data`: one JSON object with rates by the clock and by CPU time.

    data_tf.py images FOLDER fast|accurate EPOCHS
    data_tf.py small ELEMENTS parallel|sequential
"""

import json
import os
import resource
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf  # noqa: E402  (the environment above must be set first)

AUTOTUNE = tf.data.AUTOTUNE


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def run(dataset):
    wall, cpu, count = time.perf_counter(), time.process_time(), 0
    for batch in dataset:
        count += int(batch.shape[0])
    return count / (time.perf_counter() - wall), count / (time.process_time() - cpu)


def images(folder, dct):
    method = "INTEGER_FAST" if dct == "fast" else "INTEGER_ACCURATE"

    def load(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method=method)
        return tf.image.resize(image, [224, 224], method="bilinear") / 255.0

    files = tf.data.Dataset.list_files(folder + "/*/*.jpg")
    return files.map(load, num_parallel_calls=AUTOTUNE).batch(128).prefetch(AUTOTUNE)


def small(elements, parallel):
    numbers = tf.data.Dataset.range(elements).shuffle(100_000)
    calls = AUTOTUNE if parallel == "parallel" else None
    return numbers.map(lambda x: x + 1, num_parallel_calls=calls).batch(256).prefetch(AUTOTUNE)


def main():
    begin = resident()
    if sys.argv[1] == "images":
        dataset, rounds = images(sys.argv[2], sys.argv[3]), int(sys.argv[4])
    else:
        dataset, rounds = small(int(sys.argv[2]), sys.argv[3]), 1
    rates = [run(dataset) for _ in range(rounds)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        json.dumps(
            {
                "version": tf.__version__,
                "wall": max(wall for wall, _ in rates),
                "cpu": max(cpu for _, cpu in rates),
                "rss_before": begin,
                "rss_peak": peak,
            }
        )
    )


main()
