#!/bin/sh
# test_gpu_run.sh: tools/gpu.sh with tools, programs and a card that are none: groups, what they keep, what is missing.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/.."
fail() { echo "FAILED: $*"; exit 1; }
mkdir -p "$folder/bin" "$folder/tools"
cp tools/gpu.sh tools/kernels.awk "$folder/tools"
script() { # FILE: its commands are read
  mkdir -p "$(dirname "$folder/$1")"
  { echo '#!/bin/sh'; cat; } >"$folder/$1"
  chmod +x "$folder/$1"
}
script bin/nvidia-smi <<'END'
case $1 in *name) echo Card 1 ;; *) echo 9.0 ;; esac
END
script bin/compute-sanitizer <<'END'
[ ! -f refuses ] || { echo "Error: Device not supported"; exit 1; }
END
script bin/cmake <<'END'
echo "cmake $*" >>cmake.log
mkdir -p build-gpu/cuda
echo "8 bytes stack frame, ${SPILLS:-0} bytes spill stores, 0 bytes spill loads" >build-gpu/cuda/k.report
END
script build-gpu/abut <<'END'
case "$*" in
  *" manifold."*) printf '[{"name": "manifold.ee.f32.cuda", "value": 3, "unit": "ns"}]' ;;
  *longrange*) printf '[{"name": "longrange.cuda.n1024.billiards512.ms", "value": 7, "unit": "ms"}]' ;;
  *n2048*) printf '[{"name": "calibration.fma.f32", "value": 1, "unit": "GFLOP/s"},\n{"name": "step.a.b.cuda.n2048", "value": 5, "unit": "x"}]' ;;
  *n[0-9]*) printf '[{"name": "calibration.fma.f32", "value": 2, "unit": "GFLOP/s"}]' ;;
esac
END
script build-gpu-strict/abut <<'END'
echo '{"state_hash": "ab12"}'
END
script build-gpu-strict/tests/test_golden </dev/null
script build-gpu/tests/test_device_gpu </dev/null
script build-gpu/abut_work </dev/null
for test in batch state gradient gradient_terms parameters options resting tunnel friction joints dynamics separate scale; do
  script build-gpu/tests/test_$test </dev/null
done # not test_planks
cd "$folder/tools"
gpu() { PATH="$folder/bin:$PATH" sh gpu.sh "$@" >"$folder/out" 2>&1; }
results=$folder/bench/results/Card_1
has() { grep -q "$1" "$results/parts.txt" || fail "no '$1' in parts.txt: $(cat "$results/parts.txt")"; }
hasnt() { ! grep -q "$1" "$results/parts.txt" || fail "'$1' in parts.txt: $(cat "$results/parts.txt")"; }

gpu build || fail "build: $(cat "$folder/out")"
has '^build passed' && has '^build_strict passed' && has '^build_work passed' && has '^spills passed' && hasnt bits
grep -q 'ABUT_WERROR=OFF' "$folder/cmake.log" || fail "a warning fails the build"
SPILLS=16 gpu build && fail "spills were not reported"
has '^spills FAILED (1)'
gpu build

code=0
gpu prove || code=$?
[ $code = 1 ] || fail "a missing test did not fail"
has '^build passed' && has '^bits_team1 passed' && has '^hash planks20 .* equal' && has '^test_scale passed'
has '^test_planks FAILED (127)' && has '^memcheck passed' && has '^memcheck_manifolds passed' && hasnt sweep
script build-gpu/tests/test_planks </dev/null
: >"$folder/refuses"
gpu prove || fail "prove: $(cat "$folder/out")"
has '^sanitizers UNAVAILABLE (Error: Device not supported)' && hasnt memcheck && has '^test_planks passed'
gpu measure || fail "measure: $(cat "$folder/out")"
has '^sweep_n65536 passed' && has '^kernels_f32_ant_box_n65536 passed' && has '^kernels_f32_manifold passed' && has '^bits_team32 passed' && has '^build passed'
[ "$(grep -c calibration "$results/sweep.md")" = 1 ] || fail "sweep.md repeats itself: $(cat "$results/sweep.md")"
grep -q '"step.a.b.cuda.n2048", "value": 5' "$results/sweep.json" || fail "sweep.json"
has '^longrange passed' && grep -q 'longrange.cuda.n1024.billiards512.ms | 7 | ms' "$results/sweep.md" || fail "longrange"
has '^manifold passed' && grep -q 'manifold.ee.f32.cuda | 3 | ns' "$results/sweep.md" || fail "manifold"
has '^peers UNAVAILABLE' # bench/mjx is not there
script bench/mjx/run.sh </dev/null
rm "$folder/refuses"
gpu || fail "all: $(cat "$folder/out")"
has '^memcheck passed' && has '^sweep_n1 passed' && has '^peers passed'
grep -nE '^gpu: (spills|bits_team32|sweep_n2048|test_batch|memcheck|sweep_n1|kernels_f32_stack5_n2048) ' "$folder/out" |
  sed 's/^[0-9]*:gpu: \([^ ]*\).*/\1/' | tr '\n' ' ' | grep -q '^spills bits_team32 sweep_n2048 test_batch memcheck sweep_n1 kernels_f32_stack5_n2048 $' ||
  fail "the order: $(cat "$folder/out")"

rm "$folder/build-gpu/abut"
gpu prove && fail "prove without a build"
grep -q 'run gpu build' "$folder/out" || fail "nothing says what is missing"
has '^memcheck passed' # and results are kept
code=0
gpu prov || code=$?
[ $code = 2 ] || fail "an unknown group"
