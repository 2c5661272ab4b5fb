#!/usr/bin/env bash
# `plimsoll replay`: its figures, its exit codes, and a message for every mistake.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# refuses STATUS WORD ARGUMENT...: replay exits STATUS, names WORD on stderr, prints nothing.
refuses() { refuses_command replay "$@"; }

cat >list.csv <<'END'
id,lower,upper,size
a,0,10,1000000
b,2,4,3000000
c,4,9,2500000
END
cat >rmm.csv <<'END'
Thread,Time,Action,Pointer,Size,Stream
1,10:00:00.000001,allocate,0x7f0000000000,1000000,0
1,10:00:00.000002,allocate,0x7f0000200000,3000000,0
1,10:00:00.000003,free,0x7f0000200000,3000000,0
1,10:00:00.000004,allocate,0x7f0000200000,2500000,0
1,10:00:00.000005,free,0x7f0000000000,1000000,0
END

for trace in list.csv rmm.csv; do
  text=$("$PLIMSOLL" replay $trace --passes 3) || fail "replay $trace exits $?"
  for word in "live peak" "mapped peak" "over the live peak" "ns" "maps" "unmaps" "remapped"; do
    [[ $text == *"$word"* ]] || fail "'$word' is not in: $text"
  done
  while IFS= read -r line; do
    ((${#line} <= 80)) || fail "longer than 80 columns: $line"
  done <<<"$text"

  json=$("$PLIMSOLL" replay $trace --passes 3 --json) || fail "replay $trace --json exits $?"
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load(sys.stdin)' <<<"$json" || fail "not JSON: $json"
  fi
  for key in live_peak mapped_peak operations ns_per_operation maps unmaps bytes_remapped \
    bytes_allocated page_ns; do
    [[ -n $(figure "$json" $key) ]] || fail "$key is not in: $json"
  done
  [[ $(figure "$json" live_peak) == 4000000 ]] || fail "live_peak in: $json"
  (($(figure "$json" mapped_peak) >= 4000000)) || fail "mapped_peak in: $json"
  (($(figure "$json" mapped_peak) <= 4000000 + 16 * 1048576)) || fail "mapped_peak in: $json"
  [[ $(figure "$json" bytes_allocated) == 19500000 ]] || fail "bytes_allocated in: $json"
  [[ $(grep -c '"bytes_allocated": 6500000' <<<"$json") == 3 ]] || fail "passes in: $json"
done
[[ $(figure "$("$PLIMSOLL" replay list.csv --json)" operations) == 6 ]] || fail "operations"
[[ $(figure "$("$PLIMSOLL" replay rmm.csv --json --passes 2)" operations) == 10 ]] ||
  fail "operations of two passes"

echo "id,lower,upper,size" >none.csv
[[ $(figure "$("$PLIMSOLL" replay none.csv --json)" mapped_peak) == 0 ]] || fail "an empty list"
"$PLIMSOLL" replay none.csv >/dev/null || fail "an empty list exits $?"

"$PLIMSOLL" replay list.csv --limit 16MiB --pages 64KiB >/dev/null || fail "within a limit: $?"
"$PLIMSOLL" replay --help | grep -q "Examples:" || fail "the help has no examples"

# Out of memory: the report, and exit code 3.
refuses 3 "replay" list.csv --limit 3MiB --pages 64KiB
grep -q "limit" err || fail "the report does not name the limit: $(cat err)"
while IFS= read -r line; do
  ((${#line} <= 80)) || fail "longer than 80 columns: $line"
done <err
refuses 3 "replay" list.csv --limit 0

# Mistakes in what was asked.
refuses 2 "TRACE.csv"
refuses 2 "--frobnicate" list.csv --frobnicate
refuses 2 "surplus" list.csv surplus
refuses 2 "missing.csv" missing.csv
refuses 2 "$folder" "$folder"
for limit in 8GiBs -1 "" GiB 1e30 99999999999999999999 0x10 "8 8" nan; do
  refuses 2 "--limit" list.csv --limit "$limit"
done
for pages in 0 3MiB -2MiB 1e30 1 "" 2GiBB 4TiB; do
  refuses 2 "--pages" list.csv --pages "$pages"
done
for passes in 0 -1 99999999999999999999 1.5 many "" 1000001; do
  refuses 2 "--passes" list.csv --passes "$passes"
done

# Mistakes in the trace: the file and the line are named.
head -c 150 rmm.csv >cut.csv
refuses 2 "cut.csv:4" cut.csv
head -c -1 list.csv >unfinished.csv
refuses 2 "unfinished.csv:4" unfinished.csv
: >empty.csv
refuses 2 "empty.csv" empty.csv
{ cat rmm.csv; echo "1,x,free,0xdead,16,0"; } >unknown.csv
refuses 2 "unknown.csv:7" unknown.csv
refuses 2 "0xdead" unknown.csv
sed 's/,2500000/,-5/' list.csv >negative.csv
refuses 2 "negative.csv:4" negative.csv
sed 's/,2500000/,99999999999999999999/' list.csv >huge.csv
refuses 2 "huge.csv:4" huge.csv
sed 's/,4,9,/,9,4,/' list.csv >backwards.csv
refuses 2 "backwards.csv:4" backwards.csv
sed '1s/.*/when,what/' list.csv >header.csv
refuses 2 "header.csv:1" header.csv
head -c 5000 "$PLIMSOLL" >binary.csv
refuses 2 "binary.csv:1" binary.csv

# Sizes that no machine has cost no memory here, either.
printf 'id,lower,upper,size\na,0,1,%s\n' 288230376151711744 >beyond.csv
json=$(ulimit -v 4000000 && timeout 20 "$PLIMSOLL" replay beyond.csv --pages 4KiB --json) ||
  fail "replay beyond.csv exits $?"
[[ $(figure "$json" mapped_peak) == 288230376151711744 ]] || fail "mapped_peak of: $json"
