#!/usr/bin/env python3
"""Reads what Plimsoll wrote with the formats' own readers and compares it with the recorded values.

    check_written.py tfrecord|webdataset|mds FOLDER

Exits with 77 where the reader's package is not installed.
"""

import json
import pathlib
import sys

RECORDED = pathlib.Path(__file__).resolve().parent.parent / "recorded" / "records"


def expect(same, what):
    if not same:
        sys.exit(f"check_written: {what} differs")


def check_tfrecord(folder):
    import tensorflow as tf

    rows = json.loads((RECORDED / "tfrecord.json").read_text())
    files = sorted(str(path) for path in folder.glob("*.tfrecord"))
    with open(files[0], "rb") as first:
        head = first.read(2)
    kind = "GZIP" if head == b"\x1f\x8b" else ""
    records = [r.numpy() for r in tf.data.TFRecordDataset(files, compression_type=kind)]
    expect(len(records) == len(rows), "the number of records")
    for row, record in zip(rows, records):
        example = tf.train.Example.FromString(record)
        feature = example.features.feature
        expect(feature["image"].bytes_list.value[0].hex() == row["image"], "image")
        expect(list(feature["label"].int64_list.value) == [row["label"]], "label")
        expect(list(feature["floats"].float_list.value) == row["floats"], "floats")
        expect(list(feature["tokens"].int64_list.value) == row["tokens"], "tokens")
        expect([t.hex() for t in feature["texts"].bytes_list.value] == row["texts"], "texts")


def check_webdataset(folder):
    import io

    import numpy
    import webdataset

    rows = json.loads((RECORDED / "webdataset.json").read_text())
    files = sorted(str(path) for path in folder.glob("*.tar"))
    samples = list(webdataset.WebDataset(files, shardshuffle=False))
    expect(len(samples) == len(rows), "the number of samples")
    for row, sample in zip(rows, samples):
        expect(sample["jpg"].hex() == row["jpg"], "jpg")
        expect(int(sample["cls"]) == row["cls"], "cls")
        expect(sample["info.txt"].hex() == row["info.txt"], "info.txt")
        array = numpy.load(io.BytesIO(sample["npy"]))
        expect([list(map(float, r)) for r in array] == row["npy"], "npy")


def check_mds(folder):
    from streaming import StreamingDataset

    rows = json.loads((RECORDED / "mds.json").read_text())
    samples = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)
    expect(len(samples) == len(rows), "the number of samples")
    for i, row in enumerate(rows):
        sample = samples[i]
        name = sample["name"]
        expect((name if isinstance(name, bytes) else name.encode()).hex() == row["name"], "name")
        expect(sample["data"].hex() == row["data"], "data")
        for key in ("id", "small", "score", "wide"):
            expect(float(sample[key]) == row[key], key)


if __name__ == "__main__":
    try:
        globals()[f"check_{sys.argv[1]}"](pathlib.Path(sys.argv[2]))
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)
