#!/bin/sh
# get_mujoco.sh: MuJoCo's C library and headers into third_party/mujoco, from the Python wheel that holds them
# (mujoco-core, which the wheel mujoco of the same version asks for).
set -eu
cd "$(dirname "$0")/.."
version=4.0.0
target=third_party/mujoco

say() { echo "get_mujoco: $*" >&2; }

# nothing to do where this version is there already; another is replaced
[ ! -e $target/lib/libmujoco.so.$version ] || exit 0

case $(uname -m) in
  x86_64) platforms="manylinux_2_28_x86_64 manylinux_2_27_x86_64 manylinux2014_x86_64" ;;
  aarch64 | arm64) platforms="manylinux_2_28_aarch64 manylinux_2_27_aarch64 manylinux2014_aarch64" ;;
  *) platforms= ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# The wheel for one platform, whatever Python runs here; only its C library and headers are used.
download() {
  python3 -m pip download "mujoco-core==$version" --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
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
    unpack "$scratch"/mujoco_core-*.whl
    say "MuJoCo $version is in $target"
    exit 0
  fi
done
[ -s "$scratch/log" ] && tail -n 2 "$scratch/log" >&2
say "no wheel of MuJoCo $version for $(uname -m); .abut files load without it"
exit 1
