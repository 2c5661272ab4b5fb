"""Calls of tf.image, tf.io, tf.strings and tf.data with arguments drawn from a seed. The same file runs
under TensorFlow, which record_data.py records, and here, which test_tf_data_api.py compares."""

from __future__ import annotations

import zlib
from typing import Any, Callable

import numpy as np

Case = Callable[[Any, np.random.Generator], Any]
CASES: dict[str, Case] = {}
COUNT = 200
# Where bits may differ: products in another order, exp and log of another library.
TOLERANCE: dict[str, float] = {}


def case(name: str, tolerance: float = 1e-5) -> Callable[[Case], Case]:
    def add(function: Case) -> Case:
        CASES[name] = function
        TOLERANCE[name] = tolerance
        return function

    return add


def draws(name: str, number: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(name.encode()), number])


def extent(rng: np.random.Generator, low: int = 1, high: int = 12) -> int:
    return int(rng.integers(low, high + 1))


def picture(rng: np.random.Generator, channels: int | None = None, dtype: str | None = None, batch: bool | None = None) -> Any:
    c = int(rng.choice([1, 3, 4])) if channels is None else channels
    shape: list[int] = [extent(rng), extent(rng), c]
    if batch if batch is not None else rng.random() < 0.3:
        shape = [extent(rng, 1, 3), *shape]
    kind = str(rng.choice(["uint8", "float32"])) if dtype is None else dtype
    if kind.startswith("uint") or kind.startswith("int"):
        top = min(np.iinfo(kind).max, 32767)
        return rng.integers(0, top + 1, shape).astype(kind)
    return rng.random(shape).astype(kind)


def words(rng: np.random.Generator, shape: Any = None) -> Any:
    letters = "abcXYZ 019.,-_é\t"
    def one() -> str:
        return "".join(rng.choice(list(letters), extent(rng, 0, 9)))
    if shape is None:
        shape = [() , (extent(rng, 1, 4),), (2, extent(rng, 1, 3))][int(rng.integers(3))]
    if shape == ():
        return one()
    made = np.empty(shape, dtype=object)
    for index in np.ndindex(*made.shape):
        made[index] = one()
    return made.tolist()


# -- tf.image --------------------------------------------------------------------------------------


@case("image.resize", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    x = picture(rng, dtype=str(rng.choice(["uint8", "float32", "int32", "float64"])))
    method = str(rng.choice(["bilinear", "nearest", "bicubic", "area"]))
    return tf.image.resize(x, [extent(rng, 1, 20), extent(rng, 1, 20)], method=method)


@case("image.resize_antialias", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    x = picture(rng, dtype=str(rng.choice(["uint8", "float32"])))
    method = str(rng.choice(["bilinear", "bicubic", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]))
    return tf.image.resize(x, [extent(rng, 1, 20), extent(rng, 1, 20)], method=method, antialias=bool(rng.random() < 0.7))


@case("image.resize_keeping_the_ratio", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.resize(picture(rng), [extent(rng, 1, 20), extent(rng, 1, 20)], preserve_aspect_ratio=True)


@case("image.resize_with_pad", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.resize_with_pad(picture(rng), extent(rng, 1, 20), extent(rng, 1, 20))


@case("image.resize_with_crop_or_pad")
def _(tf: Any, rng: Any) -> Any:
    return tf.image.resize_with_crop_or_pad(picture(rng), extent(rng, 0, 20), extent(rng, 0, 20))


@case("image.central_crop")
def _(tf: Any, rng: Any) -> Any:
    return tf.image.central_crop(picture(rng), float(rng.choice([0.1, 0.25, 0.5, 0.6, 0.9, 1.0, 1.5])))


@case("image.crop_to_bounding_box")
def _(tf: Any, rng: Any) -> Any:
    return tf.image.crop_to_bounding_box(picture(rng), extent(rng, 0, 1), extent(rng, 0, 1), extent(rng, 1, 4), extent(rng, 1, 4))


@case("image.pad_to_bounding_box")
def _(tf: Any, rng: Any) -> Any:
    return tf.image.pad_to_bounding_box(picture(rng), extent(rng, 0, 4), extent(rng, 0, 4), extent(rng, 8, 20), extent(rng, 8, 20))


@case("image.crop_and_resize")
def _(tf: Any, rng: Any) -> Any:
    x = picture(rng, batch=True)
    count = extent(rng, 1, 3)
    boxes = np.sort(rng.uniform(-0.2, 1.2, (count, 2, 2)), axis=1).reshape(count, 4).astype("float32")
    which = rng.integers(0, len(x), count).astype("int32")
    return tf.image.crop_and_resize(x, boxes, which, [extent(rng, 1, 6), extent(rng, 1, 6)], method="bilinear")


@case("image.flips")
def _(tf: Any, rng: Any) -> Any:
    x = picture(rng)
    return [tf.image.flip_left_right(x), tf.image.flip_up_down(x), tf.image.transpose(x), tf.image.rot90(x, int(rng.integers(-3, 6)))]


@case("image.convert_image_dtype")
def _(tf: Any, rng: Any) -> Any:
    kinds = ["uint8", "int16", "int32", "float32", "float64", "uint16", "float16"]
    x = picture(rng, dtype=str(rng.choice(kinds)))
    if x.dtype.kind == "f" and rng.random() < 0.5:
        x = (x * 1.4 - 0.2).astype(x.dtype)
    want = str(rng.choice(kinds))
    if x.dtype == np.float16 and not want.startswith("float"):
        x = x.astype("float32")  # what exceeds float16 is not determined
    saturate = bool(rng.random() < 0.5) or (x.dtype.kind == "f" and want[0] != "f")
    return tf.image.convert_image_dtype(x, want, saturate=saturate)


@case("image.adjust_brightness")
def _(tf: Any, rng: Any) -> Any:
    return tf.image.adjust_brightness(picture(rng), float(rng.uniform(-0.5, 0.5)))


@case("image.adjust_contrast", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.adjust_contrast(picture(rng), float(rng.uniform(0, 2.5)))


@case("image.adjust_saturation", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.adjust_saturation(picture(rng, 3), float(rng.uniform(0, 2.5)))


@case("image.adjust_hue", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.adjust_hue(picture(rng, 3, "float32"), float(rng.uniform(-0.5, 0.5)))


@case("image.adjust_gamma", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.adjust_gamma(picture(rng, dtype="float32"), float(rng.uniform(-0.2, 2)), float(rng.uniform(0.5, 1.5)))


@case("image.colours", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    x = picture(rng, 3, "float32")
    hsv = tf.image.rgb_to_hsv(x)
    return [hsv, tf.image.hsv_to_rgb(hsv), tf.image.rgb_to_yuv(x), tf.image.rgb_to_yiq(x), tf.image.yuv_to_rgb(x)]


@case("image.rgb_to_grayscale", 1e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.rgb_to_grayscale(picture(rng, 3, "float32"))


@case("image.grayscale_to_rgb")
def _(tf: Any, rng: Any) -> Any:
    return tf.image.grayscale_to_rgb(tf.constant(picture(rng, int(rng.choice([1, 1, 1, 3])))))


@case("image.per_image_standardization", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.per_image_standardization(picture(rng))


@case("image.total_variation", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.total_variation(tf.constant(picture(rng, dtype="float32")))


@case("image.psnr", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    a = picture(rng)
    b = (a.astype("float64") * 0.8).astype(a.dtype)
    return tf.image.psnr(a, b, 255 if a.dtype == np.uint8 else 1.0)


@case("image.ssim", 1e-4)
def _(tf: Any, rng: Any) -> Any:
    a = rng.random((1, 12 + extent(rng), 12 + extent(rng), 3)).astype("float32")
    b = (a * 0.7 + 0.1 * rng.random(a.shape)).astype("float32")
    return tf.image.ssim(a, b, 1.0)


@case("image.image_gradients")
def _(tf: Any, rng: Any) -> Any:
    return tf.image.image_gradients(tf.constant(picture(rng, dtype="float32")))


@case("image.sobel_edges", 2e-5)
def _(tf: Any, rng: Any) -> Any:
    return tf.image.sobel_edges(tf.constant(rng.random((2, 3 + extent(rng), 3 + extent(rng), 2)).astype("float32")))


@case("image.extract_patches")
def _(tf: Any, rng: Any) -> Any:
    x = picture(rng, 3, "float32", batch=True)
    k, s = extent(rng, 1, 3), extent(rng, 1, 3)
    return tf.image.extract_patches(x, [1, k, k, 1], [1, s, s, 1], [1, 1, 1, 1], "SAME")


@case("image.non_max_suppression")
def _(tf: Any, rng: Any) -> Any:
    boxes = rng.random((8, 4)).astype("float32")
    return tf.image.non_max_suppression(boxes, rng.random(8).astype("float32"), extent(rng, 1, 8), float(rng.random()))


# -- tf.io -----------------------------------------------------------------------------------------


@case("io.decode_raw")
def _(tf: Any, rng: Any) -> Any:
    size = extent(rng, 1, 6) * int(rng.choice([1, 2, 4, 8]))
    texts = [rng.bytes(size) for _ in range(extent(rng, 1, 3))]
    return tf.io.decode_raw(texts if rng.random() < 0.5 else texts[0], str(rng.choice(["uint8", "int16", "int32", "int64"])))


@case("io.decode_csv")
def _(tf: Any, rng: Any) -> Any:
    rows = [f"{int(rng.integers(100))},{'' if rng.random() < 0.3 else round(float(rng.normal()), 3)},\"a,{int(rng.integers(9))}\""
            for _ in range(extent(rng, 1, 4))]
    return tf.io.decode_csv(rows, [[0], [1.5], [""]])


@case("io.serialize_tensor")
def _(tf: Any, rng: Any) -> Any:
    x = rng.integers(-5, 100, [extent(rng, 1, 4) for _ in range(extent(rng, 0, 3))]).astype(str(rng.choice(["int32", "float32", "int64", "uint8"])))
    packed = tf.io.serialize_tensor(x)
    return [packed, tf.io.parse_tensor(packed, x.dtype)]


@case("io.parse_single_example")
def _(tf: Any, rng: Any) -> Any:
    train = tf.train
    numbers = [int(each) for each in rng.integers(-5, 1 << 40, extent(rng, 0, 5))]
    reals = [float(each) for each in rng.normal(size=extent(rng, 0, 5))]
    features = {
        "label": train.Feature(int64_list=train.Int64List(value=[int(rng.integers(10))])),
        "numbers": train.Feature(int64_list=train.Int64List(value=numbers)),
        "reals": train.Feature(float_list=train.FloatList(value=reals)),
        "text": train.Feature(bytes_list=train.BytesList(value=[rng.bytes(extent(rng, 0, 9))])),
    }
    record = train.Example(features=train.Features(feature=features)).SerializeToString()
    found = tf.io.parse_single_example(record, {
        "label": tf.io.FixedLenFeature([], "int64"),
        "text": tf.io.FixedLenFeature([], "string"),
        "reals": tf.io.VarLenFeature("float32"),
        "numbers": tf.io.FixedLenSequenceFeature([], "int64", allow_missing=True),
        "absent": tf.io.FixedLenFeature([2], "float32", default_value=[7.0, 7.0]),
    })
    return [found["label"], found["text"], tf.sparse.to_dense(found["reals"]), found["numbers"], found["absent"]]


@case("io.parse_example")
def _(tf: Any, rng: Any) -> Any:
    train = tf.train
    records = []
    for _i in range(extent(rng, 1, 4)):
        reals = [float(each) for each in rng.normal(size=3)]
        numbers = [int(each) for each in rng.integers(0, 9, extent(rng, 0, 4))]
        records.append(train.Example(features=train.Features(feature={
            "reals": train.Feature(float_list=train.FloatList(value=reals)),
            "numbers": train.Feature(int64_list=train.Int64List(value=numbers)),
        })).SerializeToString())
    found = tf.io.parse_example(records, {
        "reals": tf.io.FixedLenFeature([3], "float32"), "numbers": tf.io.VarLenFeature("int64"),
    })
    return [found["reals"], tf.sparse.to_dense(found["numbers"], default_value=-1)]


# -- tf.strings ------------------------------------------------------------------------------------


@case("strings.lower_upper_strip_length")
def _(tf: Any, rng: Any) -> Any:
    x = words(rng)
    return [tf.strings.lower(x), tf.strings.upper(x), tf.strings.strip(x), tf.strings.length(x),
            tf.strings.length(x, unit="UTF8_CHAR"), tf.strings.lower(x, encoding="utf-8")]


@case("strings.split")
def _(tf: Any, rng: Any) -> Any:
    x = words(rng, [(), (3,)][int(rng.integers(2))])
    found = tf.strings.split(x, [None, ",", " ", "a"][int(rng.integers(4))], int(rng.choice([-1, 1])))
    return found.to_tensor() if hasattr(found, "to_tensor") else found


@case("strings.join")
def _(tf: Any, rng: Any) -> Any:
    shape = (extent(rng, 1, 3),)
    return tf.strings.join([words(rng, shape), words(rng, ()), words(rng, shape)], separator=str(rng.choice(["", "-", ", "])))


@case("strings.reduce_join")
def _(tf: Any, rng: Any) -> Any:
    return tf.strings.reduce_join(words(rng, (2, 3)), axis=[None, 0, 1, -1][int(rng.integers(4))], separator="+")


@case("strings.substr")
def _(tf: Any, rng: Any) -> Any:
    x = [word + "abcde" for word in words(rng, (3,))]
    return tf.strings.substr(x, int(rng.integers(-6, 7)), int(rng.integers(0, 5)))


@case("strings.regex_replace")
def _(tf: Any, rng: Any) -> Any:
    pattern = str(rng.choice([r"[0-9]+", r"([a-z])([A-Z])", r"[^a-z]", r"\s", r"^a", r"x|Y"]))
    rewrite = str(rng.choice(["", "_", r"<\0>"]))
    return tf.strings.regex_replace(words(rng, (4,)), pattern, rewrite, bool(rng.random() < 0.7))


@case("strings.to_number")
def _(tf: Any, rng: Any) -> Any:
    if rng.random() < 0.5:
        return tf.strings.to_number([f"{x:.4f}" for x in rng.normal(size=3)])
    return tf.strings.to_number([str(x) for x in rng.integers(-99, 99, 3)], out_type=str(rng.choice(["int32", "int64", "float64"])))


@case("strings.as_string")
def _(tf: Any, rng: Any) -> Any:
    if rng.random() < 0.5:
        return tf.strings.as_string(rng.integers(-999, 999, 3), width=int(rng.choice([-1, 6])), fill=str(rng.choice(["", "0"])))
    return tf.strings.as_string(rng.normal(size=3).astype("float32"), precision=int(rng.choice([-1, 0, 3])))


@case("strings.unicode")
def _(tf: Any, rng: Any) -> Any:
    x = words(rng, ()) + "é"
    return [tf.strings.unicode_split(x, "UTF-8"), tf.strings.unicode_decode(x, "UTF-8"), tf.strings.bytes_split(x)]


@case("strings.ngrams")
def _(tf: Any, rng: Any) -> Any:
    return tf.strings.ngrams(words(rng, (extent(rng, 2, 6),)), int(rng.integers(1, 3)))


# -- tf.lookup -------------------------------------------------------------------------------------


@case("lookup.StaticHashTable")
def _(tf: Any, rng: Any) -> Any:
    keys = [f"k{i}" for i in range(extent(rng, 1, 6))]
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, rng.integers(0, 50, len(keys))), -1)
    return [table.lookup(tf.constant([f"k{i}" for i in rng.integers(0, 8, 4)])), table.size()]
