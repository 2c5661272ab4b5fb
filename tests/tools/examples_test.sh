#!/usr/bin/env bash
# The programs that the documentation teaches: complete, short, and they learn.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

examples=$(dirname "$PLIMSOLL")/../examples
sources=$(dirname "${BASH_SOURCE[0]}")/../../examples
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# at_most FILE LINES
at_most() {
  local lines
  lines=$(wc -l <"$sources/$1.cpp")
  ((lines <= $2)) || fail "$1.cpp has $lines lines, more than $2"
}
at_most image_folder 45
at_most regression 35
at_most characters 60

# below VALUE LIMIT WHAT
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }' || fail "$3: $1, expected below $2"; }

"$examples/make_pictures" "$work/pictures" >/dev/null
accuracy=$("$examples/image_folder" "$work/pictures/train" 8 | awk '/^accuracy/ { print $2 }')
below "$(awk -v a="$accuracy" 'BEGIN { print 1 - a }')" 0.2 "errors on pictures held out"

# y = sin(3 x0) + x1², written as NumPy writes it.
awk 'BEGIN {
  srand(7)
  for (i = 0; i < 512; ++i) { a = 2 * rand() - 1; b = 2 * rand() - 1
    print a, b, sin(3 * a) + b * b }
}' >"$work/table"
npy() { # npy COLUMNS...: those of the table as f32
  python3 - "$work/table" "$@" <<'PY'
import struct, sys
rows = [[float(v) for v in line.split()] for line in open(sys.argv[1])]
columns = [int(c) for c in sys.argv[3:]]
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(columns))
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(sys.argv[2], "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    for row in rows:
        out.write(struct.pack("<%df" % len(columns), *[row[c] for c in columns]))
PY
}
npy "$work/x.npy" 0 1
npy "$work/y.npy" 2
loss=$("$examples/regression" "$work/x.npy" "$work/y.npy" 40 | awk '/^loss/ { print $2 }')
below "$loss" 0.02 "the loss of the regression"

for i in $(seq 60); do
  echo "the quick brown fox jumps over the lazy dog, and the dog sleeps on."
done >"$work/text"
"$examples/characters" "$work/text" 4 60 >"$work/out"
below "$(awk '/^loss/ { print $2 }' "$work/out")" 0.5 "the loss of the characters"
grep -q "fox jumps over" "$work/out" || fail "it does not write like the text: $(cat "$work/out")"

status=0
"$examples/image_folder" "$work/none" 2>"$work/err" || status=$?
[[ $status == 2 ]] || fail "a folder that is not there exits $status: $(cat "$work/err")"
