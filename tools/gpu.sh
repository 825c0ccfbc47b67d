#!/bin/sh
# gpu.sh: what a GPU has to prove and to show: bits against the committed ones, tests, sanitizers, the sweep. Needs a
# driver, nvcc and CMake, no network. Every part has its own time and its own result; one that fails stops no other.
# Results go to bench/results/<card>/: parts.txt, sweep.json, sweep.md and one log per part.
set -u
cd "$(dirname "$0")/.."

say() { echo "gpu: $*" >&2; }
generator=
command -v ninja >/dev/null || generator="-GUnix Makefiles"
# for this card only: the fat binary's other architectures would take minutes
compile() { # FOLDER PRESET ARCHITECTURE
  cmake --preset "$2" ${generator:+"$generator"} -B "$1" -DABUT_CUDA=ON -DABUT_CUDA_ARCHITECTURES="$3" \
    -DCMAKE_DISABLE_FIND_PACKAGE_MuJoCo=ON -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON &&
    cmake --build "$1" -j "$(nproc)"
}
on_gpu() { ABUT_TEST_DEVICE=cuda "$@"; }
case ${1:-} in # a part runs a function of this script under timeout
  compile | on_gpu) "$@"; exit ;;
esac

card=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
[ -n "$card" ] || { say "no CUDA driver, or no GPU: nvidia-smi names none"; exit 1; }
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)
results=bench/results/$(echo "$card" | tr ' /' '__')
mkdir -p "$results"
: >"$results/parts.txt"
failed=0

# part NAME SECONDS COMMAND...: runs it with a limit, logs it, notes how it ended
part() {
  name=$1 limit=$2
  shift 2
  started=$(date +%s)
  if timeout "$limit" "$@" >"$results/$name.log" 2>&1; then end=passed; else end="FAILED ($?)"; failed=1; fi
  line="$name $end $(($(date +%s) - started)) s"
  echo "$line" >>"$results/parts.txt"
  say "$line"
}

part build 240 "$0" compile build-gpu release "$capability"
part build_strict 240 "$0" compile build-gpu-strict strict "$capability"

part bits 120 "$0" on_gpu build-gpu-strict/tests/test_golden
for scene in stack5 ant_box chains4x8 pile incline arm_mesh planks20; do
  for device in cpu cuda; do
    build-gpu-strict/abut rollout scenes/$scene.abut --envs 100 --steps 20 --perturb 1e-3 --ctrl random --json \
      --max-separation 0.1 --device $device 2>>"$results/hashes.log" | sed -n 's/.*"state_hash": *"\([0-9a-f]*\)".*/\1/p' >"$results/hash.$device"
  done
  cmp -s "$results/hash.cpu" "$results/hash.cuda" && [ -s "$results/hash.cpu" ] && same=equal || { same=DIFFERENT; failed=1; }
  echo "hash $scene cpu $(cat "$results/hash.cpu") cuda $(cat "$results/hash.cuda") $same" >>"$results/parts.txt"
done
rm -f "$results/hash.cpu" "$results/hash.cuda"

for test in batch state gradient gradient_terms parameters options resting tunnel friction joints dynamics separate scale planks; do
  [ -x build-gpu/tests/test_$test ] && part test_$test 60 "$0" on_gpu build-gpu/tests/test_$test
done

sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")/compute-sanitizer")
for tool in memcheck racecheck initcheck synccheck; do
  part $tool 60 "$sanitizer" --tool $tool --error-exitcode 9 build-gpu/abut rollout scenes/stack5.abut --envs 5 --steps 2 \
    --perturb 1e-3 --device cuda
done

# one process per number of environments, so that one too large ends nothing else
for envs in 2048 1 256 1024 8192 65536; do
  part sweep_n$envs 60 build-gpu/abut bench --device cuda --filter "*.cuda.n$envs" --json
done
{
  echo "# $card"
  echo
  echo "Driver $driver, $(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'), commit $(git rev-parse --short HEAD 2>/dev/null). Written by \`./run gpu\`."
  echo
  echo "| name | value | unit |"
  echo "| --- | --- | --- |"
  cat "$results"/sweep_n*.log | tr -d '\n' |
    sed 's/}/}\n/g' | sed -n 's/.*"name": *"\([^"]*\)", *"value": *\([^,]*\), *"unit": *"\([^"]*\)".*/| \1 | \2 | \3 |/p' | sort -u
} >"$results/sweep.md"
{ printf '{"card": "%s", "driver": "%s", "lines": [\n' "$card" "$driver"
  sed -n 's/^| \([a-z][^ ]*\.[^ ]*\) | \([^ ]*\) | \([^ ]*\) |$/{"name": "\1", "value": \2, "unit": "\3"},/p' "$results/sweep.md" | sed '$s/,$//'
  echo ']}'; } >"$results/sweep.json"
cat "$results/parts.txt" "$results/sweep.md"
exit $failed
