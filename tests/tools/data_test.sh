#!/usr/bin/env bash
# `plimsoll data`: the same stream under any threads and budget, refusals with their numbers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/one" "$folder/two"
cp "$here"/../data/recorded/images/42*.jpg "$folder/one"
cp "$here"/../data/recorded/images/rgb*.png "$folder/two"

field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"]*\).*/\1/p" <<<"$2"; }

hash=""
for arguments in "--threads 1 --budget 8MiB" "--threads 3 --budget 64MiB" "--budget 512MiB"; do
  # shellcheck disable=SC2086
  json=$("$PLIMSOLL" data bench "$folder" --size 32 --batch 4 --epochs 2 --seed 5 $arguments --json |
    tail -n 1) || fail "bench $arguments exits $?"
  for key in images images_per_second seconds rss_peak budget_peak stream_hash stages; do
    [[ $json == *"\"$key\""* ]] || fail "$key is not in: $json"
  done
  this=$(field stream_hash "$json")
  [[ -z $hash || $hash == "$this" ]] || fail "$arguments: the stream differs"
  hash=$this
done

text=$("$PLIMSOLL" data bench "$folder" --size 32 --batch 4) || fail "bench exits $?"
[[ $text == *images/s* && $text == *bottleneck* ]] || fail "no table: $text"

status=0
message=$("$PLIMSOLL" data bench "$folder" --batch 64 --budget 16MiB 2>&1) || status=$?
[[ $status == 3 && $message == *"needs at least"* ]] || fail "exit $status: $message"

echo "not a picture" >"$folder/two/broken.png"
status=0
message=$("$PLIMSOLL" data bench "$folder" --size 32 --batch 4 2>&1) || status=$?
[[ $status == 2 && $message == *broken.png* ]] || fail "exit $status: $message"
text=$("$PLIMSOLL" data bench "$folder" --size 32 --batch 4 --skip-errors 1) || fail "exits $?"
[[ $text == *"skipped: "*broken.png* ]] || fail "not listed: $text"

# A message about a file begins with it, and not with the options of a stage.
[[ $message == "$folder/two/broken.png: "*"(load_images)"* ]] || fail "does not begin with the file: $message"

# What was left out is said without asking, with the reason.
err=$("$PLIMSOLL" data bench "$folder" --size 32 --batch 4 --skip-errors 1 2>&1 >/dev/null)
[[ $err == *"1 element was left out in epoch 1"*broken.png* ]] || fail "not said: $err"

# Bad files: named, and exit 2.
status=0
text=$("$PLIMSOLL" data inspect "$folder" 2>/dev/null) || status=$?
[[ $status == 2 ]] || fail "inspect of a bad file exits $status"
[[ $text == *"JPEG RGB"* && $text == *"bad: "*broken.png* ]] || fail "inspect says: $text"
rm "$folder/two/broken.png"
text=$("$PLIMSOLL" data inspect "$folder") || fail "inspect of good files exits $?"
[[ $text == *"2 classes"*one*two* ]] || fail "no classes: $text"

# A picture that is cut off has a good header: only decoding finds it.
whole=$(find "$folder/one" -name "*.jpg" | sort | head -n 1)
size=$(stat -c %s "$whole")
head -c $((size * 3 / 4)) "$whole" >"$folder/one/cut.jpg"
status=0
text=$("$PLIMSOLL" data inspect "$folder" 2>/dev/null) || status=$?
[[ $status == 2 && $text == *"bad: "*cut.jpg* ]] || fail "a cut picture: exit $status: $text"
"$PLIMSOLL" data inspect --quick "$folder" >/dev/null || fail "headers alone exit $?"
rm "$folder/one/cut.jpg"

status=0
"$PLIMSOLL" data inspect "$folder/none" 2>/dev/null || status=$?
[[ $status == 2 ]] || fail "inspect of nothing exits $status"

# Links to themselves, control characters, things that are no folders: a mistake, not a fault.
ln -s loop "$folder/loop"
ln -s ../one "$folder/one/again"
for command in "data inspect" "data bench" "train --steps 1 --model resnet18 --size 32 --data"; do
  for data in "$folder/loop" /proc/self /dev/null; do
    status=0
    # shellcheck disable=SC2086
    message=$("$PLIMSOLL" $command "$data" 2>&1) || status=$?
    [[ $status == 2 && $message != *"internal error"* ]] || fail "$command $data: exit $status: $message"
  done
done
"$PLIMSOLL" data inspect "$folder" >/dev/null || fail "a link loop in a folder: exit $?"
"$PLIMSOLL" data bench "$folder" --size 32 --batch 4 >/dev/null || fail "a link loop in a folder: exit $?"
rm "$folder/loop" "$folder/one/again"
echo "no picture" >"$folder/two/"$'new\nline\e[31m.png'
status=0
message=$("$PLIMSOLL" data bench "$folder" --size 32 --batch 4 2>&1) || status=$?
[[ $status == 2 && $message == *'two/new\nline\x1b[31m.png: '* ]] || fail "the name is lost: $message"
rm "$folder/two/"*31m.png

# What train reads can be measured.
text=$("$PLIMSOLL" data bench digits --batch 32 --budget 16MiB) || fail "bench digits exits $?"
[[ $text == *"1,438 images"* ]] || fail "bench digits: $text"
text=$("$PLIMSOLL" data bench --data synthetic --model gpt2_tiny --size 16 --batch 4 --elements 12 --budget 64MiB) ||
  fail "bench synthetic exits $?"
[[ $text == *"12 examples"* ]] || fail "bench synthetic: $text"
text=$("$PLIMSOLL" data bench "$folder" --model resnet18 --size 32 --batch 4) || fail "bench with a model exits $?"
[[ $text == *"images/s"* ]] || fail "bench with a model: $text"
