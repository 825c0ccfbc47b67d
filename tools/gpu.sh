#!/bin/sh
# gpu.sh [build | prove | measure]: what a GPU has to prove and to show: bits against the committed ones, tests, sanitizers;
# the sweep, time and roof of each kernel. Needs a driver, nvcc and CMake, and no network but for the last part. Every part has
# its own time and its own result; one that fails stops no other, and all end within ABUT_GPU_SECONDS (520). Without an argument
# all groups run, what is worth most first; with one only its parts do, and the results of the others stay. Results go to
# bench/results/<card>/: parts.txt, sweep.md, kernels.md, both as .json too, and per group a folder with one log per part.
set -u
self=$(cd "$(dirname "$0")" && pwd)/gpu.sh
cd "$(dirname "$self")/.." || exit

say() { echo "gpu: $*" >&2; }
generator= shared=libabut.so # to ninja, abut is the program
command -v ninja >/dev/null || generator="-GUnix Makefiles" shared=abut
tests="batch state gradient gradient_terms parameters options resting tunnel friction joints dynamics separate scale planks"
scenes="stack5 ant_box chains4x8 pile incline arm_mesh planks20"
# for this card only: the fat binary's other architectures would take minutes. A compiler's new warning is no result
compile() { # FOLDER PRESET ARCHITECTURE TARGET...
  folder=$1 preset=$2 architecture=$3
  shift 3
  cmake --preset "$preset" ${generator:+"$generator"} -B "$folder" -DABUT_CUDA=ON -DABUT_CUDA_ARCHITECTURES="$architecture" \
    -DABUT_WERROR=OFF -DABUT_INSTANCES="scalar;sse2;avx2" \
    -DCMAKE_DISABLE_FIND_PACKAGE_MuJoCo=ON -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON &&
    cmake --build "$folder" -j "$(nproc)" --target "$@"
}
# fails where a kernel spills registers, and names it; the oracle of manifolds' reverse pass may (docs/gpu.md)
spills() { # FOLDER
  cat "$1"/cuda/*.report >/dev/null || return
  awk '/Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
    /bytes spill stores/ && $5 + $9 > 0 && kernel !~ /manifold_gradient_f64/ { print kernel ": " $5 " bytes of stores, " $9 " of loads"; bad = 1 }
    END { exit bad }' "$1"/cuda/*.report
}
on_gpu() { # TEAM COMMAND...: 0: by the number of environments
  ABUT_TEST_TEAM=$1
  export ABUT_TEST_TEAM
  shift
  ABUT_TEST_DEVICE=cuda "$@"
}
state_hash() { # SCENE DEVICE
  build-gpu-strict/abut rollout "scenes/$1.abut" --envs 100 --steps 20 --perturb 1e-3 --ctrl random --json \
    --max-separation 0.1 --device "$2" | sed -n 's/.*"state_hash": *"\([0-9a-f]*\)".*/\1/p'
}
hashes() {
  differ=0
  for scene in $scenes; do
    cpu=$(state_hash $scene cpu) cuda=$(state_hash $scene cuda) unrolled=$(ABUT_CUDA_UNROLL=1 state_hash $scene cuda)
    if [ -n "$cpu" ] && [ "$cpu" = "$cuda" ] && [ "$cpu" = "$unrolled" ]; then same=equal; else same=DIFFERENT differ=1; fi
    echo "hash $scene cpu $cpu cuda $cuda unrolled $unrolled $same"
  done
  return $differ
}
sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")/compute-sanitizer")
sanitize() { # TOOL TEST
  "$sanitizer" --tool "$1" --error-exitcode 9 build-gpu/tests/test_device_gpu "$2"
}
case ${1:-} in # a part runs a function of this script under timeout
  compile | spills | on_gpu | hashes | sanitize) "$@"; exit ;;
esac
case ${1:-} in
  "" | build | prove | measure) wanted=${1:-build prove measure} ;;
  *) say "unknown group '$1': build, prove or measure"; exit 2 ;;
esac

card=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
[ -n "$card" ] || { say "no CUDA driver, or no GPU: nvidia-smi names none"; exit 1; }
case $wanted in
  prove | measure) [ -x build-gpu/abut ] || { say "$wanted: there is no build-gpu/abut; ./run gpu build makes it"; exit 1; } ;;
esac
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)
results=bench/results/$(echo "$card" | tr ' /' '__')
for group in $wanted; do
  rm -rf "${results:?}/$group"
  mkdir -p "$results/$group"
  : >"$results/$group/parts.txt"
done
deadline=$(($(date +%s) + ${ABUT_GPU_SECONDS:-520}))

is_wanted() { case " $wanted " in *" $1 "*) ;; *) return 1 ;; esac; }
note() { # GROUP LINE
  echo "$2" >>"$results/$1/parts.txt"
  say "$2"
}
# part GROUP NAME SECONDS COMMAND...: runs it with a limit, logs it, notes how it ended
part() {
  group=$1 name=$2 limit=$3
  shift 3
  is_wanted "$group" || return 0
  started=$(date +%s)
  [ "$limit" -le $((deadline - started)) ] || limit=$((deadline - started))
  if [ "$limit" -lt 3 ]; then end="SKIPPED (no time left)"
  elif timeout -k 5 "$limit" "$@" >"$results/$group/$name.log" 2>&1; then end=passed
  else end="FAILED ($?)"
  fi
  note "$group" "$name $end $(($(date +%s) - started)) s"
}

sweep() { # ENVS: a process each, so that one too large ends nothing else
  part measure "sweep_n$1" 60 build-gpu/abut bench --device cuda --filter "[!k]*.cuda.n$1" --json
}
# time per kernel, roofs and work, in one type; a part per scene and size, so that one too large ends nothing else
kernels() { # DTYPE
  part measure "work_$1" 90 build-gpu/abut_work --dtype "$1" & # counts on the CPU meanwhile
  part measure "roofs_$1" 30 build-gpu/abut bench --device cuda --dtype "$1" --filter 'roof.*'
  for envs in 2048 65536; do
    for scene in stack5 ant_box; do
      part measure "kernels_$1_${scene}_n$envs" 45 build-gpu/abut bench --device cuda --dtype "$1" --filter "kernel.$scene.*.cuda.n$envs"
    done
  done
  part measure "kernels_$1_manifold" 45 build-gpu/abut bench --device cuda --dtype "$1" --filter 'kernel.manifold.*'
  wait
}
# memcheck of every kernel, from both teams, as loops and unrolled; the others see less (docs/gpu.md)
sanitizers() {
  is_wanted prove || return 0
  if ! [ -x "$sanitizer" ]; then
    note prove "sanitizers UNAVAILABLE (no compute-sanitizer)"
    return
  fi
  log=$results/prove/sanitizer_probe.log
  timeout 30 "$sanitizer" build-gpu/abut rollout scenes/incline.abut --envs 1 --steps 1 --device cuda >"$log" 2>&1
  if grep -qi 'not supported' "$log"; then
    note prove "sanitizers UNAVAILABLE ($(grep -i -m 1 'not supported' "$log" | tr -d '='))"
    return
  fi
  part prove memcheck_unrolled 90 env ABUT_CUDA_UNROLL=1 "$self" sanitize memcheck teams_agree
  part prove memcheck 60 "$self" sanitize memcheck teams_agree
  part prove memcheck_manifolds 45 "$self" sanitize memcheck manifolds_are_the_cpus
  part prove synccheck 45 "$self" sanitize synccheck teams_agree
  part prove initcheck 30 env ABUT_CUDA_UNSET=1 ABUT_CUDA_UNROLL=1 "$self" sanitize initcheck teams_agree
  part prove racecheck 30 "$self" sanitize racecheck teams_agree
}

head_of() { # TITLE
  echo "# $1"
  echo
  echo "Driver $driver, $(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'), commit $(git rev-parse --short HEAD 2>/dev/null). Written by \`./run gpu\`."
  echo
}
# MJX and MuJoCo Warp on this card, where a package index is in reach; abut's contacts stay on the CPU (docs/manifold.md)
peers() {
  is_wanted measure || return 0
  left=$((deadline - $(date +%s) - 60))
  if [ $left -gt 60 ] && timeout $left bench/mjx/run.sh --device cuda --help >"$results/measure/peers_install.log" 2>&1; then
    part measure peers 240 bench/mjx/run.sh --device cuda --library build-gpu/libabut.so --seconds 2 --limit 60 --json "$results/peers.json"
  else
    note measure "peers UNAVAILABLE (no time left or no package index)"
  fi
}
# from what there is by now
tables() {
  is_wanted measure || return 0
  {
    head_of "$card"
    echo "| name | value | unit |"
    echo "| --- | --- | --- |"
    cat "$results"/measure/sweep_n*.log "$results/measure/longrange.log" "$results/measure/manifold.log" 2>/dev/null | tr -d '\n' |
      sed 's/}/}\n/g' | sed -n 's/.*"name": *"\([^"]*\)", *"value": *\([^,]*\), *"unit": *"\([^"]*\)".*/| \1 | \2 | \3 |/p' |
      awk '!seen[$2]++' | sort # every process calibrates
  } >"$results/sweep.md"
  { printf '{"card": "%s", "driver": "%s", "lines": [\n' "$card" "$driver"
    sed -n 's/^| \([a-z][^ ]*\.[^ ]*\) | \([^ ]*\) | \([^ ]*\) |$/{"name": "\1", "value": \2, "unit": "\3"},/p' "$results/sweep.md" | sed '$s/,$//'
    echo ']}'; } >"$results/sweep.json"
  {
    head_of "$card, kernel by kernel"
    cat "$results"/measure/work_*.log "$results"/measure/roofs_*.log "$results"/measure/kernels_*.log "$results/sweep.md" 2>/dev/null |
      awk -v json="$results/kernels.json" -f tools/kernels.awk
  } >"$results/kernels.md"
}

# both at once: each leaves cores idle while its longest kernels compile
part build build 400 "$self" compile build-gpu release "$capability" abut_program $shared test_device_gpu $(printf 'test_%s ' $tests) &
part build build_strict 400 "$self" compile build-gpu-strict strict "$capability" abut_program test_golden &
wait
part build build_work 120 "$self" compile build-gpu release "$capability" abut_work # apart: it needs g++
part build spills 10 "$self" spills build-gpu

# what is worth most comes first
part prove bits_team32 60 "$self" on_gpu 32 build-gpu-strict/tests/test_golden
part prove bits_team1 60 "$self" on_gpu 1 build-gpu-strict/tests/test_golden
part prove device 60 "$self" on_gpu 0 build-gpu/tests/test_device_gpu
part prove hashes 60 "$self" hashes
if is_wanted prove && [ -f "$results/prove/hashes.log" ]; then grep '^hash ' "$results/prove/hashes.log" >>"$results/prove/parts.txt"; fi
part prove bits_unrolled 30 env ABUT_CUDA_UNROLL=1 "$self" on_gpu 0 build-gpu-strict/tests/test_golden
sweep 2048
kernels f64
tables
for test in $tests; do part prove test_$test 40 "$self" on_gpu 0 build-gpu/tests/test_$test; done
sanitizers
for envs in 1 256 1024 8192 65536; do sweep $envs; done
part measure manifold 60 build-gpu/abut bench --device cuda --dtype f32 --filter 'manifold.*' --json
part measure longrange 90 build-gpu/abut bench --device cuda --filter 'longrange.*' --json
tables
kernels f32
peers
tables

for group in build prove measure; do cat "$results/$group/parts.txt" 2>/dev/null; done >"$results/parts.txt"
for page in parts.txt sweep.md kernels.md; do [ ! -f "$results/$page" ] || cat "$results/$page"; done
! grep -qE 'FAILED|SKIPPED|DIFFERENT' "$results/parts.txt"
