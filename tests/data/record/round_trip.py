#!/usr/bin/env python3
"""Files by the formats' own writers, and what Plimsoll made of them read by their own readers.

    round_trip.py write FORMAT FOLDER SEED     writes random samples
    round_trip.py check FORMAT FOLDER SEED     compares a folder with them, to the byte

FORMAT is tfrecord, tfrecord-gzip, tfrecord-zlib, webdataset or mds. Exits with 77 where the format's package
is not installed.
"""

import pathlib
import sys

import numpy as np


def samples(seed):
    """The same for the same seed: sizes from nothing to many kilobytes, texts of any language."""
    random = np.random.RandomState(seed)
    for i in range(random.randint(20, 60)):
        size = int(random.choice([0, 1, 100, 5_000, 70_000]))
        yield {
            "key": f"sample{i:05d}",
            "data": random.bytes(size),
            "text": "".join(chr(c) for c in random.randint(0x20, 0x2000, random.randint(0, 40))),
            "label": int(random.randint(-(2**62), 2**62)),
            "values": random.standard_normal(random.randint(1, 9)).astype(np.float32),
            "score": float(random.standard_normal()),
        }


def example(sample):
    import tensorflow as tf

    feature = {
        "data": tf.train.Feature(bytes_list=tf.train.BytesList(value=[sample["data"]])),
        "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[sample["text"].encode()])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[sample["label"]])),
        "values": tf.train.Feature(float_list=tf.train.FloatList(value=sample["values"])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


def compression(kind):
    return kind.partition("-")[2].upper()


def write_tfrecord(kind, folder, seed):
    import tensorflow as tf

    path = str(folder / "a.tfrecord")
    with tf.io.TFRecordWriter(path, compression(kind)) as writer:
        for sample in samples(seed):
            writer.write(example(sample).SerializeToString(deterministic=True))


def check_tfrecord(kind, folder, seed):
    import tensorflow as tf

    files = sorted(str(path) for path in folder.glob("*.tfrecord"))
    found = [r.numpy() for r in tf.data.TFRecordDataset(files, compression_type=compression(kind))]
    wanted = [example(sample) for sample in samples(seed)]
    assert [tf.train.Example.FromString(record) for record in found] == wanted


def write_webdataset(_, folder, seed):
    import webdataset

    with webdataset.TarWriter(str(folder / "a.tar")) as sink:
        for sample in samples(seed):
            sink.write({"__key__": sample["key"], "bin": sample["data"], "cls": sample["label"],
                        "info.txt": sample["text"], "npy": sample["values"]})


def check_webdataset(_, folder, seed):
    import webdataset

    files = sorted(str(path) for path in folder.glob("*.tar"))
    found = list(webdataset.WebDataset(files, shardshuffle=False))
    wanted = list(samples(seed))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted):
        assert ours["__key__"] == theirs["key"]
        assert ours["bin"] == theirs["data"]
        assert int(ours["cls"]) == theirs["label"]
        assert ours["info.txt"].decode() == theirs["text"]
        assert np.array_equal(array_of(ours["npy"]), theirs["values"])


def array_of(data):
    import io

    return np.load(io.BytesIO(data))


def write_mds(_, folder, seed):
    from streaming import MDSWriter

    columns = {"data": "bytes", "key": "str", "label": "int64", "score": "float64", "text": "str"}
    with MDSWriter(out=str(folder), columns=columns, size_limit=1 << 17) as writer:
        for sample in samples(seed):
            writer.write({name: sample[name] for name in columns})


def check_mds(_, folder, seed):
    from streaming import StreamingDataset

    found = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)
    wanted = list(samples(seed))
    assert len(found) == len(wanted)
    for i, theirs in enumerate(wanted):
        ours = found[i]
        for name in ("data", "key", "label", "score", "text"):
            value = ours[name]
            same = value.encode() if isinstance(value, str) else value
            other = theirs[name].encode() if isinstance(theirs[name], str) else theirs[name]
            assert same == other, (i, name, value, theirs[name])


def main():
    what, kind, folder, seed = sys.argv[1:]
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        globals()[f"{what}_{kind.partition('-')[0]}"](kind, pathlib.Path(folder), int(seed))
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)


main()
