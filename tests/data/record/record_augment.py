#!/usr/bin/env python3
"""Records what torchvision v2 (or tf.image) makes of pictures: record_augment.py torch|tf FOLDER

Writes augment_torch or augment_tf .json and .bin to FOLDER, tests/data/recorded as a rule. Bytes are
stored as they are, floats (pictures of 0 to 1) as 16-bit shares of -1 to 3. PLIMSOLL_AUGMENT_SEED
gives other pictures than those recorded.
"""

import json
import os
import pathlib
import sys

import numpy as np

HEIGHT, WIDTH = 15, 12
PICTURES, FLOAT_PICTURES = 50, 10


def make_pictures():
    random = np.random.RandomState(int(os.environ.get("PLIMSOLL_AUGMENT_SEED", "5")))
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    pictures = []
    for i in range(PICTURES):
        waves = random.uniform(0, 1, (3, 4))
        smooth = np.stack(
            [128 + 120 * np.sin(w[0] * x + w[1] * y + 6 * w[2]) * w[3] for w in waves], axis=-1
        )
        noise = random.uniform(0, 255, (HEIGHT, WIDTH, 3))
        share = [0, 0.1, 0.5, 1][i % 4]
        picture = smooth * (1 - share) + noise * share
        if i % 7 == 3:
            picture = (picture - 128) * 3 + 128  # much of it black and white
        if i % 11 == 5:
            picture[...] = picture[..., :1]  # gray
        if i == 20:
            picture[...] = 77
        pictures.append(np.clip(picture, 0, 255).astype(np.uint8))
    return np.stack(pictures)


def torch_cases():
    import torch
    import torchvision
    from torchvision.transforms.v2 import InterpolationMode, RandAugment
    from torchvision.transforms.v2 import functional as F

    bilinear = {False: InterpolationMode.NEAREST, True: InterpolationMode.BILINEAR}

    def affine(p, image):
        return F.affine(
            image,
            angle=p["angle"],
            translate=[p["translate_x"], p["translate_y"]],
            scale=p["scale"],
            shear=[p["shear_x"], p["shear_y"]],
            interpolation=bilinear[p["bilinear"]],
            fill=[p["fill"] if image.dtype == torch.uint8 else p["fill"] / 255] * 3,
        )

    def rotate(p, image):
        fill = p["fill"] if image.dtype == torch.uint8 else p["fill"] / 255
        return F.rotate(image, p["degrees"], bilinear[p["bilinear"]], fill=[fill] * 3)

    def erase(p, image):
        value = p["value"] if image.dtype == torch.uint8 else p["value"] / 255
        v = torch.full((3, 1, 1), value, dtype=image.dtype)
        return F.erase(image, p["y"], p["x"], p["height"], p["width"], v)

    def resized_crop(p, image):
        size = [p["out_height"], p["out_width"]]
        return F.resized_crop(
            image, p["y"], p["x"], p["height"], p["width"], size, antialias=p["antialias"]
        )

    def solarize(p, image):
        bound = 1 if image.dtype == torch.uint8 else 255
        return F.solarize(image, p["threshold"] / bound)

    def augment(p, image):
        policy = RandAugment()
        return policy._apply_image_or_video_transform(
            image, p["kind"], p["magnitude"], policy.interpolation, {torch.Tensor: None}
        )

    move = {"angle": 0.0, "translate_x": 0, "translate_y": 0, "scale": 1.0, "shear_x": 0.0,
            "shear_y": 0.0, "bilinear": False, "fill": 0}
    ops = {
        "adjust_brightness": (lambda p, i: F.adjust_brightness(i, p["factor"]), [{"factor": f} for f in (0.3, 1.7)]),
        "adjust_contrast": (lambda p, i: F.adjust_contrast(i, p["factor"]), [{"factor": f} for f in (0.4, 1.6)]),
        "adjust_saturation": (lambda p, i: F.adjust_saturation(i, p["factor"]), [{"factor": f} for f in (0.2, 1.9)]),
        "adjust_hue": (lambda p, i: F.adjust_hue(i, p["factor"]), [{"factor": f} for f in (-0.35, 0.12)]),
        "adjust_sharpness": (lambda p, i: F.adjust_sharpness(i, p["factor"]), [{"factor": f} for f in (0.2, 1.8)]),
        "grayscale": (lambda p, i: F.rgb_to_grayscale(i, 3), [{}]),
        "invert": (lambda p, i: F.invert(i), [{}]),
        "solarize": (solarize, [{"threshold": 100}]),
        "posterize": (lambda p, i: F.posterize(i, p["bits"]), [{"bits": 3}]),
        "autocontrast": (lambda p, i: F.autocontrast(i), [{}]),
        "equalize": (lambda p, i: F.equalize(i), [{}]),
        "gaussian_blur": (lambda p, i: F.gaussian_blur(i, [p["size"]] * 2, [p["sigma"]] * 2),
                          [{"size": 3, "sigma": 0.8}, {"size": 7, "sigma": 1.9}]),
        "erase": (erase, [{"y": 3, "x": 2, "height": 5, "width": 6, "value": 51}]),
        "affine": (affine, [{**move, "angle": 23.0, "translate_x": 2, "scale": 1.3, "fill": 40},
                            {**move, "angle": -40.0, "translate_y": -3, "scale": 0.7, "shear_x": 11.0,
                             "shear_y": -6.0, "bilinear": True, "fill": 90}]),
        "rotate": (rotate, [{"degrees": 17.0, "bilinear": False, "fill": 0},
                            {"degrees": -63.0, "bilinear": True, "fill": 128}]),
        "resized_crop": (resized_crop, [
            {"y": 2, "x": 1, "height": 11, "width": 10, "out_height": 7, "out_width": 6, "antialias": True},
            {"y": 4, "x": 3, "height": 6, "width": 7, "out_height": 9, "out_width": 11, "antialias": True},
            {"y": 0, "x": 0, "height": 15, "width": 12, "out_height": 8, "out_width": 8, "antialias": False}]),
        "flip_left_right": (lambda p, i: F.horizontal_flip(i), [{}]),
        "flip_up_down": (lambda p, i: F.vertical_flip(i), [{}]),
        "augment": (augment, [{"kind": k, "magnitude": m} for k, m in (
            ("Identity", 0.0), ("ShearX", 0.27), ("ShearY", -0.2), ("TranslateX", 4.8), ("TranslateY", -3.2),
            ("Rotate", 21.0), ("Brightness", -0.4), ("Color", 0.6), ("Contrast", 0.5), ("Sharpness", 0.7),
            ("Posterize", 5.0), ("Solarize", 0.4), ("AutoContrast", 0.0), ("Equalize", 0.0))]),
    }

    def run(op, parameters, picture):
        image = torch.from_numpy(picture).permute(2, 0, 1).contiguous()
        return ops[op][0](parameters, image).permute(1, 2, 0).numpy()

    cases = [(op, p) for op, (_, all_p) in ops.items() for p in all_p]
    return f"torchvision {torchvision.__version__}", cases, run


def tf_cases():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    ops = {
        "tf_adjust_brightness": lambda i, f: tf.image.adjust_brightness(i, f),
        "tf_adjust_contrast": lambda i, f: tf.image.adjust_contrast(i, f),
        "tf_adjust_saturation": lambda i, f: tf.image.adjust_saturation(i, f),
        "tf_adjust_hue": lambda i, f: tf.image.adjust_hue(i, f),
    }
    factors = {"tf_adjust_brightness": (-0.3, 0.2), "tf_adjust_contrast": (0.4, 1.7),
               "tf_adjust_saturation": (0.3, 1.6), "tf_adjust_hue": (-0.2, 0.4)}
    cases = [(op, {"factor": f}) for op in ops for f in factors[op]]
    return f"tensorflow {tf.__version__}", cases, lambda op, p, i: ops[op](i, p["factor"]).numpy()


def main():
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    by, cases, run = {"torch": torch_cases, "tf": tf_cases}[kind]()
    pictures = make_pictures()
    blob = bytearray(pictures.tobytes())
    entries = []
    for op, parameters in cases:
        for floats in (False, True):
            count = FLOAT_PICTURES if floats else PICTURES
            results = [
                run(op, parameters, p.astype(np.float32) / np.float32(255) if floats else p)
                for p in pictures[:count]
            ]
            stack = np.stack(results)
            assert stack.dtype == (np.float32 if floats else np.uint8), (op, stack.dtype)
            entries.append({"op": op, "parameters": parameters, "floats": floats, "count": count,
                            "height": stack.shape[1], "width": stack.shape[2], "offset": len(blob)})
            if floats:
                assert stack.min() > -1 and stack.max() < 3, op
                stack = np.round((stack + 1) / 4 * 65535).astype("<u2")
            blob += stack.tobytes()
    about = {"by": by, "height": HEIGHT, "width": WIDTH, "pictures": PICTURES, "cases": entries}
    (folder / f"augment_{kind}.bin").write_bytes(blob)
    (folder / f"augment_{kind}.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
