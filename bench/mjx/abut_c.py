"""What compare.py calls of libabut, by ctypes; the structs are those of include/abut/surface.h and manifold.h."""
import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p

import numpy as np

F32 = 1


class Primitive(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("first_plane", c_int32), ("plane_count", c_int32), ("subtracted", c_int32),
                ("position", c_double * 3), ("quaternion", c_double * 4), ("size", c_double * 3),
                ("exponents", c_double * 2)]


class Surface(ctypes.Structure):
    _fields_ = [("primitives", POINTER(Primitive)), ("primitive_count", c_int32),
                ("planes", c_void_p), ("plane_count", c_int32), ("points", c_void_p), ("point_count", c_int32),
                ("tau", c_double), ("vertices", POINTER(c_double)), ("vertex_count", c_int32),
                ("edges", c_void_p), ("edge_count", c_int32), ("triangles", c_void_p), ("triangle_count", c_int32)]


class Options(ctypes.Structure):
    _fields_ = [("form", c_int32), ("selection", c_int32), ("vertices", c_int32 * 2), ("edges", c_int32 * 2),
                ("relative", c_int32), ("projections", c_int32)] + [
                    (name, c_double) for name in ("w_reg", "tau_clip", "tau_min", "tau_comp", "tau_union", "eps_normal",
                                                  "tau_sign", "tau_clash", "tau_pen", "tau_near", "tau_select",
                                                  "cutoff")] + [("dtype", c_int32), ("threads", c_int32), ("device", c_int32),
                                                                    ("device_id", c_int32)]


class Contacts(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("point", "distance", "normal", "activity")]


class Bars(ctypes.Structure):
    _fields_ = [("poses", c_void_p)] + [(name, c_void_p * 2) for name in ("vertices", "primitives", "planes", "points")]


class Counts(ctypes.Structure):
    _fields_ = [("vertices", c_int32 * 2), ("edges", c_int32 * 2), ("contacts", c_int64)]


# a query of two edges, and of a point and a triangle
SOFTNESS = [(name, "f8") for name in ("w_reg", "tau_clip", "tau_min", "tau_comp")]
EDGES_QUERY = np.dtype([("edge1", "f8", (2, 3)), ("edge2", "f8", (2, 3)), ("relative", "i4")] + SOFTNESS, align=True)
EDGES_RESULT = np.dtype([("alpha1", "f8"), ("alpha2", "f8"), ("colliding", "f8")])
FACE_QUERY = np.dtype([("point", "f8", 3), ("face", "f8", (3, 3)), ("relative", "i4")] + SOFTNESS, align=True)
FACE_RESULT = np.dtype([("beta1", "f8"), ("beta2", "f8"), ("colliding", "f8")])


def address(array):
    return array.ctypes.data_as(c_void_p)


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.abut_error_message.restype = ctypes.c_char_p
        self.c.abut_default_manifold_options.restype = Options
        self.c.abut_surface_destroy.argtypes = self.c.abut_model_destroy.argtypes = [c_void_p]

    def call(self, name, *arguments):
        if getattr(self.c, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.c.abut_error_message().decode()}")

    def has(self, name):
        return hasattr(self.c, name)

    def query(self, name, queries, results):
        self.call(name, c_int64(len(queries)), address(queries), address(results), c_int32(F32))

    def copy_surface(self, view, vertices):
        """A copy of a surface, of which a contact mesh of that many vertices has been made."""
        surface = POINTER(Surface)()
        self.call("abut_surface_copy", byref(view), byref(surface))
        if surface.contents.vertex_count != vertices:
            self.call("abut_surface_make_mesh", surface, c_int32(vertices))
        return surface

    def load_surface(self, path, vertices):
        """The surface of the first geom of a scene that `abut fit` wrote."""
        model, view = c_void_p(), Surface()
        self.call("abut_model_load", path.encode(), None, byref(model))
        self.call("abut_model_surface", model, c_int32(0), byref(view))
        if view.primitive_count == 0:
            raise RuntimeError(f"{path}: its first geom has no surface")
        surface = self.copy_surface(view, vertices)
        self.c.abut_model_destroy(model)
        return surface


class Manifold:
    """Contacts of a surface with itself: vertices and edges of either side, single precision, one thread."""

    def __init__(self, library, surface, vertices, edges, most_poses):
        options = library.c.abut_default_manifold_options()
        options.vertices[:] = vertices, vertices
        options.edges[:] = edges, edges
        options.dtype, options.threads = F32, 1
        self.library, self.handle, counts = library, c_void_p(), Counts()
        library.call("abut_manifold_create", surface, surface, byref(options), byref(self.handle))
        library.call("abut_manifold_size", self.handle, byref(counts))
        self.contacts = counts.contacts
        shapes = (3,), (), (3,), ()
        self.arrays = [np.zeros((most_poses, self.contacts) + shape) for shape in shapes]
        self.cotangents = [np.ones_like(array) for array in self.arrays]
        self.gradient = np.zeros((most_poses, 2, 6))

    def run_contacts(self, poses):
        out = Contacts(*map(address, self.arrays))
        self.library.call("abut_manifold_contacts", self.handle, c_int64(len(poses)), address(poses), byref(out))

    def run_gradient(self, poses):
        """Contacts too, as a simulator wants both."""
        out, bar = Contacts(*map(address, self.arrays)), Contacts(*map(address, self.cotangents))
        bars = Bars(poses=address(self.gradient))
        self.library.call("abut_manifold_gradient", self.handle, c_int64(len(poses)), address(poses), byref(bar),
                          byref(bars), byref(out))
