#!/usr/bin/env bash
# Text and tables: training on them, and evaluate, predict and generate with the result.
set -euo pipefail
PLIMSOLL=${PLIMSOLL:?the plimsoll command}
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# A text of one sentence, over and over: soon learnt by heart.
for _ in $(seq 300); do printf 'the quick brown fox jumps over the lazy dog. '; done >book.txt
"$PLIMSOLL" train --model gpt2_tiny --data book.txt --size 32 --batch 8 --steps 80 --lr 0.003 \
  --budget 32MiB --checkpoints text --quiet --json >out || fail "training on a text: $(cat out)"
"$PLIMSOLL" evaluate text --json >out || fail "evaluate of a text"
python3 - out <<'END' || fail "the text was not learnt: $(cat out)"
import json, sys
result = json.load(open(sys.argv[1]))
assert result["loss"] < 1 and result["elements"] == 42, result
END
"$PLIMSOLL" generate text --prompt "the quick " --length 40 --temperature 0 >out
grep -q "^the quick brown fox jumps over" out || fail "generate: $(cat out)"
"$PLIMSOLL" generate text --prompt "the quick " --length 40 --seed 3 >one
"$PLIMSOLL" generate text --prompt "the quick " --length 40 --seed 3 >two
"$PLIMSOLL" evaluate text --data book.txt | grep -q "^421 elements" || fail "evaluate of all text"
cmp one two || fail "the same seed gives another text"
refuses_command predict 2 "plimsoll generate" text
refuses_command train 2 "a text is a row of tokens" --model lenet --data book.txt
printf 'short' >short.txt
refuses_command train 2 "it has 5 bytes" --model gpt2_tiny --data short.txt

# Two classes that the first feature tells apart.
{
  echo "a,b,c,label"
  for i in $(seq 200); do echo "$((i % 2)).5,$((i % 7)),0.25,$((i % 2))"; done
} >table.csv
"$PLIMSOLL" train --model mlp --data table.csv --epochs 8 --batch 16 --average 0.9 --lr 0.01 \
  --best validation_loss --checkpoints table --quiet --json >out || fail "training on a table: $(cat out)"
cp out trained
"$PLIMSOLL" predict table >out
(($(wc -l <out) == 200)) || fail "predict prints $(wc -l <out) lines"
awk '{ right += $2 == ($1 + 1) % 2 } END { exit right < 190 }' out || fail "the table was not learnt"
# What validation measured last, with the moving average of the weights.
cp out predicted
"$PLIMSOLL" evaluate table --json >evaluated
python3 - trained evaluated <<'END' || fail "evaluate is not what validation was"
import json, sys
trained, evaluated = (json.load(open(path)) for path in sys.argv[1:])
assert evaluated["elements"] == 20, evaluated
assert abs(trained["metrics"]["validation_loss"] - evaluated["loss"]) < 1e-5, (trained, evaluated)
END
"$PLIMSOLL" evaluate table --checkpoint best | grep -q "^20 elements  accuracy" || fail "the best"
"$PLIMSOLL" evaluate table --data table.csv | grep -q "^200 elements" || fail "evaluate of a table"
# Without a header, without labels.
tail -n +2 table.csv >bare.csv
"$PLIMSOLL" evaluate table --data bare.csv | grep -q "^200 elements" || fail "no header"
cut -d, -f1-3 table.csv >unlabelled.csv
"$PLIMSOLL" predict table --data unlabelled.csv >out
cmp out predicted || fail "other predictions without labels"
refuses_command evaluate 2 'a row has 2 features' table --data unlabelled.csv
sed '5s/^[^,]*/zero/' table.csv >words.csv
refuses_command train 2 'words.csv: record 3 at offset' --model mlp --data words.csv
grep -q '"a" is "zero"' err || fail "the cell is not named: $(cat err)"
sed '5s/,[^,]*$/,4000/' table.csv >far.csv
refuses_command train 2 "one of its 200 labels (column label) is 4000" --model mlp --data far.csv
refuses_command train 2 "larger --classes" --model mlp --data table.csv --classes 1 --quiet
refuses_command train 2 "there is no such file" --model mlp --data missing.csv
refuses_command train 2 "would learn to copy it" --model bert --data book.txt

# Classes by name, without a header; the last column has them.
names=(iris-setosa "a b" virginica)
for i in $(seq 240); do echo "$((i % 3)).5,$((i % 7)),${names[i % 3]}"; done >named.csv
"$PLIMSOLL" train --model mlp --data named.csv --epochs 12 --batch 16 --lr 0.01 --checkpoints named --quiet --json \
  >out || fail "classes by name: $(cat out)"
"$PLIMSOLL" predict named --json >out
python3 - out <<'END' || fail "names of classes are predicted: $(head -n 3 out)"
import json, sys
names = ["iris-setosa", "a b", "virginica"]
rows = [json.loads(line) for line in open(sys.argv[1])]
right = sum(row["class"] == names[(i + 1) % 3] for i, row in enumerate(rows))
assert len(rows) == 240 and right >= 230, right
END
# Another file has the classes that the run has, whichever of them are in it.
grep virginica named.csv >one.csv
"$PLIMSOLL" evaluate named --data one.csv --json >out
python3 -c 'import json; r = json.load(open("out")); assert r["elements"] == 80 and r["accuracy"] > 0.9, r' ||
  fail "evaluate by name: $(cat out)"
sed 's/virginica/unheard-of/' one.csv >unknown.csv
refuses_command evaluate 2 "unheard-of, and the model knows" named --data unknown.csv
sed 's/virginica/2/' one.csv >numbered.csv
refuses_command evaluate 2 "the labels are whole numbers" named --data numbered.csv
cut -d, -f1-2 named.csv >unnamed.csv
"$PLIMSOLL" predict named --data unnamed.csv >out
grep -q "^0 a b " out || fail "predict without names: $(head -n 3 out)"

# Values that are no classes: y = 2a - b.
{
  echo "a,b,y"
  for i in $(seq 300); do awk -v i="$i" 'BEGIN { a = i % 10 / 10; b = i % 7 / 7; printf "%f,%f,%f\n", a, b, 2 * a - b }'; done
} >values.csv
"$PLIMSOLL" train --model mlp --data values.csv --epochs 30 --batch 16 --lr 0.005 --checkpoints values --quiet --json \
  >out || fail "values: $(cat out)"
"$PLIMSOLL" evaluate values --json >out
python3 -c 'import json; r = json.load(open("out")); assert r["loss"] < 0.01 and "accuracy" not in r, r' ||
  fail "evaluate of values: $(cat out)"
"$PLIMSOLL" predict values --json >out
head -n 1 out | grep -q '"value":' || fail "values are predicted: $(head -n 3 out)"
refuses_command train 2 "targets have fractions" --model mlp --data values.csv --classes 3
refuses_command evaluate 2 "the model tells classes" named --data values.csv
refuses_command evaluate 2 "the model tells numbers" values --data named.csv
refuses_command train 2 "No such file" --model gpt2_tiny --data missing.txt
refuses_command train 2 "leave --classes out" --model gpt2_tiny --data book.txt --classes 9
refuses_command evaluate 2 "there is no run in this folder" "$folder"
refuses_command evaluate 2 "there is no such folder" missing
refuses_command generate 2 "mlp is not a language model" table
refuses_command evaluate 2 "no best checkpoint" text --checkpoint best
cp "table/$(cat table/latest)/model.safetensors" "text/$(cat text/latest)/"
refuses_command generate 2 "model.safetensors: is damaged" text

if python3 -c 'import numpy' 2>/dev/null; then
  mkdir arrays
  python3 - <<'END'
import numpy as np
labels = np.arange(120) % 3
np.save("arrays/x.npy", np.eye(3, dtype=np.float32)[labels])
np.save("arrays/y.npy", labels)
END
  "$PLIMSOLL" train --model mlp --data arrays --epochs 8 --lr 0.01 --batch 8 --checkpoints npy \
    --quiet --json >out || fail "training on arrays: $(cat out)"
  "$PLIMSOLL" predict npy >out
  awk '{ right += $2 == $1 % 3 } END { exit right < 115 }' out || fail "the arrays were not learnt"
fi
