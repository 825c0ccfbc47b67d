#!/bin/sh
# test_cli.sh: the program's contract: commands, streams, exit codes, JSON, bad input. ABUT: the program.
set -u
here=$(dirname "$0")
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
. "$here/shell_test.inc"

# A command that works, with results on standard output only. Leaves it in $folder/stdout.
works() { # arguments
  if "$abut" "$@" >"$folder/stdout" 2>"$folder/stderr"; then
    if [ -s "$folder/stderr" ]; then fail "abut $*: wrote on standard error: $(head -c 300 "$folder/stderr")"; else pass; fi
  else
    fail "abut $*: exit code $?: $(head -c 300 "$folder/stderr")"
  fi
}

# A rollout in which nothing moves: exit code 1, and the sentence
freezes() { # arguments
  code=0
  "$abut" "$@" >"$folder/stdout" 2>"$folder/stderr" || code=$?
  [ $code = 1 ] && grep -q "every environment froze where it started: shapes overlap" "$folder/stderr" && pass ||
    fail "abut $*: exit code $code: $(cat "$folder/stderr")"
}

# Bad input: exit code 2, nothing on standard output, one sentence on standard error that holds every text, and
# nothing written into $folder/out.
refuses() { # text arguments
  text=$1
  shift
  "$abut" "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
  code=$?
  if [ $code -ne 2 ]; then
    fail "abut $*: exit code $code, not 2"
  elif [ -s "$folder/stdout" ]; then
    fail "abut $*: wrote on standard output"
  elif [ "$(wc -l <"$folder/stderr")" -ne 1 ]; then
    fail "abut $*: not one line on standard error: $(head -c 300 "$folder/stderr")"
  elif ! grep -qF -- "$text" "$folder/stderr"; then
    fail "abut $*: '$text' is not in: $(cat "$folder/stderr")"
  elif [ -n "$(ls -A "$folder/out")" ]; then
    fail "abut $*: left $(ls -A "$folder/out")"
  else
    pass
  fi
}

# write_poses NAME COUNT POSE LAST: poses of two surfaces, COUNT - 1 times POSE and then LAST, both 14 numbers
write_poses() {
  python3 - "$folder/$1" "$2" "$3" "$4" <<'PYTHON'
import struct, sys
path, count, pose, last = sys.argv[1:]
header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s, 2, 7), }" % count
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
    for i in range(int(count)):
        file.write(struct.pack("<14d", *map(float, (last if i == int(count) - 1 else pose).split())))
PYTHON
}

# write_npy NAME DESCR ORDER SHAPE VALUE [VERSION [PADDING]]: a file of equal numbers; PADDING blanks in its header
write_npy() {
  python3 - "$folder/$1" "$2" "$3" "$4" "$5" "${6:-1}" "${7:-0}" <<'PYTHON'
import struct, sys
path, descr, order, shape, value, version, padding = sys.argv[1:]
count = 1
for size in eval(shape):
    count *= size
header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
header += " " * int(padding)
header += " " * (-(len(header) + (11 if version == "1" else 13)) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY" + bytes([int(version), 0]) + struct.pack("<H" if version == "1" else "<I", len(header)))
    file.write(header.encode())
    file.write(struct.pack("<%d%s" % (count, {"f8": "d", "f4": "f", "i4": "i"}[descr[1:]]), *[eval(value)] * count))
PYTHON
}

mkdir "$folder/out"
out=$folder/out
stack=scenes/stack5.abut
ant=scenes/ant_box.abut
[ -r $stack ] && [ -r $ant ] || { echo "skipped: no compiled scenes"; exit 77; }
files="--gltf $out/a.glb" # what a refused rollout must not leave
"$abut" rollout $stack --steps 1 --out "$folder/probe.h5" >/dev/null 2>&1 && files="$files --out $out/a.h5"

# --------------------------------------------------------------------------------------------- help, version
works help
works --help
works help rollout
grep -q -- '--contact local|inverse' "$folder/stdout" && pass || fail "help rollout lists --contact"
works rollout --help
works --version
grep -qE '^abut [0-9]+\.[0-9]+\.[0-9]+$' "$folder/stdout" && pass || fail "--version"
refuses "unknown command 'fly'" fly
refuses "unknown command 'fly'" help fly
refuses "unknown option '--fly'" --fly

# --------------------------------------------------------------------------------------------- options
refuses "unknown option '--fly'" rollout $stack --fly
refuses "unknown option '-x'" rollout $stack -x
refuses "unknown option '--out'" info $stack --out "$out/a.h5"
refuses "--dt 0:" rollout $stack --dt 0 $files
refuses "option timestep: -0.01 is out of range" rollout $stack --dt -0.01 $files
refuses "option timestep: nan is out of range" rollout $stack --dt nan
refuses "option timestep: inf is out of range" rollout $stack --dt inf
refuses "--dt 0.01s: must be a number" rollout $stack --dt 0.01s
refuses "--dt: needs a value" rollout $stack --dt
refuses "--envs 2.5:" rollout $stack --envs 2.5
refuses "--envs 0:" rollout $stack --envs 0
refuses "--envs 99999999999999999999:" rollout $stack --envs 99999999999999999999
refuses "--steps -1:" rollout $stack --steps=-1
refuses "option reach: 1 is out of range" rollout $stack --reach 1
refuses "--stiffness 0:" rollout $stack --stiffness 0
refuses "--friction -1: would stand for the default; leave it out" rollout $stack --friction -1
refuses "--tol x:" rollout $stack --tol x
refuses "--seed -1:" rollout $stack --seed -1
refuses "--perturb nan:" rollout $stack --perturb nan
refuses "--contact sticky: must be one of local|inverse|longrange" rollout $stack --contact sticky
refuses "--method magic: must be one of implicit" rollout $stack --method magic
works rollout $stack --method implicit --steps 1
refuses "--dtype f16:" rollout $stack --dtype f16
refuses "option threads: -1 is out of range" rollout $stack --threads -1
refuses "option max_iterations: 0 is out of range" rollout $stack --max-iterations 0
refuses "--max-iterations 5000000000: must be an integer of 32 bits" rollout $stack --max-iterations 5000000000
refuses "option reach: 0.5 is out of range" rollout $stack --reach 0.5
refuses "option epsilon: 100.5 is out of range" rollout $stack --contact longrange --epsilon 100.5
refuses "option epsilon: nan is out of range" rollout $stack --contact longrange --epsilon nan
works rollout $stack --contact longrange --epsilon 100 --steps 1
# options that would do nothing
for command in rollout info gradient; do
  refuses "--form: needs --contact longrange, not local" $command $stack --form weighted
  refuses "--epsilon: needs --contact longrange, not inverse" $command $stack --epsilon 1 --contact inverse
done
refuses "--tessellation: $stack is compiled already; convert its MJCF or URDF again" rollout $stack --tessellation 2
refuses "--tessellation: $stack is compiled already" convert $stack "$out/a.abut" --tessellation 2
refuses "--hull-points: $stack is compiled already" info $stack --hull-points 20
refuses "option friction: 1e+06 is out of range" rollout $stack --friction 1e6
refuses "--json: takes no value" rollout $stack --json=1
refuses "unexpected argument 'b'" rollout $stack b
refuses "needs SCENE" rollout
refuses "--env 4: the run has 4 environments" rollout $stack --envs 4 --env 4
refuses "--env 1: the run has 1 environment" rollout $stack --env 1
refuses "--key nowhere:" rollout $stack --key nowhere $files
refuses "a.gltf" rollout $stack --gltf "$out/a.gltf"
refuses "GiB" rollout $stack --envs 1000000000 --json
refuses "1000000000000 environments need" rollout $stack --envs 1000000000000

# --------------------------------------------------------------------------------------------- scenes
echo '<mujoco' >"$folder/broken.xml"
echo 'nothing' >"$folder/scene.txt"
head -c 1000 $stack >"$folder/short.abut"
refuses "absent.abut" info "$folder/absent.abut"
refuses "absent.xml" rollout "$folder/absent.xml"
refuses "broken.xml" info "$folder/broken.xml"
refuses "scene.txt" info "$folder/scene.txt"
refuses "short.abut" rollout "$folder/short.abut" $files
refuses "a.xml" convert $stack "$out/a.xml"
refuses "needs SCENE OUT.abut" convert $stack
refuses "absent" convert $stack "$folder/absent/a.abut"
works convert $stack "$folder/copy.abut"
cmp -s $stack "$folder/copy.abut" && pass || fail "convert of a .abut file is not a copy"

# ------------------------------------------------------------------------------------------------ info
works info $ant
grep -q 'bytes_per_env' "$folder/stdout" && pass || fail "info prints bytes_per_env"
works info $ant --envs 64
grep -qE 'bytes_per_env [0-9]+ \(--envs 64\)' "$folder/stdout" && pass || fail "info says for how many environments"
works info $ant --json
holds "value['nv'] == 22 and value['nu'] == 12 and len(value['pairs']) == value['npair']"
holds "value['options']['dt'] == 0.01 and value['options']['contact'] == 'local'"
holds "value['bytes_per_env'] > 0 and value['envs'] == 1 and value['advice']['gap'] == 1e-3"
# the advice solves its own equation: 4 mu / (g/2)^2 = load for the inverse barrier
holds "abs(16 * value['advice']['inverse']['stiffness'] / 1e-6 / value['advice']['load'] - 1) < 1e-9"
works info $ant --json --gap 1e-4 --contact inverse
holds "value['options']['stiffness'] == 1e-8 and abs(value['advice']['local']['reach'] - 5e-5) < 1e-8"
works info $ant --json --contact longrange --form paper
holds "value['options']['form'] == 'paper' and value['options']['epsilon'] == 0.5"
works info $ant --contact longrange --stiffness 1e-6
grep -q 'longrange  on half-spaces as inverse' "$folder/stdout" && pass || fail "info's advice on long-range contact"
gap=$(sed -n 's/^  inverse .*gap of \([^ ]*\) m.*/\1/p' "$folder/stdout")
works info $ant --contact inverse --stiffness 1e-6
grep -q "inverse .*gap of $gap m" "$folder/stdout" && pass || fail "half-spaces under long-range contact rest as inverse"
refuses "--gap 0:" info $ant --gap 0

# --------------------------------------------------------------------------------------------- rollout
works rollout $stack --envs 3 --steps 5
grep -q 'state_hash' "$folder/stdout" && pass || fail "rollout's table"
works rollout $stack --envs 3 --steps 5 --json
holds "list(value) == ['envs', 'steps', 'nv', 'seconds', 'env_steps_per_second', 'newton_iterations_mean',
  'newton_iterations_max', 'failed_envs', 'bytes_per_env', 'reruns', 'state_hash']"
holds "value['envs'] == 3 and value['steps'] == 5 and value['nv'] == 30 and len(value['state_hash']) == 16"
holds "value['failed_envs'] == 0"
# failures by name: one by too few iterations, one by shapes that overlap at the start
works rollout $stack --envs 3 --steps 5 --max-iterations 1 --json
holds "value['failures'] == {'unconverged': {'envs': 3, 'first_env': 0}} and value['newton_iterations_max'] == 1"
freezes rollout $stack --envs 3 --steps 5 --overlap separate --max-separation 1e-4 --json
holds "'env_steps_per_second' not in value"
holds "value['failed_envs'] == 3 and value['failures']['overlap']['envs'] == 3"
holds "len(set(value['failures']['overlap']['geom_names']) & {'box1', 'box2', 'box3', 'box4', 'box5'}) >= 1"
freezes rollout $stack --envs 3 --steps 5 --overlap separate --max-separation 1e-4
grep -qE "overlap +3, the first is environment 0: geom .* of body 'box[1-5]' and geom" "$folder/stdout" && pass ||
  fail "rollout names the overlapping shapes"
works gradient $stack --envs 3 --steps 5 --overlap separate --max-separation 1e-4 --json
holds "value['failed_envs'] == 3 and value['failures']['overlap']['body_names'][0].startswith('box')"
freezes rollout $stack --contact longrange --perturb 0.2 --envs 3 --steps 1 --json
holds "len(value['failures']['overlap']['geom_names']) == 2"
# starts with gaps so small that friction weighs 1e6 N s: Newton ends where rounding hides what is left
for dtype in f64 f32; do
  works rollout $stack --envs 128 --steps 2 --perturb 1e-3 --dtype $dtype --json
  holds "value['failed_envs'] == 0 and value['newton_iterations_max'] < 200"
done
works gradient $stack --envs 3 --steps 5 --max-iterations 1
grep -qE "unconverged +3, the first is environment 0" "$folder/stdout" && pass || fail "gradient names failures"
works rollout $stack --envs 2 --steps 3 --dtype f32 --tol 1e-3 --json

hash_of() { "$abut" rollout "$@" --json 2>&1 | sed 's/.*"state_hash": "\([0-9a-f]*\)".*/\1/'; }
same() { [ -n "$1" ] && [ "$1" = "$2" ] && pass || fail "$3: $1, $2"; }
differs() { [ -n "$1" ] && [ "$1" != "$2" ] && pass || fail "$3: $1, $2"; }
random="$ant --envs 8 --steps 12 --ctrl random"
first=$(hash_of $random --seed 5)
same "$first" "$(hash_of $random --seed 5 --threads 1)" "threads change the result"
differs "$first" "$(hash_of $random --seed 6)" "the seed does not change the controls"
differs "$first" "$(hash_of $random --seed 5 --perturb 1e-3)" "--perturb does nothing"
works gradient scenes/ant_box.abut --steps 2 --perturb 1e300
grep -q 'nonfinite *1,' "$folder/stdout" && pass || fail "gradient names states that are no numbers"
"$abut" help rollout | grep -q FILE.h5 && pass || fail "help names --out"

write_npy constant.npy '<f8' False '(1, 1, 12)' 0.25
write_npy full.npy '<f4' False '(8, 12, 12)' 0.25
same "$(hash_of $ant --envs 8 --steps 12 --ctrl "$folder/constant.npy")" \
  "$(hash_of $ant --envs 8 --steps 12 --ctrl "$folder/full.npy")" "broadcast controls"
for version in 2 3; do
  write_npy version$version.npy '<f8' False '(1, 1, 12)' 0.25 $version 70000
  same "$(hash_of $ant --envs 8 --steps 12 --ctrl "$folder/constant.npy")" \
    "$(hash_of $ant --envs 8 --steps 12 --ctrl "$folder/version$version.npy")" ".npy version $version"
done
write_npy wrong.npy '<f8' False '(3, 12, 12)' 0
write_npy flat.npy '<f8' False '(12,)' 0
write_npy integers.npy '<i4' False '(1, 1, 12)' 0
write_npy fortran.npy '<f8' True '(1, 1, 12)' 0
write_npy nan.npy '<f8' False '(1, 1, 12)' "float('nan')"
write_npy version4.npy '<f8' False '(1, 1, 12)' 0 4
write_npy huge.npy '<f8' False '(1, 1, 12)' 1e39
head -c 100 "$folder/full.npy" >"$folder/header.npy"
head -c 1000 "$folder/full.npy" >"$folder/truncated.npy"
{ cat "$folder/constant.npy"; echo more; } >"$folder/longer.npy"
echo text >"$folder/text.npy"
for case in "absent.npy:absent.npy" "wrong.npy:[3, 12, 12]" "flat.npy:1 dimension," \
  "integers.npy:type '<i4', '<f8' or" "fortran.npy:Fortran" "nan.npy:[0, 0, 0] is nan" "header.npy:header.npy" \
  "truncated.npy:truncated" "longer.npy:101 bytes of data, its header says 96" "text.npy:not a .npy file" \
  "version4.npy:version 4.0"; do
  refuses "${case#*:}" rollout $ant --envs 8 --steps 12 --ctrl "$folder/${case%%:*}" $files
done
refuses "huge.npy: number 0 is 1e+39, beyond single precision" rollout $ant --envs 8 --steps 12 --dtype f32 --ctrl "$folder/huge.npy"

# --------------------------------------------------------------------------------------------- files
refuses "absent/a.glb" rollout $stack --gltf "$folder/absent/a.glb"
works rollout $ant --envs 3 --steps 7 --ctrl random --gltf "$folder/ant.glb" --env 2
python3 "$here/check_glb.py" "$folder/ant.glb" 8 && pass || fail "the GLB file is malformed"
# what collides is drawn: 16 smooth balls and a floor of two triangles, or under long-range contact their 128 triangles each
for case in local:16386 longrange:2050; do
  works rollout scenes/tasks/billiards.abut --steps 1 --contact ${case%:*} --gltf "$folder/balls.glb"
  python3 "$here/check_glb.py" "$folder/balls.glb" 2 ${case#*:} && pass || fail "triangles drawn under ${case%:*}"
done
if "$abut" rollout $random --seed 5 --json --out "$folder/ant.h5" 2>"$folder/stderr" >"$folder/stdout"; then
  same "$first" "$(sed 's/.*"state_hash": "\([0-9a-f]*\)".*/\1/' "$folder/stdout")" "--out changes the result"
  refuses "absent/a.h5" rollout $stack --out "$folder/absent/a.h5"
  refuses "a.txt: the name must end in .h5 or .hdf5" rollout $stack --out "$out/a.txt"
  big="$ant --envs 64 --steps 40 --ctrl random --perturb 1e-3"
  whole=$(hash_of $big)
  same "$whole" "$(hash_of $big --out "$folder/parts.h5" --buffer 1)" "writing in segments changes the result"
  hash_of $big --out "$folder/whole.h5" --buffer 1000 >/dev/null
  if command -v h5dump >/dev/null; then
    for name in qpos qvel ctrl xpos xquat contact_force min_gap status; do
      h5dump -d /$name "$folder/parts.h5" >"$folder/parts" 2>&1
      h5dump -d /$name "$folder/whole.h5" >"$folder/whole" 2>&1
      tail -n +2 "$folder/parts" >"$folder/a"
      tail -n +2 "$folder/whole" >"$folder/b"
      cmp -s "$folder/a" "$folder/b" && pass || fail "/$name written in segments differs"
    done
    h5dump -H "$folder/parts.h5" >"$folder/header"
    for text in 'DATASET "qpos"' '( 64, 41, 23 )' '( 64, 41, 22 )' '( 64, 40, 12 )' '( 64, 41, 11, 3 )' \
      '( 64, 41, 11, 4 )' '( 64, 40 )' '( 64 )' H5T_IEEE_F64LE H5T_STD_U32LE 'ATTRIBUTE "scene"' 'ATTRIBUTE "dt"' \
      'ATTRIBUTE "contact"' 'ATTRIBUTE "seed"' 'ATTRIBUTE "version"'; do
      grep -qF "$text" "$folder/header" && pass || fail "the HDF5 file has no $text"
    done
  fi
  # names and texts stand in the file as they are, whatever there is to read it with
  hash_of $stack --steps 1 --contact longrange --form paper --out "$folder/far.h5" >/dev/null
  for text in form paper epsilon tessellation max_iterations; do
    grep -aqF "$text" "$folder/far.h5" && pass || fail "the HDF5 file has no $text"
  done
  # a file that may not grow stands for a full disk: one sentence with the system's reason, and nothing stays
  full() { # arguments
    (trap '' XFSZ && ulimit -f 64 && "$abut" "$@" --out "$out/full.h5" >/dev/null 2>"$folder/stderr")
    code=$?
    [ $code -eq 2 ] && tail -n 1 "$folder/stderr" | grep -qE '^abut: .*/full.h5: HDF5 cannot write .*: File too large$' &&
      [ -z "$(ls -A "$out")" ] && pass || fail "a full disk: $1 exit code $code, $(cat "$folder/stderr"), left $(ls -A "$out")"
  }
  full rollout $big
else
  refuses "built without HDF5: --out needs it" rollout $stack --out "$out/a.h5"
fi
# what is not a regular file is not read, and a pipe not waited for
mkdir "$folder/folder.abut"
mkfifo "$folder/pipe.abut" "$folder/pipe.xml" "$folder/pipe.npy"
refuses "folder.abut': not a regular file" info "$folder/folder.abut"
refuses "pipe.abut': not a regular file" info "$folder/pipe.abut"
refuses "pipe.npy': not a regular file" rollout $ant --ctrl "$folder/pipe.npy"
refuses "pipe.xml" info "$folder/pipe.xml" # built without MuJoCo: for another reason

# what is not a regular file is never replaced
mkfifo "$folder/pipe.glb"
mkdir "$folder/folder.glb"
ln -s /dev/null "$folder/device.abut"
refuses "pipe.glb': it exists and is not a regular file" rollout $stack --gltf "$folder/pipe.glb"
refuses "folder.glb" rollout $stack --gltf "$folder/folder.glb"
refuses "device.abut" convert $stack "$folder/device.abut"
[ -p "$folder/pipe.glb" ] && [ -L "$folder/device.abut" ] && pass || fail "a pipe or a link was replaced"

# two programs that write the same files at once: both finish, and the files of one of them are there, whole
shared="scenes/chains4x8.abut --envs 8 --steps 200 --perturb 1e-3 --gltf $folder/shared.glb"
case "$files" in *a.h5) shared="$shared --out $folder/shared.h5" ;; esac
"$abut" rollout $shared >/dev/null 2>"$folder/stderr" &
other=$!
"$abut" rollout $shared >/dev/null 2>>"$folder/stderr" && wait $other && pass ||
  fail "two writers of one file: $(cat "$folder/stderr")"
python3 "$here/check_glb.py" "$folder/shared.glb" 201 && pass || fail "two writers left a malformed file"

# an interrupted program leaves nothing
"$abut" rollout $stack --steps 2000000 --buffer 1 --gltf "$folder/interrupted.glb" >/dev/null 2>"$folder/stderr" &
runner=$!
for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  ls "$folder" | grep -q 'interrupted.*part$' && break
  sleep 0.25
done
kill -TERM $runner
wait $runner
[ $? -eq 2 ] && grep -q interrupted "$folder/stderr" && pass || fail "SIGTERM: $(cat "$folder/stderr")"
[ -z "$(ls "$folder" | grep -e interrupted -e '\.part$')" ] && pass || fail "a partial file stayed"

# --------------------------------------------------------------------------------------------- fit
cat >"$folder/cube.obj" <<'END'
v -1 -1 -1
v 1 -1 -1
v -1 1 -1
v 1 1 -1
v -1 -1 1
v 1 -1 1
v -1 1 1
v 1 1 1
f 1 3 4 2
f 5 6 8 7
f 1 2 6 5
f 3 7 8 4
f 1 5 7 3
f 2 4 8 6
END
head -n 8 "$folder/cube.obj" >"$folder/points.obj"
head -n 9 "$folder/cube.obj" >"$folder/square.obj"
printf 'v 0 0 nan\nf 1 1 1\n' >"$folder/nan.obj"
quick="--primitives 1 --grid 24 --vertices 60"
if "$abut" fit "$folder/cube.obj" $quick >/dev/null 2>"$folder/stderr"; then
  works fit "$folder/cube.obj" $quick
  works fit "$folder/cube.obj" $quick -o "$folder/cube.abut" --json
  holds "value['primitives'] == 1 and value['mean_distance_relative'] < 0.015 and value['vertex_gap'] < 1e-9"
  holds "value['vertices'] - value['edges'] + value['triangles'] == 2 and value['assumed']['open_edges'] == 0"
  works fit "$folder/cube.obj" $quick --out "$folder/again.abut" --json
  cmp -s "$folder/cube.abut" "$folder/again.abut" && pass || fail "two fits of one mesh differ"
  works info "$folder/cube.abut" --json
  holds "value['geoms'][0]['surface']['primitives'][0]['kind'] == 'superquadric' and value['nv'] == 6"
  works rollout "$folder/cube.abut" --steps 3
  works convert "$folder/cube.abut" "$folder/again.abut"
  cmp -s "$folder/cube.abut" "$folder/again.abut" && pass || fail "convert of a .abut file with a surface is not a copy"
  works fit "$folder/cube.abut" $quick
  works fit $stack --geom "$("$abut" info $stack --json | python3 -c 'import json, sys
print([g["name"] for g in json.load(sys.stdin)["geoms"] if g["type"] == "box"][0])')" $quick
  if "$abut" info scenes/arm_mesh.xml >/dev/null 2>&1; then
    works fit scenes/arm_mesh.xml $quick
    refuses "shows no mesh 'absent'" fit scenes/arm_mesh.xml --geom absent
    refuses "no geom that shows a mesh" fit scenes/stack5.xml
  fi
  refuses "the mesh is empty" fit "$folder/points.obj" -o "$out/a.abut"
  refuses "encloses none" fit "$folder/square.obj" -o "$out/a.abut"
  refuses "name one" fit $stack -o "$out/a.abut"
  refuses "has no geom 'absent'" fit $stack --geom absent -o "$out/a.abut"
  cp "$folder/cube.abut" "$folder/own.abut"
  refuses "would overwrite $folder/own.abut, which is read" fit "$folder/own.abut" $quick -o "$folder/own.abut"
  sed 's/^v \(.*\)/v \1/; s/^v -1 /v 9999999 /; s/^v 1 /v 10000001 /' "$folder/cube.obj" >"$folder/far.obj"
  refuses "move the mesh" fit "$folder/far.obj" $quick -o "$out/a.abut"
  "$abut" fit "$folder/cube.obj" --primitives 4 --grid 128 -o "$out/slow.abut" >/dev/null 2>&1 &
  runner=$!
  sleep 0.5
  kill -TERM $runner
  wait $runner
  [ $? -eq 143 ] && [ -z "$(ls -A "$out")" ] && pass || fail "SIGTERM does not end a fit, or leaves $(ls -A "$out")"

  # ------------------------------------------------------------------------------------------- manifold
  cubes="manifold $folder/cube.abut $folder/cube.abut"
  still="0 0 0 1 0 0 0" # surface 1 where it is
  write_poses touching.npy 1 "" "$still 0.2 0.1 1.9 1 0 0 0"
  works $cubes --poses "$folder/touching.npy"
  grep -q 'poses/s' "$folder/stdout" && pass || fail "manifold's table"
  works $cubes --poses "$folder/touching.npy" --json
  holds "list(value) == ['poses', 'contacts', 'vertices', 'edges', 'threshold', 'active', 'active_mean', 'active_max', 'active_mean_by_group',
    'deepest', 'seconds', 'poses_per_second']"
  holds "list(value['active_mean_by_group']) == ['vertices_1', 'vertices_2', 'edges_1', 'edges_2']"
  # sides of 2 m, 1.9 m apart: 0.1 m deep; the fit leaves 2 % of the size, and along a ray it is longer near an edge
  holds "value['poses'] == 1 and -0.2 < value['deepest']['distance'] < -0.05 and value['active_mean_by_group']['vertices_1'] > 0"
  holds "sum(value['active_mean_by_group'].values()) == value['active'] == value['active_max'] > 10"
  active=$(sed 's/.*"active": \([0-9]*\).*/\1/' "$folder/stdout")
  # 38 thousand contacts a pair: two blocks and a part, whose results are those of one pair
  write_poses many.npy 60 "$still 0.2 0.1 1.9 1 0 0 0" "$still 9 0 0 1 0 0 0"
  works $cubes --poses "$folder/many.npy" --json
  holds "value['poses'] == 60 and value['active'] == 59 * $active and value['active_max'] == $active"
  holds "value['deepest']['pose'] == 0"
  works $cubes --poses "$folder/many.npy" --edges all --json
  holds "value['contacts'] > 30000 and value['active'] == 59 * value['active_max'] > 0"
  works $cubes --poses "$folder/touching.npy" --vertices 7,0 --edges 5 --form paper --selection softsort --dtype f32 --json
  holds "value['contacts'] == 7 + 2 * 25 and value['active_mean_by_group']['vertices_2'] == 0"
  works $cubes --poses "$folder/touching.npy" --threshold 0.5 --threads 1 --json
  holds "0 < value['active'] < $active and value['threshold'] == 0.5"
  for dtype in f8 f4; do
    write_npy none.npy "<$dtype" False '(0, 2, 7)' 0
    works $cubes --poses "$folder/none.npy" --json
    holds "value['poses'] == 0 and value['active'] == 0 and value['active_mean'] is None and value['deepest'] is None"
  done
  works $cubes --poses "$folder/none.npy"
  # what is wrong with poses, by their place in the file, whatever block that falls in
  write_poses long.npy 60 "$still 0 0 3 1 0 0 0" "$still 0 0 3 2 0 0 0"
  refuses "long.npy: pose 59 of surface 2: its quaternion has length 2, must be 1" $cubes --poses "$folder/long.npy" --edges all
  write_poses nan.npy 60 "$still 0 0 3 1 0 0 0" "$still 0 nan 3 1 0 0 0"
  refuses "nan.npy: the value at [59, 1, 1] is nan" $cubes --poses "$folder/nan.npy" --edges all --gltf "$out/a.glb"
  write_npy narrow.npy '<f8' False '(3, 2, 6)' 0
  write_npy three.npy '<f4' False '(3, 3, 7)' 0
  write_npy pairs.npy '<f8' False '(3, 7)' 0
  refuses "narrow.npy: shape [3, 2, 6], [P, 2, 7] needed" $cubes --poses "$folder/narrow.npy"
  refuses "three.npy: shape [3, 3, 7], [P, 2, 7] needed" $cubes --poses "$folder/three.npy"
  refuses "pairs.npy: 2 dimensions, 3 needed: [P, 2, 7]" $cubes --poses "$folder/pairs.npy"
  head -c 1000 "$folder/many.npy" >"$folder/cut.npy"
  refuses "cut.npy: truncated: 872 bytes of data, its header says 6720" $cubes --poses "$folder/cut.npy" --gltf "$out/a.glb"
  refuses "needs --poses" $cubes
  refuses "absent.npy" $cubes --poses "$folder/absent.npy"
  cp "$folder/touching.npy" "$folder/poses.h5"
  refuses "would overwrite $folder/poses.h5, which is read" $cubes --poses "$folder/poses.h5" --out "$folder/poses.h5"
  "$abut" $cubes --poses "$folder/touching.npy" --device cuda >/dev/null 2>"$folder/stderr" ||
    refuses "CUDA" $cubes --poses "$folder/touching.npy" --device cuda
  refuses "--derivatives: not on a GPU" $cubes --poses "$folder/touching.npy" --device cuda --derivatives --out "$out/a.h5"
  cubes="$cubes --poses $folder/touching.npy"
  refuses "$stack: it has no smooth surface; \`abut fit\` makes" manifold "$folder/cube.abut" $stack --poses "$folder/touching.npy"
  refuses "needs A.abut B.abut" manifold "$folder/cube.abut"
  refuses "--pose 1: $folder/touching.npy has 1 pair of poses" $cubes --gltf "$out/a.glb" --pose 1
  refuses "--pose: needs --gltf" $cubes --pose 0
  refuses "--threshold 1: must be a number of 0 or more and below 1" $cubes --threshold 1
  refuses "--vertices 1,2,3: must be one or two integers" $cubes --vertices 1,2,3
  refuses "--vertices -1: must be" $cubes --vertices -1
  refuses "--edges 3,: must be" $cubes --edges 3,
  refuses "surface 2 has" $cubes --vertices 3,9999
  refuses "edges of one surface only" $cubes --edges 3,0
  refuses "no vertices and no edges" $cubes --vertices 0 --edges 0
  refuses "--form weighted: must be one of linear|paper" $cubes --form weighted
  refuses "a.gltf: the name must end in .glb" $cubes --gltf "$out/a.gltf"
  # two surfaces, and 26 triangles for every active contact
  works $cubes --gltf "$folder/cubes.glb" --json
  triangles=$("$abut" info "$folder/cube.abut" --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["geoms"][0]["surface"]["triangles"])')
  python3 "$here/check_glb.py" "$folder/cubes.glb" 0 $((2 * triangles + 26 * active)) && pass || fail "the picture of contacts"
  write_poses apart.npy 1 "" "$still 9 0 0 1 0 0 0"
  works manifold "$folder/cube.abut" "$folder/cube.abut" --poses "$folder/apart.npy" --gltf "$folder/apart.glb"
  python3 "$here/check_glb.py" "$folder/apart.glb" 0 $((2 * triangles)) && pass || fail "the picture of no contacts"
  many="manifold $folder/cube.abut $folder/cube.abut --poses $folder/many.npy --edges all --threshold 0"
  if [ "$files" = "${files#*--out}" ]; then
    refuses "built without HDF5: --out needs it" $cubes --out "$out/a.h5"
  else
    refuses "a.txt: the name must end in .h5 or .hdf5" $cubes --out "$out/a.txt"
    refuses "long.npy: pose 59" manifold "$folder/cube.abut" "$folder/cube.abut" --poses "$folder/long.npy" --edges all --out "$out/a.h5"
    works manifold "$folder/cube.abut" "$folder/cube.abut" --poses "$folder/none.npy" --out "$folder/none.h5"
    works $many --dtype f32 --out "$folder/many.h5"
    for text in first contact point distance normal activity poses_written surface_1 threshold tau_pen unit; do
      grep -aqF "$text" "$folder/many.h5" && pass || fail "the HDF5 file of contacts has no $text"
    done
    full $many
    grep -aqF d_point "$folder/many.h5" && fail "derivatives that were not asked for" || pass
    works $cubes --derivatives --out "$folder/slopes.h5"
    for text in d_point d_distance d_normal d_activity; do
      grep -aqF "$text" "$folder/slopes.h5" && pass || fail "the HDF5 file of contacts has no $text"
    done
  fi
  refuses "--derivatives: needs --out" $cubes --derivatives
  works $cubes --vertices auto --edges auto --json
  holds "0 < value['contacts'] < 38000 and value['contacts'] == sum(value['vertices']) + 2 * value['edges'][0] * value['edges'][1]"
  # an interrupted manifold leaves nothing
  write_poses endless.npy 20000 "$still 0.2 0.1 1.9 1 0 0 0" "$still 9 0 0 1 0 0 0"
  "$abut" $cubes --poses "$folder/endless.npy" --edges all --gltf "$out/endless.glb" --pose 19999 >/dev/null 2>"$folder/stderr" &
  runner=$!
  sleep 0.5
  kill -TERM $runner
  wait $runner
  [ $? -eq 2 ] && grep -q interrupted "$folder/stderr" && [ -z "$(ls -A "$out")" ] && pass ||
    fail "manifold under SIGTERM: $(cat "$folder/stderr"), left $(ls -A "$out")"
else
  refuses "built without" fit "$folder/cube.obj" -o "$out/a.abut"
fi
refuses "coordinate nan" fit "$folder/nan.obj" -o "$out/a.abut"
refuses "must end in .abut" fit "$folder/cube.obj" -o "$out/a.obj"
refuses "absent" fit "$folder/cube.obj" -o "$folder/absent/a.abut"
refuses "absent.obj" fit "$folder/absent.obj" -o "$out/a.abut"
refuses "is not a scene" fit "$folder/cube.obj" --geom a
refuses "--primitives 0" fit "$folder/cube.obj" --primitives 0 -o "$out/a.abut"
refuses "--primitives 1000000" fit "$folder/cube.obj" --primitives 1000000 -o "$out/a.abut"
refuses "--vertices 3" fit "$folder/cube.obj" --vertices 3
refuses "--tau 0" fit "$folder/cube.obj" --tau 0
refuses "unknown option '-o'" info $stack -o "$out/a.abut"

# --------------------------------------------------------------------------------------------- gradient
works gradient $ant --envs 2 --steps 5
works gradient $ant --envs 2 --steps 5 --json
holds "value['envs'] == 2 and value['min_pivot'] > 0 and value['gradient_norm']['qpos'] > 0"
works gradient $ant --steps 5 --ctrl random --check --json
holds "list(value) == ['max_relative_error', 'pairs_active', 'active_set_changes']"
holds "list(value['max_relative_error']) == ['qpos', 'qvel', 'ctrl', 'parameters', 'overall']"
holds "value['max_relative_error']['overall'] <= 1e-5 and value['pairs_active'] > 0"
works gradient $stack --steps 3 --check
refuses "--check needs f64" gradient $stack --check --dtype f32

# ------------------------------------------------------------------------------------------------ query
if echo '[]' | "$abut" query plane >"$folder/stdout" 2>"$folder/stderr"; then
  query() { # JSON: as a file
    echo "$1" >"$folder/query.json"
    works query plane "$folder/query.json"
  }
  refuses_query() { # text JSON
    echo "$2" >"$folder/query.json"
    refuses "$1" query plane "$folder/query.json"
  }
  holds "value == []"
  # one point and three coincident points a side, 0.25 apart: closed forms
  query '[{"barrier": "inverse", "a": [[0.25, 0, 0]], "b": [[0, 0, 0]], "expect": {}},
    {"barrier": "inverse", "a": [[1, 2, 3.25], [1, 2, 3.25], [1, 2, 3.25]], "b": [[1, 2, 3], [1, 2, 3], [1, 2, 3]]},
    {"barrier": "local", "s": 1e-3, "a": [[1, 0, 0]], "b": [[0, 0, 0]]},
    {"barrier": "inverse", "a": [[1, 0, 0]], "b": [[1, 0, 0]]}]'
  holds "abs(value[0]['value'] / (math.sqrt(12) + 4) ** 2 - 1) < 1e-9"
  holds "abs(value[1]['value'] / (12 * (1 + 2) ** 2) - 1) < 1e-9"
  holds "abs(value[1]['grad_a'][0][2] + value[1]['grad_b'][0][2]) < 1e-9 * abs(value[1]['grad_a'][0][2])"
  holds "[v['status'] for v in value] == ['ok', 'ok', 'ok', 'touching']"
  holds "value[2]['value'] == 0 and value[2]['plane'] is None and value[2]['grad_a'] == [[0, 0, 0]]"
  holds "value[3]['value'] is None"
  holds "set(value[0]) == {'status', 'value', 'plane', 'grad_a', 'grad_b', 'iterations'}"
  works query plane "$folder/query.json" --dtype f32
  holds "0 < abs(value[0]['value'] / (math.sqrt(12) + 4) ** 2 - 1) < 1e-4"
  refuses_query "not a JSON array" '{}'
  refuses_query "query.json, line 2" '[1,'
  refuses_query "query 0" '[1]'
  refuses_query "query 0: 'barrier'" '[{"a": [[0, 0, 0]], "b": [[1, 0, 0]]}]'
  refuses_query "query 0: 'barrier' is 'soft'" '[{"barrier": "soft"}]'
  good='{"barrier": "inverse", "a": [[0, 0, 0]], "b": [[1, 0, 0]]}'
  refuses_query "query 1: 'b' is missing" "[$good, {\"barrier\": \"inverse\", \"a\": [[0, 0, 0]]}]"
  refuses_query "query 0: 'a'[0]" '[{"barrier": "inverse", "a": [[0, 0]], "b": [[1, 0, 0]]}]'
  refuses_query "query 0: 'a'[0][1]" '[{"barrier": "inverse", "a": [[0, "x", 0]], "b": [[1, 0, 0]]}]'
  refuses_query "query 0: 'a'" '[{"barrier": "inverse", "a": [], "b": [[1, 0, 0]]}]'
  refuses_query "query 0: 's' is missing" '[{"barrier": "local", "a": [[0, 0, 0]], "b": [[1, 0, 0]]}]'
  refuses_query "query 0: 's' is -1" '[{"barrier": "local", "s": -1, "a": [[0, 0, 0]], "b": [[1, 0, 0]]}]'
  refuses_query "query 0: 'radii_a'[0] is -1" \
    '[{"barrier": "inverse", "a": [[0, 0, 0]], "b": [[1, 0, 0]], "radii_a": [-1]}]'
  refuses_query "query 0: 'weights_b'" '[{"barrier": "inverse", "a": [[0, 0, 0]], "b": [[1, 0, 0]], "weights_b": [1, 1]}]'
  refuses_query "query 0: 'plane'" '[{"barrier": "inverse", "a": [[0, 0, 0]], "b": [[1, 0, 0]], "plane": [1]}]'
  refuses_query "query.json, line 1" '[{"barrier": "inverse", "a": [[1e999, 0, 0]], "b": [[1, 0, 0]]}]'
  refuses_query "from 0 to 1e+200 along axis 0" '[{"barrier": "inverse", "a": [[1e200, 0, 0]], "b": [[0, 0, 0]]}]'
  echo '[{"e1": [[0,0,0],[1,0,0]], "e2": [[0.5,-1,1],[0.5,1,1]]}]' >"$folder/query.json"
  works query ee "$folder/query.json"
  holds "abs(value[0]['alpha1'] - 0.5) < 1e-12 and abs(value[0]['alpha2'] - 0.5) < 1e-12 and value[0]['colliding'] > 0.99"
  echo '[{"v": [0.2,2,-1], "f": [[0,0,0],[1,0,0],[0,1,0]], "w_reg": 1e-9, "tau_min": 1e-3}]' >"$folder/query.json"
  works query vf "$folder/query.json"
  holds "abs(value[0]['beta1']) < 1e-6 and abs(value[0]['beta2'] - 1) < 1e-6 and value[0]['colliding'] < 1e-6"
  works query vf "$folder/query.json" --dtype f32
  "$abut" query vf "$folder/query.json" >/dev/full 2>"$folder/stderr"
  [ $? -eq 2 ] && grep -q "standard output" "$folder/stderr" && pass || fail "query vf, nowhere to write: $(cat "$folder/stderr")"
  echo '[{"v": [0,0,1], "f": [[0,0,0],[1,0,0]]}]' >"$folder/query.json"
  refuses "query 0: 'f' is not an array of 3" query vf "$folder/query.json"
  echo '[{"v": [0,0,1], "f": [[1,0,0],[1,0,0],[1,0,0]]}]' >"$folder/query.json"
  refuses "query 0: f has no size" query vf "$folder/query.json"
  echo '[{"v": [0,0], "f": [[1,0,0],[1,0,0],[1,0,0]]}]' >"$folder/query.json"
  refuses "query 0: 'v' is not an array of 3 numbers" query vf "$folder/query.json"
  echo '[{"x": [0,0,2], "size": [1,1,1], "e1": 1, "e2": 1}]' >"$folder/query.json"
  works query sq "$folder/query.json"
  holds "abs(value[0]['distance'] - 1) < 1e-12 and abs(value[0]['normal'][2] - 1) < 1e-12"
  echo '[{"x": [0,0,2], "size": [1,1,0], "e1": 1, "e2": 1}]' >"$folder/query.json"
  refuses "query 0: primitive 0: size[2] is 0" query sq "$folder/query.json"
  echo '[{"x": [0,0,2], "size": [1,1,1], "e1": 1}]' >"$folder/query.json"
  refuses "query 0: 'e2' is missing" query sq "$folder/query.json"
  echo '[{"x": [0,0,2], "normals": [[0,0,1],[0,0,-1]], "points": [[0,0,1],[0,0,-1]], "tau": 0.01}]' >"$folder/query.json"
  works query cp "$folder/query.json"
  holds "abs(value[0]['distance'] - 1) < 1e-12 and abs(value[0]['gradient'][2] - 1) < 1e-12"
  manifold() { # options end
    ball='"vertices": [[1,0,0],[0,1,0],[0,0,1]], "primitives": [{"size": [1,1,1], "e1": 1, "e2": 1, "pos": [0,0,'
    printf '[{"options": {%s}, "body1": {"edges": [[0,%s]], %s0]}]}, "body2": {"edges": [[1,2]], %s3]}]}}]' \
      "$1" "$2" "$ball" "$ball" >"$folder/query.json"
  }
  manifold '"tau_union": 0.01' 1
  works query manifold "$folder/query.json"
  holds "len(value[0]['vs1']) == 3 and len(value[0]['ee']) == 1 and 0 <= value[0]['ee'][0]['activity1'] <= 1"
  manifold '"form": "soft"' 1
  refuses "query 0: form 'soft' must be linear or paper" query manifold "$folder/query.json"
  manifold '"form": 3' 1
  refuses "query 0: 'form' is not a text" query manifold "$folder/query.json"
  manifold '"tau_near": -1' 1
  refuses "query 0: manifold: tau_near is -1" query manifold "$folder/query.json"
  manifold '' 3
  refuses "query 0: 'body1' has an edge with vertex 3 of 3" query manifold "$folder/query.json"
  manifold '' 0
  refuses "query 0: manifold: edge 0 of surface 1 has length 0" query manifold "$folder/query.json"
  longrange() { # a's triangle, other keys: against a triangle in z = 0
    echo "[{\"a\": {\"vertices\": [[0, 0, 1], [1, 0, 1], [0, 1, 1]], \"triangles\": $1}, $2
           \"b\": {\"vertices\": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], \"triangles\": [[0, 1, 2]]}}]" >"$folder/query.json"
  }
  longrange '[[0, 1, 2]]' ''
  works query longrange "$folder/query.json"
  grep -q '"status": "ok".*"twist_hessian_a": \[\[.*"exact_pairs": 1, "centred_pairs": 0, "visits": 1' "$folder/stdout" || fail "query longrange"
  longrange '[[0, 1, 2]]' '"tree": 7, "form": "weighted", "epsilon": 1, "expect": 3,'
  works query longrange "$folder/query.json" --dtype f32
  refuses_longrange() { # text triangles keys
    longrange "$2" "$3"
    refuses "$1" query longrange "$folder/query.json"
  }
  refuses_longrange "query 0: 'form' is 'soft'" '[[0, 1, 2]]' '"form": "soft",'
  refuses_longrange "query 0: 'epsilon' is 0" '[[0, 1, 2]]' '"epsilon": 0,'
  refuses_longrange "query 0: a: triangle 0 has vertex 3, there are 3" '[[0, 1, 3]]' ''
  refuses_longrange "query 0: 'a.triangles'[0] has vertex 0.5, must be an integer from 0 to 2" '[[0, 1, 0.5]]' ''
  refuses_longrange "query 0: 'a.triangles'[0] has vertex -1" '[[0, 1, -1]]' ''
  refuses_longrange "query 0: 'a.triangles'[0] is not 3 numbers" '[[0, 1]]' ''
  refuses_longrange "query 0: 'form' is not a text" '[[0, 1, 2]]' '"form": null,'
  refuses_longrange "query 0: epsilon 101 must lie in (0, 100]" '[[0, 1, 2]]' '"epsilon": 101,'
  refuses_longrange "query 0: length 1e-31 must lie in [1e-30, 1e+30]" '[[0, 1, 2]]' '"length": 1e-31,'
  longrange '[[0, 1, 2]], "tree": 0' '"epsilon": 100,'
  works query longrange "$folder/query.json"
  refuses_longrange "query 0: 'a'.tree has triangle 1, there are 1" '[[0, 1, 2]], "tree": 1' ''
  refuses_longrange "query 0: 'a'.tree has triangle -1, there are 1" '[[0, 1, 2]], "tree": -1' ''
  refuses_longrange "query 0: 'a'.tree: node 0 is not a pair" '[[0, 1, 2]], "tree": null' ''
  echo '[{"a": {"vertices": [[0, 0], [1, 0, 1], [0, 1, 1]]}}]' >"$folder/query.json"
  refuses "query 0: 'a'.triangles is not an array" query longrange "$folder/query.json"
  echo '[{"a": {"vertices": [[0, 0], [1, 0, 1], [0, 1, 1]], "triangles": []}}]' >"$folder/query.json"
  refuses "query 0: 'a.vertices'[0] is not 3 numbers" query longrange "$folder/query.json"
  refuses_longrange "query 0: a: it has no triangles" '[]' ''
  refuses_longrange "query 0: a: its triangles have an area of 0" '[[0, 0, 1]]' ''
  two='[[0, 1, 2], [0, 2, 1]]' # with a tree over both
  longrange "$two, \"tree\": [0, 1]" ''
  works query longrange "$folder/query.json"
  refuses_longrange "query 0: 'a'.tree: node 0 is not a pair" "$two, \"tree\": [[0, 1]]" ''
  refuses_longrange "query 0: 'a'.tree has triangle 2, there are 2" "$two, \"tree\": [0, 2]" ''
  refuses_longrange "query 0: 'a'.tree: a node is neither a pair nor a triangle" "$two, \"tree\": [0, 0.5]" ''
  refuses_longrange "query 0: a: its tree has triangle 0 twice" "$two, \"tree\": [0, 0]" ''
  refuses "absent.json" query plane "$folder/absent.json"
  refuses "folder.abut': not a regular file" query plane "$folder/folder.abut"
  refuses "pipe.abut': not a regular file" query plane "$folder/pipe.abut"
  refuses "query nn" query nn
  refuses "needs plane" query
  if [ -r "${ABUT_CASES:-}/plane_given.json" ]; then
    works query plane "$ABUT_CASES/plane_given.json"
    cat >"$folder/compare.py" <<'PYTHON'
import json, math, sys
given, found = (json.load(open(path)) for path in sys.argv[1:])
assert len(given) == len(found)
for i, (case, result) in enumerate(zip(given, found)):
    expect = case["expect"]
    assert result["status"] == "ok", (i, result["status"])
    assert abs(result["value"] - expect["value"]) <= 1e-9 * abs(expect["value"]), (i, result["value"])
    for key in ("grad_a", "grad_b"):
        size = max(abs(x) for row in expect[key] for x in row)
        for row, want in zip(result[key], expect[key]):
            for x, y in zip(row, want):
                assert abs(x - y) <= 1e-9 * size, (i, key, x, y)
PYTHON
    python3 "$folder/compare.py" "$ABUT_CASES/plane_given.json" "$folder/stdout" && pass || fail "plane_given.json"
  fi
else
  grep -qF "built without jansson: query needs it" "$folder/stderr" && pass || fail "query: $(cat "$folder/stderr")"
fi

# ------------------------------------------------------------------------------------------------ bench
works bench --filter 'bytes_per_env*'
head -n 1 "$folder/stdout" | grep -qE '^calibration\.fma\.f32 [0-9.e+]+ GFLOP/s$' && pass || fail "bench starts with calibration"
grep -qE '^bytes_per_env\.ant_box [0-9.e+]+ B$' "$folder/stdout" && pass || fail "bench prints bytes_per_env"
works bench --filter 'plane.joint.f64' --json
holds "[line['name'] for line in value] == ['calibration.fma.f32', 'plane.joint.f64'] and value[1]['value'] > 0"
works bench --filter 'calibration*' --json
holds "len(value) == 1"
refuses "--filter nothing*: no line has such a name" bench --filter 'nothing*'
refuses "--filter nothing*: no line has such a name" bench --filter 'nothing*' --json
refuses "--filter longrange: no line has such a name; with * at its end it takes all" bench --filter longrange
"$abut" bench --filter 'step.stack5.rest.f64' --scenes "$folder" >/dev/null 2>"$folder/stderr"
[ $? -eq 2 ] && grep -q "stack5" "$folder/stderr" && pass || fail "bench without its scenes"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
