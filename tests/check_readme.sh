#!/bin/sh
# check_readme.sh: the C example in README.md is examples/minimal.c, that in docs/gpu.md is part of tests/test_device.c,
# both compiled and run; links lead somewhere.
set -eu
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT
example() { sed -n '/^```c$/,/^```$/p' "$1" | sed '1d;$d' >"$shown"; }
example README.md
diff "$shown" examples/minimal.c
example docs/gpu.md
sed -n '/shown in docs\/gpu.md/,/to here/p' tests/test_device.c | sed '1d;$d;s/^  //' | diff "$shown" -
[ -s "$shown" ] || { echo "docs/gpu.md: no example"; exit 1; }
[ "$(wc -l <examples/minimal.c)" -le 30 ] || { echo "examples/minimal.c: more than 30 lines"; exit 1; }

status=0
for page in *.md docs/*.md; do
  for link in $(grep -o '](\([^)#]*\)' "$page" | sed 's/^](//' | grep -v '^https*:'); do
    [ -e "$(dirname "$page")/$link" ] || { echo "$page: no $link"; status=1; }
  done
done
exit $status
