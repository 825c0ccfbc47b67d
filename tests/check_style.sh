#!/bin/sh
# check_style.sh: files under 800 lines, functions under 80, the first line of a file says its role.
set -eu
status=0
folders=
for folder in include src tests tools bench examples; do [ ! -d $folder ] || folders="$folders $folder"; done
for file in $(find $folders -name '*.[ch]' -o -name '*.cc' -o -name '*.inl' -o -name '*.cu' -o -name '*.def'); do
  awk -v name="$(basename "$file")" '
    function fail(text) { print FILENAME ":" FNR ": " text; bad = 1 }
    FNR == 1 && index($0, "/* " name ": ") != 1 { fail("the first line is not \"/* " name ": role\"") }
    /^[A-Za-z_].*\(/ && !/;$/ { start = FNR; body = 0 }
    start && /\{$/ { body = 1 }
    start && !body && /;$/ { start = 0 } # a prototype
    /^}/ && start { if (FNR - start + 1 >= 80) fail("function of " FNR - start + 1 " lines"); start = 0 }
    /[ \t]$/ { fail("trailing space") }
    END { if (FNR >= 800) fail("file of " FNR " lines"); exit bad }' "$file" || status=1
done
exit $status
