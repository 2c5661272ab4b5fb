#!/usr/bin/env python3
"""Writes tests/data/recorded/records: small files by TensorFlow's, webdataset's and MosaicML
Streaming's own writers and by Python's tarfile, and what is in them.

    record_records.py tf     with TensorFlow 2.21
    record_records.py rest   with webdataset 1.0 and mosaicml-streaming 0.13

Elements are words: the components in order, byte strings in hex, numbers as Python writes them.
"""

import io
import json
import pathlib
import shutil
import sys
import tarfile

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "recorded" / "records"


def image(i):
    return np.random.RandomState(i).bytes(20 + 37 * i % 300)


def write_json(name, value):
    (FOLDER / name).write_text(json.dumps(value, indent=1) + "\n")


def record_tf():
    import tensorflow as tf

    rows = []
    examples = []
    for i in range(20):
        tokens = list(range(-i, i * 1000, 997))[: i % 5]
        floats = [0.5 * i, -1.25, float(2**i)]
        texts = [f"word {j}".encode() for j in range(i % 3)]
        feature = {
            "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image(i)])),
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i * i - 50])),
            "floats": tf.train.Feature(float_list=tf.train.FloatList(value=floats)),
            "tokens": tf.train.Feature(int64_list=tf.train.Int64List(value=tokens)),
            "texts": tf.train.Feature(bytes_list=tf.train.BytesList(value=texts)),
        }
        if i % 4 == 3:
            del feature["tokens"]
        example = tf.train.Example(features=tf.train.Features(feature=feature))
        examples.append(example.SerializeToString(deterministic=True))
        rows.append(
            {
                "image": image(i).hex(),
                "label": i * i - 50,
                "floats": floats,
                "tokens": [] if i % 4 == 3 else tokens,
                "texts": [t.hex() for t in texts],
                "record": examples[-1].hex(),
            }
        )
    for kind in ("", "GZIP", "ZLIB"):
        name = f"examples{'.' + kind.lower() if kind else ''}.tfrecord"
        with tf.io.TFRecordWriter(str(FOLDER / name), kind) as writer:
            for example in examples:
                writer.write(example)
    write_json("tfrecord.json", rows)


def record_webdataset():
    import webdataset

    rows = []
    with webdataset.TarWriter(str(FOLDER / "webdataset.tar"), mtime=0) as sink:
        for i in range(12):
            array = np.arange(i % 4 * 3, dtype=np.float32).reshape(-1, 3) + i
            sink.write(
                {
                    "__key__": f"set/{i:04}",
                    "JPG": image(i),
                    "cls": i * 7,
                    "json": {"i": i},
                    "npy": array,
                    "info.txt": f"sample {i}",
                }
            )
            rows.append(
                {
                    "__key__": f"set/{i:04}".encode().hex(),
                    "jpg": image(i).hex(),
                    "cls": i * 7,
                    "npy": [list(map(float, r)) for r in array],
                    "info.txt": f"sample {i}".encode().hex(),
                }
            )
    write_json("webdataset.json", rows)
    # Names that need the extensions of the format.
    long = "deep/" + "x" * 120 + "/" + "y" * 130
    for name, kind in (("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        with tarfile.open(FOLDER / f"{name}.tar", "w", format=kind) as tar:
            folder = tarfile.TarInfo("deep")
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
            for i in range(3):
                for suffix, data in (("bin", image(i)), ("cls", str(i).encode())):
                    member = tarfile.TarInfo(f"{long}{i}.{suffix}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    ustar = tarfile.open(FOLDER / "ustar.tar", "w", format=tarfile.USTAR_FORMAT)
    for i in range(3):
        member = tarfile.TarInfo("p" * 120 + f"/{i}.bin")
        member.size = len(image(i))
        ustar.addfile(member, io.BytesIO(image(i)))
    ustar.close()


def record_mds():
    from streaming import MDSWriter

    folder = FOLDER / "mds"
    shutil.rmtree(folder, ignore_errors=True)
    columns = {
        "id": "int",
        "small": "uint8",
        "score": "float32",
        "wide": "float64",
        "name": "str",
        "data": "bytes",
    }
    rows = []
    with MDSWriter(out=str(folder), columns=columns, size_limit=1024) as writer:
        for i in range(15):
            row = {
                "id": i - 5,
                "small": np.uint8(i * 11),
                "score": np.float32(i / 4),
                "wide": np.float64(1 / (i + 1)),
                "name": f"näme {i}",
                "data": image(i),
            }
            writer.write(row)
            rows.append(
                {
                    "id": i - 5,
                    "small": i * 11,
                    "score": i / 4,
                    "wide": 1 / (i + 1),
                    "name": f"näme {i}".encode().hex(),
                    "data": image(i).hex(),
                }
            )
    write_json("mds.json", rows)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    if sys.argv[1] == "tf":
        record_tf()
    else:
        record_webdataset()
        record_mds()
