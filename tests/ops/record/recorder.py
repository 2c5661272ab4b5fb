"""Writes cases of ops with their expected values, for tests/ops/op_cases_test.cpp.

A case is an op's name, its attributes, its inputs and what NumPy or TensorFlow says its outputs
are. Floating values are recorded in float64. The test runs each case in every dtype the op claims,
with gaps between elements, traced, and differentiates it by finite differences.

    r = Recorder("reduce")
    x = r.normal(3, 4)
    r.case("sum", [x], [x.sum(1)], axes=[1], keep_dims=False)
    r.write()
"""

import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "recorded"


class DType(str):
    """An attribute that is a dtype: DType("f32")."""


class Exact:
    """An input in f32 that stays in f32 whatever dtype the case is run in."""

    def __init__(self, value):
        self.value = np.asarray(value, dtype=np.float32)


NAMES = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
         "uint16": "u16", "uint8": "u8", "bool": "bool"}


class Recorder:
    def __init__(self, family, seed=7):
        self.family = family
        self.random = np.random.default_rng(seed)
        self.cases = []
        self.data = bytearray()
        self.offsets = {}  # of what is there already

    # Inputs.
    def normal(self, *shape, scale=1.0, offset=0.0):
        return self.random.standard_normal(shape) * scale + offset

    def uniform(self, low, high, *shape):
        return self.random.uniform(low, high, shape)

    def apart(self, *shape):
        """Values of which no two are near: for max, sorting and other kinks."""
        count = int(np.prod(shape))
        return (self.random.permutation(count).reshape(shape) - count / 2 + 0.3) / max(count / 4, 1)

    def integers(self, low, high, *shape, dtype=np.int64):
        return self.random.integers(low, high, shape).astype(dtype)

    # Cases.
    def case(self, op, inputs, outputs, gradient=True, dtypes=True, tolerance=1.0, wide=(),
             **attributes):
        """`gradient=False`: not differentiated (at kinks); a list: only those outputs are.
        `dtypes=False`: only as recorded. `tolerance` multiplies what is allowed in each dtype.
        `wide` numbers the inputs that are f32 where input 0 is a 16-bit float: statistics, losses,
        masters."""
        case = {"op": op,
                "attributes": {k: self._attribute(v) for k, v in attributes.items()},
                "inputs": [self._tensor(x) for x in inputs],
                "outputs": [self._tensor(y) for y in outputs],
                "gradient": gradient, "dtypes": dtypes, "tolerance": tolerance, "wide": list(wide)}
        usual = {"attributes": {}, "gradient": True, "dtypes": True, "tolerance": 1.0, "wide": []}
        self.cases.append({k: v for k, v in case.items() if k not in usual or v != usual[k]})

    def write(self):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{self.family}.bin").write_bytes(bytes(self.data))
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in self.cases)
        (FOLDER / f"{self.family}.json").write_text(f"[\n{lines}\n]\n")
        print(f"{self.family}: {len(self.cases)} cases, {len(self.data)} bytes")

    def _attribute(self, value):
        if isinstance(value, DType):
            return {"dtype": str(value)}
        if isinstance(value, (bool, np.bool_)):
            return {"flag": bool(value)}
        if isinstance(value, (int, np.integer)):
            return {"integer": int(value)}
        if isinstance(value, (float, np.floating)):
            return {"number": float(value)}
        if isinstance(value, str):
            return {"text": value}
        return {"integers": [int(v) for v in value]}

    def _tensor(self, value):
        array = value.value if isinstance(value, Exact) else np.asarray(value)
        if not isinstance(value, Exact) and array.dtype in (np.float32, np.float16):
            array = array.astype(np.float64)
        content = np.ascontiguousarray(array).tobytes()
        offset = self.offsets.setdefault(content, len(self.data))
        if offset == len(self.data):
            self.data += content
        return {"dtype": NAMES[str(array.dtype)], "shape": list(array.shape), "offset": offset}
