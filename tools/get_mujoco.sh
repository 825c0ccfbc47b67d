#!/bin/sh
# get_mujoco.sh: MuJoCo's C library and headers into third_party/mujoco, from its Python wheel; where that fails,
# the distribution's libmujoco-dev (Debian 12: 2.2.2, which reads fewer files).
set -eu
cd "$(dirname "$0")/.."
version=3.3.7
target=third_party/mujoco

say() { echo "get_mujoco: $*" >&2; }

if [ -e $target/include/mujoco/mujoco.h ]; then
  say "$target is there already; delete it to fetch it again"
  exit 0
fi

case $(uname -m) in
  x86_64) platforms="manylinux_2_28_x86_64 manylinux_2_27_x86_64 manylinux2014_x86_64" ;;
  aarch64 | arm64) platforms="manylinux_2_28_aarch64 manylinux_2_27_aarch64 manylinux2014_aarch64" ;;
  *) platforms= ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# The wheel for one platform, whatever Python runs here; only its C library and headers are used.
download() {
  python3 -m pip download "mujoco==$version" --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --python-version 3.11 --implementation cp --platform "$1" --dest "$scratch" >"$scratch/log" 2>&1
}

# Puts the parts together beside their final place, then moves them there at once.
unpack() {
  mkdir -p third_party
  rm -rf $target.part
  python3 - "$1" $target.part <<'END'
import sys, zipfile, pathlib
wheel, target = zipfile.ZipFile(sys.argv[1]), pathlib.Path(sys.argv[2])
for name in wheel.namelist():
    path = pathlib.PurePosixPath(name)
    if name.startswith("mujoco/include/mujoco/") and path.suffix == ".h":
        to = target / "include" / "mujoco" / path.name
    elif path.parent == pathlib.PurePosixPath("mujoco") and path.name.startswith("libmujoco.so"):
        to = target / "lib" / path.name
    elif "LICENSE" in path.name:
        to = target / path.name
    else:
        continue
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(wheel.read(name))
END
  rm -rf $target
  mv $target.part $target
}

for platform in $platforms; do
  if download "$platform"; then
    unpack "$scratch"/mujoco-*.whl
    say "MuJoCo $version is in $target"
    exit 0
  fi
done
[ -s "$scratch/log" ] && tail -n 2 "$scratch/log" >&2
say "no wheel of MuJoCo $version for $(uname -m)"

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] &&
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libmujoco-dev >/dev/null 2>&1; then
  say "installed the distribution's libmujoco-dev ($(dpkg-query -W -f '${Version}' libmujoco-dev)) instead"
  # ./run build looks for this folder before it asks again
  mkdir -p $target
  echo "The system's libmujoco is used; delete this folder to try the wheel again." >$target/README
  exit 0
fi
say "no libmujoco-dev either; build with what there is, .abut files load without MuJoCo"
exit 1
