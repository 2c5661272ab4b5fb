"""Folders of pictures as datasets, split, cropped and shuffled; the same by hand."""

import json
import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

root = pathlib.Path(tempfile.mkdtemp())
r = np.random.RandomState(0)
out = {}
for name in ["daisy", "roses", "tulips"]:
    (root / name).mkdir()
    for i in range(8):
        img = np.full((20 + i, 24, 3), 60 * len(name) % 255, "uint8") + r.randint(0, 20,
            (20 + i, 24, 3)).astype("uint8")
        tf.io.write_file(str(root / name / f"{i}.png"), tf.io.encode_png(img))
image_count = len(list(root.glob("*/*.png")))
out["count"] = image_count
kw = dict(validation_split=0.25, seed=123, image_size=(16, 16), batch_size=6)
train_ds = tf.keras.utils.image_dataset_from_directory(root, subset="training", **kw)
val_ds = tf.keras.utils.image_dataset_from_directory(root, subset="validation", **kw)
class_names = train_ds.class_names
out["names"] = class_names
out["files"] = [len(train_ds.file_paths), len(val_ds.file_paths)]
out["same_split"] = sorted((os.path.relpath(p, root) for p in val_ds.file_paths))
for image_batch, labels_batch in train_ds.take(1):
    out["batch"] = [list(image_batch.shape), list(labels_batch.shape), image_batch.dtype.name,
        labels_batch.dtype.name]
plain = tf.keras.utils.image_dataset_from_directory(str(root), labels="inferred", label_mode="categorical",
    color_mode="grayscale", shuffle=False, image_size=(8, 10), batch_size=5, interpolation="nearest",
    crop_to_aspect_ratio=False)
out["plain"] = [[list(a.shape), b.numpy().argmax(1).tolist()] for a, b in plain]
out["plain_sum"] = float(sum((tf.reduce_sum(a) for a, _ in plain)))
out["spec"] = [str(s.shape) for s in plain.element_spec]
crop = tf.keras.utils.image_dataset_from_directory(root, shuffle=False, image_size=(12, 12), batch_size=None,
    crop_to_aspect_ratio=True, label_mode=None)
out["crop"] = [list(next(iter(crop)).shape), float(tf.reduce_sum(next(iter(crop))))]
both = tf.keras.utils.image_dataset_from_directory(root, subset="both", **kw)
out["both"] = [len(b) for b in both]
AUTOTUNE = tf.data.AUTOTUNE
norm = tf.keras.layers.Rescaling(1.0 / 255)
train = train_ds.map(lambda x, y: (norm(x), y)).cache().shuffle(1000).prefetch(buffer_size=AUTOTUNE)
val = val_ds.cache().prefetch(buffer_size=AUTOTUNE)
first, _ = next(iter(train))
out["range"] = [bool(np.min(first) >= 0), bool(np.max(first) <= 1)]
model = tf.keras.Sequential([tf.keras.layers.Rescaling(1.0 / 255, input_shape=(16, 16, 3)),
    tf.keras.layers.Conv2D(4, 3, activation="relu"), tf.keras.layers.MaxPooling2D(), tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(3)])
model.compile(optimizer="adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"])
h = model.fit(train_ds, validation_data=val, epochs=2, verbose=0)
out["keys"] = list(h.history)
list_ds = tf.data.Dataset.list_files(str(root / "*/*"), shuffle=False).shuffle(image_count,
    reshuffle_each_iteration=False)
names = np.array(sorted((item.name for item in root.glob("*") if item.name != "LICENSE.txt")))
val_size = int(image_count * 0.2)
t, v = (list_ds.skip(val_size), list_ds.take(val_size))
out["card"] = [tf.data.experimental.cardinality(t).numpy().item(), v.cardinality().numpy().item()]


def get_label(file_path):
    parts = tf.strings.split(file_path, os.path.sep)
    one_hot = parts[-2] == names
    return tf.argmax(one_hot)


def process_path(file_path):
    label = get_label(file_path)
    img = tf.io.read_file(file_path)
    img = tf.io.decode_image(img, channels=3, expand_animations=False)
    img = tf.image.resize(img, [10, 10])
    return (img, label)


ds = tf.data.Dataset.list_files(str(root / "*/*"), shuffle=False).map(process_path, num_parallel_calls=AUTOTUNE)
out["labels"] = [int(l) for _, l in ds]
out["imgsum"] = float(sum((tf.reduce_sum(i) for i, _ in ds)))
img = tf.keras.utils.load_img(str(root / "daisy" / "0.png"), target_size=(9, 9))
arr = tf.keras.utils.img_to_array(img)
batch = tf.expand_dims(arr, 0)
score = tf.nn.softmax(model.predict(tf.image.resize(batch, (16, 16)), verbose=0)[0])
out["score"] = [list(arr.shape), str(arr.dtype), class_names[np.argmax(score)] in class_names]
gen = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1.0 / 255,
    validation_split=0.25).flow_from_directory(root, target_size=(16, 16), batch_size=6, class_mode="sparse",
    subset="training", shuffle=False)
gx, gy = next(gen)
out["gen"] = [list(gx.shape), gy.tolist(), gen.class_indices, len(gen), float(gx.sum())]
print(json.dumps(out))
