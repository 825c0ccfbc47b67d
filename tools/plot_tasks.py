#!/usr/bin/env python3
"""Plots what `abut optimise --out` wrote: the best trajectory's last frame from above, and the losses.

    tools/plot_tasks.py OUT.png RUN.h5 [BASELINE.h5]

Needs h5py and matplotlib.
"""
import sys

import h5py
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

PLANE, SPHERE, CAPSULE = 0, 2, 3


def rotation(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def outline(kind, size):
    """Points whose convex hull is the shape (of a mesh, its box), and the radius to draw around them."""
    if kind == SPHERE:
        return np.zeros((1, 3)), size[0]
    if kind == CAPSULE:
        return np.array([[0, 0, -size[1]], [0, 0, size[1]]]), size[0]
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return corners * size, 0


def hull(points):
    """Convex hull of points of the plane, counter-clockwise."""
    points = sorted(map(tuple, points))

    def right_turn(a, b, c):
        return (b[0] - a[0]) * (c[1] - b[1]) <= (b[1] - a[1]) * (c[0] - b[0])

    def half(points):
        out = []
        for p in points:
            while len(out) > 1 and right_turn(out[-2], out[-1], p):
                out.pop()
            out.append(p)
        return out[:-1]
    return np.array(half(points) + half(points[::-1])) if len(points) > 2 else np.array(points)


def draw_shape(axes, kind, size, place, turn, colour):
    points, radius = outline(kind, size)
    points = (points @ turn.T + place)[:, :2]
    if radius:  # circles along the axis
        steps = np.linspace(0, 2 * np.pi, 24)
        points = np.concatenate([p + radius * np.c_[np.cos(steps), np.sin(steps)] for p in points])
    axes.add_patch(plt.Polygon(hull(points), facecolor=colour, edgecolor="black", linewidth=0.6, alpha=0.85))


def draw_frame(axes, file):
    xpos, xquat = file["xpos"][:], file["xquat"][:]
    targets, bodies = file["target"][:], file["target_body"][:, 0]
    places = {tuple(t[:2]): i for i, t in reversed(list(enumerate(targets)))}
    colour = {body: "C%d" % (list(places).index(tuple(t[:2])) + 1) for body, t in zip(bodies, targets)}
    for (body, kind), shape in zip(file["geom"][:], file["geom_shape"][:]):
        if kind == PLANE:
            continue
        turn = rotation(xquat[-1, body])
        draw_shape(axes, kind, shape[:3], xpos[-1, body] + turn @ shape[3:6], turn @ rotation(shape[6:10]),
                   colour.get(body, "0.7"))
    for body in range(1, xpos.shape[1]):
        axes.plot(xpos[:, body, 0], xpos[:, body, 1], color=colour.get(body, "0.6"), linewidth=0.7)
    for body, target in zip(bodies, targets):
        axes.add_patch(plt.Circle(target[:2], max(target[3], 0.01), fill=False, color=colour[body], linestyle="--"))
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.set_title("final frame, paths, targets")


def draw_losses(axes, file, label, colour):
    if file.attrs["horizon"]:
        best = int(file.attrs["best"])
        curve = file["terms"][:, best]
        axes.set_xlabel("step")
    else:
        curve = np.minimum.accumulate(file["loss"][:].min(axis=1))
        axes.set_xlabel("iteration")
    axes.plot(curve, label=label, color=colour)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    for path, colour in zip(sys.argv[2:], ("C0", "C3")):
        with h5py.File(path, "r") as file:
            if path == sys.argv[2]:
                draw_frame(left, file)
            draw_losses(right, file, file.attrs["contact"], colour)
    right.set_ylabel("loss of the best environment (m^2)")
    right.set_ylim(bottom=0)
    right.legend()
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=80)


if __name__ == "__main__":
    main()
