/* import.h: readers of MJCF and URDF, through MuJoCo's compiler. */
#ifndef ABUT_IMPORT_H
#define ABUT_IMPORT_H
#include "abut/abut.h"

struct mjModel_;
struct mjSpec_;
struct mjVFS_;

/* Builds a model from an MJCF or URDF file. Whatever abut cannot represent is refused in one message that
 * lists all of it, or under options->ignore_unsupported dropped and listed in the model's warnings. */
abut_status import_mujoco(const char *path, const abut_load_options *options, abut_model **model);

struct triangle_mesh;
/* import_geom.c: triangles of the mesh geom of this name, or of the first geom that shows the mesh of this
 * name, in the geom's body's frame (NULL: the file shows one mesh only). Nothing else in the file is looked
 * at, and the mesh need not be closed. Free with triangle_mesh_free. */
abut_status import_geom(const char *path, const char *name, struct triangle_mesh *mesh);

/* Whether an XML text is URDF: its root element is <robot>. */
int32_t import_is_urdf(const char *text);
/* A URDF text as MuJoCo should see it (import_urdf.c says what changes). Free with free(). */
abut_status import_prepare_urdf(const char *path, const char *text, char **prepared);

/* One thing in a file that abut cannot represent, or that it drops although the file works without it. */
typedef struct import_finding {
  char text[224]; /* kind, name and what is wrong: "tendon 'hip' (fixed)" */
  int32_t level;  /* ABUT_FINDING_* */
} import_finding;

enum {
  FINDING_NOTE = 0,      /* kept as a warning, never refused */
  FINDING_DROPPABLE = 1, /* refused unless ignore_unsupported */
  FINDING_FATAL = 2      /* refused always */
};

typedef struct finding_list {
  import_finding *list;
  int32_t count, capacity;
  int32_t out_of_memory;
} finding_list;

void findings_add(finding_list *findings, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void findings_free(finding_list *findings);
/* Fails with the list of what is refused, if anything is. */
abut_status findings_check(const finding_list *findings, const char *path, int32_t ignore_unsupported);
/* The remaining findings, one a line, free with free(); NULL if out of memory. */
char *findings_text(const finding_list *findings);

/* import_compile.c. Compiles a file with MuJoCo, read as import_mujoco reads it. findings receives MuJoCo's
 * own warnings and the open meshes whose volume is needed. Free the result with mj_deleteModel. */
abut_status import_compile(const char *path, finding_list *findings, struct mjModel_ **mj);

/* import_volume.c. Marks the geoms of a file that was read whose masses come from
 * the volume of a mesh; once it is compiled, lists those on moving bodies whose mesh is open. */
void import_mark_volumes(struct mjSpec_ *spec);
abut_status import_check_volumes(struct mjSpec_ *spec, const struct mjModel_ *mj, finding_list *findings);

/* import_hull.c. Fails where a mesh collides that has no hull, without a word on standard error. path: the
 * file, read as MuJoCo reads it. Without qhull it finds none, and MuJoCo writes about them. */
abut_status import_check_hulls(const char *path, const struct mjVFS_ *vfs);
/* Whether points span a hull, else the message says why not; fails for lack of memory only. */
abut_status import_has_hull(const double *points, int64_t count, int *has);

/* Name of an object as messages show it: 'hip', or its number. type: mjtObj. */
typedef struct object_label {
  char text[96];
} object_label;
object_label import_label(const struct mjModel_ *mj, int32_t type, int32_t id);

/* Lists everything in mj that abut cannot represent. */
void import_refuse(const struct mjModel_ *mj, finding_list *findings);
/* import_extras.c: lists what elements that abut has may say besides and abut cannot represent. */
void import_refuse_extras(const struct mjModel_ *mj, finding_list *findings);
/* An actuator that abut has: affine, with one control, without a muscle or a plugin. */
int32_t import_actuator_supported(const struct mjModel_ *mj, int32_t actuator);
/* How many actuators push on a joint. */
int32_t import_drives(const struct mjModel_ *mj, int32_t joint);
/* A geom that can touch anything: by its masks or by an explicit pair. */
int32_t import_geom_collides(const struct mjModel_ *mj, int32_t geom);
/* Signed distance fields have no counterpart. */
int32_t import_geom_supported(const struct mjModel_ *mj, int32_t geom);

#endif
