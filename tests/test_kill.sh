#!/bin/sh
# test_kill.sh: a rollout that is killed leaves every step that it flushed. ABUT: the program.
set -u
compare=${ABUT_BUILD:-build}/tests/compare_hdf5
[ -x "$compare" ] || { echo "skipped: no HDF5"; exit 77; }
. "$(dirname "$0")/shell_test.inc"
# 1 MiB holds some 28 steps of this
run="rollout scenes/ant_box.abut --envs 16 --ctrl random --seed 3 --perturb 1e-3"

# Steps in the partial file; 0 where it does not open. A writer's lock is no reason not to look.
count() { HDF5_USE_FILE_LOCKING=FALSE "$compare" "$1" 2>/dev/null || echo 0; }

# kill_at SECONDS AT_LEAST: kills a rollout after that time, but not before it wrote so many steps
kill_at() {
  "$abut" $run --steps 20000 --buffer 1 --out "$folder/killed.h5" >/dev/null 2>&1 &
  runner=$!
  sleep "$1"
  wait=0
  while [ "$(count "$folder"/killed.h5.$runner-0.part)" -lt "$2" ] && [ $wait -lt 240 ]; do
    sleep 0.25
    wait=$((wait + 1))
  done
  kill -9 $runner
  wait $runner 2>/dev/null
  part=$folder/killed.h5.$runner-0.part
  if [ ! -e "$part" ] && [ "$2" -eq 0 ]; then return; fi # killed before it began
  steps=$(count "$part")
  if [ "$steps" -lt "$2" ]; then
    fail "killed after $1 s: $steps steps can be read, $2 were"
  elif [ "$steps" -gt 0 ]; then
    "$abut" $run --steps "$steps" --out "$folder/whole.h5" >/dev/null 2>&1
    message=$("$compare" "$part" "$folder/whole.h5" 2>&1) && pass || fail "killed after $1 s: $message"
  fi
  [ ! -e "$folder/killed.h5" ] && pass || fail "a killed rollout left a file that looks complete"
  rm -f "$part"
}

for seconds in 0.02 0.05 0.1 0.15 0.2 0.3 0.4 0.55; do kill_at $seconds 0; done
kill_at 0 1
kill_at 0 100

# a whole file counts all of its steps
"$abut" $run --steps 30 --out "$folder/whole.h5" >/dev/null 2>&1
[ "$(count "$folder/whole.h5")" = 30 ] && pass || fail "a whole file of 30 steps counts $(count "$folder/whole.h5")"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
