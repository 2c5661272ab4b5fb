"""What the record_*.py scripts beside it share: runs PyTorch and writes what it gave.

A case has inputs (x), outputs (y), weights of the outputs in a sum (dy), the gradients of that sum
by floating inputs (dx) and by parameters (dp), and the parameters and buffers themselves (p, and
`after` for buffers that changed); tests/support/recorded.h reads them. Everything is computed in
float64 from numbers that float32 has exactly, and kept in float32.
"""

import json
import pathlib
import struct

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "recorded"
DTYPES = {"float32": "F32", "float64": "F64", "int64": "I64", "int16": "I16", "bool": "BOOL", "uint16": "BF16"}


def save(name, tensors):
    header, data = {}, b""
    for key, value in tensors.items():
        raw = np.ascontiguousarray(value).tobytes()
        header[key] = {"dtype": DTYPES[str(value.dtype)], "shape": list(value.shape),
                       "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{name}: {len(tensors)} tensors, {len(data)} bytes")


class Cases:
    def __init__(self, name, seed):
        self.name, self.random, self.tensors = name, np.random.default_rng(seed), {}
        torch.manual_seed(seed)

    def normal(self, *shape, scale=1.0):
        """Numbers that bf16 has exactly, so that narrow runs see the same ones."""
        values = np.asarray(self.random.standard_normal(shape) * scale, dtype=np.float32)
        return torch.from_numpy(values).bfloat16().double()

    def ints(self, below, *shape):
        return torch.from_numpy(self.random.integers(0, below, shape))

    def put(self, key, tensor):
        value = tensor.detach()
        if value.is_floating_point():
            value = value.float()
        self.tensors[key] = value.numpy()

    def weights(self, y, number):
        """Those of output `number` in the sum that is differentiated."""
        return self.normal(*y.shape)

    def soften(self, module, scale=0.3):
        """Parameters of a module: random, and exact in bf16."""
        with torch.no_grad():
            for p in module.parameters():
                offset = 1.0 if p.dim() == 1 and bool((p == 1).all()) else 0.0
                p.copy_(self.normal(*p.shape, scale=scale) + offset)
                p.copy_(p.bfloat16().double())
        return module

    def add(self, case, function, inputs, module=None, names=None, skip=()):
        """`function` of the inputs; `names` maps PyTorch's names of parameters to ours, and inputs
        in `skip` are not differentiated."""
        names = names or (lambda name: name)
        for i, x in enumerate(inputs):
            self.put(f"{case}.x.{i}", x)
        if module is not None:
            for name, value in list(module.named_parameters()) + list(module.named_buffers()):
                if names(name) and "num_batches_tracked" not in name:
                    self.put(f"{case}.p.{names(name)}", value)
        wanted = [x.requires_grad_() for x in inputs if x.is_floating_point()]
        outputs = function(*inputs)
        outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        total = 0
        for i, y in enumerate(outputs):
            self.put(f"{case}.y.{i}", y)
            dy = self.weights(y, i)
            self.put(f"{case}.dy.{i}", dy)
            total = total + (y * dy).sum()
        parameters = dict(module.named_parameters()) if module is not None else {}
        sources = wanted + list(parameters.values())
        found = torch.autograd.grad(total, sources, allow_unused=True)
        found = [torch.zeros_like(s) if g is None else g for g, s in zip(found, sources)]
        number = [i for i, x in enumerate(inputs) if x.is_floating_point()]
        for i, g in zip(number, found):
            if i not in skip:
                self.put(f"{case}.dx.{i}", g)
        for name, g in zip(parameters, found[len(wanted):]):
            if names(name):
                self.put(f"{case}.dp.{names(name)}", g)
        if module is not None:
            for name, value in module.named_buffers():
                if names(name) and "num_batches_tracked" not in name:
                    self.put(f"{case}.after.{names(name)}", value)

    def module(self, case, module, inputs, call=None, names=None, soften=0.3):
        module = module.double()
        if soften:
            self.soften(module, soften)
        self.add(case, call or module, inputs, module, names)

    def save(self):
        save(self.name, self.tensors)


class PackedCases(Cases):
    """The same in a tenth of the bytes, for thousands of small cases NAME.I; tests/support/
    recorded_file.h unpacks them. For each NAME there are three tensors: NAME.parts (what follows,
    for each tensor of its cases), NAME.narrow (numbers that bf16 has exactly) and NAME.wide (all
    others). Weights of outputs are a function of their place, and not there.

    A part is the number of the case, the kind (of KINDS), a number for x, y and dx or a name (its
    length and its characters) for p, dp and after, the dtype (narrow, wide, i64, bool), the rank,
    the extents, and for whole numbers and bools the elements.
    """

    KINDS = ["x", "y", "dx", "o", "p", "dp", "after"]

    def weights(self, y, number):
        places = torch.arange(y.numel()).reshape(y.shape)
        return ((37 * places + 11 * number + 5) % 17 - 8).double() / 8

    def save(self):
        packed = {}
        for key, value in self.tensors.items():
            name, case, kind, *rest = key.split(".", 3)
            if kind == "dy":
                continue
            parts, narrow, wide = packed.setdefault(name, ([], [], []))
            parts += [int(case), self.KINDS.index(kind)]
            if kind in ("x", "y", "dx"):
                parts.append(int(rest[0]))
            elif kind != "o":
                parts += [len(rest[0]), *rest[0].encode()]
            whole = value.dtype != np.float32
            flat = value.reshape(-1)
            bits = flat.view(np.uint32) if not whole else None
            exact = not whole and not (bits & 0xFFFF).any()
            dtype = 3 if value.dtype == bool else 2 if whole else 0 if exact else 1
            parts += [dtype, value.ndim, *value.shape]
            if whole:
                parts += [int(v) for v in flat]
            elif exact:
                narrow.append((bits >> 16).astype(np.uint16))
            else:
                wide.append(flat)
        tensors = {}
        for name, (parts, narrow, wide) in packed.items():
            assert all(-32768 <= v < 32768 for v in parts), name
            tensors[f"{name}.parts"] = np.array(parts, np.int16)
            tensors[f"{name}.narrow"] = np.concatenate(narrow or [np.zeros(0, np.uint16)])
            tensors[f"{name}.wide"] = np.concatenate(wide or [np.zeros(0, np.float32)])
        save(self.name, tensors)
