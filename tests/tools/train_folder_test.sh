#!/usr/bin/env bash
# `plimsoll train --data DIR`: pictures in a folder per class, and folders that are not that.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pictures=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../data/recorded/images
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# fill FOLDER COUNT: two classes that can be told apart.
fill() {
  mkdir -p "$1/gray" "$1/colour"
  for ((i = 0; i < $2; ++i)); do
    cp "$pictures/gray.jpg" "$1/gray/$i.jpg"
    cp "$pictures/420.jpg" "$1/colour/$i.jpg"
  done
}

field() { sed -E "s/.*\"$2\":([0-9.e+-]+).*/\1/" <<<"$1"; }
train() { "$PLIMSOLL" train --model lenet --size 32 --batch 8 --quiet --json --data "$@"; }

# It learns, keeps its promises, and takes the number of classes from the folders.
fill photos/train 20
fill photos/val 4
json=$(train photos --epochs 6 --lr 0.003 --optimizer adam --budget 64MiB) || fail "exits $?"
[[ $(field "$json" planned_peak) == "$(field "$json" measured_peak)" ]] || fail "peaks: $json"
(($(field "$json" charged_peak) <= 64 * 1024 * 1024)) || fail "over the budget: $json"
[[ $(field "$json" steps) == 30 ]] || fail "steps: $json"
awk -v a="$(field "$json" validation_accuracy)" 'BEGIN { exit !(a >= 0.95) }' || fail "$json"

# Without train and val in it, a folder is all for training; the last batch may be smaller.
fill flat 5
json=$(train flat --epochs 1) || fail "exits $?"
[[ $(field "$json" steps) == 2 && $json != *validation* ]] || fail "flat: $json"

# The same losses within any budget and with any threads.
losses() { train photos --steps 8 --no-split "$@" | sed -E 's/.*("losses":\[[^]]*\]).*/\1/'; }
[[ $(losses --budget 40MiB --threads 1) == "$(losses --budget 1GiB)" ]] || fail "other losses"

# Interrupted by a bound and resumed, it gives what one run gives.
train photos --epochs 2 --checkpoints whole >whole.json
train photos --epochs 2 --steps 7 --checkpoints parts >/dev/null
train photos --epochs 2 --steps 10 --resume parts >parts.json
[[ $(grep -o '"losses":[^]]*' whole.json) == "$(grep -o '"losses":[^]]*' parts.json)" ]] ||
  fail "resumed: $(cat whole.json parts.json)"

# From any folder, as the data is remembered by its whole path.
runs=$PWD/parts
json=$(cd / && "$PLIMSOLL" train --resume "$runs" --steps 11 --epochs 3 --quiet --json) || fail "elsewhere exits $?"
[[ $(field "$json" steps) == 11 ]] || fail "elsewhere: $json"

# Data that changed is refused by the file's name.
cp "$pictures/422.jpg" photos/train/gray/3.jpg
status=0
message=$("$PLIMSOLL" train --resume parts --steps 12 --epochs 3 --quiet 2>&1) || status=$?
[[ $status == 2 && $message == *"photos/train/gray/3.jpg"* ]] || fail "changed data: $status: $message"
cp "$pictures/gray.jpg" photos/train/gray/3.jpg

# A file that turns out to be cut off ends a run, which is resumed where it ended; the run log names
# what was skipped.
cp -r photos wrong_later
head -c 700 "$pictures/420.jpg" >wrong_later/train/gray/7.jpg
status=0
train wrong_later --epochs 2 --checkpoints later >/dev/null 2>&1 || status=$?
[[ $status == 2 ]] || fail "a broken file: exit $status"
json=$("$PLIMSOLL" train --resume later --skip-errors -1 --quiet --json --log later.log) || fail "skipping exits $?"
[[ $(field "$json" epochs) == 2 && $(field "$json" steps) == 10 ]] || fail "not resumed: $json"
grep -q '"skipped".*wrong_later/train/gray/7.jpg' later.log || fail "the log has no file: $(cat later.log)"

# What was found is said first.
text=$("$PLIMSOLL" plan --model lenet --size 32 --batch 8 --data photos) || fail "plan exits $?"
[[ $text == "40 images in 2 classes: colour 20, gray 20"*"fits: "* ]] || fail "no classes: $text"

refuses() {
  local status=$1 word=$2
  shift 2
  refuses_command train "$status" "$word" --model lenet --size 32 --batch 8 --quiet --steps 2 "$@"
}

# What is not a folder of classes.
refuses 2 "/no/such/folder" --data /no/such/folder
refuses 2 "photos/val/gray/0.jpg" --data photos/val/gray/0.jpg
mkdir empty
refuses 2 "empty" --data empty
mkdir -p hollow/a hollow/b
refuses 2 "hollow" --data hollow
mkdir -p one/only && cp "$pictures/420.jpg" one/only
refuses 2 "there is one class, only" --data one
mkdir -p more/train more/val
cp -r flat/* more/train && cp -r flat/* more/val && mkdir more/val/third && cp "$pictures/420.jpg" more/val/third
refuses 2 "third" --data more

# Pictures that cannot be read are named, with what is wrong with them; or skipped if that is said.
cp -r flat cut && head -c 700 "$pictures/420.jpg" >cut/gray/0.jpg
refuses 2 "cut/gray/0.jpg" --data cut
cp -r flat wrong && echo "not a picture" >wrong/gray/0.jpg
refuses 2 "wrong/gray/0.jpg" --data wrong
train wrong --steps 1 --skip-errors 1 >/dev/null || fail "--skip-errors 1 exits $?"
cp -r flat none && : >none/colour/0.jpg
refuses 2 "none/colour/0.jpg" --data none

# What is refused is refused beforehand, by `plan` as well.
for folder in wrong none; do
  refuses_command plan 2 "$folder/" --model lenet --size 32 --batch 8 --data "$folder"
  refuses 2 "$folder/" --data "$folder" --log begun.jsonl
  ! grep -q '"event":"step"' begun.jsonl 2>/dev/null || fail "$folder is refused after training"
done
for folder in empty hollow one more; do
  refuses_command plan 2 "$folder" --model lenet --size 32 --batch 8 --data "$folder"
done

# Models that do not take pictures, and more classes than the model has.
refuses_command train 2 "not images" --model gpt2_tiny --data flat --steps 1 --quiet
refuses 2 "2 classes, the model 1" --data flat --classes 1
refuses 3 "smallest budget for this batch: " --data flat --budget 1MiB

# Augmentation of what is trained on.
fill augmented 8
"$PLIMSOLL" train --model resnet18 --size 32 --data augmented --batch 4 --steps 2 --quiet \
  --augment flip,crop,colour,randaugment,erase --json >out || fail "--augment: $(cat out)"
"$PLIMSOLL" data bench augmented --model resnet18 --size 32 --batch 4 --augment crop,flip >out ||
  fail "data bench --augment: $(cat out)"
refuses_command train 2 'there is no "twirl"' --model resnet18 --data augmented --augment flip,twirl
refuses_command train 2 "not for --data digits" --data digits --augment flip
