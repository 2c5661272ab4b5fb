#!/usr/bin/env python3
"""The pipeline of bench_augment with tf.data or torchvision:

    augment_peers.py tensorflow|torchvision FOLDER THREADS

Prints images per second of the best of three epochs as JSON.
"""

import json
import os
import pathlib
import sys
import time

BATCH, SIZE, EPOCHS = 64, 224, 3
THREADS = int(sys.argv[3])


def best_rate(batches):
    best = 0.0
    for _ in range(EPOCHS):
        begin = time.perf_counter()
        count = sum(int(images.shape[0]) for images, _ in batches)
        best = max(best, count / (time.perf_counter() - begin))
    return best


def tf_rate(folder):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    classes = sorted(p.name for p in pathlib.Path(folder).iterdir() if p.is_dir())
    files = [(str(p), classes.index(p.parent.name)) for p in pathlib.Path(folder).glob("*/*.jpg")]

    def load(path, label):
        data = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(data)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape,
            tf.zeros([1, 0, 4]),
            area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.decode_and_crop_jpeg(data, window, channels=3)
        image = tf.image.resize(image, [SIZE, SIZE])
        image = tf.image.random_flip_left_right(image) / 255
        image = tf.image.random_brightness(image, 0.4)
        image = tf.image.random_contrast(image, 0.6, 1.4)
        image = tf.image.random_saturation(image, 0.6, 1.4)
        return tf.image.random_hue(image, 0.1), label

    paths, labels = zip(*files)
    dataset = (
        tf.data.Dataset.from_tensor_slices((list(paths), list(labels)))
        .shuffle(len(paths))
        .map(load, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    return best_rate(dataset.with_options(options))


def torch_rate(folder):
    import torch
    from torchvision import datasets
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(SIZE),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    images = datasets.ImageFolder(
        folder, transform, loader=lambda path: decode_jpeg(read_file(path), ImageReadMode.RGB)
    )
    loader = torch.utils.data.DataLoader(
        images, batch_size=BATCH, shuffle=True, num_workers=THREADS, persistent_workers=True
    )
    return best_rate(loader)


if __name__ == "__main__":
    rates = {"tensorflow": tf_rate, "torchvision": torch_rate}
    print(json.dumps({"rate": rates[sys.argv[1]](sys.argv[2])}))
