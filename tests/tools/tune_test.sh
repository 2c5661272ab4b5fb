#!/usr/bin/env bash
# `plimsoll tune` and `plimsoll train --choices`, on a stand-in for a device whose libraries choose
# (tests/support/choosing_backend.h), which the command has when it is preloaded.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# ASan wants to be the first library.
on_chooser() {
  ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-} LD_PRELOAD=$PLIMSOLL_CHOOSER "$PLIMSOLL" "$@"
}
# expect_refused WORDS ARGUMENT...: exit code 2, with these words in the message.
expect_refused() {
  local words=$1 status=0 text
  shift
  text=$(on_chooser "$@" 2>&1) || status=$?
  [[ $status == 2 ]] || fail "'$*' exits $status, not 2: $text"
  [[ $text == *"$words"* ]] || fail "'$*' does not say '$words': $text"
}

model=(--model mlp --batch 32 --device chooser:0 --budget 32MiB)

# What is written is what is chosen, and the table tells of it.
text=$(on_chooser tune "${model[@]}" --seconds 20)
[[ $text == *"rule "*"chosen "*"matmul f32"*"product f32"*"chosen otherwise"*"train --choices choices.json"* ]] ||
  fail "not a table: $text"
python3 - <<'END' || fail "choices.json is not as it should be"
import json
file = json.load(open("choices.json"))
assert list(file) == ["backend", "device", "libraries", "choices"], list(file)
assert file["backend"] == "chooser" and file["libraries"] == "Products 1.0", file
assert file["choices"] and all(text.startswith("Products 1.0 ") for text in file["choices"].values())
assert list(file["choices"]) == sorted(file["choices"])
END

# As JSON, with every key in order; the rule's choice comes first, and nothing slower is chosen.
on_chooser tune "${model[@]}" --seconds 20 --out more.json --json >tuned.json
python3 - <<'END' || fail "not the JSON of a tuning"
import json
tuned = json.load(open("tuned.json"))
keys = [each["key"] for each in tuned["tuned"]]
assert keys == sorted(keys) and keys, keys
assert tuned["finished"] and tuned["choices"] == "more.json", tuned
chosen = json.load(open("more.json"))["choices"]
for each in tuned["tuned"]:
    assert chosen[each["key"]] == each["chosen"], each
    assert each["chosen_seconds"] <= each["rule_seconds"], each
END

# The same choices give the same losses; and a run goes on with those it began with.
losses() { on_chooser train "${model[@]}" --steps 6 --quiet --json "$@" 2>err | sed -E 's/.*"losses":(\[[^]]*\]).*/\1/'; }
first=$(losses --choices choices.json)
[[ -n $first && $(losses --choices choices.json) == "$first" ]] || fail "other bits: $(cat err)"
[[ ! -s err ]] || fail "warns: $(cat err)"
on_chooser train "${model[@]}" --steps 3 --quiet --choices choices.json --checkpoints run >/dev/null
grep -q choices run/run.json && fail "the run remembers the file"
rest=$(on_chooser train --resume run --steps 6 --quiet --json | sed -E 's/.*"losses":(\[[^]]*\]).*/\1/')
[[ $rest == "$first" ]] || fail "resumed: $rest, not $first"

# Files that cannot be used.
expect_refused "there is no such file" train "${model[@]}" --steps 1 --choices nothing.json
expect_refused "is empty" train "${model[@]}" --steps 1 --choices ""
expect_refused "not an ordinary file" train "${model[@]}" --steps 1 --choices .
head -c 100 choices.json >half.json
expect_refused "damaged" train "${model[@]}" --steps 1 --choices half.json
sed 's/Products 1.0",/Products 2.0",/' choices.json >other.json
on_chooser train "${model[@]}" --steps 1 --quiet --choices other.json 2>err >/dev/null
grep -q "other.json is not used: it was measured with Products 2.0" err || fail "no warning: $(cat err)"
"$PLIMSOLL" train --steps 1 --quiet --choices choices.json 2>err >/dev/null
grep -q "it was measured on 'chooser'" err || fail "no warning: $(cat err)"
on_chooser train --model mlp --batch 16 --device chooser:0 --steps 1 --quiet --choices choices.json 2>err >/dev/null
grep -q "has nothing for this step" err || fail "no warning: $(cat err)"

# Where nothing can be chosen or written.
expect_refused "leave no choice" tune --model mlp --batch 32
expect_refused "no folder nowhere" tune "${model[@]}" --out nowhere/choices.json
expect_refused "it is a folder" tune "${model[@]}" --out run
expect_refused "--out /dev/null: it is a device" tune "${model[@]}" --out /dev/null
expect_refused "--seconds" tune "${model[@]}" --seconds 0
expect_refused "--alternatives" tune "${model[@]}" --alternatives 0
[[ -z $(find . -name '*.tmp*') ]] || fail "leaves files: $(ls -a)"
