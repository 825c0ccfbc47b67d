#!/bin/sh
# check_install.sh: installs into an empty folder and builds a user's project against it: CMake, pkg-config, C++.
set -eu
[ -z "${ABUT_SANITIZE:-}" ] || { echo "skipped: a user's program is not sanitized"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$ABUT_BUILD" --prefix "$folder/usr" >"$folder/log"

cmake -S tests/install -B "$folder/build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$folder/usr" >"$folder/log"
cmake --build "$folder/build" >"$folder/log"
"$folder/build/consumer"

if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$folder/usr" -name abut.pc)")
  export PKG_CONFIG_PATH
  flags=$(pkg-config --cflags --libs abut)
  "$CC" tests/install/consumer.c -o "$folder/consumer" $flags
  LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$folder/consumer"
fi

# the headers are C++ too
if command -v c++ >/dev/null; then
  for header in include/abut/*.h; do echo "#include <abut/${header##*/}>"; done >"$folder/header.cc"
  c++ -Wall -Wextra -Wpedantic -Werror -I"$folder/usr/include" -fsyntax-only "$folder/header.cc"
fi

# only the public names are visible, and all of them
nm -D --defined-only "$(find "$folder/usr" -name libabut.so)" | awk '{ print $3 }' | sort >"$folder/exported"
names=$(grep -v '^abut_' "$folder/exported" || true)
[ -z "$names" ] || { echo "libabut.so exports $names"; exit 1; }
names=$(grep -oh 'abut_[a-z0-9_]*(' include/abut/*.h | tr -d '(' | sort -u | comm -23 - "$folder/exported")
[ -z "$names" ] || { echo "libabut.so does not export $names"; exit 1; }
