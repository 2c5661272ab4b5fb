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
