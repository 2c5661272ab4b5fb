#!/usr/bin/env bash
# `plimsoll data pack`, `unpack`, `inspect` and `cache`, and records as training data.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p photos/one photos/two
cp "$here"/../data/recorded/images/42*.jpg photos/one
cp "$here"/../data/recorded/images/44*.jpg photos/two
count=$(find photos -name '*.jpg' | wc -l)

digests() { find "$1" -name '*.jpg' -exec sha256sum {} + | cut -d' ' -f1 | sort; }

for format in tfrecord webdataset mds; do
  text=$("$PLIMSOLL" data pack photos "$format" --format "$format" --shards 2) || fail "pack exits $?"
  [[ $text == "$count records in 2 files, "* ]] || fail "pack $format says: $text"
  text=$("$PLIMSOLL" data inspect "$format") || fail "inspect $format exits $?: $text"
  [[ $text == "$count records in "*" $format files, "* && $text == *"i64 []"* ]] ||
    fail "inspect $format says: $text"
  "$PLIMSOLL" data unpack "$format" "again-$format" >/dev/null || fail "unpack $format exits $?"
  diff <(digests photos) <(digests "again-$format") || fail "$format: the files differ"
  [[ -d again-$format/one && -d again-$format/two ]] || fail "$format: the classes are lost"
  json=$("$PLIMSOLL" data bench "$format" --size 32 --batch 4 --json | tail -n 1) || fail "bench exits $?"
  [[ $json == *"\"images\":$count,"* ]] || fail "bench of $format says: $json"
  "$PLIMSOLL" train --data "$format" --model lenet --size 32 --batch 4 --epochs 1 --budget 256MiB \
    >out 2>&1 || fail "train on $format exits $?: $(cat out)"
done

# Records of one format become those of another; compressed ones, too.
"$PLIMSOLL" data pack webdataset packed --compression gzip >/dev/null || fail "repacking exits $?"
"$PLIMSOLL" data unpack packed/shard-00000.tfrecord again >/dev/null || fail "unpack exits $?"
diff <(digests photos) <(digests again) || fail "repacked files differ"

# Files that are there are neither written over nor taken for some of these.
status=0
"$PLIMSOLL" data unpack tfrecord again 2>err || status=$?
[[ $status == 2 ]] && grep -q "again: there are files in it already; give a new folder" err ||
  fail "unpacking into a folder with files exits $status: $(cat err)"
diff <(digests photos) <(digests again) || fail "files were changed by what was refused"

# Classes without names are folders in the order of their labels, and stay that when packed again.
for class in {a..l}; do mkdir -p "twelve/$class" && cp photos/one/*.jpg "twelve/$class"; done
"$PLIMSOLL" data pack twelve unnamed >/dev/null && rm unnamed/classes.json
"$PLIMSOLL" data unpack unnamed numbered >/dev/null || fail "unpack without names exits $?"
[[ $(ls numbered | tr '\n' ' ') == "00 01 02 03 04 05 06 07 08 09 10 11 " ]] ||
  fail "classes without names: $(ls numbered)"

# A folder that cannot be written to is named with the reason.
status=0
"$PLIMSOLL" data unpack unnamed photos/one/"$(ls photos/one | head -n 1)"/out 2>err || status=$?
[[ $status == 2 ]] && grep -q "out/.*: cannot be written: Not a directory" err ||
  fail "unpacking below a file exits $status: $(cat err)"

# A bad record is named with its file and offset.
python3 - tfrecord/shard-00001.tfrecord <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[40] ^= 1
open(sys.argv[1], "wb").write(data)
PYTHON
status=0
text=$("$PLIMSOLL" data inspect tfrecord 2>err) || status=$?
[[ $status == 2 && $text == *"bad: "*"shard-00001.tfrecord: record 0 at offset 0: its contents"* ]] ||
  fail "inspect of a bad file exits $status: $text"
grep -q "1 of $count records is bad" err || fail "no count: $(cat err)"

status=0
"$PLIMSOLL" data pack photos x --format zip 2>err || status=$?
[[ $status == 2 ]] || fail "an unknown format exits $status"
status=0
"$PLIMSOLL" data unpack photos y 2>err || status=$?
[[ $status == 2 ]] && grep -q "no records" err || fail "unpack of no records: $(cat err)"
status=0
"$PLIMSOLL" data cache ls /nonexistent 2>err || status=$?
[[ $status == 2 ]] && grep -q "/nonexistent" err || fail "cache ls: $(cat err)"
mkdir empty
[[ $("$PLIMSOLL" data cache ls empty) == "no caches in empty" ]] || fail "an empty folder"

# Records of numbers are a table, for `train` and `data bench`; so is the CSV file they were packed from.
{ echo a,b,label && for i in {1..60}; do echo "$i.5,$((i % 7)).25,$((i % 2))"; done; } >table.csv
for format in tfrecord mds; do
  "$PLIMSOLL" data pack table.csv "table-$format" --format "$format" >/dev/null || fail "pack of a table exits $?"
  text=$("$PLIMSOLL" train --model mlp --data "table-$format" --steps 3) || fail "train on numbers in $format exits $?"
  [[ $text == *"60 rows of 2 features, labelled by column label"* ]] || fail "train on numbers in $format says: $text"
done
for table in table.csv table-mds; do
  [[ $("$PLIMSOLL" data bench "$table") == *"60 examples in "* ]] || fail "data bench $table"
done
echo ok
