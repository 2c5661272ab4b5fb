#!/usr/bin/env bash
# Training steps of an LSTM language model and a small BERT beside TensorFlow's:
# bench/layers.sh BUILD [OPTION...] [MODEL...]. Other sizes are models like lstm_lm:256,32,64 and
# bert:256,8,64 (features, sequences, tokens). bench/ops.py says what is measured.
set -euo pipefail
case " $* " in
  *" lstm_lm"* | *" bert"*) ;;
  *) set -- "$@" lstm_lm bert ;;
esac
exec bash "$(dirname "${BASH_SOURCE[0]}")/ops.sh" "$@"
