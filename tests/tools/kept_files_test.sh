#!/usr/bin/env bash
# What lies beside a run stays as it is: files that are not logs, logs that pages are drawn from, copies of
# checkpoints, folders of classes. And what of a run is damaged is named, whoever reads it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PLIMSOLL=$(realpath "$PLIMSOLL")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# unchanged FILE COPY
unchanged() { cmp -s "$1" "$2" || fail "$1 was written to"; }

# A log goes to a new file, or to the end of a log.
cp "$here"/../data/recorded/images/rgb*.png . && picture=$(ls rgb*.png | head -n 1)
printf 'a,b,label\n1,2,x\n3,4,y\n' >table.csv
for file in "$picture" table.csv; do
  cp "$file" copy
  refuses_command train 2 "is not a run log" --steps 1 --quiet --log "$file"
  unchanged "$file" copy
done
"$PLIMSOLL" train --steps 2 --quiet --log run.jsonl >/dev/null
"$PLIMSOLL" train --steps 2 --quiet --log run.jsonl >/dev/null || fail "a second run in one log"

# Nothing is written over what it is made from.
cp run.jsonl copy
for option in --out --json --perfetto --memory-viz; do
  refuses_command report 2 "$option ./run.jsonl: that is the file that is read" run.jsonl "$option" ./run.jsonl
  unchanged run.jsonl copy
done
ln -s run.jsonl report.html
refuses_command report 2 "that is the file that is read" run.jsonl
unchanged run.jsonl copy
rm report.html
cp "$here"/../../examples/traces/step.csv trace.csv
refuses_command replay 2 "that is the file that is read" trace.csv --html trace.csv
unchanged trace.csv "$here"/../../examples/traces/step.csv

# What is no log at all is no empty run.
for file in "$picture" table.csv; do
  refuses_command report 2 "this is not a run log" "$file" --out page.html
  refuses_command watch 2 "this is not a run log" "$file"
  [[ ! -e page.html ]] || fail "a page of $file"
done

# Logs of one name are told apart by their folders.
mkdir -p first second && cp run.jsonl first && cp run.jsonl second
text=$("$PLIMSOLL" report first/run.jsonl second/run.jsonl --out page.html)
[[ $text == *"first/run.jsonl: "*"second/run.jsonl: "* ]] || fail "two runs have one name: $text"

# Of a folder of checkpoints only those that the run wrote are removed.
"$PLIMSOLL" train --epochs 2 --quiet --checkpoints run >/dev/null
cp -r run/step-00000045-epoch-0001 run/step-00000045-keep
mkdir run/step-by-step run/.step-mine
"$PLIMSOLL" train --resume run --epochs 6 --quiet >/dev/null
for folder in step-00000045-keep step-by-step .step-mine; do [[ -d run/$folder ]] || fail "run/$folder is gone"; done
[[ ! -e run/step-00000045-epoch-0001 ]] || fail "old checkpoints stay"

# A folder of checkpoints among the classes would be one of them.
mkdir -p pictures/one pictures/two pictures/.hidden pictures/empty
cp "$here"/../data/recorded/images/42*.jpg pictures/one
cp "$picture" pictures/two
learn=(--model lenet --size 32 --batch 2 --quiet)
for folder in pictures/run pictures ./pictures/../pictures/run; do
  refuses_command train 2 "taken for a class" --data pictures "${learn[@]}" --steps 1 --checkpoints "$folder"
done
"$PLIMSOLL" train --data pictures "${learn[@]}" --steps 1 --checkpoints beside >out 2>err || fail "$(cat err)"
grep -q "the class 'empty' has no images" err || fail "an empty class is not named: $(cat err)"
! grep -q hidden err || fail "a hidden folder is a class: $(cat err)"
rmdir pictures/empty
(
  cd pictures
  "$PLIMSOLL" train --data . "${learn[@]}" --epochs 100000 --log ../stopped.jsonl >/dev/null 2>../err &
  running=$!
  wait_for 60 stepped ../stopped.jsonl
  kill -TERM "$running"
  wait "$running" || true
  resume=$(sed -n 's/.*resume with: plimsoll train //p' ../err)
  # shellcheck disable=SC2086 # two words
  "$PLIMSOLL" train $resume --steps 100 --quiet >/dev/null 2>../err || fail "it is not resumed: $(cat ../err)"
) || exit 1

# Damage is found by those who use a model, too, and leads to a checkpoint that is whole.
latest=run/$(cat run/latest)
printf '\x55' | dd of="$latest/model.safetensors" bs=1 seek=4000 conv=notrunc status=none
for command in evaluate predict; do refuses_command "$command" 2 "model.safetensors: is damaged" run; done
rm "$latest/state.json" && mkdir "$latest/state.json"
refuses_command train 2 "to go on from another, write its name into run/latest: step-" --resume run --quiet
for text in "" nosuch ../../etc $'step-00000001-epoch-0001\njunk' $'\x01\xff\xfe'; do
  printf '%s' "$text" >run/latest
  refuses_command train 2 "is not the name of a checkpoint; to go on" --resume run --quiet
done
printf 'step-00000099-epoch-0009' >run/latest
refuses_command train 2 "to go on from another" --resume run --quiet
refuses_command evaluate 2 "there is no checkpoint 'step-00000099-epoch-0009'" run
for text in "" "[]" "[1,2]" '{"batch": 3}' null; do
  printf '%s' "$text" >run/run.json
  refuses_command train 2 "run/run.json is damaged" --resume run --quiet
done
