#!/usr/bin/env bash
# Packs what a build made for a machine with a GPU that has no compiler, or no time for one: the
# tests and benchmarks that need a GPU, the command, the Python package and every library that they
# need but CUDA's, cuDNN's and the C++ compiler's own.
#
#   scripts/gpu_pack.sh BUILD ARCHIVE.tar.xz [PYTHON]      PYTHON: the other machine's, such as 3.12
#
# There, in the root of a copy of the repository:
#
#   mkdir -p /tmp/packed && tar -xJf ARCHIVE.tar.xz -C /tmp/packed
#   export LD_LIBRARY_PATH=/tmp/packed/lib PYTHONPATH=/tmp/packed/python
#   /tmp/packed/bin/test_ops_cuda; python3 bench/feed_gpu.py; python3 bench/convolutions.py /tmp/packed
#
# Tests look for the repository where it was when they were built: a link to it will do. The package
# needs nanobind's library for the other machine's Python, which pip fetches.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:?usage: scripts/gpu_pack.sh BUILD ARCHIVE.tar.xz [PYTHON]}
archive=${2:?usage: scripts/gpu_pack.sh BUILD ARCHIVE.tar.xz [PYTHON]}
python=${3:-}
[[ -e $build/lib/libplimsoll_cuda.so ]] ||
  { echo "gpu_pack: $build has no CUDA library; build it with PLIMSOLL_CUDA=ON" >&2; exit 2; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder"/{bin,lib,python}
ln -s bin "$folder/bench"
cp -L "$build"/lib/libplimsoll.so.*[0-9] "$build"/lib/libplimsoll_*.so "$folder/lib"
find "$build/bin" "$build/tests" "$build/bench" -maxdepth 1 -type f -perm -u+x \
  \( -name plimsoll -o -name 'test_*_cuda' -o -name 'bench_*' \) -exec cp {} "$folder/bin" \;
strip --strip-unneeded "$folder"/bin/* "$folder"/lib/*

if [[ -n $python ]]; then
  cp -rL "$build/python/plimsoll" "$folder/python"
  strip --strip-unneeded "$folder"/python/plimsoll/*.so
  version=$(.venv/bin/pip show nanobind-backend | sed -n 's/^Version: //p')
  .venv/bin/pip download -q --no-deps --only-binary=:all: --python-version "$python" \
    -d "$folder/wheel" "nanobind-backend==$version"
  python3 -m zipfile -e "$folder"/wheel/*.whl "$folder/python"
  rm -rf "$folder/wheel"
fi

# Other distributions name some of these libraries otherwise.
for file in "$folder"/bin/* "$folder"/lib/*; do
  LD_LIBRARY_PATH=$folder/lib ldd "$file"
done | awk '/=> \//{print $3}' | sort -u |
  grep -vE "^$folder|/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libgomp|libcu[a-zA-Z]*|libnv[a-zA-Z]*)[.-]" |
  while read -r library; do cp -Ln "$library" "$folder/lib"; done

find "$folder" -name __pycache__ -prune -exec rm -rf {} +
tar -C "$folder" -c . | xz -T0 -3 >"$archive"
echo "gpu_pack: $archive, $(($(stat -c %s "$archive") / 1000000)) MB"
