#!/usr/bin/env bash
# Data and folders as others write them: tables from other programs, arrays that are no table, links
# to folders, records whose labels are too large, outputs that are full.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PLIMSOLL=$(realpath "$PLIMSOLL")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Tables of other programs: names in capitals, UTF-16, lines of old Macs, a pipe.
{
  echo "a,b,label"
  for i in $(seq 40); do echo "$i.5,$((i % 7)),$((i % 3))"; done
} >table.csv
cp table.csv TABLE.CSV
"$PLIMSOLL" train --model mlp --data TABLE.CSV --steps 1 --quiet >out 2>err || fail "TABLE.CSV exits $?: $(cat err)"
iconv -f utf-8 -t utf-16 table.csv >wide.csv
refuses_command train 2 "it is encoded as UTF-16; save it as UTF-8" --model mlp --data wide.csv --steps 1
tr '\n' '\r' <table.csv >mac.csv
refuses_command train 2 "carriage return" --model mlp --data mac.csv --steps 1
mkfifo pipe.csv
refuses_command train 2 "not a regular file" --model mlp --data pipe.csv --steps 1
for i in $(seq 400); do echo "All work and no play. $i"; done >BOOK.TXT
"$PLIMSOLL" train --model gpt2_tiny --data BOOK.TXT --size 16 --batch 4 --steps 1 --quiet >out 2>err ||
  fail "BOOK.TXT exits $?: $(cat err)"

# Thousands of columns stay within the budget that is named, and the process within 32 MiB more.
for columns in 5000 20000; do
  python3 - "$columns" <<'PYTHON'
import sys
columns = int(sys.argv[1])
with open("genes.csv", "w") as out:
    out.write(",".join(f"c{i}" for i in range(columns)) + ",label\n")
    for i in range(60):
        out.write(",".join(["1.5"] * columns) + f",{i % 2}\n")
PYTHON
  genes=(--model mlp --data genes.csv --batch 8 --steps 3 --quiet)
  "$PLIMSOLL" train "${genes[@]}" --budget 1MiB >out 2>err && fail "$columns columns fit 1 MiB"
  enough=$(sed -n 's/^smallest budget for this batch: //p' err)
  python3 - "$enough" "$PLIMSOLL" train "${genes[@]}" --budget "$enough" >out 2>err <<'PYTHON' ||
import os, sys
enough, command = sys.argv[1], sys.argv[2:]
budget = int(enough[:-3]) * {"KiB": 1, "MiB": 1024}[enough[-3:]]
child = os.fork()
if child == 0:
    os.execv(command[0], command)
_, status, usage = os.wait4(child, 0)
assert status == 0, status
assert usage.ru_maxrss <= budget + 32 * 1024, (usage.ru_maxrss, budget)
PYTHON
    fail "$columns columns in $enough: $(cat err)"
done

# Arrays that make no table are named.
python3 - <<'PYTHON'
import os, struct

def save(path, descr, shape, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)

labels = struct.pack("<30q", *[i % 3 for i in range(30)])
rows = struct.pack("<60f", *[float(i) for i in range(60)])
save("texts/x.npy", "<f4", "(30, 2)", rows)
save("texts/y.npy", "|S1", "(30,)", b"abc" * 10)
save("nothing/x.npy", "<f4", "(30, 0)", b"")
save("nothing/y.npy", "<i8", "(30,)", labels)
save("lonely/x.npy", "<f4", "(30, 2)", rows)
PYTHON
refuses_command train 2 "y.npy has byte strings" --model mlp --data texts --steps 1
refuses_command train 2 "the rows of x.npy have no features" --model mlp --data nothing --steps 1
refuses_command train 2 "it has x.npy but not y.npy" --model mlp --data lonely --steps 1

# A model that cannot learn from images is refused before anything is planned.
mkdir -p photos/one photos/two photos/.hidden
cp "$here"/../data/recorded/images/42*.jpg photos/one
cp "$here"/../data/recorded/images/44*.jpg photos/two
cp "$here"/../data/recorded/images/420.jpg photos/.hidden
refuses_command train 2 "not images" --model mlp --data photos --steps 1
refuses_command train 2 "one label" --model unet --data photos --steps 1

# A model of gray images says what is wrong with inks.
mkdir -p inks/one inks/two
cp "$here"/../data/recorded/images/cmyk.jpg inks/one
cp "$here"/../data/recorded/images/cmyk.jpg inks/two
"$PLIMSOLL" train --steps 1 --quiet --checkpoints gray >out 2>err || fail "train: $(cat err)"
refuses_command evaluate 2 "a CMYK file cannot be decoded to gray" gray --data inks

# `data inspect` counts what training reads: links to folders, and no hidden ones.
mkdir linked
ln -s ../photos/one linked/a
ln -s ../photos/two linked/b
text=$("$PLIMSOLL" data inspect linked) || fail "links to folders: exit $?"
[[ $text == *"2 classes"* ]] || fail "links to folders: $text"
text=$("$PLIMSOLL" data inspect photos)
[[ $text == *"2 classes"* && $text != *hidden* ]] || fail "hidden folders: $text"
ln -s .. linked/round
"$PLIMSOLL" data inspect linked >/dev/null || fail "a link that leads round exits $?"

# Records: the files of MDS are counted, and a label that is too large is told without the file's bytes.
for format in mds tfrecord; do
  "$PLIMSOLL" data pack photos "$format" --format "$format" --shards 2 >/dev/null || fail "pack exits $?"
  text=$("$PLIMSOLL" data inspect "$format")
  [[ $text == *" in 2 $format files, "* && $text != *", 0 B"* ]] || fail "inspect $format: $text"
  refuses_command train 2 "the model has 1 class;" --data "$format" --model lenet --size 28 --classes 1 --batch 2 \
    --epochs 1 --quiet
  (($(wc -c <err) < 600)) || fail "$(wc -c <err) bytes to tell of a label: $(head -c 600 err)"
done
refuses_command data 2 "already has records" pack photos mds --format tfrecord
mkdir slim && mv tfrecord/shard-00000.tfrecord slim/train-00000-of-00001
"$PLIMSOLL" data inspect slim >out || fail "train-00000-of-00001 exits $?"

# Predictions that cannot be written are nobody's internal error.
"$PLIMSOLL" train --model mlp --data table.csv --epochs 1 --quiet --checkpoints run >out 2>err ||
  fail "train: $(cat err)"
for _ in $(seq 12); do tail -n +2 table.csv; done >many.csv
status=0
"$PLIMSOLL" predict run --data many.csv >/dev/full 2>err || status=$?
[[ $status == 1 ]] && grep -q "the output could not be written" err || fail "a full disk: exit $status: $(cat err)"

# Two runs that write one log are told so.
"$PLIMSOLL" train --epochs 100000 --quiet --log shared.jsonl >/dev/null 2>&1 &
running=$!
wait_for 60 stepped shared.jsonl
"$PLIMSOLL" train --epochs 1 --quiet --log shared.jsonl >out 2>err || fail "a shared log: exits $?: $(cat err)"
grep -q "another run is writing to shared.jsonl as well" err || fail "a shared log is not told: $(cat err)"
refuses_command ctl 2 "--timeout 0" "$running" --timeout 0
kill -s INT "$running"
wait "$running" || true
"$PLIMSOLL" train --epochs 1 --quiet --log shared.jsonl >out 2>err || fail "a log again: exits $?: $(cat err)"
[[ ! -s err ]] || fail "a log that nobody else writes: $(cat err)"

# The smallest budget is the same whatever is refused, and it is enough: also for an optimizer whose
# state is not f32.
named() { "$PLIMSOLL" plan "$@" 2>&1 | sed -n 's/^smallest budget for this batch: //p'; }
[[ $(named --budget 1) == $(named --budget 1MiB) && $(named --budget 8KiB) == $(named --budget 1MiB) ]] ||
  fail "smallest budgets: $(named --budget 1), $(named --budget 8KiB), $(named --budget 1MiB)"
small=(--model convnext_t --data synthetic --size 32 --batch 2 --optimizer adamw_8bit)
"$PLIMSOLL" train "${small[@]}" --steps 1 --quiet --budget "$(named "${small[@]}" --budget 1MiB)" >out 2>err ||
  fail "the smallest budget for adamw_8bit exits $?: $(cat err)"
