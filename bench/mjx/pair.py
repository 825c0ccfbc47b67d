"""The pair that compare.py collides: 18 superquadrics as a surface of abut and as convex meshes, and random poses."""
import ctypes
import itertools

import mujoco
import numpy as np

import abut_c

PRIMITIVES, VERTICES, EDGES, POSES = 18, 305, 18, 100
# vertices of a piece: a cube's corners, edges' and faces' middles moved onto the superquadric along rays
RAYS = np.array([ray for ray in itertools.product((-1, 0, 1), repeat=3) if any(ray)], float)


def rotation(quaternion):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, float))
    return matrix.reshape(3, 3)


def stand_in(rng):
    """A disc of random superquadrics that hang together, where no armadillo is given."""
    primitives = (abut_c.Primitive * PRIMITIVES)()
    for i, p in enumerate(primitives):
        turn, away = 2.39996 * i, 0.08 * np.sqrt(i)
        quaternion = rng.normal(size=4)
        p.position[:] = away * np.cos(turn), away * np.sin(turn), rng.uniform(-0.1, 0.1)
        p.quaternion[:] = quaternion / np.linalg.norm(quaternion)
        p.size[:] = rng.uniform(0.06, 0.15, 3)
        p.exponents[:] = rng.uniform(0.3, 1.2, 2)
    return abut_c.Surface(primitives=primitives, primitive_count=PRIMITIVES, tau=0.002)


def gauge(p, x):
    """h of a superquadric at points in its frame (include/abut/surface.h)."""
    x, (e1, e2) = np.abs(x) / p.size, p.exponents
    ring = (x[:, 0] ** (2 / e2) + x[:, 1] ** (2 / e2)) ** (e2 / 2)
    return (ring ** (2 / e1) + x[:, 2] ** (2 / e1)) ** (e1 / 2)


def pieces(surface):
    """Vertices of every primitive's convex mesh, in the surface's frame."""
    out = []
    for p in surface.primitives[:surface.primitive_count]:
        if p.kind != 0:
            raise RuntimeError("a polyhedron among the primitives: fit without --polyhedra")
        rays = RAYS * p.size
        out.append((rays / gauge(p, rays)[:, None]) @ rotation(p.quaternion).T + p.position)
    return out


def mjcf(pieces):
    """Two free bodies, each with all pieces as mesh geoms."""
    meshes = "".join(f'<mesh name="m{i}" vertex="{" ".join(f"{x:.9g}" for x in points.ravel())}"/>'
                     for i, points in enumerate(pieces))
    geoms = "".join(f'<geom type="mesh" mesh="m{i}"/>' for i in range(len(pieces)))
    body = f"<body><freejoint/>{geoms}</body>"
    return f"<mujoco><asset>{meshes}</asset><worldbody>{body}{body}</worldbody></mujoco>"


def random_poses(rng, diagonal):
    """POSES x 2 x 7; random turns, origins no farther apart along each axis than 0.35 of the diagonal."""
    poses = np.zeros((POSES, 2, 7))
    poses[:, 0, 3] = 1
    poses[:, 1, :3] = rng.uniform(-0.35, 0.35, (POSES, 3)) * diagonal
    turn = rng.normal(size=(POSES, 4))
    poses[:, 1, 3:] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    return poses


class Pair:
    def __init__(self, library, path):
        rng = np.random.default_rng(7)
        bare = stand_in(rng)  # drawn even where it is not used: the poses are then the same
        self.surface = library.load_surface(path, VERTICES) if path else library.copy_surface(bare, VERTICES)
        s = self.surface.contents
        points = np.ctypeslib.as_array(s.vertices, (s.vertex_count, 3))
        self.vertices = s.vertex_count
        self.model = mujoco.MjModel.from_xml_string(mjcf(pieces(s)))
        self.poses = random_poses(rng, np.linalg.norm(np.ptp(points, axis=0)))
        # a batch of one is a typical pose: that with the median number of MuJoCo's contacts comes first
        order = np.argsort([self.collide(pose).ncon for pose in self.poses], kind="stable")
        self.poses[[0, order[POSES // 2]]] = self.poses[[order[POSES // 2], 0]]

    def collide(self, pose):
        """MuJoCo's state of a pose, kinematics and contacts."""
        data = mujoco.MjData(self.model)
        data.qpos[:] = pose.ravel()
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_collision(self.model, data)
        return data

    def batch(self, count):
        """The poses, repeated up to count."""
        return np.ascontiguousarray(np.resize(self.poses, (count, 2, 7)))
