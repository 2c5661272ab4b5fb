#!/usr/bin/env bash
# What ./dev demo shows once it is built: pictures are made, a network learns them within a budget, and
# a chart and what to try next follow. demo.sh BUILD_FOLDER DEMO_FOLDER
set -euo pipefail
build=$1
folder=$2
plimsoll=$build/bin/plimsoll

rm -rf "$folder"
echo "1,920 JPEG pictures of crosses, discs, rings and squares, in $folder"
"$build/examples/make_pictures" "$folder"
echo "a small convolutional network learns them from the files, within 8 MiB"
"$plimsoll" train --data "$folder" --model lenet --size 32 --batch 32 --epochs 10 --budget 8MiB \
  --optimizer adam --log "$folder/run.jsonl" --chart
"$plimsoll" report "$folder/run.jsonl" --out "$folder/report.html" >/dev/null
echo "look at the run: $(cd "$folder" && pwd)/report.html"

cat <<NEXT

Try next:
  ask for too little memory, and get the smallest budget that works
    $plimsoll train --data $folder --model lenet --size 32 --batch 32 --budget 1MiB
  ask whether a model fits before you train it
    $plimsoll plan --model resnet50 --batch 32 --budget 3GiB
  see who holds what when memory runs out
    ./dev demo memory
NEXT
