#!/usr/bin/env bash
# A checkpoint as others read it: by Python's own means, and by the safetensors package where that
# is installed ($PYTHON names another interpreter).
set -euo pipefail

example=$(dirname "$PLIMSOLL")/../examples/train_digits
python=${PYTHON:-python3}
[[ -x $example ]] && command -v "$python" >/dev/null || {
  echo "skipped: no example, or no Python"
  exit 0
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$example" 1 f32 "$folder/digits.safetensors" >"$folder/out"
grep -q accuracy "$folder/out"

"$python" - "$folder/digits.safetensors" <<'END'
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
assert int(header.pop("__metadata__")["plimsoll.step"]) > 0
assert header["conv1.weight"]["shape"] == [6, 1, 5, 5]
assert header["optimizer.exp_avg.fc3.bias"] | {"data_offsets": 0} == {
    "dtype": "F32", "shape": [10], "data_offsets": 0}
assert max(entry["data_offsets"][1] for entry in header.values()) == len(data) - 8 - length

begin, end = header["fc3.bias"]["data_offsets"]
bias = struct.unpack("<10f", data[8 + length + begin:8 + length + end])
assert all(-10 < value < 10 for value in bias) and len(set(bias)) == 10
try:
    from safetensors import safe_open
except ImportError:
    print("read by hand; the safetensors package is not installed")
    sys.exit()
with safe_open(sys.argv[1], framework="np") as file:
    assert set(file.keys()) == set(header)
    assert tuple(file.get_tensor("fc3.bias")) == bias
    assert file.get_tensor("optimizer.step").shape == ()
print("read by the safetensors package")
END
