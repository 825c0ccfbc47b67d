#!/bin/sh
# run.sh [OPTION...]: contacts and closest points by abut, MuJoCo, MJX, MuJoCo Warp and qpax (docs/manifold.md, "Against MJX
# and MuJoCo"). Makes a Python environment with requirements.txt's versions in out/mjx-cpu, for --device cuda in out/mjx-cuda;
# needs python3 with venv and a package index. Options are compare.py's: --surface FILE, --library FILE, --json FILE, ...
set -eu
cd "$(dirname "$0")/../.."

device=cpu extra=
case " $* " in
  *" --device cuda "*) device=cuda extra="jax[cuda12]==$(sed -n 's/^jax==//p' bench/mjx/requirements.txt)" ;;
esac
environment=out/mjx-$device
if ! cmp -s bench/mjx/requirements.txt $environment/requirements.txt; then
  python3 -m venv --clear $environment
  $environment/bin/pip install -q -r bench/mjx/requirements.txt $extra >&2
  cp bench/mjx/requirements.txt $environment # last: what is there is complete
fi

# one thread for all, on one core
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
[ $device = cuda ] || export JAX_PLATFORMS=cpu
pin=
! command -v taskset >/dev/null || pin="taskset -c ${ABUT_CORE:-0}"
exec $pin $environment/bin/python bench/mjx/compare.py "$@"
