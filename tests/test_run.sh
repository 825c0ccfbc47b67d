#!/bin/sh
# test_run.sh: what ./run has CMake configure and build, with a cmake and a card that are none: the demo the program
# alone, for this machine; ./run build and ./run test everything, in the same folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/.."
fail() { echo "FAILED: $*"; exit 1; }
mkdir -p "$folder/bin" "$folder/build"
cp run "$folder"
script() { # FILE: its commands are read
  { echo '#!/bin/sh'; cat; } >"$folder/$1"
  chmod +x "$folder/$1"
}
script bin/cmake <<'END'
echo "cmake $*" >>calls
case $1 in --preset) : >build/CMakeCache.txt; printf -- '-- abut 1, kernels for some\n-- Configuring done\n' ;; esac
END
script bin/ctest <<'END'
echo "ctest $*" >>calls
END
script bin/nvidia-smi <<'END'
[ -f cards ] && cat cards
END
script build/abut <<'END'
echo "abut $*" >>calls
END
run() { # ARGUMENTS of ./run; what it has called is then in calls, what it said in said
  rm -f "$folder/calls"
  (cd "$folder" && PATH="$folder/bin:$PATH" ABUT_NO_INSTALL=1 ABUT_CUDA_ARCHITECTURES="" ./run "$@" >/dev/null 2>said) ||
    fail "./run $*: $(cat "$folder/said")"
}
has() { grep -q -e "$1" "$folder/calls" || fail "no '$1' in: $(cat "$folder/calls")"; }
hasnt() { ! grep -q -e "$1" "$folder/calls" || fail "'$1' in: $(cat "$folder/calls")"; }
says() { [ "$(grep -c -e "$1" "$folder/said")" = 1 ] || fail "'$1' is not one line of: $(cat "$folder/said")"; }

# no driver, and a driver that finds no card
for text in "" "No devices were found"; do
  [ -z "$text" ] || echo "$text" >"$folder/cards"
  run demo
  has '^cmake --preset release.* -DABUT_TESTS=OFF' && has ABUT_INSTANCES=native && has ABUT_CUDA=OFF && hasnt ARCHITECTURES
  has '^cmake --build build .*--target abut_program$' && has '^abut rollout' && has '^abut gradient'
  says 'compiling the program alone, kernels for some: .*not for GPUs'
done

# for the cards that are there, of those that kernels are made for
printf '9.0\n12.0\n9.0\n7.5\n' >"$folder/cards"
run demo
has ABUT_TESTS=OFF && has ABUT_CUDA=AUTO && has 'ABUT_CUDA_ARCHITECTURES=120;90' && says 'for its GPU'
echo 7.5 >"$folder/cards"
run demo
has ABUT_CUDA=OFF

# everything, in that folder, which then stays so
run test some
has '^cmake --preset release.* -UABUT_TESTS -UABUT_INSTANCES -UABUT_CUDA -UABUT_CUDA_ARCHITECTURES' && hasnt -DABUT
has '^cmake --build build' && hasnt target && has '^ctest .*-R some'
run build
hasnt -UABUT && hasnt -DABUT && hasnt target
run demo
hasnt -DABUT && hasnt -UABUT && has '--target abut_program' && says 'as build/ is configured'
