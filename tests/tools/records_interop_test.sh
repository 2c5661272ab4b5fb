#!/usr/bin/env bash
# What `plimsoll data pack` writes is read by TensorFlow, webdataset and MosaicML Streaming, where a
# Python that has them is named: PLIMSOLL_TF_PYTHON, PLIMSOLL_RECORDS_PYTHON. Random samples go the whole way:
# written by them, read and written by us, read by them. tests/data reads recorded files everywhere.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
recorded=$root/tests/data/recorded/records
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tensorflow=${PLIMSOLL_TF_PYTHON:-$root/.venv-tf/bin/python}
others=${PLIMSOLL_RECORDS_PYTHON:-$root/.venv-records/bin/python}

check() { # FORMAT FOLDER PYTHON
  if [[ ! -x $3 ]]; then
    echo "skipped: $1, as there is no $3"
    return
  fi
  local status=0
  "$3" "$root/tests/data/record/check_written.py" "$1" "$2" >"$folder/out" 2>&1 || status=$?
  [[ $status == 0 || $status == 77 ]] || fail "$1: $(tail -n 3 "$folder/out")"
  [[ $status == 0 ]] || echo "skipped: $1: $(tail -n 1 "$folder/out")"
}

"$PLIMSOLL" data pack "$recorded/examples.tfrecord" "$folder/tfrecord" --shards 3 >/dev/null
check tfrecord "$folder/tfrecord" "$tensorflow"
"$PLIMSOLL" data pack "$recorded/examples.zlib.tfrecord" "$folder/gzip" --compression gzip >/dev/null
check tfrecord "$folder/gzip" "$tensorflow"
"$PLIMSOLL" data pack "$recorded/webdataset.tar" "$folder/webdataset" --format webdataset --shards 2 >/dev/null
check webdataset "$folder/webdataset" "$others"
"$PLIMSOLL" data pack "$recorded/mds" "$folder/mds" --format mds --shards 2 >/dev/null
check mds "$folder/mds" "$others"

round_trip() { # FORMAT PYTHON
  if [[ ! -x $2 ]]; then
    echo "skipped: $1, as there is no $2"
    return
  fi
  local script=$root/tests/data/record/round_trip.py seed status compression
  for seed in 1 2; do
    local theirs=$folder/theirs-$1-$seed ours=$folder/ours-$1-$seed
    status=0
    "$2" "$script" write "$1" "$theirs" "$seed" >"$folder/out" 2>&1 || status=$?
    if [[ $status == 77 ]]; then
      echo "skipped: $1: $(tail -n 1 "$folder/out")"
      return
    fi
    [[ $status == 0 ]] || fail "$1, seed $seed: $(tail -n 3 "$folder/out")"
    compression=${1#*-}
    [[ $compression != "$1" ]] || compression=none
    local source=$theirs
    [[ $1 == mds ]] || source=$(ls "$theirs"/a.*)
    "$PLIMSOLL" data pack "$source" "$ours" --format "${1%-*}" --shards 3 --compression "$compression" >/dev/null ||
      fail "$1, seed $seed: pack"
    "$2" "$script" check "$1" "$ours" "$seed" >"$folder/out" 2>&1 || fail "$1, seed $seed: $(tail -n 5 "$folder/out")"
  done
}
for format in tfrecord tfrecord-gzip tfrecord-zlib; do round_trip "$format" "$tensorflow"; done
for format in webdataset mds; do round_trip "$format" "$others"; done
echo ok
