# What the tests of the command share; they source it first, before they change directory.

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# figure JSON KEY: the first number called KEY.
figure() {
  sed -n "s/^ *\"$2\": \([0-9.e+-]*\),*$/\1/p" <<<"$1" | head -n 1
}

# refuses_command COMMAND STATUS WORD ARGUMENT...: it exits STATUS, names WORD on stderr, prints
# nothing. Leaves the files `out` and `err` here.
refuses_command() {
  local command=$1 expected=$2 word=$3 status=0
  shift 3
  "$PLIMSOLL" "$command" "$@" >out 2>err || status=$?
  [[ $status == "$expected" ]] ||
    fail "'$command $*' exits $status, expected $expected: $(cat err)"
  grep -qF -- "$word" err || fail "'$command $*' does not name '$word': $(cat err)"
  [[ ! -s out ]] || fail "'$command $*' prints on stdout: $(cat out)"
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails if it does not in time.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || fail "in vain: $*"
    sleep 0.02
  done
}

# stepped FILE [COUNT]: the run log has at least so many steps.
stepped() {
  [[ -e $1 ]] && (($(grep -c '"event":"step"' "$1" || true) >= ${2:-1}))
}
