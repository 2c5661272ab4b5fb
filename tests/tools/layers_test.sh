#!/usr/bin/env bash
# The check of layers finds what it is for: an include that points up, one of another folder's
# private headers, a folder that is not in the table of docs/design.md. The repository itself is clean.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }
check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/check_layers.py

said=$(python3 "$check") || fail "the repository breaks its own layers: $said"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{docs,src/low,src/high,include/plimsoll/low,include/plimsoll/high,tools/command}
cat >"$folder/docs/design.md" <<'END'
## Folders

| folder | what it has |
|---|---|
| `low` | what others stand on |
| `high` | what stands on it |
| `tools/command` | the command |

## Next
END

finds() { # WORD: the check fails and names it
  local said status=0
  said=$(python3 "$check" "$folder") || status=$?
  [[ $status == 1 ]] || fail "exits $status where it should find '$1': $said"
  [[ $said == *"$1"* ]] || fail "'$1' is not in: $said"
}

echo '#include <vector>' >"$folder/include/plimsoll/low/a.h"
printf '#include <plimsoll/low/a.h>\n#include "high/own.h"\n' >"$folder/src/high/b.cpp"
echo '#include <plimsoll/high/b.h>' >"$folder/tools/command/main.cpp"
python3 "$check" "$folder" >said || fail "a clean tree is refused: $(cat said)"
rm -f said

echo '#include <plimsoll/high/b.h>' >"$folder/src/low/planted.cpp"
finds "src/low/planted.cpp:1: <plimsoll/high/b.h> points up"
rm "$folder/src/low/planted.cpp"

printf '\n#include "low/private.h"\n' >"$folder/src/high/planted.cpp"
finds 'src/high/planted.cpp:2: "low/private.h" is private to low'
rm "$folder/src/high/planted.cpp"

echo '#include "high/own.h"' >"$folder/tools/command/planted.cpp"
finds 'tools/command/planted.cpp:1: "high/own.h" is private to high'
rm "$folder/tools/command/planted.cpp"

mkdir "$folder/src/attic"
echo >"$folder/src/attic/c.cpp"
finds "src/attic/c.cpp: its folder is not in the table"
