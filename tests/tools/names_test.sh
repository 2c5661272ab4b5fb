#!/usr/bin/env bash
# The check of names finds what two sources of a folder have in anonymous namespaces under one name: such
# sources are compiled together. The repository itself is clean.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }
check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/check_names.py

said=$(python3 "$check") || fail "files of one folder share names: $said"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/src/{low,high}

source_with() { # FILE LINE...: the lines in an anonymous namespace
  local file=$folder/src/$1
  shift
  { printf 'namespace plimsoll {\nnamespace {\n\n'; printf '%s\n' "$@"
    printf '\n}  // namespace\n}  // namespace plimsoll\n'; } >"$file"
}
finds() { # WORD: the check fails and names it
  local said status=0
  said=$(python3 "$check" "$folder") || status=$?
  [[ $status == 1 ]] || fail "exits $status where it should find '$1': $said"
  [[ $said == *"$1"* ]] || fail "'$1' is not in: $said"
}
passes() {
  local said
  said=$(python3 "$check" "$folder") || fail "a clean tree is refused: $said"
}

source_with low/a.cpp 'using Json = nlohmann::json;' 'int half(int x) { return x / 2; }' \
  'void Stage::run(int x) {}'
source_with low/b.cpp 'using Json = nlohmann::json;' 'constexpr int kHalf = 2;' \
  'void Other::run(int x) {}'
source_with high/a.cpp 'int half(int x) { return x / 2; }'
passes

source_with low/b.cpp 'double half(double x) { return x / 2; }'
finds "src/low/a.cpp:5: 'half' is also in src/low/b.cpp:4"
source_with low/b.cpp 'template <typename T>' 'T' 'half(T x) {' '  return x / 2;' '}'
finds "'half' is also in src/low/b.cpp"
source_with low/b.cpp 'using Json = nlohmann::ordered_json;'
finds "src/low/a.cpp:4: 'Json' is also in src/low/b.cpp:4"
source_with low/b.cpp 'constexpr std::array<int, 2> half = {1, 2};'
finds "'half' is also in src/low/b.cpp"

# Tests of one kind go into one program, those of another kind do not; macros of GoogleTest may repeat.
source_with low/b.cpp 'int other;'
mkdir -p "$folder"/tests/low
source_with ../tests/low/a_test.cpp 'int half(int x) { return x / 2; }' 'TEST(A, Halves) {}'
source_with ../tests/low/b_cuda_test.cpp 'int half(int x) { return x / 2; }' 'TEST(B, Halves) {}'
source_with ../tests/low/c_test.cpp 'TEST(C, Halves) {}'
passes
source_with ../tests/low/c_test.cpp 'double half(double x) { return x / 2; }'
finds "tests/low/a_test.cpp:4: 'half' is also in tests/low/c_test.cpp:4"
