#!/bin/sh
# check_fma.sh: counts packed and scalar multiply-adds per kernel function, so that a silent scalar fallback fails.
set -eu

# instance (glob), function (glob), least count of full-width packed FMAs in it; functions of "-" are all together
limits='
avx2_f64    -  500
avx2_f32    -  500
avx512_f64  -  500
avx512_f32  -  500
'
scalar_share=5 # per cent of FMAs that may be scalar, in an instance and in any function of 100 FMAs or more
serial_share=25 # those of contact manifolds sum over a mesh's edges one after the other

skip() { echo "skipped: $*"; exit 77; }
command -v objdump >/dev/null || skip "no objdump"
[ -z "${ABUT_SANITIZE:-}" ] || skip "sanitized code is not optimised"
[ "${ABUT_STRICT:-OFF}" = OFF ] || skip "a strict build contracts nothing"
[ "${ABUT_CONFIG:-}" != Debug ] || skip "debug code is not optimised"

# prints "function packed scalar" for each function of an object (a function in two of them twice); packed counts full-width vectors only
count() { # object register
  objdump -d --no-show-raw-insn "$1" | awk -v register="$2" '
    /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); seen[name] = 1 }
    $2 ~ /^vfn?m(add|sub)[0-9]*p[sd]$/ && index($0, register) { packed[name]++ }
    $2 ~ /^vfn?m(add|sub)[0-9]*s[sd]$/ { scalar[name]++ }
    END { for (name in seen) print name, packed[name] + 0, scalar[name] + 0 }' | sort
}

# compares the counts of one instance with the limits; prints what fails
judge() { # instance counts-file
  awk -v instance="$1" -v share="$scalar_share" -v serial="$serial_share" -v limits="$limits" '
    function glob(pattern) { gsub(/\*/, ".*", pattern); return "^" pattern "$" }
    function fail(text) { print "FAIL " instance ": " text; bad = 1 }
    { packed[$1] = $2; all_packed += $2; all_scalar += $3
      allowed = $1 ~ /^(manifold|select)_/ ? serial : share
      if ($2 + $3 >= 100 && $3 * 100 > allowed * ($2 + $3)) fail($1 " has " $3 " scalar and " $2 " packed FMAs") }
    END {
      if (all_scalar * 100 > share * (all_packed + all_scalar)) fail(all_scalar " of its FMAs are scalar")
      n = split(limits, word)
      for (i = 1; i + 2 <= n; i += 3) {
        if (instance !~ glob(word[i])) continue
        if (word[i + 1] == "-" && all_packed < word[i + 2])
          fail(all_packed " packed FMAs, expected at least " word[i + 2])
        if (word[i + 1] == "-") continue
        found = 0
        for (name in packed) if (name ~ glob(word[i + 1])) {
          found = 1
          if (packed[name] < word[i + 2]) fail(name " has " packed[name] " packed FMAs, expected at least " word[i + 2])
        }
        if (!found) fail("no function is called " word[i + 1])
      }
      printf "%-11s %6d packed %6d scalar\n", instance, all_packed, all_scalar
      exit bad
    }' "$2"
}

status=0
seen=0
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
for instance in avx2_f64 avx2_f32 avx512_f64 avx512_f32; do
  objects=$(find "$ABUT_BUILD"/CMakeFiles/abut_*_$instance.dir -name '*.o' 2>/dev/null) || continue
  [ -n "$objects" ] || continue
  seen=1
  case $instance in avx2*) register=%ymm ;; *) register=%zmm ;; esac
  for object in $objects; do count "$object" $register; done >"$counts"
  [ -z "${ABUT_VERBOSE:-}" ] || cat "$counts"
  judge $instance "$counts" || status=1
done
[ $seen = 1 ] || skip "no AVX2 or AVX-512 kernels in this build"
exit $status
