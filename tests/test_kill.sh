#!/bin/sh
# test_kill.sh: a rollout or a manifold that is killed leaves every step or pose that it flushed. ABUT: the program.
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

# --------------------------------------------------------------------------------------------- manifold
# Contacts are appended to datasets that grow, so where a kill falls matters more: many, at all times of a run
# of 40 blocks or so.
quick="--primitives 1 --grid 24 --vertices 60"
if command -v python3 >/dev/null && "$abut" fit scenes/stack5.abut --geom box1 $quick -o "$folder/box.abut" >/dev/null 2>&1; then
  python3 - "$folder/poses.npy" <<'PYTHON'
import random, struct, sys
random.seed(1)
with open(sys.argv[1], "wb") as file:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000, 2, 7), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
    for pose in range(1000):
        q = [random.gauss(0, 1) for _ in range(4)]
        length = sum(x * x for x in q) ** 0.5
        place = [random.uniform(-0.15, 0.15) for _ in range(3)]
        file.write(struct.pack("<14d", 0, 0, 0, 1, 0, 0, 0, *place, *[x / length for x in q]))
PYTHON
  run="manifold $folder/box.abut $folder/box.abut --poses $folder/poses.npy --edges all --threshold 1e-9"
  "$abut" $run --out "$folder/contacts.h5" >/dev/null
  [ "$(count "$folder/contacts.h5")" = 1000 ] && pass || fail "a whole file of 1000 poses counts $(count "$folder/contacts.h5")"
  "$abut" $run --threads 1 --out "$folder/again.h5" >/dev/null
  message=$("$compare" "$folder/again.h5" "$folder/contacts.h5" 2>&1) && pass || fail "threads change contacts: $message"
  some=0
  for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$abut" $run --out "$folder/killed.h5" >/dev/null 2>&1 &
    runner=$!
    sleep 0.$(printf %02d $((try * 7)))
    kill -9 $runner 2>/dev/null || continue # it was faster
    wait $runner 2>/dev/null
    part=$folder/killed.h5.$runner-0.part
    poses=$(count "$part")
    if [ "$poses" -gt 0 ]; then
      some=$((some + 1))
      message=$("$compare" "$part" "$folder/contacts.h5" 2>&1) && pass || fail "killed after $poses poses: $message"
    fi
    rm -f "$part" "$folder/killed.h5"
  done
  [ $some -gt 0 ] && pass || fail "no killed manifold left contacts"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
