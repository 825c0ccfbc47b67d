#!/usr/bin/env python3
"""Writes the scenes of scenes/tasks/gather_bunny.json and franka_push.json, whose meshes are not part of abut.

    tools/mesh_tasks.py BUNNY.obj PANDA.xml FOLDER
    ABUT_MESH_TASKS=FOLDER abut optimise scenes/tasks/gather_bunny.json

BUNNY.obj: any closed mesh with y up. PANDA.xml: MuJoCo Menagerie's Franka Panda with position actuators; its fingers are
fixed, as abut has no equality constraints. Meshes are read where they are: the scenes name them by absolute paths.
"""
import os
import re
import sys
import xml.etree.ElementTree as xml

CUBES = os.path.join(os.path.dirname(__file__), "..", "scenes", "tasks", "gather.xml")


def bunny_size(path, height):
    """Scale that gives the mesh this height (m), and the height of its origin above its lowest point."""
    up = [float(line.split()[2]) for line in open(path) if line.startswith("v ")]
    scale = height / (max(up) - min(up))
    return scale, -scale * min(up)


def mesh_asset(root, path, scale):
    asset = root.find("asset")
    if asset is None:
        asset = xml.SubElement(root, "asset")
    xml.SubElement(asset, "mesh", name="bunny", file=os.path.abspath(path), inertia="convex",
                   scale=" ".join(["%g" % scale] * 3))


def gather_bunny(bunny, out):
    scale, rise = bunny_size(bunny, 0.15)
    root = xml.parse(CUBES).getroot()
    root.set("model", "gather_bunny")
    mesh_asset(root, bunny, scale)
    for body in root.find("worldbody").findall("body"):
        if not body.get("name").startswith("cube"):
            continue
        x, y, _ = body.get("pos").split()
        body.set("pos", "%s %s %.4f" % (x, y, rise + 2e-4))
        body.set("euler", "90 %s 0" % body.get("euler").split()[2])
        body.find("geom").attrib = {"type": "mesh", "mesh": "bunny", "mass": "0.1"}
    xml.ElementTree(root).write(out)


def franka_push(bunny, panda, out):
    scale, rise = bunny_size(bunny, 0.15)
    root = xml.parse(panda).getroot()
    root.set("model", "franka_push")
    folder = root.find("compiler").get("meshdir", "")
    root.find("compiler").set("meshdir", os.path.join(os.path.dirname(os.path.abspath(panda)), folder))
    for part in ("equality", "tendon", "keyframe"):
        for found in root.findall(part):
            root.remove(found)
    for body in root.iter("body"):
        for joint in body.findall("joint"):
            if re.match("finger", joint.get("name", "")):
                body.remove(joint)
    actuator = root.find("actuator")
    for motor in list(actuator):
        if "finger" in motor.get("joint", "") or motor.get("tendon"):
            actuator.remove(motor)
    mesh_asset(root, bunny, scale)
    world = root.find("worldbody")
    xml.SubElement(world, "geom", name="floor", type="plane", size="3 3 0.1", friction="0.3")
    body = xml.SubElement(world, "body", name="bunny", pos="0.6 0 %.4f" % (rise + 2e-4), quat="1 1 0 0")
    xml.SubElement(body, "freejoint", name="bunny")
    xml.SubElement(body, "geom", name="bunny", type="mesh", mesh="bunny", mass="0.2", friction="0.3")
    keys = xml.SubElement(root, "keyframe")
    xml.SubElement(keys, "key", name="start",
                   qpos="-0.5 0.5 0 -2.2 0 2.7 0.785 0.6 0 %.4f 1 1 0 0" % (rise + 2e-4))
    xml.ElementTree(root).write(out)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    bunny, panda, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    gather_bunny(bunny, os.path.join(folder, "gather_bunny.xml"))
    franka_push(bunny, panda, os.path.join(folder, "franka_push.xml"))


if __name__ == "__main__":
    main()
