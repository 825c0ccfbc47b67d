"""check_glb.py: reads a GLB file back and checks chunks, bounds and references. Usage: check_glb.py FILE FRAMES
[TRIANGLES]; FRAMES: 0 where nothing moves; TRIANGLES: what all meshes must have together."""
import json
import math
import struct
import sys

SIZES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


def read_chunks(data):
    magic, version, length = struct.unpack_from("<4sII", data)
    assert magic == b"glTF" and version == 2 and length == len(data), "header"
    chunks, at = {}, 12
    while at < length:
        size, kind = struct.unpack_from("<I4s", data, at)
        assert size % 4 == 0 and at + 8 + size <= length, "chunk length"
        chunks[kind] = data[at + 8 : at + 8 + size]
        at += 8 + size
    return json.loads(chunks[b"JSON"]), chunks[b"BIN\0"]


def read_accessor(doc, binary, index):
    accessor = doc["accessors"][index]
    view = doc["bufferViews"][accessor["bufferView"]]
    width = SIZES[accessor["type"]]
    assert view["byteOffset"] % 4 == 0
    assert view["byteOffset"] + view["byteLength"] <= len(binary)
    assert 4 * width * accessor["count"] <= view["byteLength"]
    code = {5126: "f", 5125: "I"}[accessor["componentType"]]
    numbers = struct.unpack_from("<%d%s" % (width * accessor["count"], code), binary, view["byteOffset"])
    rows = [numbers[i : i + width] for i in range(0, len(numbers), width)]
    for k in range(width):
        if "min" in accessor:
            assert min(r[k] for r in rows) == accessor["min"][k]
            assert max(r[k] for r in rows) == accessor["max"][k]
    return rows


def check_primitive(doc, binary, primitive):
    positions = read_accessor(doc, binary, primitive["attributes"]["POSITION"])
    normals = read_accessor(doc, binary, primitive["attributes"]["NORMAL"])
    indices = [row[0] for row in read_accessor(doc, binary, primitive["indices"])]
    assert "min" in doc["accessors"][primitive["attributes"]["POSITION"]]
    assert len(positions) == len(normals) and len(indices) % 3 == 0 and max(indices) < len(positions)
    assert 0 <= primitive["material"] < len(doc["materials"])
    for n in normals:
        assert abs(math.hypot(*n) - 1) < 1e-5


def check_animation(doc, binary, frames):
    animation = doc["animations"][0]
    targets = set()
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        times = [row[0] for row in read_accessor(doc, binary, sampler["input"])]
        values = read_accessor(doc, binary, sampler["output"])
        assert len(times) == len(values) == frames
        assert all(a < b for a, b in zip(times, times[1:]))
        if channel["target"]["path"] == "rotation":
            assert all(abs(math.hypot(*q) - 1) < 1e-4 for q in values)
            for a, b in zip(values, values[1:]):
                assert sum(x * y for x, y in zip(a, b)) >= 0
        targets.add((channel["target"]["node"], channel["target"]["path"]))
    assert len(targets) == len(animation["channels"])
    moving = len(doc["nodes"]) - 2
    assert len(targets) == 2 * moving, "every body but the world moves"


def main():
    with open(sys.argv[1], "rb") as file:
        doc, binary = read_chunks(file.read())
    assert doc["asset"]["version"] == "2.0"
    assert doc["buffers"][0]["byteLength"] <= len(binary)
    for index in range(len(doc["accessors"])):
        read_accessor(doc, binary, index)
    used = [node["mesh"] for node in doc["nodes"] if "mesh" in node]
    assert sorted(used) == list(range(len(doc["meshes"])))
    for mesh in doc["meshes"]:
        for primitive in mesh["primitives"]:
            check_primitive(doc, binary, primitive)
    if len(sys.argv) > 3:
        primitives = [primitive for mesh in doc["meshes"] for primitive in mesh["primitives"]]
        corners = sum(doc["accessors"][primitive["indices"]]["count"] for primitive in primitives)
        assert corners == 3 * int(sys.argv[3]), "%d triangles" % (corners // 3)
    children = doc["nodes"][doc["scenes"][0]["nodes"][0]]["children"]
    assert sorted(children) == list(range(1, len(doc["nodes"])))
    if int(sys.argv[2]) == 0:
        assert "animations" not in doc
    else:
        check_animation(doc, binary, int(sys.argv[2]))


main()
