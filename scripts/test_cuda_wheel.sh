#!/usr/bin/env bash
# Installs the wheel of the package and that of the CUDA library into a bare environment, and looks at what
# is found there, without a GPU: tests/fake_driver stands in for the driver.
#
#     scripts/test_cuda_wheel.sh WHEEL CUDA_WHEEL
#
# PLIMSOLL_TEST_NVIDIA=1 also installs NVIDIA's wheels (a download of about a gigabyte), and tests that they
# are taken rather than the system's libraries; without it the system must have those.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheel=$(realpath "$1")
cuda_wheel=$(realpath "$2")
environment=$PWD/build/wheels/venv-cuda
fail() {
  echo "cuda wheel: $*" >&2
  exit 1
}
expect() { # TEXT PATTERN
  [[ $1 == *"$2"* ]] || fail "expected '$2' in: $1"
}

nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
driver=$PWD/build/wheels/fake_driver
mkdir -p "$driver"
"${CXX:-c++}" -std=c++20 -shared -fPIC -Isrc -isystem "$(dirname "$(dirname "$(realpath "$nvcc")")")/include" \
  -Wl,-soname,libcuda.so.1 -o "$driver/libcuda.so.1" tests/fake_driver/{fake_cuda,refused_calls}.cpp

rm -rf "$environment"
.venv/bin/python -m venv "$environment"
pip() { "$environment/bin/pip" --disable-pip-version-check "$@"; }
pip install -q "$wheel"
cd "$environment" # nothing of the repository is imported

devices() { "$environment/bin/plimsoll" devices 2>&1 | tr -s ' \n' ' '; }
with_driver() { LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }

# The package alone.
[[ -e /dev/nvidiactl ]] || expect "$(devices)" "no NVIDIA driver"
expect "$(with_driver devices)" "pip install 'plimsoll-cuda13[nvidia]=="
expect "$(PLIMSOLL_CUDA_LIBRARY=/no/such.so with_driver devices)" "/no/such.so, which is not there"

# With the CUDA library.
if [[ -n ${PLIMSOLL_TEST_NVIDIA:-} ]]; then
  pip install -q "$cuda_wheel[nvidia]"
else
  pip install -q --no-deps "$cuda_wheel"
fi
pip check
site=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
library=$(ls "$site"/plimsoll_cuda13/libplimsoll_cuda.so.*)
[[ -e /dev/nvidiactl ]] || expect "$(devices)" "no NVIDIA driver"
expect "$(with_driver devices)" "Fake GPU"
expect "$(with_driver devices)" "cuBLASLt 13"
expect "$(with_driver devices)" "cuDNN 9"

with_driver "$environment/bin/python" - "$site" "${PLIMSOLL_TEST_NVIDIA:-}" <<'PYTHON'
import re, sys

import plimsoll as pm

site, nvidia = sys.argv[1:]


def mapped(name: str) -> set[str]:
    with open("/proc/self/maps") as maps:
        return {line.split()[-1] for line in maps if re.search(rf"/lib{name}[^/]*$", line.rstrip())}


for name in ("cuda", "cublas", "cudnn", "plimsoll_cuda"):
    assert not mapped(name), f"import plimsoll loads {mapped(name)}"
names = [each["name"] for each in pm.list_devices()]
assert names == ["cpu:0", "cuda:0"], names
core, cuda = mapped(r"plimsoll\."), mapped("plimsoll_cuda")
assert len(core) == 1 and next(iter(core)).startswith(f"{site}/plimsoll/lib/"), core
assert len(cuda) == 1 and next(iter(cuda)).startswith(f"{site}/plimsoll_cuda13/"), cuda
for name in ("fmt", "gomp"):
    assert len(mapped(name)) <= 1, f"two copies: {mapped(name)}"
for name in ("cublasLt", "cudnn"):
    found = mapped(name)
    assert found, f"no lib{name}"
    if nvidia:
        assert all(each.startswith(f"{site}/nvidia/") for each in found), found
try:
    pm.device("cuda:0")
except pm.DeviceError as refused:
    assert "NOT_SUPPORTED" in str(refused), refused
PYTHON

# One of another version is not loaded, and said to be.
mv "$library" "$library.other"
expect "$(with_driver devices)" "plimsoll-cuda13 is of another version"
mv "$library.other" "$library"
echo "cuda wheel: the library is found, loaded when it is first asked for, and finds what it needs"
