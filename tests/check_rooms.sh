#!/bin/sh
# check_rooms.sh: files include what their room may, rooms have a README (check_rooms.py has the rules); and a rule that is
# broken is found.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
check=$PWD/tests/check_rooms.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# a small tree that keeps all rules
plant() {
  rm -rf "$folder/tree"
  mkdir -p "$folder/tree"
  cd "$folder/tree"
  mkdir -p include/abut src/cli src/kernels/lane src/kernels/shape src/kernels/items src/host/base src/host/model \
    src/host/import src/host/measure
  touch include/abut/abut.h src/kernels/lane/lane.h src/kernels/shape/view.h src/kernels/items/view.h \
    src/kernels/items/query.inl src/host/base/status.h src/host/model/model.h src/host/import/import.h \
    src/host/measure/measure.h src/cli/cli.h
  for room in include/abut src/cli src/kernels src/kernels/* src/host src/host/*; do echo here >"$room/README.md"; done
  echo 'list(made.def)' >CMakeLists.txt
  put src/cli/bench.c '"cli.h"' '"abut/abut.h"' '"host/measure/measure.h"' '<stdio.h>' '<mujoco/mujoco.h>'
  put src/host/import/load.c '"host/import/import.h"' '"host/model/model.h"' '"kernels/items/view.h"' '"made.def"'
  put src/kernels/items/view.h '"kernels/shape/view.h"' '"kernels/lane/lane.h"'
}
put() { # file includes...
  file=$1
  shift
  for name in "$@"; do echo "#include $name"; done >>"$file"
}
# The planted tree fails, and each of these is said.
fails() { # text...
  if python3 "$check" . >"$folder/said"; then echo "FAILED: found nothing, expected: $*"; exit 1; fi
  for text in "$@"; do
    grep -qF "$text" "$folder/said" || { echo "FAILED: did not say '$text' but:"; cat "$folder/said"; exit 1; }
  done
}
(
  plant
  python3 "$check" . || { echo "FAILED: the planted tree keeps all rules"; exit 1; }
  put include/abut/abut.h '"host/base/status.h"'
  fails 'include/abut/abut.h:1: #include "host/base/status.h": a public header'
  plant
  put src/cli/fit.c '"host/measure/measure.h"'
  put src/cli/bench.c '"host/base/status.h"'
  fails 'src/cli/fit.c:1: #include' 'src/cli/bench.c:6: #include'
  plant
  put src/kernels/lane/lane.h '"host/base/status.h"'
  fails 'src/kernels/lane/lane.h:1: #include "host/base/status.h": kernels include'
  plant
  put src/host/model/model.c '"kernels/items/query.inl"'
  put src/host/model/file.c '"host/import/import.h"' '"host/model/absent.h"'
  fails 'src/host/model/model.c:1: #include' 'src/host/model/file.c:1: #include "host/import/import.h": host/import comes after' \
    'src/host/model/file.c:2: #include "host/model/absent.h": there is no such file'
  plant
  put src/kernels/shape/view.h '"abut/abut.h"' '"kernels/items/view.h"'
  fails 'kernels/items, kernels/shape include each other' '  src/kernels/items/view.h:1: #include "kernels/shape/view.h"' \
    '  src/kernels/shape/view.h:2: #include "kernels/items/view.h"' 'kernels/items comes after kernels/shape'
  plant
  mkdir src/host/cellar
  touch src/host/cellar/wine.h
  put src/host/measure/measure.h '"host/cellar/wine.h"'
  rm src/cli/README.md
  seq 16 >src/host/README.md
  fails "host/cellar is not in check_rooms.py's order" 'src/host/cellar: has no README.md' 'src/cli: has no README.md' \
    'src/host/README.md: 16 lines'
) || exit 1

python3 "$check"
