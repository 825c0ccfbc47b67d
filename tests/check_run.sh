#!/bin/sh
# check_run.sh: run refuses what it does not know, names it, and changes nothing.
set -eu
refuses() { # word arguments...
  word=$1
  shift
  code=0
  message=$(./run "$@" 2>&1 >/dev/null) || code=$?
  [ $code = 2 ] || { echo "./run $*: exit code $code, not 2"; exit 1; }
  case $message in *"$word"*) ;; *) echo "./run $*: no '$word' in: $message"; exit 1 ;; esac
}
refuses "'bulid'" bulid
refuses "'--chekc'" format --chekc
./run help | grep -q '^./run demo'
./run | grep -q '^./run test'
