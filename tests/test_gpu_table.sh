#!/bin/sh
# test_gpu_table.sh: the table of kernels that ./run gpu writes (tools/kernels.awk): from lines that are given here, and
# from the program on a GPU that is none.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/.."
fail() { echo "FAILED: $*"; exit 1; }

cat >"$folder/work" <<'END'
kernel.stack5.kicked.f64.judge 0 0 0 0 100
kernel.stack5.kicked.f64.evaluate_hull 1000 1500 20 10 4000
kernel.stack5.kicked.f64.begin 10 20 0 0 3000
END
cat >"$folder/lines" <<'END'
calibration.fma.f32 220 GFLOP/s
roof.memory.f64.cuda 2000 GB/s
roof.fma.f64.cuda 15000 G/s
roof.division.f64.cuda 1000 G/s
roof.root.f64.cuda 500 G/s
kernel.stack5.kicked.f64.begin.cuda.n2048 6.144 us/step
launches.kernel.stack5.kicked.f64.begin.cuda.n2048 0.5 1/step
idle.kernel.stack5.kicked.f64.begin.cuda.n2048 2 us
kernel.stack5.kicked.f64.judge.cuda.n2048 12 us/step
launches.kernel.stack5.kicked.f64.judge.cuda.n2048 3 1/step
idle.kernel.stack5.kicked.f64.judge.cuda.n2048 2.5 us
kernel.stack5.kicked.f64.evaluate_hull.cuda.n2048 100 us/step
launches.kernel.stack5.kicked.f64.evaluate_hull.cuda.n2048 0.1 1/step
idle.kernel.stack5.kicked.f64.evaluate_hull.cuda.n2048 2 us
kernel.stack5.kicked.f64.gaps.cuda.n2048 1 us/step
launches.kernel.stack5.kicked.f64.gaps.cuda.n2048 0.02 1/step
idle.kernel.stack5.kicked.f64.gaps.cuda.n2048 2 us
kernel.stack5.kicked.f64.gap.cuda.n2048 1 us
| batched.step.stack5.kicked.f64.cuda.n2048 | 0.11 | ms/step |
END
# by hand: evaluate_hull reads 2048 * 4000 B at 2000 GB/s in 4.096 us; 2048 * (1500/15 + 20/1 + 10/0.5) ps are 0.2867 us
cat >"$folder/expected" <<'END'
| roof | f64 | f32 |
| --- | --- | --- |
| memory, GB/s | 2000 | - |
| fma, 1e9 multiply-adds/s | 1.5e+04 | - |
| division, 1e9 divisions/s | 1000 | - |
| root, 1e9 square roots/s | 500 | - |

## stack5 kicked, f64, 2,048 environments

| kernel | us per step | launches per step | Mflop per step | MB per step | binding roof | at least us | fraction |
| --- | --- | --- | --- | --- | --- | --- | --- |
| evaluate_hull | 100 | 0.1 | 5.181 | 8.192 | memory | 4.096 | 0.04 |
| judge | 12 | 3 | 0 | 0.2048 | launch | 7.5 | 0.62 |
| begin | 6.144 | 0.5 | 0.06144 | 6.144 | memory | 3.072 | 0.50 |
| gaps | 1 | 0.02 | - | - | launch | 0.04 | 0.04 |

All kernels: 119.1 us per step in 3.62 launches; 3.62 us of it are the clock's marks, 1 us each. Unmarked, a batched step takes 110 us.
END
table() { awk -v json="$folder/json" -f tools/kernels.awk "$@" >"$folder/table"; }
table "$folder/work" "$folder/lines"
diff "$folder/expected" "$folder/table" || fail "the table differs"
grep -q '"kernel": "evaluate_hull", "us": 100, "launches": 0.1, "flop": 5.18144e+06, "bytes": 8.192e+06, "roof": "memory", "least_us": 4.096}' "$folder/json" || fail "the JSON differs"
[ "$(grep -c '"kernel"' "$folder/json")" = 4 ] || fail "the JSON lacks kernels"

# flop binds where a card has few units for it
sed 's/roof.fma.f64.cuda 15000/roof.fma.f64.cuda 200/' "$folder/lines" >"$folder/consumer"
table "$folder/work" "$folder/consumer"
grep -q '^| evaluate_hull .* | flop | 15.44 | 0.15 |$' "$folder/table" || fail "flop does not bind"
# what a part left out costs its columns only
table "$folder/lines"
grep -q '^| judge | 12 | 3 | - | - | launch | 7.5 | 0.62 |$' "$folder/table" || fail "a table without work"
table "$folder/work"
[ "$(cat "$folder/json")" = "[]" ] || fail "JSON of nothing"

# every kernel of a step, from the program itself
fake=${ABUT_BUILD:-build}/tests/abut_fake work=${ABUT_BUILD:-build}/abut_work
[ -x "$fake" ] && [ -x "$work" ] || exit 0
"$fake" bench --device cuda --filter 'kernel.stack5.*.n1' >"$folder/kernels" || fail "kernels of a fake GPU"
"$fake" bench --device cuda --filter 'roof.*' >"$folder/roofs" || fail "roofs of a fake GPU"
"$work" --filter '*stack5*' >"$folder/work" || fail "abut_work"
table "$folder/work" "$folder/roofs" "$folder/kernels"
for kernel in evaluate_open evaluate_hull evaluate_close direction_open direction_hull direction_close try_open try_hull \
  try_close begin boxes begin_hull load judge tried finished; do
  grep -q "^| $kernel | [0-9.]* | [0-9.]* | [0-9.e-]* | [0-9.e-]* | launch | [0-9.]* | 1.00 |\$" "$folder/table" || fail "no row of $kernel: $(cat "$folder/table")"
done
[ "$(grep -c '^kernel' "$folder/work")" -ge 28 ] || fail "abut_work prints too few kernels"
