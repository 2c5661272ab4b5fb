#!/usr/bin/env bash
# How the build finds cuDNN and its frontend, what it says where it does not, and that nothing is
# measured then. The search alone, in a project of a few lines: no compiler, no CUDA.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p project cuda/include cuda/lib none
touch cuda/include/cudnn.h cuda/lib/libcudnn.so
cat >project/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.25)
project(search LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH "$root/cmake")
set(PLIMSOLL_HAS_CUDA ON)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
set(CUDAToolkit_INCLUDE_DIRS "\${CUDA}/include")
set(CUDAToolkit_LIBRARY_DIR "\${CUDA}/lib")
include(PlimsollCudnn)
message(STATUS "has=\${PLIMSOLL_HAS_CUDNN} given=\${PLIMSOLL_CUDNN_FRONTEND}")
TEXT

# frontend FOLDER VERSION: its headers, as far as the search looks at them.
frontend() {
  mkdir -p "$1"
  touch "$1/cudnn_frontend.h" "$1/fmt.h"
  local part=0 name
  for name in MAJOR MINOR PATCH; do
    part=$((part + 1))
    echo "#define CUDNN_FRONTEND_${name}_VERSION $(cut -d. -f$part <<<"$2")"
  done >"$1/cudnn_frontend_version.h"
}

# python FOLDER: a python3 that has its packages there.
python() {
  printf '#!/bin/sh\necho "%s"\n' "$1" >python3
  chmod +x python3
}

# search ARGUMENT...: configures anew and leaves what is said in `said`. What this machine has
# installed is not looked at.
generator="Unix Makefiles"
! command -v ninja >/dev/null || generator=Ninja
search() {
  rm -rf build
  CUDNN_FRONTEND_DIR='' cmake -S project -B build -G "$generator" -DCUDA="$work/cuda" \
    -DPLIMSOLL_PYTHON3="$work/python3" "$@" >said 2>&1
}
one_line() { tr -s ' \n' ' ' <said; }
finds() { # GIVEN: the folder that compilers are given
  grep -q "has=1 given=$1\$" said || fail "not $1: $(cat said)"
  ! grep -q "cuDNN is not used" said || fail "a warning without reason: $(cat said)"
}

# Nowhere: a warning with what is missing and the remedies.
python "$work/none"
search
for word in "CMake Warning" "cudnn_frontend.h" "./dev deps" ".deps/cudnn-frontend" "CUDNN_FRONTEND_DIR"; do
  [[ $(one_line) == *"$word"* ]] || fail "'$word' is not in: $(cat said)"
done
grep -q has=0 said || fail "found: $(cat said)"
bash "$root/scripts/require_cudnn.sh" build >out 2>err && fail "a build without cuDNN is measured"
for word in cudnn_frontend.h "./dev deps" .deps/cudnn-frontend PLIMSOLL_WITHOUT_CUDNN=1; do
  grep -qF -- "$word" err || fail "'$word' is not in: $(cat err)"
done
PLIMSOLL_WITHOUT_CUDNN=1 bash "$root/scripts/require_cudnn.sh" build >out || fail "exits $?"
grep -q "without cuDNN" out || fail "not said: $(cat out)"
search -DPLIMSOLL_CUDNN=OFF
! grep -q "cuDNN is not used" said || fail "warns of what was asked for: $(cat said)"
bash "$root/scripts/require_cudnn.sh" build >/dev/null 2>err && fail "PLIMSOLL_CUDNN=OFF is measured"

# Where one names it, where ./dev puts it, where pip and PyTorch have it.
frontend named/include 1.15.0
search -DCUDNN_FRONTEND_DIR="$work/named"
finds "$work/build/cudnn-frontend"
[[ -e build/cudnn-frontend/cudnn_frontend.h && ! -e build/cudnn-frontend/fmt.h ]] ||
  fail "not the frontend alone: $(ls build/cudnn-frontend)"
bash "$root/scripts/require_cudnn.sh" build || fail "exits $?"
frontend site/include 1.16.0
python "$work/site"
search
finds "$work/build/cudnn-frontend"
[[ $(readlink -f build/cudnn-frontend/cudnn_frontend.h) == "$work/site/include/"* ]] || fail "another"
frontend project/.deps/cudnn-frontend/include 1.15.0
search
finds "$work/project/.deps/cudnn-frontend/include"
rm -rf project/.deps site
frontend site/torch/include 1.20.3
search
finds "$work/build/cudnn-frontend"

# cuDNN of the wheel, which has no libcudnn.so.
rm cuda/include/cudnn.h cuda/lib/libcudnn.so
search
[[ $(one_line) == *"cuDNN itself"* ]] || fail "cuDNN's absence is not named: $(cat said)"
mkdir -p site/nvidia/cudnn/include site/nvidia/cudnn/lib
touch site/nvidia/cudnn/include/cudnn.h site/nvidia/cudnn/lib/libcudnn.so.9
search
finds "$work/build/cudnn-frontend"

# Mistakes are named.
frontend site/torch/include 1.9.0
search
[[ $(one_line) == *"is 1.9.0, older than"* ]] || fail "an old one is used: $(cat said)"
if search -DCUDNN_FRONTEND_DIR="$work/none"; then fail "a folder without headers is accepted"; fi
[[ $(one_line) == *"CUDNN_FRONTEND_DIR is $work/none"* ]] || fail "not named: $(cat said)"
bash "$root/scripts/require_cudnn.sh" none 2>err && fail "what is no build is accepted"
grep -q none err || fail "not named: $(cat err)"
