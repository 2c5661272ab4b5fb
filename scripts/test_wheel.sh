#!/usr/bin/env bash
# Installs a wheel into a bare environment of every CPython from 3.11 on that is found, and runs the
# Python tests in each: scripts/test_wheel.sh WHEEL [PYTEST ARGUMENT...]
# PLIMSOLL_PYTHONS="3.12 3.13" tries those alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheel=$(realpath "$1")
shift
(($# > 0)) || set -- -q
failed=0
found=0
for version in ${PLIMSOLL_PYTHONS:-3.11 3.12 3.13}; do
  python=
  # Of those that pyenv has, the latest; its python3.12 on the path may be one that refuses to run.
  for candidate in "$(command -v "python$version" || true)" \
    $(ls -d ~/.pyenv/versions/"$version".*/bin/python3 2>/dev/null | sort -rV); do
    if [[ -n $candidate ]] && "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then
      python=$candidate
      break
    fi
  done
  if [[ -z $python ]]; then
    echo "python $version: skipped, as it is not here"
    continue
  fi
  found=1
  environment=$PWD/build/wheels/venv-$version
  rm -rf "$environment"
  "$python" -m venv "$environment"
  "$environment/bin/pip" install -q --disable-pip-version-check "$wheel" numpy pytest
  # Outside of the repository, so that nothing of it is imported; mypy is the development environment's.
  # Each file in a process of its own, as `./dev test` runs them.
  wrong=()
  for file in "$PWD"/python/tests/test_*.py; do
    case $file in *_slow.py | */test_typing.py) continue ;; esac
    status=0
    (cd "$environment" && PLIMSOLL_ROOT=$OLDPWD "$environment/bin/python" -m pytest -p no:cacheprovider "$file" "$@") ||
      status=$?
    ((status == 0 || status == 5)) || wrong+=("$(basename "$file")") # 5: all of it was deselected
  done
  if ((${#wrong[@]} == 0)) && "$environment/bin/plimsoll" --version; then
    echo "python $version: the tests pass"
  else
    echo "python $version: the tests fail: ${wrong[*]}"
    failed=1
  fi
done
((found == 1)) || { echo "no CPython from 3.11 on was found"; exit 1; }
exit "$failed"
