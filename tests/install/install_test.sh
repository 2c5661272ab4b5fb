#!/usr/bin/env bash
# Installs a build tree under a temporary prefix, moves it, and builds and runs a program against it.
# usage: install_test.sh BUILD_DIR CXX_COMPILER EXPECTED_VERSION
set -euo pipefail

build=$1 compiler=$2 version=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

expect() { # WHAT ACTUAL EXPECTED
  [[ $2 == "$3" ]] || fail "$1 says '$2', expected '$3'"
}

cmake --install "$build" --prefix "$scratch/first" >"$scratch/install.log" ||
  { cat "$scratch/install.log"; fail "cmake --install"; }
# Moved, so that nothing can lean on the prefix it was installed to.
mv "$scratch/first" "$scratch/prefix"

expect "the installed command" "$("$scratch/prefix/bin/plimsoll" --version)" "plimsoll $version"

cmake -G Ninja -S "$here" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >"$scratch/configure.log" ||
  { cat "$scratch/configure.log"; fail "find_package(plimsoll)"; }
grep -q "plimsoll_VERSION=$version" "$scratch/configure.log" || fail "the package's version"
cmake --build "$scratch/consumer" || fail "building against the installed headers"
expect "the program" "$("$scratch/consumer/consumer")" "$version"

# Every installed header stands on its own, without any of the build's dependencies' headers.
while read -r header; do
  echo "#include <${header#"$scratch/prefix/include/"}>"
done < <(find "$scratch/prefix/include" -name '*.h' | sort) >"$scratch/all_headers.cpp"
"$compiler" -std=c++20 -fsyntax-only -I"$scratch/prefix/include" "$scratch/all_headers.cpp" ||
  fail "an installed header does not compile"
