"""Measures contacts of one pair by abut, MuJoCo, MJX and MuJoCo Warp, and closest points by abut and qpax; run.sh calls it.

Prints `name value unit`, one line each; what could not be measured is a line that begins with #. Every part is a process
of its own, so that one that fails or is too slow ends no other. On the CPU time is the process's own, so that what else
runs on the machine counts less; with --device cuda, where abut stays on the CPU, it is the wall's.
"""
import argparse
import itertools
import json
import logging
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import mujoco
import numpy as np

import abut_c
from pair import EDGES, Pair, mjcf, pieces

BATCHES = 1, 16, 128, 1024
WITNESSES = 1, 100, 10**4, 10**6, 10**7
RUNS = 5


class Bench:
    def __init__(self, arguments):
        self.seconds, self.cuda = arguments.seconds, arguments.device == "cuda"
        self.clock = time.perf_counter if self.cuda else time.process_time

    def line(self, name, value, unit):
        print(f"{name} {value:.6g} {unit}", flush=True)

    def note(self, text):
        print(f"# {text}", flush=True)

    def once(self, call, calls=1):
        start = self.clock()
        for _ in range(calls):
            call()
        return (self.clock() - start) / calls

    def seconds_of(self, name, call):
        """Median of RUNS runs of 10 ms or more, after a first call; of fewer, with a note, where they take too long."""
        first = self.once(call)
        if first > self.seconds:
            self.note(f"{name}: one run, no warm-up")
            return first
        runs = min(RUNS, max(1, int(self.seconds / first)))
        if runs < RUNS:
            self.note(f"{name}: median of {runs}")
        calls = max(1, int(0.01 / first))
        return statistics.median(self.once(call, calls) for _ in range(runs))

    def per_pose(self, name, count, call):
        self.line(f"{name}.n{count}.us", 1e6 * self.seconds_of(f"{name}.n{count}", call) / count, "us")

    def compiled(self, name, function, *inputs):
        """A jitted function's executable; its compile time, tracing included, is a line."""
        import jax
        start = self.clock()
        executable = jax.jit(function).lower(*inputs).compile()
        self.line(f"{name}.compile.s", self.clock() - start, "s")
        return lambda: jax.block_until_ready(executable(*inputs))


# ----------------------------------------------------------------------------------------------- pairs

def part_abut(bench, library, pair):
    for n in BATCHES:
        manifold, poses = abut_c.Manifold(library, pair.surface, pair.vertices, EDGES, n), pair.batch(n)
        bench.per_pose("abut.contacts", n, lambda: manifold.run_contacts(poses))
        bench.per_pose("abut.gradient", n, lambda: manifold.run_gradient(poses))
    bench.line("abut.vertices", pair.vertices, "per surface")
    bench.line("abut.contacts.made", manifold.contacts, "per pose")
    counted = manifold.arrays[3][:len(pair.poses)] > 1e-3
    bench.line("abut.contacts.active", counted.sum() / len(counted), "per pose")


def part_mujoco(bench, library, pair):
    # by default several points where faces meet; single: one for every two pieces
    for name, flags in ("mujoco.collision", 0), ("mujoco.single", mujoco.mjtDisableBit.mjDSBL_MULTICCD):
        pair.model.opt.disableflags = int(flags)
        data = [pair.collide(pose) for pose in pair.poses]
        for n in BATCHES:
            batch = [data[i % len(data)] for i in range(n)]
            bench.per_pose(name, n, lambda: [mujoco.mj_collision(pair.model, d) for d in batch])
        bench.line(f"{name}.contacts", np.mean([d.ncon for d in data]), "per pose")
        bench.line(f"{name}.touching", np.mean([d.ncon > 0 for d in data]), "of the poses")


def part_warp(bench, library, pair):
    import warp
    warp.config.log_level = logging.WARNING
    cache = tempfile.TemporaryDirectory()  # so that the compile time is one
    warp.config.kernel_cache_dir = cache.name
    import mujoco_warp
    pieces = pair.model.ngeom // 2
    with warp.ScopedDevice("cuda" if bench.cuda else "cpu"):
        model = mujoco_warp.put_model(pair.model)
        for n in BATCHES:
            data = mujoco_warp.put_data(pair.model, mujoco.MjData(pair.model), nworld=n, nconmax=pieces**2, njmax=1)
            data.qpos.assign(pair.batch(n).reshape(n, 14).astype(np.float32))
            mujoco_warp.kinematics(model, data)

            def collide():
                mujoco_warp.collision(model, data)
                warp.synchronize()
            if n == BATCHES[0]:
                bench.line("warp.collision.compile.s", bench.once(collide), "s")
            bench.per_pose("warp.collision", n, collide)
        bench.line("warp.collision.contacts", data.nacon.numpy()[0] / n, "per pose")


def mjx_pair(model):
    """MJX's own collision of two convex meshes, one pair of pieces after the other, as functions of qpos.

    mjx.collision compiles a function for every two meshes, 324 here, which takes minutes and whose intermediate arrays
    are all alive at once (0.1 GB a pose). Here all pieces have arrays of one size, so that one function serves all:
    shorter ones repeat their first rows, which changes no minimum and no maximum.
    """
    import jax
    import jax.numpy as jp
    from mujoco import mjx
    from mujoco.mjx._src.collision_convex import _convex_convex
    from mujoco.mjx._src.collision_types import ConvexInfo
    mjx_model, mjx_data = mjx.put_model(model), mjx.make_data(model)

    def stack(*arrays):
        most = np.max([a.shape for a in arrays], axis=0)
        return jp.stack([jp.pad(a, [(0, m - k) for m, k in zip(most, a.shape)], "edge") for a in arrays])
    meshes = jax.tree_util.tree_map(stack, *mjx_model._impl.mesh_convex)
    mesh_of, half = jp.array(model.geom_dataid), model.ngeom // 2
    pairs = jp.array(list(itertools.product(range(half), range(half, 2 * half))))

    def places(qpos):
        data = mjx.kinematics(mjx_model, mjx_data.replace(qpos=qpos))
        return data.geom_xpos, data.geom_xmat

    def distances(place, pair):
        """The four distances of two pieces, and the sum of the negative ones."""
        infos = [ConvexInfo(pos=place[0][geom], mat=place[1][geom], size=None,
                            **vars(jax.tree_util.tree_map(lambda x: x[mesh_of[geom]], meshes))) for geom in pair]
        distance = _convex_convex(*infos)[0]
        return jp.minimum(distance, 0).sum(), distance

    def collision(qpos):
        place = places(qpos)
        return jax.lax.map(lambda pair: distances(place, pair)[1], pairs)

    def gradient(qpos):
        """Distances, and the gradient of the sum of the negative ones; added up pair by pair, so that none is kept."""
        place, pull_back = jax.vjp(places, qpos)

        def add(total, pair):
            (_, distance), bar = jax.value_and_grad(distances, has_aux=True)(place, pair)
            return jax.tree_util.tree_map(jp.add, total, bar), distance
        total, distance = jax.lax.scan(add, jax.tree_util.tree_map(jp.zeros_like, place), pairs)
        return distance, pull_back(total)[0]

    def public(qpos):
        data = mjx.kinematics(mjx_model, mjx_data.replace(qpos=qpos))
        return mjx.collision(mjx_model, data)._impl.contact.dist
    return collision, gradient, public


def part_mjx_public(bench, library, pair):
    """mjx.collision itself for four of the pieces, beside the loop that stands for it."""
    import jax
    few, n = 4, 16
    model = mujoco.MjModel.from_xml_string(mjcf(pieces(pair.surface.contents)[:few]))
    collision, _, public = mjx_pair(model)
    qpos = pair.batch(n).reshape(n, 14).astype(np.float32)
    distances = {}
    for name, function in (("mjx.public4", public), ("mjx.loop4", collision)):
        run = bench.compiled(f"{name}.n{n}", jax.vmap(function), qpos)
        bench.per_pose(name, n, run)
        distances[name] = np.sort(np.asarray(run()).reshape(n, -1))
    # both in f32 and in metres of a body of size 1: equal but for the order of operations
    if not np.allclose(distances["mjx.public4"], distances["mjx.loop4"], atol=1e-4):
        bench.note("mjx.public4 and mjx.loop4 differ: the loop does not stand for mjx.collision")


def part_mjx(bench, library, pair):
    import jax
    collision, gradient, _ = mjx_pair(pair.model)
    for n in BATCHES:
        qpos = pair.batch(n).reshape(n, 14).astype(np.float32)
        for name, function in ("mjx.collision", collision), ("mjx.gradient", gradient):
            bench.per_pose(name, n, bench.compiled(f"{name}.n{n}", jax.vmap(function), qpos))


# ------------------------------------------------------------------------------------------- witnesses

def random_points(count):
    """Four points each in a cube of size 1, of two edges or of a point and a triangle."""
    return np.random.default_rng(3).random((count, 4, 3))


def queries(dtype, shapes, points):
    """Queries of abut with the default options of a manifold; shapes: the members that the points fill."""
    out = np.zeros(len(points), dtype)
    for name, rows in shapes.items():
        out[name] = points[:, rows]
    out["relative"], out["w_reg"], out["tau_clip"], out["tau_min"], out["tau_comp"] = 1, 0.01, 0.02, 0.01, 0.02
    return out


def edges_program(points):
    """Minimise 1/2 a.Q a + c.a over the unit box, w = 0.01 of the mean square of the lengths, as abut does."""
    import jax.numpy as jp
    t1, t2, r = points[1] - points[0], points[3] - points[2], points[0] - points[2]
    w = 0.01 * (t1 @ t1 + t2 @ t2) / 2
    q = jp.array([[t1 @ t1 + w, -t1 @ t2], [-t1 @ t2, t2 @ t2 + w]])
    c = jp.array([r @ t1 - w / 2, -r @ t2 - w / 2])
    return q, c, jp.concatenate([jp.eye(2), -jp.eye(2)]), jp.array([1.0, 1, 0, 0])


def face_program(points):
    """Minimise |x - p|^2/2 + w/2 sum (b_i - 1/3)^2 over the triangle's three coordinates, b_0 = 1 - b_1 - b_2."""
    import jax.numpy as jp
    p, a, t1, t2 = points[0], points[1], points[2] - points[1], points[3] - points[1]
    w = 0.01 * (t1 @ t1 + t2 @ t2 + (t2 - t1) @ (t2 - t1)) / 3
    q = jp.array([[t1 @ t1 + 2 * w, t1 @ t2 + w], [t1 @ t2 + w, t2 @ t2 + 2 * w]])
    c = jp.array([(a - p) @ t1 - w, (a - p) @ t2 - w])
    return q, c, jp.array([[-1.0, 0], [0, -1], [1, 1]]), jp.array([0.0, 0, 1])


def part_witness(bench, library, pair):
    kinds = {
        "ee": ("abut_query_edges", abut_c.EDGES_QUERY, abut_c.EDGES_RESULT,
               {"edge1": slice(0, 2), "edge2": slice(2, 4)}, edges_program),
        "vf": ("abut_query_face", abut_c.FACE_QUERY, abut_c.FACE_RESULT,
               {"point": 0, "face": slice(1, 4)}, face_program),
    }
    for kind, (name, query, result, shapes, program) in kinds.items():
        exact = interior_point(bench, kind, program)
        if not library.has(name):
            bench.note(f"{kind}: this libabut has no {name}")
            continue
        for n in WITNESSES:
            asked, answers = queries(query, shapes, random_points(n)), np.zeros(n, result)
            seconds = bench.seconds_of(f"abut.{kind}.n{n}", lambda: library.query(name, asked, answers))
            bench.line(f"abut.{kind}.n{n}.ns", 1e9 * seconds / n, "ns")
            if n in exact:
                first = answers[result.names[0]]
                bench.line(f"{kind}.n{n}.difference", np.median(np.abs(first - exact[n][:, 0])), "of an edge, median")


def interior_point(bench, kind, program):
    """Times qpax for as many queries as it can solve in time; its solutions by their number, up to 10^4."""
    import jax
    import jax.numpy as jp
    import qpax

    def solve(points):
        q, c, g, h = program(points)
        return qpax.solve_qp(q, c, jp.zeros((0, 2)), jp.zeros(0), g, h)[0]
    solutions, seconds, last = {}, 0, 1
    for n in WITNESSES:
        if seconds * n / last > 2 * bench.seconds:
            bench.note(f"qpax.{kind}.n{n}: not run, by the line before it takes {seconds * n / last:.0f} s")
            break
        run = bench.compiled(f"qpax.{kind}.n{n}", jax.vmap(solve), random_points(n).astype(np.float32))
        seconds, last = bench.seconds_of(f"qpax.{kind}.n{n}", run), n
        bench.line(f"qpax.{kind}.n{n}.ns", 1e9 * seconds / n, "ns")
        if n <= 10**4:
            solutions[n] = np.asarray(run())
    return solutions


# ----------------------------------------------------------------------------------------------- whole

PARTS = {"abut": part_abut, "mujoco": part_mujoco, "warp": part_warp, "witness": part_witness,
         "mjx_public": part_mjx_public, "mjx": part_mjx}


def results_of(command):
    """Runs a command, passes its output on, and returns the lines that are results as (name, value, unit), and its end."""
    results = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            if not line.startswith("#"):
                name, value, unit = line.split(maxsplit=2)
                results.append((name, float(value), unit.rstrip()))
    return results, child.returncode


def calibration(library):
    """The first line of `abut bench`, by the program beside the library if there is one."""
    program = os.path.join(os.path.dirname(library), "abut")
    return results_of([program, "bench", "--filter", "calibration*"])[0] if os.path.exists(program) else []


def run_part(name, limit):
    """One part in a process of its own, which ends itself at the limit; its results."""
    results, code = results_of([sys.executable, __file__, *sys.argv[1:], "--part", name])
    if code != 0:
        print(f"# {name}: " + (f"not finished after {limit} s" if code == -signal.SIGALRM else f"failed with {code}"), flush=True)
    return results


def ratios(results):
    """How many times longer the others take than abut."""
    value = {name: value for name, value, _ in results}
    for other, ours in (("mjx.gradient", "abut.gradient"), ("mjx.collision", "abut.contacts"),
                        ("mujoco.collision", "abut.contacts"), ("warp.collision", "abut.contacts")):
        for n in BATCHES:
            top, bottom = value.get(f"{other}.n{n}.us"), value.get(f"{ours}.n{n}.us")
            if top and bottom:
                yield f"{other}_over_{ours}.n{n}", top / bottom, "x"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/libabut.so", help="(%(default)s)")
    parser.add_argument("--surface", help="what `abut fit --primitives 18 --vertices 305` wrote; without, random superquadrics")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of MJX, Warp and qpax (%(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="that the runs of a line may take; one is always made (%(default)g)")
    parser.add_argument("--limit", type=int, default=1200, help="of each part, in seconds (%(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="(%(default)s)")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        signal.alarm(arguments.limit)
        library = abut_c.Library(arguments.library)
        PARTS[arguments.part](Bench(arguments), library, Pair(library, arguments.surface))
        return
    results = calibration(arguments.library)
    results += [result for name in arguments.parts.split(",") for result in run_part(name, arguments.limit)]
    for name, value, unit in ratios(results):
        print(f"{name} {value:.6g} {unit}")
        results.append((name, value, unit))
    print("# load average at the end:", *os.getloadavg())
    if arguments.json:
        lines = [dict(zip(("name", "value", "unit"), result)) for result in results]
        with open(arguments.json, "w") as out:
            json.dump({"surface": arguments.surface, "device": arguments.device, "lines": lines}, out, indent=1)


if __name__ == "__main__":
    main()
