#!/usr/bin/env bash
# `plimsoll place`: its figures, its solution, its exit codes, and a message for every mistake.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# refuses STATUS WORD ARGUMENT...: place exits STATUS, names WORD on stderr, prints nothing.
refuses() { refuses_command place "$@"; }

cat >list.csv <<'END'
id,lower,upper,size
a,0,10,1000000
b,2,4,3000000
c c,4,9,2500000
END

text=$("$PLIMSOLL" place list.csv --out solution.csv) || fail "place exits $?"
for word in "height       3.8 MiB (4,000,000 bytes)" "lower bound  3.8 MiB (4,000,000 bytes)" "ratio        1.00000"; do
  [[ $text == *"$word"* ]] || fail "'$word' is not in: $text"
done
while IFS= read -r line; do
  ((${#line} <= 80)) || fail "longer than 80 columns: $line"
done <<<"$text"

# The solution is the list with an offset; nothing that is live together overlaps.
[[ $(head -n 1 solution.csv) == "id,lower,upper,size,offset" ]] || fail "$(cat solution.csv)"
[[ $(cut -d, -f1-4 solution.csv) == "$(cat list.csv)" ]] || fail "$(cat solution.csv)"
overlaps() {
  awk -F, 'NR > 1 {
      for (i = 2; i < NR; ++i)
        if ($2 < upper[i] && lower[i] < $3 && $5 < top[i] && offset[i] < $5 + $4) print $1, id[i]
      id[NR] = $1; lower[NR] = $2; upper[NR] = $3; offset[NR] = $5; top[NR] = $5 + $4
    }' "$1"
}
[[ -z $(overlaps solution.csv) ]] || fail "overlaps: $(overlaps solution.csv)"

json=$("$PLIMSOLL" place list.csv --json --capacity 4000000) || fail "place --json exits $?"
[[ $(figure "$json" height) == 4000000 ]] || fail "height in: $json"
[[ $(figure "$json" lower_bound) == 4000000 ]] || fail "lower_bound in: $json"
[[ $(figure "$json" ratio) == 1.0 ]] || fail "ratio in: $json"
grep -q '"proven_optimal": true' <<<"$json" || fail "proven_optimal in: $json"
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; json.load(sys.stdin)' <<<"$json" || fail "not JSON: $json"
fi
json=$("$PLIMSOLL" place list.csv --json --alignment 4KiB) || fail "--alignment exits $?"
[[ $(figure "$json" height) == 4005888 ]] || fail "aligned height in: $json"

# A list that no order of buffers alone solves: 64 columns of staggered lifetimes.
awk 'BEGIN {
    print "id,lower,upper,size"
    for (i = 0; i < 400; ++i) {
      lower = (i * 7919) % 1000
      print i "," lower "," lower + 1 + (i * 104729) % 97 "," 1 + (i * 1299709) % 9973
    }
  }' >many.csv
"$PLIMSOLL" place many.csv --time 500ms --out many_solution.csv >/dev/null || fail "many.csv: $?"
[[ -z $(overlaps many_solution.csv) ]] || fail "overlaps: $(overlaps many_solution.csv)"

echo "id,lower,upper,size" >none.csv
[[ $(figure "$("$PLIMSOLL" place none.csv --json)" height) == 0 ]] || fail "an empty list"
"$PLIMSOLL" place none.csv --capacity 0 >/dev/null || fail "an empty list exits $?"
"$PLIMSOLL" place --help | grep -q "Examples:" || fail "the help has no examples"

# A capacity that cannot be met: exit code 3, the best height and the bound; nothing is written.
refuses 3 "best height found is 3.8 MiB (4,000,000 bytes)" list.csv --capacity 3999999 --out not.csv
grep -q "lower bound is 3.8 MiB (4,000,000 bytes)" err || fail "the bound is not named: $(cat err)"
[[ ! -e not.csv ]] || fail "a solution that does not fit was written"

# Mistakes in what was asked.
refuses 2 "BUFFERS.csv"
refuses 2 "--frobnicate" list.csv --frobnicate
refuses 2 "missing.csv" missing.csv
refuses 2 "$folder" "$folder"
refuses 2 "/nowhere/out.csv" list.csv --out /nowhere/out.csv
for capacity in 8GiBs -1 "" 1e30 99999999999999999999 nan; do
  refuses 2 "--capacity" list.csv --capacity "$capacity"
done
for time in soon -1s "" 1h 10ss nan inf 1e3s 99999999999s; do
  refuses 2 "--time" list.csv --time "$time"
done
for alignment in 0 3 24 1TiB; do
  refuses 2 "alignment" list.csv --alignment "$alignment"
done

# Mistakes in the list: the file, the line and the column are named.
sed 's/,2500000/,-5/' list.csv >negative.csv
refuses 2 "negative.csv:4: size '-5'" negative.csv
sed 's/b,2,/b,two,/' list.csv >word.csv
refuses 2 "word.csv:3: lower 'two'" word.csv
sed 's/,4,9,/,9,4,/' list.csv >backwards.csv
refuses 2 "backwards.csv:4: upper" backwards.csv
sed 's/^b,/a,/' list.csv >twice.csv
refuses 2 "twice.csv:3: the id 'a'" twice.csv
sed '1s/,size//' list.csv >column.csv
refuses 2 "column.csv:1" column.csv
head -c -1 list.csv >unfinished.csv
refuses 2 "unfinished.csv:4" unfinished.csv
echo "Thread,Time,Action,Pointer,Size,Stream" >log.csv
refuses 2 "log of allocations" log.csv
: >empty.csv
refuses 2 "empty.csv" empty.csv
printf 'id,lower,upper,size\na,0,1,%s\nb,0,1,%s\n' 2000000000000000000 2000000000000000000 >big.csv
refuses 2 "2^61" big.csv
