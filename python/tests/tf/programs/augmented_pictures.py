"""Pictures flipped, cropped, resized and recoloured, one by one and in a pipeline."""

import json

import numpy as np
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
r = np.random.RandomState(0)
images = r.randint(0, 255, size=(6, 12, 10, 3)).astype("uint8")
labels = np.arange(6)
out = {}


def s(t):
    return float(tf.reduce_sum(tf.cast(t, tf.float32)))


img = tf.convert_to_tensor(images[0])
f = tf.image.convert_image_dtype(img, tf.float32)
out["flip"] = [s(tf.image.flip_left_right(f)[:, 0]), s(tf.image.flip_up_down(f)[0]),
    s(tf.image.rot90(f, k=1)[0]), s(tf.image.transpose(f)[0])]
out["adjust"] = [s(tf.image.adjust_brightness(f, 0.2)), s(tf.image.adjust_contrast(f, 1.5)),
    s(tf.image.adjust_saturation(f, 2.0)), s(tf.image.adjust_hue(f, 0.1)), s(tf.image.adjust_gamma(f, 0.8))]
out["gray"] = [s(tf.image.rgb_to_grayscale(f)),
    list(tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(f)).shape), s(tf.image.rgb_to_hsv(f)),
    s(tf.image.rgb_to_yuv(f)), s(tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(f)) - f)]
out["crop"] = [s(tf.image.central_crop(f, 0.5)), list(tf.image.central_crop(f, 0.5).shape),
    s(tf.image.crop_to_bounding_box(f, 2, 1, 4, 5)), s(tf.image.pad_to_bounding_box(f, 1, 2, 16, 14)),
    s(tf.image.resize_with_crop_or_pad(f, 8, 14)), s(tf.image.resize_with_pad(f, 20, 20))]
for m in ["bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian", "mitchellcubic"]:
    out["resize_" + m] = [s(tf.image.resize(f, [7, 9], method=m)), s(tf.image.resize(f, (24, 15), method=m))]
out["antialias"] = s(tf.image.resize(f, [5, 5], antialias=True))
out["ratio"] = list(tf.image.resize(f, [6, 20], preserve_aspect_ratio=True).shape)
out["standard"] = [s(tf.image.per_image_standardization(f)),
    float(tf.math.reduce_std(tf.image.per_image_standardization(f)))]
out["boxes"] = s(tf.image.crop_and_resize(f[None], [[0.1, 0.1, 0.8, 0.9], [0, 0, 1, 1]], [0, 0], [4, 4]))
out["metrics"] = [float(tf.image.psnr(f, f * 0.9, max_val=1.0)),
    float(tf.image.ssim(tf.image.resize(f, [24, 24]), tf.image.resize(f * 0.9, [24, 24]), max_val=1.0)),
    s(tf.image.total_variation(f)), s(tf.image.sobel_edges(f[None]))]
out["patches"] = list(tf.image.extract_patches(f[None], [1, 4, 4, 1], [1, 2, 2, 1], [1, 1, 1, 1],
    "VALID").shape)
out["nms"] = tf.image.non_max_suppression(tf.constant([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]],
    tf.float32), tf.constant([0.9, 0.8, 0.7]), 3, iou_threshold=0.5).numpy().tolist()


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_flip_up_down(image)
    image = tf.image.random_brightness(image, max_delta=0.1)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    image = tf.image.random_saturation(image, 0.8, 1.2)
    image = tf.image.random_hue(image, 0.05)
    image = tf.image.resize_with_crop_or_pad(image, 16, 16)
    image = tf.image.random_crop(image, size=[8, 8, 3])
    return (tf.clip_by_value(image, 0.0, 1.0), label)


def prepare(image, label):
    return (tf.cast(image, tf.float32) / 255.0, tf.one_hot(label, 6))


ds = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare, num_parallel_calls=AUTOTUNE).map(augment,
    num_parallel_calls=AUTOTUNE).batch(4).prefetch(AUTOTUNE)
out["batches"] = [[list(a.shape), list(b.shape), bool(tf.reduce_all(a <= 1.0))] for a, b in ds]
counter = tf.data.experimental.Counter() if hasattr(tf.data.experimental,
    "Counter") else tf.data.Dataset.counter()


def stateless(image_label, seed):
    image, label = image_label
    image = tf.image.resize_with_crop_or_pad(image, 16, 16)
    new_seed = tf.random.split(seed, num=1)[0, :]
    image = tf.image.stateless_random_crop(image, size=[8, 8, 3], seed=seed)
    image = tf.image.stateless_random_brightness(image, max_delta=0.5, seed=new_seed)
    return (tf.clip_by_value(image, 0, 1), label)


train = tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare),
    tf.data.Dataset.zip((counter, counter)))).map(stateless, num_parallel_calls=AUTOTUNE).batch(3)
out["stateless"] = [list(a.shape) for a, _ in train]
out["stateless_v"] = [list(tf.image.stateless_random_flip_left_right(f, seed=(1, 2)).shape),
    s(tf.image.stateless_random_contrast(f, 0.2, 0.9, seed=(3, 4)))]
same = tf.image.stateless_random_crop(f, [5, 5, 3], seed=(7, 8))
out["same"] = bool(tf.reduce_all(same == tf.image.stateless_random_crop(f, [5, 5, 3], seed=(7, 8))))
out["jpeg"] = list(tf.io.decode_jpeg(tf.io.encode_jpeg(img, quality=90)).shape)
out["quality"] = list(tf.image.adjust_jpeg_quality(f, 50).shape)
out["boxes2"] = s(tf.image.crop_and_resize(f[None], [[0.0, 0.0, 1.0, 1.0]], [0], [5, 3], method="nearest"))
out["draw"] = s(tf.image.draw_bounding_boxes(f[None], [[[0.1, 0.2, 0.6, 0.7]]], [[1.0, 0.0, 0.0]]))
print(json.dumps(out))
