#!/bin/sh
# check_race.sh: ThreadSanitizer watches 32 threads run the team kernels: nothing to report as they are, and a
# report that names the source where a team_sync is left out.
set -eu
test="$ABUT_BUILD/tests/test_team"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
fail() { echo "check_race: $*" >&2; tail -40 "$out" >&2; exit 1; }

ABUT_QUICK=1 "$test" threads_run_a_step >"$out" 2>&1 || fail "the kernels have a data race"
grep -q '^1 passed' "$out" || fail "the test did not run"
"$test" threads_run_manifolds >"$out" 2>&1 || fail "the kernels of manifolds have a data race"
grep -q '^1 passed' "$out" || fail "the test of manifolds did not run"
for skip in 5 75 100; do
  ABUT_SKIP_SYNC=$skip ABUT_QUICK=1 "$test" threads_run_a_step >"$out" 2>&1 && fail "no report without team_sync $skip"
  grep -q 'data race.*' "$out" && grep -q 'src/kernels/[a-z_/]*\.inl:[0-9]' "$out" || fail "the report names no line"
done
