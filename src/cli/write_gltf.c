/* write_gltf.c: one environment's motion as a GLB file.
 *
 * Bodies are children of one root that turns z-up into y-up; each moves by its own world pose, so that a
 * viewer needs to know nothing about joints. */
#include "write_gltf.h"
#include "cli.h"
#include "glb.h"
#include <stdlib.h>
#include <string.h>

typedef struct animation {
  glb file;
  const abut_model *model;
  const gltf_motion *motion;
  glb_primitive *primitives;
  int32_t *bodies; /* of the primitives */
  int nprimitive;
  int times, translations; /* accessors: frame times; body b's translation, rotation: translations + 2 (b -
                              1), + 1 */
} animation;

static const double palette[][3] = {
    {0.55, 0.57, 0.60}, {0.12, 0.47, 0.71}, {1.00, 0.50, 0.05}, {0.17, 0.63, 0.17}, {0.84, 0.15, 0.16},
    {0.58, 0.40, 0.74}, {0.55, 0.34, 0.29}, {0.89, 0.47, 0.76}, {0.74, 0.74, 0.13}, {0.09, 0.75, 0.81}};
enum { MATERIAL_COUNT = sizeof palette / sizeof *palette };

/* Bodies fixed to the world are grey, the others take turns. */
static int32_t material_of(int32_t body) { return body == 0 ? 0 : 1 + (body - 1) % (MATERIAL_COUNT - 1); }

static int append_meshes(animation *out, int contact) {
  int32_t ngeom = abut_model_get_sizes(out->model).ngeom;
  for (int32_t geom = 0; geom < ngeom; geom++) {
    shape_mesh mesh;
    abut_geom_def def;
    int code = shape_mesh_create(out->model, geom, contact, &mesh);
    if (code == CLI_OK && abut_model_geom(out->model, geom, &def) != ABUT_OK) code = cli_library_error();
    if (code == CLI_OK) {
      out->bodies[out->nprimitive] = def.body;
      out->primitives[out->nprimitive++] = glb_append_mesh(&out->file, &mesh, material_of(def.body));
    }
    shape_mesh_destroy(&mesh);
    if (code != CLI_OK) return code;
  }
  return CLI_OK;
}

/* One body's rotations as glTF has them: w last, each on the same side of the sphere as the one before. */
static void fill_rotations(const gltf_motion *motion, int32_t body, float *out) {
  for (int64_t frame = 0; frame < motion->nframe; frame++) {
    const float *from = motion->xquat + 4 * (frame * motion->nbody + body);
    float *to = out + 4 * frame, turned = 0;
    for (int k = 0; k < 4; k++) to[k] = from[(k + 1) % 4];
    for (int k = 0; frame && k < 4; k++) turned += to[k] * to[k - 4];
    for (int k = 0; turned < 0 && k < 4; k++) to[k] = -to[k];
  }
}

static int append_motion(animation *out) {
  const gltf_motion *motion = out->motion;
  float *values = calloc((size_t)motion->nframe, 4 * sizeof *values);
  if (!values) return cli_error("out of memory");
  for (int64_t frame = 0; frame < motion->nframe; frame++)
    values[frame] = (float)((double)frame * motion->dt);
  out->times = glb_append(&out->file, values, motion->nframe, GLB_FLOAT, 1, 1);
  out->translations = out->file.naccessor;
  for (int32_t body = 1; body < motion->nbody; body++) {
    for (int64_t frame = 0; frame < motion->nframe; frame++)
      memcpy(values + 3 * frame, motion->xpos + 3 * (frame * motion->nbody + body), 3 * sizeof *values);
    glb_append(&out->file, values, motion->nframe, GLB_FLOAT, 3, 0);
    fill_rotations(motion, body, values);
    glb_append(&out->file, values, motion->nframe, GLB_FLOAT, 4, 0);
  }
  free(values);
  return CLI_OK;
}

/* --------------------------------------------------------------------------------------- JSON chunk */

static int body_has_mesh(const animation *in, int32_t body) {
  for (int i = 0; i < in->nprimitive; i++)
    if (in->bodies[i] == body) return 1;
  return 0;
}

/* One mesh per body that has geoms, in the order of bodies. */
static void write_meshes(json_writer *json, const animation *in) {
  if (in->nprimitive == 0) return;
  emit_open(json, "meshes", '[');
  for (int32_t body = 0; body < in->motion->nbody; body++) {
    if (!body_has_mesh(in, body)) continue;
    emit_open(json, NULL, '{');
    emit_open(json, "primitives", '[');
    for (int i = 0; i < in->nprimitive; i++)
      if (in->bodies[i] == body) glb_emit_primitive(json, &in->primitives[i]);
    emit_close(json, ']');
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static void write_materials(json_writer *json) {
  emit_open(json, "materials", '[');
  for (int i = 0; i < MATERIAL_COUNT; i++)
    glb_emit_material(json, (double[]){palette[i][0], palette[i][1], palette[i][2], 1});
  emit_close(json, ']');
}

/* Node b + 1 is body b. */
static void write_nodes(json_writer *json, const animation *in) {
  int mesh = 0;
  emit_open(json, "nodes", '[');
  glb_emit_root(json, in->motion->nbody);
  for (int32_t body = 0; body < in->motion->nbody; body++) {
    const float *x = in->motion->xpos + 3 * body, *q = in->motion->xquat + 4 * body;
    const char *name = abut_model_name(in->model, 'b', body);
    char numbered[32];
    snprintf(numbered, sizeof numbered, "body_%d", body);
    glb_emit_node(json, name && *name ? name : numbered, (double[]){x[0], x[1], x[2]},
                  (double[]){q[0], q[1], q[2], q[3]}, body_has_mesh(in, body) ? mesh++ : -1);
  }
  emit_close(json, ']');
}

static void write_channel(json_writer *json, int sampler, int node, const char *path) {
  emit_open(json, NULL, '{');
  emit_integer(json, "sampler", sampler);
  emit_open(json, "target", '{');
  emit_integer(json, "node", node);
  emit_text(json, "path", path);
  emit_close(json, '}');
  emit_close(json, '}');
}

static void write_animation(json_writer *json, const animation *in, int32_t nbody) {
  if (nbody < 2) return;
  emit_open(json, "animations", '[');
  emit_open(json, NULL, '{');
  emit_open(json, "samplers", '[');
  for (int i = 0; i < 2 * (nbody - 1); i++) {
    emit_open(json, NULL, '{');
    emit_integer(json, "input", in->times);
    emit_integer(json, "output", in->translations + i);
    emit_text(json, "interpolation", "LINEAR");
    emit_close(json, '}');
  }
  emit_close(json, ']');
  emit_open(json, "channels", '[');
  for (int32_t body = 1; body < nbody; body++) {
    write_channel(json, 2 * (body - 1), body + 1, "translation");
    write_channel(json, 2 * (body - 1) + 1, body + 1, "rotation");
  }
  emit_close(json, ']');
  emit_close(json, '}');
  emit_close(json, ']');
}

static void describe(json_writer *json, const void *user) {
  const animation *in = user;
  write_nodes(json, in);
  write_meshes(json, in);
  write_materials(json);
  write_animation(json, in, in->motion->nbody);
}

static int open_animation(animation *out, const abut_model *model, const gltf_motion *motion) {
  size_t ngeom = (size_t)abut_model_get_sizes(model).ngeom;
  *out = (animation){.model = model, .motion = motion};
  out->primitives = calloc(ngeom + 1, sizeof *out->primitives);
  out->bodies = calloc(ngeom + 1, sizeof *out->bodies);
  int code = glb_open(&out->file, 3 * ngeom + 2 * (size_t)motion->nbody + 1);
  return out->primitives && out->bodies ? code : cli_error("out of memory");
}

int gltf_write(const char *path, const char *shown, const abut_model *model, int contact,
               const gltf_motion *motion) {
  animation out;
  int code = open_animation(&out, model, motion);
  if (code == CLI_OK) code = append_meshes(&out, contact);
  if (code == CLI_OK) code = append_motion(&out);
  if (code == CLI_OK) code = glb_write(&out.file, path, shown, describe, &out);
  glb_close(&out.file);
  free(out.primitives);
  free(out.bodies);
  return code;
}
