#!/bin/sh
# test_optimise.sh: abut optimise: results, files, every key of a task file that is wrong. ABUT: the program.
set -u
here=$(dirname "$0")
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
[ -r scenes/tasks/push.abut ] || { echo "skipped: no compiled scenes"; exit 77; }
. "$here/shell_test.inc"

# Exit code, then arguments: standard output in $folder/stdout, one JSON value or nothing.
ends_with() { # code arguments
  wanted=$1
  shift
  "$abut" optimise "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
  code=$?
  [ $code -eq "$wanted" ] && pass || fail "abut optimise $*: exit code $code, not $wanted: $(tail -n 1 "$folder/stderr")"
}

# Bad input: exit code 2, nothing on standard output, one sentence on standard error that holds the text.
refuses() { # text arguments
  text=$1
  shift
  "$abut" optimise "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
  code=$?
  if [ $code -ne 2 ]; then
    fail "abut optimise $*: exit code $code, not 2"
  elif [ -s "$folder/stdout" ] || [ "$(wc -l <"$folder/stderr")" -ne 1 ]; then
    fail "abut optimise $*: not one line on standard error alone: $(head -c 300 "$folder/stderr")"
  elif ! grep -qF -- "$text" "$folder/stderr"; then
    fail "abut optimise $*: '$text' is not in: $(cat "$folder/stderr")"
  elif [ -n "$(ls -A "$folder/out")" ]; then
    fail "abut optimise $*: left $(ls -A "$folder/out")"
  else
    pass
  fi
}
mkdir "$folder/out"

if ! "$abut" optimise scenes/tasks/push.json --iterations 1 >/dev/null 2>"$folder/stderr" &&
  grep -q "built without jansson: optimise needs it" "$folder/stderr"; then
  echo "skipped: built without jansson"
  exit 77
fi

# edit NAME CHANGE...: push.json, made smaller, with these changes (Python; del removes) as $folder/NAME.json;
# edit.py FOLDER cases: one bad0.json, bad1.json, ... for every line of the table in $folder/cases
cat >"$folder/edit.py" <<'PYTHON'
import json, os, sys
folder, name, *changes = sys.argv[1:]

def write(name, changes):
    task = json.load(open("scenes/tasks/push.json"))
    task.update(steps=6, horizon=4, iterations=2, scene=os.path.abspath("scenes/tasks/push.abut"))
    task["variables"] = [{"ctrl": ["rod_x", "rod_y"]}]
    task["loss"] = {"terms": [{"body": "box", "target": [1, 0], "tolerance": 0.1}]}
    for change in changes:
        place, _, value = change.partition("=")
        exec("del task" + place if value == "del" else "task%s = %s" % (place, value), {"task": task})
    json.dump(task, open("%s/%s.json" % (folder, name), "w"))

if name == "cases":
    for i, line in enumerate(open(folder + "/cases")):
        write("bad%d" % i, line.rstrip("\n").split(" | ")[1:])
else:
    write(name, changes)
PYTHON
edit() { python3 "$folder/edit.py" "$folder" "$@"; }

# ---------------------------------------------------------------------------------------------- results
edit push
ends_with 0 "$folder/push.json" --envs 3 --json
holds "list(value) == ['task', 'iterations', 'loss_first', 'loss_last', 'success', 'seconds']"
holds "value['iterations'] == 12 and value['success'] is False and 0.9 < value['loss_last'] < 1.1"
[ "$(grep -c '^step' "$folder/stderr")" -eq 6 ] && pass || fail "a line per step on standard error"
ends_with 1 "$folder/push.json" --require-success
edit whole "['horizon']=del"
ends_with 0 "$folder/whole.json" --iterations 3 --json
holds "value['iterations'] == 3"
[ "$(grep -c '^iteration' "$folder/stderr")" -eq 3 ] && pass || fail "a line per iteration on standard error"
edit done "['loss']['terms'][0]['target']=[0, 0]"
ends_with 0 "$folder/done.json" --require-success --json
holds "value['success'] is True and value['loss_last'] == 0"
edit rod "['horizon']=del" "['loss']['terms'][0]=dict(body='rod', target=[0.45, 0.1], tolerance=0.02)" "['steps']=20" \
  "['iterations']=60"
ends_with 0 "$folder/rod.json" --require-success --json
holds "value['loss_first'] > 0 and value['loss_last'] == 0 and value['iterations'] < 60"
# a rod that starts in front of a box finds its way around it and pushes, by a barrier that acts at a distance; by one
# that does not, it never moves
contact=longrange
[ -z "${ABUT_QUICK:-}" ] || contact=inverse
ends_with 0 scenes/tasks/push.json --require-success --contact $contact --json
holds "value['success'] is True and value['loss_first'] > 0.9 and value['loss_last'] == 0"
ends_with 1 scenes/tasks/push.json --require-success --contact local --iterations 2 --json
holds "value['success'] is False and value['loss_last'] == value['loss_first']"
# the same seed gives the same losses, whatever the threads; another seed others; the barrier is the command's
losses() { "$abut" optimise "$@" --json 2>/dev/null | sed 's/"seconds.*//'; }
edit noisy "['variables'][0]['noise']=0.05" "['horizon']=del" "['options']['stiffness']=1e-4"
first=$(losses "$folder/noisy.json" --envs 4)
[ -n "$first" ] && [ "$first" = "$(losses "$folder/noisy.json" --envs 4 --threads 1)" ] && pass || fail "threads change losses"
[ "$first" != "$(losses "$folder/noisy.json" --envs 4 --seed 9)" ] && pass || fail "--seed does nothing"
[ "$first" != "$(losses "$folder/noisy.json" --envs 4 --contact local)" ] && pass || fail "--contact does nothing"
[ "$first" != "$(losses "$folder/noisy.json" --envs 4 --dt 0.02)" ] && pass || fail "--dt does nothing"

# ------------------------------------------------------------------------------------------------ files
ends_with 0 "$folder/push.json" --envs 3 --gltf "$folder/push.glb"
python3 "$here/check_glb.py" "$folder/push.glb" 7 && pass || fail "the GLB file is malformed"
if "$abut" optimise "$folder/push.json" --envs 3 --out "$folder/push.h5" >/dev/null 2>"$folder/stderr"; then
  if command -v h5dump >/dev/null; then
    h5dump -H "$folder/push.h5" >"$folder/header"
    for text in 'DATASET "loss"' '( 12, 3 )' 'DATASET "gradient_norm"' 'DATASET "frame"' '( 12 )' 'DATASET "terms"' \
      '( 7, 3 )' '( 7, 13 )' '( 7, 3, 3 )' '( 7, 3, 4 )' '( 6, 6 )' 'DATASET "geom_shape"' '( 3, 10 )' \
      'DATASET "target"' '( 1, 4 )' 'ATTRIBUTE "task"' 'ATTRIBUTE "stiffness"' 'ATTRIBUTE "best"'; do
      grep -qF "$text" "$folder/header" && pass || fail "the HDF5 file has no $text"
    done
  fi
  for text in form weighted epsilon tessellation; do
    grep -aqF "$text" "$folder/push.h5" && pass || fail "the HDF5 file has no $text"
  done
  (
    trap '' XFSZ && ulimit -f 8 && "$abut" optimise "$folder/push.json" --out "$folder/out/full.h5"
    echo "exit code $?" >&2
  ) 2>&1 >/dev/null | tail -n 2 >"$folder/stdout"
  grep -q 'full.h5: HDF5 cannot write .*: File too large' "$folder/stdout" && grep -q 'exit code 2' "$folder/stdout" && pass ||
    fail "a full disk: $(cat "$folder/stdout")"
  refuses "absent/a.h5" "$folder/push.json" --out "$folder/absent/a.h5"
  refuses "a.txt: the name must end in .h5 or .hdf5" "$folder/push.json" --out "$folder/out/a.txt"
else
  refuses "built without HDF5: --out needs it" "$folder/push.json" --out "$folder/out/a.h5"
fi
# an output is never what is read: the task, whatever its name, or a scene behind a link
cp "$folder/push.json" "$folder/self.glb"
cp "$folder/push.json" "$folder/self.before"
refuses "--gltf $folder/self.glb: would overwrite $folder/self.glb, which is read" "$folder/self.glb" --gltf "$folder/self.glb"
refuses "--gltf $folder/../$(basename "$folder")/self.glb: would overwrite" "$folder/self.glb" \
  --gltf "$folder/../$(basename "$folder")/self.glb"
cp scenes/tasks/push.abut "$folder/scene.glb"
ln -s scene.glb "$folder/linked.abut"
edit linked "['scene']='linked.abut'"
refuses "--gltf $folder/scene.glb: would overwrite $folder/linked.abut" "$folder/linked.json" --gltf "$folder/scene.glb"
cmp -s "$folder/self.before" "$folder/self.glb" && cmp -s scenes/tasks/push.abut "$folder/scene.glb" && pass ||
  fail "an input was overwritten"
refuses "a.gltf: the name must end in .glb" "$folder/push.json" --gltf "$folder/out/a.gltf"

# --------------------------------------------------------------------------------------------- bad tasks
refuses "needs TASK.json"
refuses "absent.json" "$folder/absent.json"
refuses "unknown option '--steps'" "$folder/push.json" --steps 3
refuses "--form: needs --contact longrange, not local" "$folder/push.json" --form paper --contact local
refuses "--tessellation: " "$folder/push.json" --tessellation 2
refuses "--iterations 0:" "$folder/push.json" --iterations 0
printf '{"steps": 1,' >"$folder/broken.json"
refuses "broken.json, line 1" "$folder/broken.json"
printf '' >"$folder/empty.json"
refuses "empty.json, line 1" "$folder/empty.json"
printf '[]' >"$folder/list.json"
refuses "list.json: is an array, not an object" "$folder/list.json"
printf '{"steps": NaN}' >"$folder/nan.json"
refuses "nan.json, line 1" "$folder/nan.json"
printf '{"steps": 1, "steps": 2}' >"$folder/twice.json"
refuses "twice.json, line 1" "$folder/twice.json"
# what the message says | how the task differs
cat >"$folder/cases" <<'CASES'
speed: unknown key | ['speed']=1
scene: is missing | ['scene']=del
steps: is missing | ['steps']=del
iterations: is missing | ['iterations']=del
loss: is missing | ['loss']=del
variables: is missing | ['variables']=del
scene: is a number, not a text | ['scene']=3
scene: is empty | ['scene']=''
scene: '$ABUT_NO_SUCH/a.xml' needs the environment variable ABUT_NO_SUCH, which is not set | ['scene']='$ABUT_NO_SUCH/a.xml'
scene: '$/x.xml': no name of an environment variable | ['scene']='$/x.xml'
note: is a number, not a text | ['note']=3
key: is null, not a text | ['key']=None
steps: is 0, must be from 1 to 1000000 | ['steps']=0
steps: is 1.5, must be an integer from 1 to 1000000, without point or exponent | ['steps']=1.5
iterations: is 1e+12, must be an integer from 1 to 1000000 | ['iterations']=1e12
horizon: is -1, must be from 1 | ['horizon']=-1
apply: is 5, must be from 1 to 4 | ['apply']=5
apply: needs a horizon | ['horizon']=del | ['apply']=1
follow: is 'me', must be one of own, best | ['follow']='me'
follow: needs a horizon | ['horizon']=del | ['follow']='best'
keep: is 'none', must be one of best, latest | ['keep']='none'
iterations: is 0, must be from 1 | ['iterations']=0
envs: is a text, not an integer | ['envs']='many'
seed: is -1, must be from 0 | ['seed']=-1
options: is an array, not an object | ['options']=[]
options.speed: unknown key | ['options']['speed']=1
options.dt: is 0, which would stand for the default; leave it out | ['options']['dt']=0
options.dt: is a text, not a number | ['options']['dt']='0.1'
options.contact: is 'soft', must be one of local, inverse | ['options']['contact']='soft'
options.method: is 'magic', must be one of implicit | ['options']['method']='magic'
options.friction: is -1, which would stand for the default; leave it out | ['options']['friction']=-1
options.max-iterations: is 1e+06, must be an integer | ['options']['max-iterations']=1e6
options.weights: unknown key | ['options']['weights']='unit'
adam: is a number, not an object | ['adam']=3
adam.gamma: unknown key | ['adam']['gamma']=1
adam.rate: is 0, must be a number above 0 | ['adam']['rate']=0
adam.beta1: is 1, must be a number from 0 to below 1 | ['adam']['beta1']=1
adam.beta2: is -0.1, must be a number from 0 to below 1 | ['adam']['beta2']=-0.1
adam.epsilon: is a text, not a number | ['adam']['epsilon']='x'
adam.clip: is -1, must be a number of 0 or more | ['adam']['clip']=-1
loss.terms: is missing | ['loss']={}
loss.terms: is empty | ['loss']['terms']=[]
loss.terms: is an object, not an array | ['loss']['terms']={}
loss.terms[0]: is a number, not an object | ['loss']['terms'][0]=1
loss.sum: unknown key | ['loss']['sum']=1
loss.final: is -1, must be a number of 0 or more | ['loss']['final']=-1
loss.running: is null, not a number | ['loss']['running']=None
loss.final: is 0, and so is running | ['loss']['final']=0
loss.terms[0].body: 'bax': the scene has no body of this name | ['loss']['terms'][0]['body']='bax'
loss.terms[0].body: 'world' is the world | ['loss']['terms'][0]['body']='world'
loss.terms[0].body: is missing | ['loss']['terms'][0]['body']=del
loss.terms[0].target: is missing | ['loss']['terms'][0]['target']=del
loss.terms[0].target: has 1 number, must have 2 to 3 | ['loss']['terms'][0]['target']=[1]
loss.terms[0].target[1]: is a text, not a number | ['loss']['terms'][0]['target']=[1, 'x']
loss.terms[0].tolerance: is -1, must be a number of 0 or more | ['loss']['terms'][0]['tolerance']=-1
loss.terms[0].target[0]: is 1e+160, must be at most 1e+60 in size | ['loss']['terms'][0]['target']=[1e160, 0]
loss.terms[0].tolerance: is 1e+61, must be at most 1e+60 in size | ['loss']['terms'][0]['tolerance']=1e61
loss.terms[0].weight: is 0, must be a number above 0 | ['loss']['terms'][0]['weight']=0
loss.terms[0].wait: unknown key | ['loss']['terms'][0]['wait']=0
variables: is empty | ['variables']=[]
variables: is a number, not an array | ['variables']=1
variables[0]: is null, not an object | ['variables'][0]=None
variables[0].ctrl: of ctrl, qpos and qvel there must be one, not 0 | ['variables'][0]={}
variables[0].ctrl: of ctrl, qpos and qvel there must be one, not 2 | ['variables'][0]['qpos']='rod_x'
variables[0].ctrl[1]: 'rod_q': the scene has no actuator of this name | ['variables'][0]['ctrl'][1]='rod_q'
variables[0].ctrl[1]: is not the name of an actuator | ['variables'][0]['ctrl'][1]=1
variables[0].ctrl: is empty | ['variables'][0]['ctrl']=[]
variables[0].ctrl: is a number, not an array | ['variables'][0]['ctrl']=1
variables[0].ctrl[1]: is a variable twice | ['variables'][0]['ctrl'][1]='rod_x'
variables[0].form: is 'line', must be one of sequence, spline, sines | ['variables'][0]['form']='line'
variables[0].form: must be sequence where there is a horizon | ['variables'][0]={'ctrl': 'rod_x', 'form': 'spline', 'knots': 3}
variables[0].qvel: cannot be a variable where there is a horizon | ['variables'][0]={'qvel': 'rod_x'}
variables[0].knots: unknown key | ['variables'][0]['knots']=3
variables[0].start: is a text, not an array of numbers | ['variables'][0]['start']='x'
variables[0].noise: is -1, must be a number of 0 or more | ['variables'][0]['noise']=-1
variables[0].rate: is 0, must be a number above 0 | ['variables'][0]['rate']=0
variables[0].min: is 2, above max, 1 | ['variables'][0]['min']=2 | ['variables'][0]['max']=1
variables[0].min: is true, not a number | ['variables'][0]['min']=True
variables[0].knots: is missing | ['horizon']=del | ['variables'][0]={'ctrl': 'rod_x', 'form': 'spline'}
variables[0].knots: is 1, must be from 2 | ['horizon']=del | ['variables'][0]={'ctrl': 'rod_x', 'form': 'spline', 'knots': 1}
variables[0].waves: is missing | ['horizon']=del | ['variables'][0]={'ctrl': 'rod_x', 'form': 'sines'}
variables[0].waves: is 0, must be from 1 | ['horizon']=del | ['variables'][0]={'ctrl': 'rod_x', 'form': 'sines', 'waves': 0}
variables[0].min: sines have no bounds but the ctrlrange of their actuator | ['horizon']=del | ['variables'][0]={'ctrl': 'rod_x', 'form': 'sines', 'waves': 1, 'min': 0}
variables[0].start: is a number, not an array of numbers | ['horizon']=del | ['variables'][0]={'ctrl': 'rod_x', 'form': 'sines', 'waves': 1, 'start': 1}
variables[0].rate: has 2 numbers, must have 3 to 3 | ['horizon']=del | ['variables'][0]={'ctrl': 'rod_x', 'form': 'sines', 'waves': 1, 'rate': [1, 2]}
variables[0].qpos: 'rod_q': the scene has no joint of this name | ['horizon']=del | ['variables'][0]={'qpos': 'rod_q'}
variables[0].entries[1]: is 3, must be one of 0 to 2 | ['horizon']=del | ['variables'][0]={'qpos': 'box', 'entries': [0, 3]}
variables[0].entries[0]: is 0.5, must be one of 0 to 5 | ['horizon']=del | ['variables'][0]={'qvel': 'box', 'entries': [0.5]}
variables[0].entries[1]: is a variable twice | ['horizon']=del | ['variables'][0]={'qvel': 'box', 'entries': [1, 1]}
variables[0].entries: has 0 numbers, must have 1 to 7 | ['horizon']=del | ['variables'][0]={'qvel': 'box', 'entries': []}
variables[0].form: unknown key | ['horizon']=del | ['variables'][0]={'qvel': 'box', 'form': 'sines'}
CASES
python3 "$folder/edit.py" "$folder" cases
case=0
while IFS= read -r line; do
  refuses "bad$case.json: ${line%% | *}" "$folder/bad$case.json" --gltf "$folder/out/a.glb"
  case=$((case + 1))
done <"$folder/cases"
[ $case -gt 80 ] && pass || fail "$case bad tasks were tried"
# what the library says of options
while IFS='|' read -r says key value; do
  edit bad "['options']['$key']=$value"
  refuses "$says is out of range" "$folder/bad.json" --gltf "$folder/out/a.glb"
done <<'CASES'
option timestep: -1|dt|-1
option max_iterations: 0|max-iterations|0
option reach: -1|reach|-1
option reach: 0.5|reach|0.5
option epsilon: 101|epsilon|101
option friction: 1e+06|friction|1e6
option stiffness: -1|stiffness|-1
option length: -1|length|-1
option gap0: -1|gap0|-1
option max_separation: -1|max-separation|-1
option slip_velocity: -1|slip|-1
option tolerance: -1|tol|-1
CASES
edit bad "['scene']='absent.abut'"
refuses "$folder/absent.abut" "$folder/bad.json"
edit bad "['key']='nowhere'"
refuses "bad.json: key: 'nowhere': the scene has 0 keyframes, none of this name" "$folder/bad.json"
python3 -c 'print("[" * 3000 + "]" * 3000)' >"$folder/deep.json"
refuses "deep.json, line 1, column 2049: nested deeper than 2,048 levels" "$folder/deep.json"

# where nothing can move, it says so
edit stuck "['horizon']=del" "['variables'][0]={'qpos': 'box', 'entries': [0], 'start': 0.45}"
"$abut" optimise "$folder/stuck.json" --gltf "$folder/out/stuck.glb" >"$folder/stdout" 2>"$folder/stderr"
[ $? -eq 2 ] && grep -q "every environment's rollout froze from step 1 on" "$folder/stderr" && [ -z "$(ls -A "$folder/out")" ] && pass ||
  fail "a start that overlaps: $(tail -n 1 "$folder/stderr") $(ls "$folder/out")"

# interrupted after its first step, it keeps what it has reached; a signal that comes twice, to the process and to
# its group, counts once
edit long "['steps']=100000" "['iterations']=5"
"$abut" optimise "$folder/long.json" --gltf "$folder/out/long.glb" --json >"$folder/stdout" 2>"$folder/stderr" &
runner=$!
for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  grep -q '^step 2/' "$folder/stderr" && break
  sleep 0.25
done
kill -TERM $runner && kill -TERM $runner
wait $runner
[ $? -eq 2 ] && grep -q '^abut: interrupted' "$folder/stderr" && pass || fail "SIGTERM: $(tail -n 1 "$folder/stderr")"
grep -q '"success": *false' "$folder/stdout" && pass || fail "interrupted: $(cat "$folder/stdout")"
python3 -c 'import sys; data = open(sys.argv[1], "rb").read(); sys.exit(data[:4] != b"glTF")' "$folder/out/long.glb" && pass ||
  fail "interrupted: no whole long.glb"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
