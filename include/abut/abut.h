/* abut.h: batched, differentiable simulation of articulated rigid bodies in contact.
 *
 * Three objects: a model (the compiled scene, immutable), a batch (N environments of one model on one
 * device), and the record that a rollout leaves in its batch for the reverse pass.
 *
 *   abut_model *model = NULL;   abut_model_load("robot.xml", NULL, &model);
 *   abut_options options = abut_default_options();   options.nenv = 1024;
 *   abut_batch *batch = NULL;   abut_batch_create(model, &options, &batch);
 *   abut_rollout_args args = abut_default_rollout_args();   args.nstep = 100;
 *   abut_rollout(batch, &args, NULL, NULL, NULL);
 *
 * Units are SI; angles in radians. Quaternions are (w, x, y, z). qpos and qvel follow MuJoCo: a free joint is
 * position then quaternion, its velocity is linear (world axes) then angular (body axes).
 * Arrays cross the API row-major, environment first, as abut_tensor (layout of DLPack's DLTensor); the caller
 * owns what it passes in and reads it only after the call returns. Memory that the batch computes in is used
 * where it is: the host's on the CPU, the device's on a GPU, where the host's is copied on the way.
 * Every function that can fail returns an abut_status; abut_error_message() then says what, where and with
 * which value. The library never prints and never exits. */
#ifndef ABUT_H
#define ABUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(ABUT_STATIC)
#define ABUT_API __attribute__((visibility("default")))
#else
#define ABUT_API
#endif

#define ABUT_VERSION_MAJOR 0
#define ABUT_VERSION_MINOR 1
#define ABUT_VERSION_PATCH 0
#define ABUT_VERSION "0.1.0"

/* ---------------------------------------------------------------------------------------- errors */

typedef enum abut_status {
  ABUT_OK = 0,
  ABUT_ERROR_ARGUMENT = 1,    /* a null pointer, a wrong size, an option out of range */
  ABUT_ERROR_MODEL = 2,       /* the scene is not simulable: negative mass, flat hull, ... */
  ABUT_ERROR_FILE = 3,        /* cannot read or write, truncated, checksum, malformed */
  ABUT_ERROR_UNSUPPORTED = 4, /* the file asks for something abut cannot represent */
  ABUT_ERROR_MEMORY = 5,      /* more bytes than there are */
  ABUT_ERROR_DEVICE = 6,      /* no such device, or it failed */
  ABUT_ERROR_CAPACITY = 7,    /* a list was too short for enqueued calls: it has grown, call them again */
} abut_status;

/* Message of this thread's last failure; "" if none. Valid until the thread's next failing call. */
ABUT_API const char *abut_error_message(void);
/* "0.1.0". */
ABUT_API const char *abut_version(void);

/* ---------------------------------------------------------------------------------------- arrays */

/* Same layout as DLPack's DLTensor (ABI version 1). */
typedef struct abut_tensor {
  void *data;
  struct {
    int32_t device_type; /* 1: CPU, 3: pinned host memory; 2: CUDA, for batches on device_id */
    int32_t device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code; /* 0 int, 1 unsigned, 2 float */
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;     /* elements; NULL: compact row-major (the only form accepted in this version) */
  uint64_t byte_offset; /* of the first element, which must be aligned to its type */
} abut_tensor;

/* ---------------------------------------------------------------------------------------- model */

typedef struct abut_model abut_model;
typedef struct abut_builder abut_builder;

enum { ABUT_JOINT_FREE = 0, ABUT_JOINT_BALL = 1, ABUT_JOINT_SLIDE = 2, ABUT_JOINT_HINGE = 3 };

enum {
  ABUT_GEOM_PLANE = 0, /* half-space below the geom's local z = 0 */
  ABUT_GEOM_SPHERE = 2,
  ABUT_GEOM_CAPSULE = 3,
  ABUT_GEOM_ELLIPSOID = 4,
  ABUT_GEOM_CYLINDER = 5,
  ABUT_GEOM_BOX = 6,
  ABUT_GEOM_MESH = 7,
  ABUT_GEOM_HFIELD = 8, /* height field: a terrain, solid down to its depth */
};

/* Constraints of equality, MuJoCo's: connect keeps a point of two bodies together, weld their frames; joint
 * and tendon keep first - first0 = polycoef(second - second0), 0 the reference configuration. */
enum { ABUT_EQUALITY_CONNECT = 0, ABUT_EQUALITY_WELD = 1, ABUT_EQUALITY_JOINT = 2, ABUT_EQUALITY_TENDON = 3 };

/* Parts of a tendon. A fixed tendon has joints only; a spatial one runs from site to site, around spheres and
 * cylinders between them; a pulley divides the length of what follows. */
enum {
  ABUT_WRAP_JOINT = 1,
  ABUT_WRAP_PULLEY = 2,
  ABUT_WRAP_SITE = 3,
  ABUT_WRAP_SPHERE = 4,
  ABUT_WRAP_CYLINDER = 5,
};

/* What an actuator pulls at. */
enum {
  ABUT_TRANSMISSION_JOINT = 0,
  ABUT_TRANSMISSION_JOINTINPARENT = 1, /* of a ball or free joint: axes of the parent's frame */
  ABUT_TRANSMISSION_SLIDERCRANK = 2,
  ABUT_TRANSMISSION_TENDON = 3,
  ABUT_TRANSMISSION_SITE = 4, /* a wrench, gear, in the site's frame */
};

/* How an activation follows from the control u: act' = u; act' = (u - act)/tau, by Euler or exactly. */
enum {
  ABUT_DYNAMICS_NONE = 0,
  ABUT_DYNAMICS_INTEGRATOR = 1,
  ABUT_DYNAMICS_FILTER = 2,
  ABUT_DYNAMICS_FILTEREXACT = 3,
};

/* MuJoCo's sensors of the same names. */
enum {
  ABUT_SENSOR_TOUCH,
  ABUT_SENSOR_ACCELEROMETER,
  ABUT_SENSOR_VELOCIMETER,
  ABUT_SENSOR_GYRO,
  ABUT_SENSOR_FORCE,
  ABUT_SENSOR_TORQUE,
  ABUT_SENSOR_MAGNETOMETER,
  ABUT_SENSOR_RANGEFINDER,
  ABUT_SENSOR_JOINTPOS,
  ABUT_SENSOR_JOINTVEL,
  ABUT_SENSOR_TENDONPOS,
  ABUT_SENSOR_TENDONVEL,
  ABUT_SENSOR_ACTUATORPOS,
  ABUT_SENSOR_ACTUATORVEL,
  ABUT_SENSOR_ACTUATORFRC,
  ABUT_SENSOR_JOINTACTFRC,
  ABUT_SENSOR_TENDONACTFRC,
  ABUT_SENSOR_BALLQUAT,
  ABUT_SENSOR_BALLANGVEL,
  ABUT_SENSOR_JOINTLIMITPOS,
  ABUT_SENSOR_JOINTLIMITVEL,
  ABUT_SENSOR_JOINTLIMITFRC,
  ABUT_SENSOR_TENDONLIMITPOS,
  ABUT_SENSOR_TENDONLIMITVEL,
  ABUT_SENSOR_TENDONLIMITFRC,
  ABUT_SENSOR_FRAMEPOS,
  ABUT_SENSOR_FRAMEQUAT,
  ABUT_SENSOR_FRAMEXAXIS,
  ABUT_SENSOR_FRAMEYAXIS,
  ABUT_SENSOR_FRAMEZAXIS,
  ABUT_SENSOR_FRAMELINVEL,
  ABUT_SENSOR_FRAMEANGVEL,
  ABUT_SENSOR_FRAMELINACC,
  ABUT_SENSOR_FRAMEANGACC,
  ABUT_SENSOR_SUBTREECOM,
  ABUT_SENSOR_SUBTREELINVEL,
  ABUT_SENSOR_SUBTREEANGMOM,
  ABUT_SENSOR_CLOCK,
  ABUT_SENSOR_NUM
};

enum {
  ABUT_INTEGRATOR_EULER = 0,
  ABUT_INTEGRATOR_RK4 = 1,
  ABUT_INTEGRATOR_IMPLICIT = 2,
  ABUT_INTEGRATOR_IMPLICITFAST = 3
};
enum { ABUT_CONE_PYRAMIDAL = 0, ABUT_CONE_ELLIPTIC = 1 };
/* filterparent: bodies touch the ones that carry them too. */
enum {
  ABUT_DISABLE_EULERDAMP = 1,
  ABUT_DISABLE_REFSAFE = 2,
  ABUT_DISABLE_WARMSTART = 4,
  ABUT_DISABLE_FILTERPARENT = 8,
};

/* What holds for a whole scene. integrator, cone, impratio, tolerance, iterations and all but the
 * last of disable are the velocity step's only. */
typedef struct abut_scene_options {
  double gravity[3];  /* m/s^2 */
  double wind[3];     /* velocity of the fluid (m/s) */
  double timestep;    /* s */
  double density;     /* of the fluid (kg/m^3) */
  double viscosity;   /* of the fluid (Pa s) */
  double magnetic[3]; /* flux that magnetometers see */
  double impratio;
  double tolerance;
  int32_t integrator, cone; /* ABUT_INTEGRATOR_*, ABUT_CONE_* */
  int32_t iterations;
  int32_t disable; /* ABUT_DISABLE_* */
} abut_scene_options;

typedef struct abut_body_def {
  const char *name; /* may be NULL */
  int32_t parent;   /* body id; 0 is the world */
  double pos[3];    /* frame in the parent's frame (m) */
  double quat[4];
  double mass;       /* kg; with inertia 0 and mass 0 both come from the geoms' volume and density */
  double ipos[3];    /* centre of mass in the body frame (m) */
  double iquat[4];   /* principal axes in the body frame */
  double inertia[3]; /* principal moments (kg m^2) */
  double gravcomp;   /* share of its weight that is held up: 1 floats */
  int32_t mocap;     /* others place it (abut_parameters.mocap_pos): a child of the world without joints */
} abut_body_def;

typedef struct abut_joint_def {
  const char *name;
  int32_t body;
  int32_t type;   /* ABUT_JOINT_* */
  double pos[3];  /* anchor in the body frame (m) */
  double axis[3]; /* slide, hinge: in the body frame, need not be unit */
  double ref;     /* qpos at the reference pose (m or rad) */
  int32_t limited;
  double range[2];     /* m or rad; ball: range[1] is the largest angle */
  double solref[2];    /* limit: time constant (s), damping ratio, as MuJoCo's solreflimit */
  double solimp[5];    /* limit: impedances, width, midpoint, power, as MuJoCo's solimplimit */
  double margin;       /* a limit acts from so far inside (m or rad) */
  double stiffness;    /* N/m or N m/rad */
  double springref;    /* m or rad */
  double damping;      /* N s/m or N m s/rad */
  double armature;     /* kg or kg m^2 */
  double frictionloss; /* N or N m */
  double solreffriction[2], solimpfriction[5];
  int32_t actfrclimited;
  double actfrcrange[2]; /* of the sum of the actuators' forces on it (N or N m) */
  int32_t actgravcomp;   /* gravity compensation counts as an actuator's force */
} abut_joint_def;

typedef struct abut_geom_def {
  const char *name;
  int32_t body;
  int32_t type;   /* ABUT_GEOM_* */
  double size[3]; /* as MuJoCo: radius; half sizes; capsule, cylinder: radius, half length (m) */
  double pos[3];  /* in the body frame (m) */
  double quat[4];
  double density;                      /* kg/m^3, used only where the body's mass is 0 */
  double friction;                     /* sliding coefficient; a pair takes the larger */
  double turning[2];                   /* torsional and rolling friction (m) */
  int32_t condim;                      /* 1, 3, 4 or 6: normal, sliding, torsional, rolling */
  int32_t priority;                    /* the higher one's parameters are the pair's */
  double solmix, solref[2], solimp[5]; /* as MuJoCo's; a pair mixes them */
  double margin, gap;                  /* contact acts from margin - gap on (m) */
  double fluid[12]; /* MuJoCo's ellipsoid model: first 1 and five coefficients, six of virtual mass; first 0:
                       none */
  double rounding;  /* box, mesh: radius added around the hull's points (m) */
  int32_t contype, conaffinity;
  const double *points; /* mesh: npoint x 3, in the geom frame (m); their convex hull is the shape */
  int64_t npoint;
  int32_t hull_points; /* cylinder, ellipsoid: points of the hull that replaces them; 0: default */
  /* surface in long-range contact: mesh: vertices (nvertex x 3, geom frame, m) and triangles (ntriangle x 3),
   * convex or not, NULL: its hull; other types: an octahedron's edges, or a box's, are cut into
   * `tessellation` parts, 0: default */
  const double *vertices;
  int64_t nvertex;
  const int32_t *triangles;
  int64_t ntriangle;
  int32_t tessellation;
  /* height field: nrow x ncol heights from 0 to 1, rows along y; half extents in x and y, height of 1, depth
   * below 0 (m) */
  const double *heights;
  int32_t nrow, ncol;
  double hfield_size[4];
  const struct abut_surface *surface; /* smooth surface (surface.h), in the geom frame; may be NULL */
} abut_geom_def;

/* A place in a body's frame, and the volume of a touch sensor. */
typedef struct abut_site_def {
  const char *name;
  int32_t body;
  int32_t type; /* ABUT_GEOM_* from a sphere to a box */
  double size[3];
  double pos[3]; /* in the body frame (m) */
  double quat[4];
} abut_site_def;

typedef struct abut_wrap {
  int32_t type; /* ABUT_WRAP_* */
  int32_t obj;  /* joint, site or geom */
  double prm;   /* joint: coefficient; pulley: divisor; sphere, cylinder: the site on whose side the tendon
                   runs, -1 */
} abut_wrap;

typedef struct abut_tendon_def {
  const char *name;
  const abut_wrap *wraps;
  int32_t nwrap;
  int32_t limited;
  double range[2], margin; /* m; fixed: in the unit of coefficient times joint */
  double solref[2], solimp[5];
  double stiffness, damping, armature, frictionloss;
  double solreffriction[2], solimpfriction[5];
  double lengthspring[2]; /* the spring rests between these; (-1, -1): the length at the reference */
  int32_t actfrclimited;
  double actfrcrange[2]; /* of the sum of the actuators' forces on it (N) */
} abut_tendon_def;

typedef struct abut_equality_def {
  const char *name;
  int32_t type;       /* ABUT_EQUALITY_* */
  int32_t obj1, obj2; /* bodies, joints or tendons; the second may be -1: the world, a constant */
  int32_t inactive;   /* kept, not enforced */
  double anchor1[3];  /* connect, weld: the point in the first body's frame (m) */
  double anchor2[3];  /* and in the second's; NaN: where it is at the reference configuration */
  double relquat[4];  /* weld: the second body's orientation in the first's; 0: as at the reference */
  double torquescale; /* weld: length by which a rotation counts (m) */
  double polycoef[5];
  double solref[2], solimp[5];
} abut_equality_def;

typedef struct abut_actuator_def {
  const char *name;
  int32_t transmission; /* ABUT_TRANSMISSION_* */
  int32_t joint;        /* or tendon; site; slider-crank: crank site */
  int32_t reference;    /* site: reference site or -1; slider-crank: slider site */
  double gear;          /* length = gear * coordinate, its force = gear * force */
  double wrench[5];     /* gear of the further axes of a ball, a free joint, a site */
  double cranklength;   /* slider-crank (m) */
  double gain;          /* force = (gain + gains[0] length + gains[1] velocity) * (ctrl or activation) */
  double gains[2];
  double bias[3];   /*         + bias[0] + bias[1] * length + bias[2] * velocity */
  int32_t dynamics; /* ABUT_DYNAMICS_* */
  double tau;       /* filters: time constant (s) */
  int32_t actearly; /* the activation at the step's end makes the force */
  int32_t ctrllimited, forcelimited, actlimited;
  double ctrlrange[2];
  double forcerange[2];
  double actrange[2];
} abut_actuator_def;

/* Objects are named by kind and id, kinds as abut_model_name's; frames of a body: 'b' its own, 'i' its
 * centre of mass. */
typedef struct abut_sensor_def {
  const char *name;
  int32_t type;              /* ABUT_SENSOR_* */
  char kind, reference_kind; /* 0: none */
  int32_t id, reference;
  double cutoff; /* 0: none */
} abut_sensor_def;

/* A state with a name; NULL: default. In the compiled order. */
typedef struct abut_key_def {
  const char *name;
  const double *qpos, *qvel, *act, *ctrl;
  const double *mpos, *mquat; /* of mocap bodies: nmocap x 3, x 4 */
} abut_key_def;

/* Contact parameters of one pair of geoms. */
typedef struct abut_pair_def {
  int32_t geom1, geom2;
  double friction, friction2; /* along the two tangents; < 0: by the maximum rule */
  double turning[3];          /* torsional, rolling (m) */
  int32_t condim;
  double solref[2], solreffriction[2], solimp[5];
  double margin, gap;
} abut_pair_def;

ABUT_API abut_body_def abut_default_body_def(void);
ABUT_API abut_joint_def abut_default_joint_def(void);
ABUT_API abut_geom_def abut_default_geom_def(void);
ABUT_API abut_site_def abut_default_site_def(void);
ABUT_API abut_tendon_def abut_default_tendon_def(void);
ABUT_API abut_equality_def abut_default_equality_def(void);
ABUT_API abut_actuator_def abut_default_actuator_def(void);
ABUT_API abut_sensor_def abut_default_sensor_def(void);
ABUT_API abut_pair_def abut_default_pair_def(void);
ABUT_API abut_scene_options abut_default_scene_options(void);

/* A builder holds a scene while it is described; ids count up from 0 per kind (body 0 is the world, it
 * exists). Bodies must be added parents first; joints and geoms in any order. The compiled scene has joints
 * and geoms in the order of their bodies, each body's as they were added; bodies, actuators and keys keep
 * their ids. */
ABUT_API abut_status abut_builder_create(abut_builder **builder);
ABUT_API void abut_builder_destroy(abut_builder *builder);
ABUT_API abut_status abut_builder_add_body(abut_builder *builder, const abut_body_def *def, int32_t *id);
ABUT_API abut_status abut_builder_add_joint(abut_builder *builder, const abut_joint_def *def, int32_t *id);
ABUT_API abut_status abut_builder_add_geom(abut_builder *builder, const abut_geom_def *def, int32_t *id);
ABUT_API abut_status abut_builder_add_actuator(abut_builder *builder, const abut_actuator_def *def,
                                               int32_t *id);
ABUT_API abut_status abut_builder_add_site(abut_builder *builder, const abut_site_def *def, int32_t *id);
ABUT_API abut_status abut_builder_add_tendon(abut_builder *builder, const abut_tendon_def *def, int32_t *id);
ABUT_API abut_status abut_builder_add_equality(abut_builder *builder, const abut_equality_def *def,
                                               int32_t *id);
ABUT_API abut_status abut_builder_add_sensor(abut_builder *builder, const abut_sensor_def *def, int32_t *id);
/* No contact between any geoms of these two bodies. */
ABUT_API abut_status abut_builder_exclude(abut_builder *builder, int32_t body1, int32_t body2);
/* Contact between two geoms whatever the filters say, with parameters of its own. */
ABUT_API abut_status abut_builder_add_pair(abut_builder *builder, const abut_pair_def *def);
/* After all else: arrays are as long as the scene is then. */
ABUT_API abut_status abut_builder_add_key(abut_builder *builder, const abut_key_def *def);
ABUT_API abut_status abut_builder_set_scene(abut_builder *builder, const abut_scene_options *options);
/* Validates, derives and freezes. The builder may be destroyed afterwards. */
ABUT_API abut_status abut_builder_finish(abut_builder *builder, abut_model **model);

typedef struct abut_load_options {
  int32_t ignore_unsupported; /* drop what can be dropped (docs/import.md) instead of refusing */
  int32_t hull_points;        /* cylinder, ellipsoid: points of their hulls; 0: default */
  int32_t tessellation;       /* of primitives in long-range contact (abut_geom_def); 0: default */
} abut_load_options;

/* Reads .xml (MJCF), .urdf (both through MuJoCo, if built with it) or .abut. options may be NULL.
 * What was ignored under ignore_unsupported is kept as text: abut_model_warnings. */
ABUT_API abut_status abut_model_load(const char *path, const abut_load_options *options, abut_model **model);
/* Writes a .abut file: versioned, checksummed; appears at path only when complete. */
ABUT_API abut_status abut_model_save(const abut_model *model, const char *path);
ABUT_API void abut_model_destroy(abut_model *model);
/* One line per element that loading ignored; "" if none. */
ABUT_API const char *abut_model_warnings(const abut_model *model);

typedef struct abut_model_sizes {
  int32_t nbody, njnt, nq, nv, nu, na, nmocap, ngeom, npair, nsite, nhfield, ntendon, neq, nsensor,
      nsensordata, nkey;
} abut_model_sizes;
ABUT_API abut_model_sizes abut_model_get_sizes(const abut_model *model);

/* Name of an object, "" if it has none; NULL if id is out of range. kind: 'b'ody, 'j'oint, 'g'eom,
 * 's'ite, 't'endon, 'e'quality, 'a'ctuator, se'n'sor, 'k'ey. */
ABUT_API const char *abut_model_name(const abut_model *model, char kind, int32_t id);
/* Geoms of contact pair id. Pairs are sorted; contact_force and min_pair count in this order. */
ABUT_API abut_status abut_model_pair(const abut_model *model, int32_t pair, int32_t geoms[2]);

/* The compiled objects as their definitions, every default resolved: names live as long as the model; a
 * mesh's points are NULL here (abut_model_hull has them), densities are spent (0). */
ABUT_API abut_status abut_model_body(const abut_model *model, int32_t body, abut_body_def *def);
ABUT_API abut_status abut_model_joint(const abut_model *model, int32_t joint, abut_joint_def *def);
ABUT_API abut_status abut_model_geom(const abut_model *model, int32_t geom, abut_geom_def *def);
ABUT_API abut_status abut_model_actuator(const abut_model *model, int32_t actuator, abut_actuator_def *def);
/* Bounds of an actuator's control; [-1, 1] where it is unlimited. */
ABUT_API abut_status abut_model_ctrlrange(const abut_model *model, int32_t actuator, double range[2]);
ABUT_API abut_status abut_model_scene(const abut_model *model, abut_scene_options *options);
ABUT_API abut_status abut_model_site(const abut_model *model, int32_t site, abut_site_def *def);
/* wraps is NULL here: abut_model_wrap has them. */
ABUT_API abut_status abut_model_tendon(const abut_model *model, int32_t tendon, abut_tendon_def *def);
ABUT_API abut_status abut_model_wrap(const abut_model *model, int32_t tendon, int32_t part, abut_wrap *wrap);
ABUT_API abut_status abut_model_equality(const abut_model *model, int32_t equality, abut_equality_def *def);
ABUT_API abut_status abut_model_sensor(const abut_model *model, int32_t sensor, abut_sensor_def *def);
/* The key's name and its numbers, all there; views into the model. */
ABUT_API abut_status abut_model_key(const abut_model *model, int32_t key, abut_key_def *def);
/* The timestep that the scene asks for (s); a batch steps by abut_options.timestep. */
ABUT_API double abut_model_timestep(const abut_model *model);

/* A geom's shape in contact: the convex hull of its points, grown by radius. Views into the model. */
typedef struct abut_hull {
  const double *points; /* npoint x 3, in the body frame (m); none: a half-space */
  int32_t npoint;
  const int32_t *faces; /* nface x 3, indices of points, outward; none: round or a half-space */
  int32_t nface;
  double radius; /* m */
  double error;  /* largest distance from the true surface to the hull (m); 0: exact */
} abut_hull;
ABUT_API abut_status abut_model_hull(const abut_model *model, int32_t geom, abut_hull *hull);
/* A geom's surface in long-range contact: corners of its triangles, *count x 3 x 3, in the body frame (m),
 * outward. A view into the model; *count is 0 for a half-space. */
ABUT_API abut_status abut_model_triangles(const abut_model *model, int32_t geom, const double **corners,
                                          int64_t *count);

/* ---------------------------------------------------------------------------------------- batch */

enum { ABUT_F64 = 0, ABUT_F32 = 1 };
enum { ABUT_DEVICE_AUTO = 0, ABUT_DEVICE_CPU = 1, ABUT_DEVICE_CUDA = 2 };
/* How a step is made. implicit: the configuration at its end minimises inertia, actuation and contact
 * energies there (docs/step.md). */
enum { ABUT_METHOD_IMPLICIT = 0 };

enum { ABUT_CONTACT_LOCAL = 0, ABUT_CONTACT_INVERSE = 1, ABUT_CONTACT_LONGRANGE = 2 };
enum { ABUT_FORM_WEIGHTED = 0, ABUT_FORM_PAPER = 1 }; /* long-range (docs/longrange.md) */
enum { ABUT_WEIGHTS_UNIT = 0, ABUT_WEIGHTS_NORMALISED = 1 };
enum { ABUT_FRICTION_PLANE = 0, ABUT_FRICTION_VERTEX = 1 }; /* where lagged friction forces act */
enum { ABUT_SOLVER_JOINT = 0, ABUT_SOLVER_NESTED = 1 };

/* What becomes of shapes that overlap at the reference configuration or a key. exclude: those of one
 * kinematic tree, its fixed base included, do not collide, and trees that float are lifted out of what is
 * fixed; separate: nothing is decided beforehand, shapes are moved apart by max_separation at most. */
enum { ABUT_OVERLAP_EXCLUDE = 0, ABUT_OVERLAP_REFUSE = 1, ABUT_OVERLAP_SEPARATE = 2 };

/* Options of ABUT_METHOD_IMPLICIT. */
typedef struct abut_implicit_options {
  int32_t contact;       /* ABUT_CONTACT_* */
  int32_t overlap;       /* ABUT_OVERLAP_* */
  int32_t form;          /* long-range: ABUT_FORM_* */
  int32_t weights;       /* of a shape's points: ABUT_WEIGHTS_* */
  int32_t friction_form; /* ABUT_FRICTION_* */
  int32_t solver;        /* joint; nested is the reference that solves every plane to the end */
  int32_t pair_capacity; /* contacts with a plane per environment; 0: start small, grow as needed */
  double reach;          /* of the local barrier, in units of length */
  double stiffness;      /* J per L0-scaled barrier; 0: 1e-7 local, else 1e-8 */
  double length;         /* L0 (m) */
  double gap0; /* gap given to shapes that touch at the start (m); 0: half the reach local, else 1e-4 */
  double max_separation; /* how far a body may be moved for a contact at the start (m) */
  double slip_velocity;  /* below it contact creeps (m/s) */
  double epsilon;        /* long-range: width of the blend between points and triangles */
} abut_implicit_options;

/* What every method needs, then what one of them does: only the chosen method's are looked at. */
typedef struct abut_options {
  int64_t nenv;
  int32_t method;         /* ABUT_METHOD_* */
  int32_t device;         /* ABUT_DEVICE_*; auto: the CPU */
  int32_t device_id;      /* which of several GPUs, from 0 */
  int32_t team;           /* GPU: threads per environment, 1 or 32; 0: by nenv and contact. Changes no bit */
  void *stream;           /* GPU: a cudaStream_t that outlives the batch; NULL: one of its own (gpu.md) */
  int32_t threads;        /* CPU; 0: all cores. No more are used than have environments to work on */
  int32_t dtype;          /* of state and arithmetic: ABUT_F64 or ABUT_F32 */
  int32_t max_iterations; /* Newton iterations per step; a lane that needs many holds up no other */
  double timestep;        /* s; 0: the default, 0.01 */
  double tolerance;       /* gradient tolerance of a step (N, N m / L0) */
  double friction;        /* overrides every coefficient if >= 0 */
  abut_implicit_options implicit;
} abut_options;
ABUT_API abut_options abut_default_options(void);
/* The word for a value of an option that is a choice: "local" for ("contact", ABUT_CONTACT_LOCAL); options
 * have the names of their members. NULL: there is no such value; values count up from 0. */
ABUT_API const char *abut_option_word(const char *option, int32_t value);

typedef struct abut_batch abut_batch;

/* Bytes that abut_batch_create would allocate per environment, with the record of one step, and in all for
 * nstep recorded steps. */
ABUT_API abut_status abut_batch_memory(const abut_model *model, const abut_options *options, int64_t nstep,
                                       int64_t *bytes_per_env, int64_t *bytes_total);
/* Bytes of host memory that can be had without swapping; infinity where the system does not say. */
ABUT_API double abut_memory_available(void);
/* All environments start at qpos0 with zero velocity, lifted where abut_batch_warnings says so. The model
 * must outlive the batch. */
ABUT_API abut_status abut_batch_create(const abut_model *model, const abut_options *options,
                                       abut_batch **batch);
ABUT_API void abut_batch_destroy(abut_batch *batch);
/* One line for each thing that the method does differently from what the scene says, or that it changed so
 * that the scene can start; "" if none. Valid as long as the batch. */
ABUT_API const char *abut_batch_warnings(const abut_batch *batch);
/* Options in force: every default resolved. */
ABUT_API abut_options abut_batch_get_options(const abut_batch *batch);

/* Per-environment parameters, [N|1, n] each; NULL leaves as is. Sizes: gravity 3 (m/s^2), friction ngeom,
 * mass nbody (kg; inertia scales with it), stiffness 1 (J), gain nu, bias 3 nu, held_ctrl nu (the control
 * where a rollout gives none), mocap_pos 3 nmocap (m), mocap_quat 4 nmocap (need not be unit). dtype as the
 * batch. Bodies that others place (mocap) stand still within a step and jump between rollouts: where their
 * shapes, or those that hang on them, may touch others, setting their pose is as setting a state: warm starts
 * are cleared, shapes that touch are moved apart. */
typedef struct abut_parameters {
  const abut_tensor *gravity, *friction, *mass, *stiffness, *gain, *bias, *held_ctrl, *mocap_pos, *mocap_quat;
} abut_parameters;
ABUT_API abut_status abut_batch_set_parameters(abut_batch *batch, const abut_parameters *parameters);

/* mask: N bytes, non-zero selects; NULL selects all. Reset goes to key (-1: qpos0, zero velocity and
 * activations), holds the key's ctrl (-1: zero), puts mocap bodies where the key (the scene) has them, clears
 * warm starts and status: a reset environment behaves as a fresh one. */
ABUT_API abut_status abut_batch_reset(abut_batch *batch, const uint8_t *mask, int32_t key);
/* qpos [N|1,nq], qvel [N|1,nv]; NULL leaves as is. Quaternions need not be unit, but must have a length. Warm
 * starts of the selected environments are cleared. */
ABUT_API abut_status abut_batch_set_state(abut_batch *batch, const uint8_t *mask, const abut_tensor *qpos,
                                          const abut_tensor *qvel);
ABUT_API abut_status abut_batch_get_state(const abut_batch *batch, const uint8_t *mask, abut_tensor *qpos,
                                          abut_tensor *qvel);
/* act [N|1, na]: activations of the actuators that have dynamics, in their order. Shapes stay where they are,
 * and so do warm starts. */
ABUT_API abut_status abut_batch_set_act(abut_batch *batch, const uint8_t *mask, const abut_tensor *act);
ABUT_API abut_status abut_batch_get_act(const abut_batch *batch, const uint8_t *mask, abut_tensor *act);
/* Adds noise to the selected environments' qvel and, in tangent space, to qpos: normal with deviation sigma,
 * a function of (seed, environment, step, entry) only. Clears their warm starts. */
ABUT_API abut_status abut_batch_perturb(abut_batch *batch, const uint8_t *mask, uint64_t seed, uint64_t step,
                                        double sigma_qpos, double sigma_qvel);

/* Exact state, warm starts included; restores batches of the same model, nenv, dtype and contact.
 * Destroy with abut_snapshot_destroy. */
typedef struct abut_snapshot abut_snapshot;
ABUT_API abut_status abut_batch_snapshot(const abut_batch *batch, abut_snapshot **snapshot);
ABUT_API abut_status abut_batch_restore(abut_batch *batch, const abut_snapshot *snapshot);
ABUT_API void abut_snapshot_destroy(abut_snapshot *snapshot);

/* Status bits of one environment (array `status`, uint32). */
enum {
  ABUT_ENV_UNCONVERGED = 1, /* a step hit max_iterations above tolerance; its result was kept */
  ABUT_ENV_NONFINITE = 4,   /* non-finite state, control or energy; frozen */
  ABUT_ENV_OVERLAP = 8,     /* shapes overlap at the start by more than max_separation parts; frozen */
  ABUT_ENV_NOT_MINIMUM = 16 /* reverse: H is not positive definite at a step; its gradient is not defined */
};
#define ABUT_ENV_FROZEN (ABUT_ENV_NONFINITE | ABUT_ENV_OVERLAP)

/* ---------------------------------------------------------------------------------------- rollout */

/* A rollout advances every environment by nstep steps. All tensors have the batch's dtype unless said;
 * outputs that are NULL are not written. Index 0 of a T+1 axis is the start (after separation). */
typedef struct abut_rollout_args {
  int64_t nstep;
  int32_t record;  /* keep what abut_rollout_vjp needs; does not change any forward bit */
  int32_t enqueue; /* GPU: return before the work is done, see abut_batch_sync */
  /* inputs */
  const abut_tensor *qpos0; /* [N|1, nq]; NULL: the batch's state */
  const abut_tensor *qvel0; /* [N|1, nv] */
  const abut_tensor *act0;  /* [N|1, na] */
  const abut_tensor *ctrl;  /* [N|1, T|1, nu]; NULL: held_ctrl of abut_parameters */
  double kick; /* each step starts by adding uniform noise in [-kick, kick] to qvel (m/s, rad/s) */
  uint64_t kick_seed;
  /* outputs */
  abut_tensor *qpos;          /* [N, T+1, nq] */
  abut_tensor *qvel;          /* [N, T+1, nv] */
  abut_tensor *act;           /* [N, T+1, na] */
  abut_tensor *xpos;          /* [N, T+1, nbody, 3] body frame origins (m, world) */
  abut_tensor *xquat;         /* [N, T+1, nbody, 4] */
  abut_tensor *contact_force; /* [N, T, npair, 3] force on the body of the pair's first geom (N, world) */
  abut_tensor *min_gap;      /* [N, T] smallest distance between shapes that have a plane (m); +inf if none */
  abut_tensor *min_pair;     /* [N, T] int32, its pair, -1 if none */
  abut_tensor *energy;       /* [N, T, 4] kinetic, gravity, contact, springs (J) at the step's end */
  abut_tensor *status;       /* [N] uint32 */
  abut_tensor *iterations;   /* [N, T] int32 Newton iterations */
  abut_tensor *moved;        /* [N] largest distance a body was moved to separate shapes at the start (m) */
  abut_tensor *overlap_pair; /* [N] int32, the pair that overlaps: that could not be separated at the start,
                                or with which a step began; -1 if none */
} abut_rollout_args;
ABUT_API abut_rollout_args abut_default_rollout_args(void);

typedef struct abut_rollout_result {
  int64_t newton_iterations; /* over all environments and steps */
  int64_t newton_iterations_max;
  int64_t unconverged_steps;
  int64_t failed_envs; /* frozen or unconverged */
  int64_t reruns;      /* times the rollout was run again because a list had to grow */
  int64_t done;        /* abut_batch_sync: enqueued calls that took effect */
  double seconds;      /* abut_batch_sync: 0 */
} abut_rollout_result;

/* Called from the calling thread at the beginning and about ten times a second; return non-zero to stop after
 * the steps in flight. */
typedef int (*abut_progress)(void *user, double fraction);

/* result and progress may be NULL. Bad input fails before anything is written. */
ABUT_API abut_status abut_rollout(abut_batch *batch, const abut_rollout_args *args,
                                  abut_rollout_result *result, abut_progress progress, void *user);

/* Cotangents of the recorded rollout. Inputs (NULL: zero) have the shapes of the rollout's outputs; outputs
 * (NULL: not wanted) have the full shapes [N, ...] below and are assigned. Quaternion cotangents are the
 * components tangent to the unit sphere. */
typedef struct abut_vjp_args {
  const abut_tensor *qpos, *qvel, *act, *xpos, *xquat, *contact_force;
  abut_tensor *qpos0;     /* [N, nq] */
  abut_tensor *qvel0;     /* [N, nv] */
  abut_tensor *act0;      /* [N, na] */
  abut_tensor *ctrl;      /* [N, T, nu] */
  abut_tensor *gravity;   /* [N, 3] */
  abut_tensor *friction;  /* [N, ngeom] */
  abut_tensor *mass;      /* [N, nbody] */
  abut_tensor *stiffness; /* [N, 1] */
  abut_tensor *min_pivot; /* [N] smallest pivot of H over the steps */
  abut_tensor *status;    /* [N] uint32 */
  int32_t enqueue;        /* as in abut_rollout_args */
} abut_vjp_args;
ABUT_API abut_vjp_args abut_default_vjp_args(void);
ABUT_API abut_status abut_rollout_vjp(abut_batch *batch, const abut_vjp_args *args, abut_progress progress,
                                      void *user);

/* Calls with args.enqueue put their work on the batch's stream, behind what is there, and return; every
 * tensor lies on the batch's GPU, result and progress are NULL. They may be made while the stream is being
 * captured: the graph may then be replayed, each time from the state that there is. They take effect in
 * order. One that meets a list that is too short takes none, nor does any that follows (their outputs are not
 * to be used), so that no step is lost: abut_batch_sync, or the next call that is not enqueued, fails with
 * ABUT_ERROR_CAPACITY and has made room; call again from number result.done on, from 0. (A recorded rollout
 * whose reverse pass is called again is still there.)
 * abut_batch_sync waits for the stream and reports on everything enqueued since it was last called; result
 * may be NULL, and is filled in on ABUT_ERROR_CAPACITY too. On the CPU there is never anything to wait for.
 * During a capture calls that are not enqueued fail and leave it valid, as does an enqueued one that records
 * more steps than any before. The batch's memory moves where a list or the record grows, or where a
 * parameter gets another number of rows: graphs captured before do nothing from then on, which
 * abut_batch_sync reports as ABUT_ERROR_ARGUMENT; capture them again. No graph may be replayed once its batch
 * is destroyed. A reverse pass is of the rollout called last: where a replay has overwritten its record, or
 * is yet to write it, the pass does nothing and that is ABUT_ERROR_ARGUMENT. (docs/gpu.md has an example.) */
ABUT_API abut_status abut_batch_sync(abut_batch *batch, abut_rollout_result *result);

/* ---------------------------------------------------------------------------------------- queries */

/* Separating-plane potential of two convex point sets (docs/contact.md), npair of them: the kernel that a
 * step calls. Points are in one common frame, at most 1e75 (f32: 1e9) apart along each axis. */
typedef struct abut_plane_query {
  int32_t contact; /* ABUT_CONTACT_* */
  double reach;
  double length;
  int32_t na, nb;
  const double *a;         /* na x 3 (m) */
  const double *b;         /* nb x 3 */
  const double *radii_a;   /* na, or NULL: 0 */
  const double *radii_b;   /* nb */
  const double *weights_a; /* na, or NULL: 1 */
  const double *weights_b;
  const double *plane; /* start (nx, ny, nz, o), or NULL: from the closest points */
} abut_plane_query;

enum { ABUT_QUERY_OK = 0, ABUT_QUERY_TOUCHING = 1, ABUT_QUERY_NOT_CONVERGED = 2 };

typedef struct abut_plane_result {
  int32_t status;       /* ABUT_QUERY_* */
  int32_t out_of_reach; /* value and gradients are zero, there is no plane */
  int32_t iterations;
  double value;    /* U*, dimensionless; +inf when touching */
  double plane[4]; /* n, o: n.x + o > 0 on the side of a */
  double *grad_a;  /* na x 3, owned by the caller, may be NULL */
  double *grad_b;  /* nb x 3 */
} abut_plane_result;

ABUT_API abut_status abut_query_plane(int64_t count, const abut_plane_query *queries,
                                      abut_plane_result *results, int32_t dtype);

/* Long-range potential of two triangle meshes (docs/longrange.md; 000, eqs. 3 to 8): the kernel that a step
 * calls. */

/* Triangles in one common frame. tree: a binary tree over them, pair k joins two subtrees: c >= 0 is triangle
 * c, c < 0 is pair ~c, pair 0 is the root; NULL: one is built. */
typedef struct abut_triangles {
  const double *vertices; /* nvertex x 3 (m) */
  int64_t nvertex;
  const int32_t *triangles; /* ntriangle x 3 */
  int64_t ntriangle;
  const int32_t (*tree)[2];
  int32_t ntree;
} abut_triangles;

typedef struct abut_longrange_query {
  double epsilon;      /* (0, 100]: width of the blend */
  double length;       /* L0 (m), 1e-30 to 1e30, f32: 1e-6 to 1e6 */
  int32_t form;        /* ABUT_FORM_* */
  abut_triangles a, b; /* coordinates up to 1e60, f32: 1e9 */
} abut_longrange_query;

typedef struct abut_longrange_result {
  int32_t status;           /* ABUT_QUERY_OK or _TOUCHING */
  double value;             /* dimensionless; +inf when touching */
  double twist_gradient[6]; /* of a twist of a about the origin: rotation, translation; zero when touching */
  double twist_hessian[36]; /* the same, symmetric: exponential coordinates */
  double gap; /* smallest distance between triangles along their planes; of spheres where none is near (m) */
  int64_t exact_pairs, centred_pairs, visits; /* of triangles, of points, of nodes in all */
} abut_longrange_result;

ABUT_API abut_status abut_query_longrange(int64_t count, const abut_longrange_query *queries,
                                          abut_longrange_result *results, int32_t dtype);

#ifdef __cplusplus
}
#endif
#endif
