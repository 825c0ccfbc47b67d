#!/bin/sh
# check_readme.sh: the C example in README.md is examples/minimal.c, which is compiled and run; links lead somewhere.
set -eu
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' >"$shown"
diff "$shown" examples/minimal.c
[ "$(wc -l <examples/minimal.c)" -le 30 ] || { echo "examples/minimal.c: more than 30 lines"; exit 1; }

status=0
for page in *.md docs/*.md; do
  for link in $(grep -o '](\([^)#]*\)' "$page" | sed 's/^](//' | grep -v '^https*:'); do
    [ -e "$(dirname "$page")/$link" ] || { echo "$page: no $link"; status=1; }
  done
done
exit $status
