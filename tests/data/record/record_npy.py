#!/usr/bin/env python3
"""Records arrays that NumPy saved and what NumPy reads from them, for tests/data/npy_test.cpp.

Writes recorded/npy/*.npy and recorded/npy.json: the slices of each file as text, or that it is
refused. Needs NumPy:

    python3 tests/data/record/record_npy.py
"""
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "recorded"
NAMES = {"f8": "f64", "f4": "f32", "f2": "f16", "i8": "i64", "i4": "i32", "i2": "i16", "i1": "i8",
         "u2": "u16", "u1": "u8", "b1": "bool"}


def text(row):
    row = np.asarray(row)
    name = "bytes" if row.dtype.kind == "S" else NAMES[row.dtype.str[1:]]
    def one(item):
        if name == "bytes":
            return "'" + item.decode() + "'"
        if name == "bool":
            return "true" if item else "false"
        return format(float(item), "g") if name[0] == "f" else str(int(item))
    shape = "[" + ",".join(map(str, row.shape)) + "]" if row.ndim else ""
    return " ".join([name + shape] + [one(item) for item in row.reshape(-1)])


def main():
    (FOLDER / "npy").mkdir(exist_ok=True)
    files = {}

    def save(name, array, version=None, refused=None):
        with open(FOLDER / "npy" / (name + ".npy"), "wb") as file:
            np.lib.format.write_array(file, array, version=version)
        files[name] = {"refused": refused} if refused else {"out": [text(row) for row in array]}

    base = np.arange(24).reshape(4, 3, 2)
    for code in NAMES:
        for order in "<>":
            array = (base * 5 % 7 - (0 if code[0] in "ub" else 3)).astype(order + code)
            if code[0] == "f":
                array = (array / 2).astype(order + code)
            save(f"{code}_{'big' if order == '>' else 'little'}", array)
        save(f"{code}_flat", (np.arange(5) % 3).astype(code))
    for major in (1, 2, 3):
        save(f"version_{major}", base.astype("i2"), version=(major, 0))
    save("empty", np.zeros((0, 3), "f4"))
    save("empty_slices", np.zeros((3, 0, 2), "f4"))
    save("one", np.ones(1, "i8"))
    save("strings", np.array([[b"a", b""], [b"ccc", b"\0d"], [b"xyz", b"yy\0"]]))
    save("strings_flat", np.array([b"one", b"three", b""]))
    save("fortran_flat", np.asfortranarray(np.arange(3)))
    save("fortran", np.asfortranarray(base.astype("f4")), refused="Fortran order")
    save("scalar", np.array(3.0), refused="scalar")
    save("objects", np.array([{}, 1], dtype=object), refused="objects")
    save("records", np.zeros(3, [("a", "f4"), ("b", "i8")]), refused="records")
    save("unicode", np.array(["a", "bc"]), refused="dtype")
    save("u4", np.arange(3, dtype="u4"), refused="dtype")
    save("u8", np.arange(3, dtype="u8"), refused="dtype")
    save("complex", np.arange(3, dtype="c8"), refused="dtype")
    save("dates", np.zeros(2, "M8[s]"), refused="dtype")
    save("void", np.zeros(2, "V2"), refused="dtype")
    save("nine", np.zeros((1,) * 9, "f4"), refused="9 dimensions")
    lines = ",\n".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in files.items())
    (FOLDER / "npy.json").write_text("{\n" + lines + "\n}\n")
    print(len(files), "files with NumPy", np.__version__)


if __name__ == "__main__":
    main()
