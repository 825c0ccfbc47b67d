#!/usr/bin/env python3
"""import_table.py: which model files abut takes and runs, beside MuJoCo, as a table for docs/import.md.

    tools/import_table.py build/abut FOLDER... [--speed]

Every .xml with a <mujoco> element and every .urdf below the folders is loaded, and run for 100 steps from its
first state. --speed adds environment steps per second of one environment on one thread, at the file's timestep,
and those of MuJoCo, if the Python package of that name is there."""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import time

try:
    import mujoco
except ImportError:
    mujoco = None

STEPS = 100


def find_models(folders):
    """Paths of model files, each with the folder they were found in."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix == ".urdf":
                yield folder, path
            elif path.suffix == ".xml" and re.search(r"<mujoco[\s>]", path.read_text(errors="replace")):
                yield folder, path


def call(program, *words, seconds=120):
    """Exit code, standard output and lines of standard error; code None where time ran out."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, "", ["no answer in %d s" % seconds]
    return done.returncode, done.stdout, done.stderr.strip().splitlines()


def mujoco_speed(path):
    """Steps per second, None where MuJoCo does not read the file; at least 0.2 s of them."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except Exception:
        return None
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=10)
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < 0.2:
        mujoco.mj_step(model, data, nstep=STEPS)
        done += STEPS
    return done / (time.perf_counter() - start)


def judge(program, path, speed):
    """One row: imported, notes, whether it ran, why not, steps per second of abut and MuJoCo."""
    row = {"imported": False, "notes": 0, "runs": "", "why": "", "abut": None, "mujoco": None}
    code, out, errors = call(program, "info", str(path), "--json")
    if code != 0:
        row["why"] = errors[-1] if errors else "no message"
        return row
    row["imported"] = True
    row["notes"] = sum("warning:" in line for line in errors)
    info = json.loads(out)
    if "refused" in info:
        row["why"] = info["refused"]
        return row
    timestep = ["--dt", repr(info["timestep"])] if speed else []
    code, out, errors = call(program, "rollout", str(path), "--steps", str(STEPS), "--json", "--threads", "1", *timestep)
    if code != 0:
        row["why"] = errors[-1] if errors else "no message"
        return row
    result = json.loads(out)
    row["runs"] = "yes" if result["failed_envs"] == 0 else "fails"
    row["abut"] = result.get("env_steps_per_second")
    if speed and mujoco:
        row["mujoco"] = mujoco_speed(path)
    return row


def number(value):
    return "" if value is None else "%.3g" % value if value < 1000 else "%d" % round(value, -int(len(str(int(value)))) + 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    models = list(find_models(options.folders))
    workers = 1 if options.speed else None
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        rows = list(pool.map(lambda m: judge(options.program, m[1], options.speed), models))
    print("| file | imported | notes | runs %d steps | abut, env-steps/s | MuJoCo | why not |" % STEPS)
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (folder, path), row in zip(models, rows):
        print("| %s | %s | %s | %s | %s | %s | %s |" % (
            path.relative_to(folder), "yes" if row["imported"] else "no", row["notes"] or "", row["runs"], number(row["abut"]),
            number(row["mujoco"]), row["why"].replace(str(path), path.name)[-160:]))
    print("\n%d files: %d imported, %d ran %d steps." % (
        len(rows), sum(r["imported"] for r in rows), sum(r["runs"] == "yes" for r in rows), STEPS))


if __name__ == "__main__":
    main()
