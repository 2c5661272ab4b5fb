#!/usr/bin/env bash
# ./dev on a machine with little: no apt, no network, no ninja. It runs in a folder with a project of
# a few lines, and finds no other programs than those it is given.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir tools
for tool in bash basename cat cmake comm cut dirname env find g++ git grep id make mkdir mktemp mv nproc \
  pkg-config rm sed sha256sum sort tail touch uname; do
  found=$(command -v "$tool") || continue
  ln -s "$found" "tools/$tool"
done
[[ -e tools/make && -e tools/cmake ]] || {
  echo "neither is tried: there is no make or no cmake here"
  exit 0
}

cp "$root/dev" .
cat >CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(little LANGUAGES NONE)
file(APPEND "${PROJECT_SOURCE_DIR}/configured" "again\n")
add_custom_target(built ALL COMMAND "${CMAKE_COMMAND}" -E echo "built with ${CMAKE_GENERATOR}")
set(PLIMSOLL_NO_CUDNN_WHY "${WHY}" CACHE INTERNAL "")
if(WHY)
  message(WARNING "cuDNN is not used")
endif()
TEXT
cat >CMakePresets.json <<'TEXT'
{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja"}]}
TEXT
touch -d '1 hour ago' CMakePresets.json CMakeLists.txt dev

# What the machine that runs this test wants of CUDA is not what the little project wants.
unset PLIMSOLL_CUDA

# dev ARGUMENT...: what it says goes to `said`.
dev() { PATH=$work/tools PLIMSOLL_NO_DEPS=1 PLIMSOLL_JOBS=1 CI='' ./dev "$@" >said 2>&1; }
times() { wc -l <configured; }

# make takes ninja's place, and that is said once.
dev build || fail "without ninja: $(cat said)"
[[ $(grep -c "no ninja here: building build/release with make" said) == 1 ]] || fail "$(cat said)"
grep -q "built with Unix Makefiles" said || fail "$(cat said)"
dev build || fail "again: $(cat said)"
grep -q "built with Unix Makefiles" said || fail "again: $(cat said)"
! grep -q "no ninja" said || fail "said twice: $(cat said)"
[[ $(times) == 1 ]] || fail "configured $(times) times"

# New presets are read, with the generator of the folder.
touch CMakePresets.json
dev build || fail "new presets: $(cat said)"
[[ $(times) == 2 ]] || fail "configured $(times) times, expected 2"
touch -d '1 hour ago' CMakePresets.json

# A folder of ninja's, when ninja has gone.
if ninja=$(command -v ninja); then
  rm -rf build
  ln -s "$ninja" tools/ninja
  dev build || fail "with ninja: $(cat said)"
  grep -q "built with Ninja" said || fail "with ninja: $(cat said)"
  rm tools/ninja
  dev build || fail "ninja has gone: $(cat said)"
  grep -q "built with Unix Makefiles" said || fail "ninja has gone: $(cat said)"
fi

# Nothing to build with: exit 2 and what is missing.
rm -rf build
mv tools/make away
status=0
dev build || status=$?
[[ $status == 2 ]] || fail "exits $status, expected 2: $(cat said)"
grep -q "ninja or make" said || fail "not named: $(cat said)"
mv away tools/make

# Without PLIMSOLL_NO_DEPS and without apt: what is missing is named, and what is optional is done
# without, ninja too.
status=0
PATH=$work/tools CI='' PLIMSOLL_JOBS=1 ./dev build >said 2>&1 || status=$?
if [[ $status == 0 ]]; then
  grep -q "going on without.*ninja-build" said || fail "not said: $(cat said)"
  grep -q "built with Unix Makefiles" said || fail "$(cat said)"
else
  [[ $status == 2 ]] && grep -q "there is no apt-get" said || fail "exits $status: $(cat said)"
  ! grep -q "needs.*ninja-build" said || fail "ninja is required: $(cat said)"
fi

# A warning is not lost in a log; headers that come later are noticed.
rm -rf build configured
sed -i 's/\${WHY}/no frontend/; s/if(WHY)/if(1)/' CMakeLists.txt
dev build || fail "$(cat said)"
grep -q "no cuDNN: no frontend" said || fail "the warning is lost: $(cat said)"
dev build || fail "$(cat said)"
before=$(times)
mkdir -p .deps/cudnn-frontend/include
touch .deps/cudnn-frontend/include/cudnn_frontend.h
dev build || fail "$(cat said)"
(($(times) == before + 1)) || fail "headers that came are not noticed: $(cat said)"

# CUDA is left out where there is no GPU, stays where it was built, and is compiled when asked for.
# The list of devices is what decides, so this needs a machine without one.
if [[ ! -e /dev/nvidiactl && ! -e /dev/dxg ]]; then
  cat >CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(little LANGUAGES NONE)
set(PLIMSOLL_CUDA AUTO CACHE STRING "")
add_custom_target(built ALL COMMAND "${CMAKE_COMMAND}" -E echo "CUDA is ${PLIMSOLL_CUDA}")
TEXT
  rm -rf build
  dev build || fail "$(cat said)"
  grep -q "CUDA is OFF" said || fail "CUDA is built without a GPU: $(cat said)"
  PLIMSOLL_CUDA=AUTO dev build || fail "$(cat said)"
  grep -q "CUDA is AUTO" said || fail "CUDA is not built when asked for: $(cat said)"
  dev build || fail "$(cat said)"
  grep -q "CUDA is AUTO" said || fail "CUDA is taken out again: $(cat said)"
fi
