#!/bin/sh
# check_gpu_resources.sh: registers and stack of every kernel, as nvcc reported them, against the committed table
# docs/gpu_resources.md. With `update` as argument it writes the table instead.
set -eu

table=docs/gpu_resources.md
reports=${ABUT_BUILD:-build}/cuda

ls "$reports"/*.report >/dev/null 2>&1 || { echo "FAILED: no reports of nvcc in $reports"; exit 1; }

# prints "kernel architecture registers stack" for all kernels; a name is mangled but for its middle
measured() {
  awk '
    /Compiling entry function/ { split($0, part, "\047"); kernel = part[2]; arch = part[4]
      sub(/^_Z[0-9]+abut_/, "", kernel); sub(/_team32P.*/, "_team32", kernel); sub(/_team1P.*/, "_team1", kernel)
      sub(/_f64P.*/, "_f64", kernel); sub(/_f32P.*/, "_f32", kernel) }
    /bytes stack frame/ { stack = $1 }
    /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used") print kernel, arch, $(i + 1), stack }
  ' "$reports"/*.report | sort
}

# the table's rows: "| kernel | sm_80 | sm_90 | sm_100 | sm_120 |", a cell is "registers, stack"
as_table() {
  awk '{ cell[$1, $2] = $3 ", " $4; if (!($1 in seen)) { seen[$1] = 1; order[++n] = $1 } }
    END { for (i = 1; i <= n; i++) { k = order[i]
      printf "| `%s` | %s | %s | %s | %s |\n", k, cell[k, "sm_80"], cell[k, "sm_90"], cell[k, "sm_100"], cell[k, "sm_120"] } }'
}

if [ "${1:-}" = update ]; then
  {
    cat <<'TEXT'
# Registers and stack of the GPU kernels

What nvcc reports for each kernel: registers per thread, bytes of stack per thread (local memory: arrays that are indexed
by a running number; spills are not allowed at all and fail the build). team32: a warp works for one environment; team1: a
thread does. 255 registers are the most a thread can have, 128 let four warps of a scheduler run at once. tests/check_gpu_resources.sh fails where a kernel
needs more than here (registers are given out by eights); `tests/check_gpu_resources.sh update` writes the table anew after `cmake --build build`.

| kernel | sm_80 | sm_90 | sm_100 | sm_120 |
| --- | --- | --- | --- | --- |
TEXT
    measured | as_table
  } >"$table"
  exit 0
fi

# a GPU gives registers to a thread by eights, so less than that costs nothing
wrong=0
measured | { while read -r kernel arch registers stack; do
  row=$(grep -F "| \`$kernel\` |" "$table" || true)
  case $arch in sm_80) column=3 ;; sm_90) column=4 ;; sm_100) column=5 ;; *) column=6 ;; esac
  cell=$(printf '%s' "$row" | cut -d '|' -f $column | tr -d ' ')
  if [ -z "$cell" ]; then
    echo "FAILED: $kernel of $arch is not in $table"
    wrong=1
  elif [ $(((registers + 7) / 8)) -gt $(((${cell%,*} + 7) / 8)) ] || [ "$stack" -gt "${cell#*,}" ]; then
    echo "FAILED: $kernel of $arch takes $registers registers, $stack B of stack; $table says $cell"
    wrong=1
  fi
done
[ $wrong = 0 ] && echo "registers and stack of $(ls "$reports"/*.report | wc -l) compilations are as committed"
exit $wrong; }
