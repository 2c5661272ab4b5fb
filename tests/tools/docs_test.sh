#!/usr/bin/env bash
# What README.md and docs/ show: every command is run, every piece of C++ compiled.
#
#   ```console   lines that start with "$ " are run by bash from the repository's root and must
#                exit 0, or with N where the line ends in "# exits N"
#   ```cpp       with an #include: a file of its own; without: a function's body, for which there
#                are `pm` and a pm::Device `device`
#   ```python    run by python/tests/test_docs.py, page by page
#
# `<!-- not run -->` on the line before a block leaves it out.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/cpp"
ln -s "$PLIMSOLL" "$folder/bin/plimsoll"
export PATH="$folder/bin:$PATH"

pages=(README.md docs/*.md)
examples=$(dirname "$PLIMSOLL")/../examples

# blocks LANGUAGE PAGE: its blocks of that language as "LINE<tab>TEXT", line by line.
blocks() {
  awk -v language="$1" '
    /^```/ {
      if (inside) { inside = 0 } else if ($0 == "```" language && !skip) { inside = 1 } else { inside = 2 }
      skip = 0
      next
    }
    inside == 1 { print NR "\t" $0 }
    inside == 0 { if ($0 != "") skip = ($0 == "<!-- not run -->") }
  ' "$2"
}

# ------------------------------------------------------------------------------- commands

commands=0
for page in "${pages[@]}"; do
  while IFS=$'\t' read -r line text; do
    [[ $text == '$ '* ]] || continue
    command=${text#'$ '}
    expected=0
    [[ $command =~ '# exits '([0-9]+)$ ]] && expected=${BASH_REMATCH[1]}
    status=0
    bash -c "$command" >"$folder/out" 2>&1 </dev/null || status=$?
    [[ $status == "$expected" ]] ||
      fail "$page:$line: '$command' exits $status, expected $expected: $(cat "$folder/out")"
    commands=$((commands + 1))
  done < <(blocks console "$page")
done
((commands > 0)) || fail "no command found"

# ------------------------------------------------------------------------------------- C++

# Each file says where it comes from, so that the compiler names the page and the line.
snippets=0
for page in "${pages[@]}"; do
  stem=$(basename "$page" .md)
  previous=-1
  file=
  while IFS=$'\t' read -r line text; do
    if ((line != previous + 1)); then
      snippets=$((snippets + 1))
      file="$folder/cpp/$stem.$line.cpp"
      printf '#line %s "%s"\n' "$line" "$root/$page" >"$file"
    fi
    previous=$line
    printf '%s\n' "$text" >>"$file"
  done < <(blocks cpp "$page")
done
((snippets > 0)) || fail "no C++ found"

fragments=$folder/fragments.cc
{
  echo '#include <plimsoll/plimsoll.h>'
  echo '#include <plimsoll/memory/host_pages.h>'
  echo '#include <plimsoll/memory/trace.h>'
  echo '#include <iostream>'
  echo '#include <thread>'
  echo 'namespace pm = plimsoll;'
} >"$fragments"
number=0
files=("$fragments")
for file in "$folder"/cpp/*.cpp; do
  if grep -q '#include' "$file"; then
    files+=("$file")
  else
    number=$((number + 1))
    printf 'void fragment_%s([[maybe_unused]] const pm::Device& device) {\n' "$number" >>"$fragments"
    cat "$file" >>"$fragments"
    echo '}' >>"$fragments"
  fi
done
for file in "${files[@]}"; do
  "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wno-unused-variable \
    -Wno-missing-field-initializers -Iinclude "$file" ||
    fail "C++ of $(basename "$file") does not compile"
done

# -------------------------------------------------------------------------------- examples

# What the README shows is what examples/first_budget.cpp is.
diff <(blocks cpp README.md | cut -f2-) examples/first_budget.cpp >&2 ||
  fail "README.md and examples/first_budget.cpp differ"

for example in first_budget memory_demo; do
  [[ -x $examples/$example ]] || continue
  "$examples/$example" >"$folder/out" || fail "$example exits $?"
  grep -q "out of memory" "$folder/out" || fail "$example shows no OutOfMemory"
  ! grep -E '.{81}' "$folder/out" || fail "$example prints more than 80 columns"
done

# Links to files of the repository lead somewhere.
for page in "${pages[@]}"; do
  while read -r link; do
    [[ $link == *://* || $link == '#'* ]] ||
      [[ -e $(dirname "$page")/${link%%#*} ]] || fail "$page: no such file: $link"
  done < <(sed '/^```/,/^```/d' "$page" | grep -o ']([^)]*)' | sed 's/^](//; s/)$//')
done

echo "$commands commands, $snippets pieces of C++"
