/* write_contacts.c: the meshes of both surfaces, which one can look through, and a pin for every contact: a
 * ball at its point, and its normal, as long as the contact is active. */
#include "write_contacts.h"
#include "cli.h"
#include "glb.h"
#include <math.h>
#include <stdlib.h>

enum { VERTICES = 2, EDGES, PARTS }; /* after the two surfaces */
static const char *const names[PARTS] = {"surface_1", "surface_2", "vertex_contacts", "edge_contacts"};
static const double colors[PARTS][4] = {
    {0.12, 0.47, 0.71, 0.4}, {1.00, 0.50, 0.05, 0.4}, {0.84, 0.15, 0.16, 1}, {0.17, 0.63, 0.17, 1}};
static const double LONGEST = 0.15, RADIUS = 0.005; /* of the larger surface's diagonal */

typedef struct picture {
  glb file;
  const contacts_picture *in;
  double diagonal; /* m */
  glb_primitive primitives[PARTS];
  int drawn[PARTS]; /* what has nothing to draw has no mesh */
} picture;

static int append_mesh(picture *out, int part, int code, shape_mesh *mesh) {
  if (code == CLI_OK) {
    out->primitives[part] = glb_append_mesh(&out->file, mesh, part);
    out->drawn[part] = 1;
  }
  shape_mesh_destroy(mesh);
  return code;
}

static int append_surface(picture *out, int part) {
  const abut_surface *s = &out->in->surface[part];
  shape_mesh mesh;
  if (s->triangle_count == 0) return CLI_OK;
  return append_mesh(out, part, shape_mesh_triangles(s->vertices, s->triangles, s->triangle_count, &mesh),
                     &mesh);
}

static int append_pins(picture *out, int part, int64_t first, int64_t count) {
  const contacts_picture *in = out->in;
  shape_mesh mesh;
  if (count == 0) return CLI_OK;
  double *arrows = malloc(3 * (size_t)count * sizeof *arrows);
  if (!arrows) return cli_error("out of memory");
  for (int64_t i = 0; i < 3 * count; i++)
    arrows[i] =
        LONGEST * out->diagonal * in->contacts.activity[first + i / 3] * in->contacts.normal[3 * first + i];
  int code = shape_mesh_pins(in->contacts.point + 3 * first, arrows, count, RADIUS * out->diagonal, &mesh);
  free(arrows);
  return append_mesh(out, part, code, &mesh);
}

/* Surfaces are nodes with their poses; contacts stand in the world's frame. */
static void describe(json_writer *json, const void *user) {
  static const double still[7] = {0, 0, 0, 1, 0, 0, 0};
  const picture *from = user;
  int meshes = 0;
  emit_open(json, "nodes", '[');
  glb_emit_root(json, PARTS);
  for (int i = 0; i < PARTS; i++) {
    const double *pose = i < VERTICES ? from->in->poses + 7 * i : still;
    glb_emit_node(json, names[i], pose, pose + 3, from->drawn[i] ? meshes++ : -1);
  }
  emit_close(json, ']');
  if (meshes) emit_open(json, "meshes", '[');
  for (int i = 0; i < PARTS; i++) {
    if (!from->drawn[i]) continue;
    emit_open(json, NULL, '{');
    emit_open(json, "primitives", '[');
    glb_emit_primitive(json, &from->primitives[i]);
    emit_close(json, ']');
    emit_close(json, '}');
  }
  if (meshes) emit_close(json, ']');
  emit_open(json, "materials", '[');
  for (int i = 0; i < PARTS; i++) glb_emit_material(json, colors[i]);
  emit_close(json, ']');
}

int contacts_picture_write(const char *path, const char *shown, const contacts_picture *in) {
  picture out = {.in = in};
  out.diagonal = fmax(abut_surface_diagonal(&in->surface[0]), abut_surface_diagonal(&in->surface[1]));
  int code = glb_open(&out.file, 3 * PARTS);
  for (int i = 0; code == CLI_OK && i < VERTICES; i++) code = append_surface(&out, i);
  if (code == CLI_OK) code = append_pins(&out, VERTICES, 0, in->edges);
  if (code == CLI_OK) code = append_pins(&out, EDGES, in->edges, in->count - in->edges);
  if (code == CLI_OK) code = glb_write(&out.file, path, shown, describe, &out);
  glb_close(&out.file);
  return code;
}
