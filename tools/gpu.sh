#!/bin/sh
# gpu.sh: what a GPU has to prove and to show: bits against the committed ones, the sweep, time and roof of each kernel,
# tests, sanitizers. Needs a driver, nvcc and CMake, no network. Every part has its own time and its own result; one that
# fails stops no other, and all end within ABUT_GPU_SECONDS (520). Results go to bench/results/<card>/: parts.txt, sweep.md,
# kernels.md, both as .json too, and one log per part.
set -u
cd "$(dirname "$0")/.." || exit

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
state_hash() { # SCENE DEVICE
  build-gpu-strict/abut rollout "scenes/$1.abut" --envs 100 --steps 20 --perturb 1e-3 --ctrl random --json \
    --max-separation 0.1 --device "$2" | sed -n 's/.*"state_hash": *"\([0-9a-f]*\)".*/\1/p'
}
hashes() {
  differ=0
  for scene in stack5 ant_box chains4x8 pile incline arm_mesh planks20; do
    cpu=$(state_hash $scene cpu) cuda=$(state_hash $scene cuda)
    if [ -n "$cpu" ] && [ "$cpu" = "$cuda" ]; then same=equal; else same=DIFFERENT differ=1; fi
    echo "hash $scene cpu $cpu cuda $cuda $same"
  done
  return $differ
}
case ${1:-} in # a part runs a function of this script under timeout
  compile | on_gpu | hashes) "$@"; exit ;;
esac

card=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
[ -n "$card" ] || { say "no CUDA driver, or no GPU: nvidia-smi names none"; exit 1; }
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)
results=bench/results/$(echo "$card" | tr ' /' '__')
mkdir -p "$results"
rm -f "$results"/*.log
: >"$results/parts.txt"
deadline=$(($(date +%s) + ${ABUT_GPU_SECONDS:-520}))

# part NAME SECONDS COMMAND...: runs it with a limit, logs it, notes how it ended
part() {
  name=$1 limit=$2
  shift 2
  started=$(date +%s)
  [ "$limit" -le $((deadline - started)) ] || limit=$((deadline - started))
  if [ "$limit" -lt 3 ]; then end="SKIPPED (no time left)"
  elif timeout -k 5 "$limit" "$@" >"$results/$name.log" 2>&1; then end=passed
  else end="FAILED ($?)"
  fi
  line="$name $end $(($(date +%s) - started)) s"
  echo "$line" >>"$results/parts.txt"
  say "$line"
}

# time per kernel, roofs and work, in one type; a part per scene and size, so that one too large ends nothing else
kernels() { # DTYPE
  part "roofs_$1" 30 build-gpu/abut bench --device cuda --dtype "$1" --filter 'roof.*'
  for envs in 2048 65536; do
    for scene in stack5 ant_box; do
      part "kernels_$1_${scene}_n$envs" 45 build-gpu/abut bench --device cuda --dtype "$1" --filter "kernel.$scene.*.cuda.n$envs"
    done
  done
}

head_of() { # TITLE
  echo "# $1"
  echo
  echo "Driver $driver, $(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'), commit $(git rev-parse --short HEAD 2>/dev/null). Written by \`./run gpu\`."
  echo
}
# from what there is by now
tables() {
  {
    head_of "$card"
    echo "| name | value | unit |"
    echo "| --- | --- | --- |"
    cat "$results"/sweep_n*.log 2>/dev/null | tr -d '\n' |
      sed 's/}/}\n/g' | sed -n 's/.*"name": *"\([^"]*\)", *"value": *\([^,]*\), *"unit": *"\([^"]*\)".*/| \1 | \2 | \3 |/p' | sort -u
  } >"$results/sweep.md"
  { printf '{"card": "%s", "driver": "%s", "lines": [\n' "$card" "$driver"
    sed -n 's/^| \([a-z][^ ]*\.[^ ]*\) | \([^ ]*\) | \([^ ]*\) |$/{"name": "\1", "value": \2, "unit": "\3"},/p' "$results/sweep.md" | sed '$s/,$//'
    echo ']}'; } >"$results/sweep.json"
  {
    head_of "$card, kernel by kernel"
    cat "$results"/work_*.log "$results"/roofs_*.log "$results"/kernels_*.log "$results/sweep.md" 2>/dev/null |
      awk -v json="$results/kernels.json" -f tools/kernels.awk
  } >"$results/kernels.md"
}

# both at once: each leaves cores idle while its longest kernels compile
part build 240 "$0" compile build-gpu release "$capability" &
part build_strict 240 "$0" compile build-gpu-strict strict "$capability" &
wait
part work_f64 90 build-gpu/abut_work & # counts on the CPU meanwhile

# what is worth most comes first
part bits 120 "$0" on_gpu build-gpu-strict/tests/test_golden
part hashes 60 "$0" hashes
grep '^hash ' "$results/hashes.log" >>"$results/parts.txt"
# one process per number of environments, so that one too large ends nothing else
part sweep_n2048 60 build-gpu/abut bench --device cuda --filter "[!k]*.cuda.n2048" --json
kernels f64
wait
tables

for test in batch state gradient gradient_terms parameters options resting tunnel friction joints dynamics separate scale planks; do
  [ -x build-gpu/tests/test_$test ] && part test_$test 60 "$0" on_gpu build-gpu/tests/test_$test
done

sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")/compute-sanitizer")
for tool in memcheck racecheck initcheck synccheck; do
  part $tool 60 "$sanitizer" --tool $tool --error-exitcode 9 build-gpu/abut rollout scenes/stack5.abut --envs 5 --steps 2 \
    --perturb 1e-3 --device cuda
done

for envs in 1 256 1024 8192 65536; do
  part sweep_n$envs 60 build-gpu/abut bench --device cuda --filter "[!k]*.cuda.n$envs" --json
done
tables
part work_f32 90 build-gpu/abut_work --dtype f32 &
kernels f32
wait
tables

cat "$results/parts.txt" "$results/sweep.md" "$results/kernels.md"
! grep -qE 'FAILED|SKIPPED|DIFFERENT' "$results/parts.txt"
