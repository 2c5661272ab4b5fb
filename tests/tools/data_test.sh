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

text=$("$PLIMSOLL" data inspect "$folder") || fail "inspect exits $?"
[[ $text == *"JPEG RGB"* && $text == *"bad: "*broken.png* ]] || fail "inspect says: $text"
status=0
"$PLIMSOLL" data inspect "$folder/none" 2>/dev/null || status=$?
[[ $status == 2 ]] || fail "inspect of nothing exits $status"
