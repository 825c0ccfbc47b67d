#!/usr/bin/env python3
"""Draws smooth contacts: what `abut manifold --gltf` wrote, and closest points of two edges of which one turns.

    tools/plot_manifold.py contacts OUT.png A.glb [B.glb]
    tools/plot_manifold.py edges OUT.png ABUT

ABUT: the program, which answers `abut query ee`. Needs numpy and matplotlib.
"""
import json
import struct
import subprocess
import sys

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

LIGHT = np.array([0.3, -0.6, 0.75])


def rotation(q):
    x, y, z, w = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def read_glb(path):
    """Triangles (n, 3, 3) and colour of everything that is drawn, z up, in the order of nodes."""
    data = open(path, "rb").read()
    size = struct.unpack_from("<I", data, 12)[0]
    doc, binary = json.loads(data[20:20 + size]), data[28 + size:]

    def numbers(index):
        accessor = doc["accessors"][index]
        kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
        width = {"SCALAR": 1, "VEC3": 3}[accessor["type"]]
        start = doc["bufferViews"][accessor["bufferView"]]["byteOffset"]
        return np.frombuffer(binary, kind, accessor["count"] * width, start).reshape(-1, width)
    for node in doc["nodes"][1:]:
        if "mesh" in node:
            part = doc["meshes"][node["mesh"]]["primitives"][0]
            points = numbers(part["attributes"]["POSITION"]) @ rotation(node["rotation"]).T + node["translation"]
            colour = doc["materials"][part["material"]]["pbrMetallicRoughness"]["baseColorFactor"]
            yield points[numbers(part["indices"]).reshape(-1, 3)], colour


def draw_contacts(axes, path):
    corners = []
    for order, (triangles, colour) in enumerate(read_glb(path)):
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-30
        shade = 0.7 + 0.3 * normals @ (LIGHT / np.linalg.norm(LIGHT))
        colours = np.c_[shade[:, None] * colour[:3], np.full(len(shade), colour[3])]
        axes.add_collection3d(Poly3DCollection(triangles, facecolors=np.clip(colours, 0, 1), zorder=order))
        corners.append(triangles.reshape(-1, 3))
    corners = np.concatenate(corners)
    middle, half = (corners.max(0) + corners.min(0)) / 2, (corners.max(0) - corners.min(0)) / 2
    for set_limits, m, h in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, half):
        set_limits(m - h, m + h)
    axes.set_box_aspect(half, zoom=1.15)
    axes.view_init(elev=15, azim=-55)
    axes.set_axis_off()


def plot_contacts(out, paths):
    figure = plt.figure(figsize=(4.5 * len(paths), 4.5))
    for i, path in enumerate(paths):
        draw_contacts(figure.add_subplot(1, len(paths), i + 1, projection="3d", computed_zorder=False), path)
    figure.subplots_adjust(0, 0, 1, 1, 0, 0)
    figure.savefig(out, dpi=90)


# Edge 2 lies along x at y = -1.2, edge 1 turns about the origin; halfway they are parallel.
HARD = {"w_reg": 1e-9, "tau_clip": 1e-4, "tau_min": 1e-9, "tau_comp": 1e-4}
CASES = (("without smoothing", HARD), ("pull to the middle only", {**HARD, "w_reg": 0.01}), ("default", {}))


def closest_points(program, angles, options):
    """Points on edge 1, (n, 2)."""
    directions = np.c_[np.sin(angles), -np.cos(angles)]
    queries = [{"e1": [[-x, -y, 0], [x, y, 0]], "e2": [[-1, -1.2, 0], [1, -1.2, 0]], **options}
               for x, y in directions.tolist()]
    answer = subprocess.run([program, "query", "ee"], input=json.dumps(queries), capture_output=True, text=True,
                            check=True)
    alphas = np.array([result["alpha1"] for result in json.loads(answer.stdout)])
    return (2 * alphas[:, None] - 1) * directions


def plot_edges(out, program):
    turn = np.linspace(0, np.pi, 2001)
    near = np.linspace(np.pi / 2 - 0.1, np.pi / 2 + 0.1, 4001)
    figure = plt.figure(figsize=(9, 5))
    right = figure.add_subplot(1, 2, 2)
    for row, (name, options) in enumerate(CASES):
        points = closest_points(program, turn, options)
        left = figure.add_subplot(3, 2, 2 * row + 1)
        left.plot([-1, 1], [-1.2, -1.2], color="black", linewidth=3)
        left.scatter(points[:, 0], points[:, 1], s=4, color="C%d" % row)
        left.set_title(name, fontsize=9)
        left.set_aspect("equal")
        left.set_ylabel("y (m)")
        slopes = np.gradient(closest_points(program, near, options), near, axis=0)
        right.semilogy(near, np.linalg.norm(slopes, axis=1), color="C%d" % row, label=name)
    left.set_xlabel("x (m)")
    right.set_xlabel("angle of edge 1 (rad)")
    right.set_ylabel("speed of its closest point (m/rad)")
    right.legend(fontsize=8, loc="upper left")
    figure.tight_layout()
    figure.savefig(out, dpi=80)


def main():
    if len(sys.argv) in (4, 5) and sys.argv[1] == "contacts":
        plot_contacts(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] == "edges":
        plot_edges(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
