#!/usr/bin/env bash
# evaluate, predict and generate within too small a budget name one that is enough.
set -euo pipefail
PLIMSOLL=${PLIMSOLL:?the plimsoll command}
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
pictures=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../data/recorded/images
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# names_enough COMMAND RUN ARGUMENT...: whatever is too little, what is named instead works.
names_enough() {
  local budget enough
  for budget in 1 64KiB 512KiB; do
    refuses_command "$1" 3 "does not fit" "${@:2}" --budget "$budget"
    enough=$(sed -n 's/^a budget that is enough: //p' err)
    [[ -n $enough ]] || fail "'$*' within $budget names no budget: $(cat err)"
    "$PLIMSOLL" "$@" --budget "$enough" >out 2>err || fail "'$*' within $enough: exit $?: $(cat err)"
    [[ -s out ]] || fail "'$*' within $enough prints nothing"
  done
}

for i in $(seq 200); do echo "All work and no play. $i"; done >book.txt
"$PLIMSOLL" train --model gpt2_tiny --data book.txt --size 32 --batch 8 --steps 1 --checkpoints text --quiet >out
names_enough evaluate text
names_enough evaluate text --batch 64
names_enough generate text --length 3

{
  echo "a,b,label"
  for i in $(seq 100); do echo "$((i % 2)).5,$((i % 7)),$((i % 2))"; done
} >table.csv
"$PLIMSOLL" train --model mlp --data table.csv --steps 1 --average 0.9 --checkpoints table --quiet >out
names_enough evaluate table
names_enough predict table

# Files that are decoded need room, too.
for class in gray 420; do
  mkdir -p "photos/$class"
  for i in 0 1 2 3; do cp "$pictures/$class.jpg" "photos/$class/$i.jpg"; done
done
"$PLIMSOLL" train --model lenet --size 32 --data photos --batch 4 --steps 1 --checkpoints photo --quiet >out
names_enough evaluate photo --data photos
names_enough predict photo --data photos

# Pipelines give back what they read ahead, so that a step has room.
"$PLIMSOLL" train --model resnet18 --data synthetic --size 64 --batch 4 --steps 1 --checkpoints deep --quiet >out
names_enough evaluate deep
names_enough predict deep

# Results of 16 bits are printed as others are.
for precision in bf16 f16; do
  "$PLIMSOLL" predict table --precision $precision >out || fail "predict in $precision"
  (($(wc -l <out) == 100)) || fail "predict in $precision prints $(wc -l <out) lines"
  "$PLIMSOLL" generate text --length 3 --precision $precision >out || fail "generate in $precision"
done
