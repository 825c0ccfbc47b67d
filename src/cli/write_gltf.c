/* write_gltf.c: GLB: a header, a JSON chunk that describes, a binary chunk that holds meshes and frames.
 *
 * Bodies are children of one root that turns z-up into y-up; each moves by its own world pose, so that a
 * viewer needs to know nothing about joints. https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html */
#include "write_gltf.h"
#include "cli.h"
#include "json.h"
#include "shape_mesh.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = 5126, UINT32 = 5125 };

typedef struct accessor {
  size_t offset, bytes; /* in the binary chunk */
  int64_t count;
  int component, width; /* width: numbers per element */
  double min[3], max[3];
  int bounded;
} accessor;

typedef struct primitive {
  int32_t body, material;
  int positions, normals, indices; /* accessors */
} primitive;

typedef struct glb {
  FILE *stream; /* into bin */
  char *bin;
  size_t bin_size, written;
  accessor *accessors;
  primitive *primitives;
  int naccessor, nprimitive;
  int times, translations; /* accessors: frame times; body b's translation, rotation: translations + 2 (b -
                              1), + 1 */
} glb;

static const double palette[][3] = {
    {0.55, 0.57, 0.60}, {0.12, 0.47, 0.71}, {1.00, 0.50, 0.05}, {0.17, 0.63, 0.17}, {0.84, 0.15, 0.16},
    {0.58, 0.40, 0.74}, {0.55, 0.34, 0.29}, {0.89, 0.47, 0.76}, {0.74, 0.74, 0.13}, {0.09, 0.75, 0.81}};
enum { MATERIAL_COUNT = sizeof palette / sizeof *palette };

/* Bodies fixed to the world are grey, the others take turns. */
static int32_t material_of(int32_t body) { return body == 0 ? 0 : 1 + (body - 1) % (MATERIAL_COUNT - 1); }

static const char *type_name(int width) { return width == 1 ? "SCALAR" : width == 3 ? "VEC3" : "VEC4"; }

/* Appends elements of 4-byte numbers; bounded: with the smallest and largest of each component. */
static int append(glb *out, const void *data, int64_t count, int component, int width, int bounded) {
  accessor *added = &out->accessors[out->naccessor];
  *added = (accessor){.offset = out->written,
                      .bytes = 4 * (size_t)count * (size_t)width,
                      .count = count,
                      .component = component,
                      .width = width,
                      .bounded = bounded};
  fwrite(data, 1, added->bytes, out->stream);
  out->written += added->bytes;
  for (int k = 0; bounded && k < width; k++) {
    added->min[k] = INFINITY;
    added->max[k] = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
      double value = ((const float *)data)[i * width + k];
      added->min[k] = fmin(added->min[k], value);
      added->max[k] = fmax(added->max[k], value);
    }
  }
  return out->naccessor++;
}

static int append_meshes(glb *out, const abut_model *model, int contact) {
  int32_t ngeom = abut_model_get_sizes(model).ngeom;
  for (int32_t geom = 0; geom < ngeom; geom++) {
    shape_mesh mesh;
    abut_geom_def def;
    int code = shape_mesh_create(model, geom, contact, &mesh);
    if (code == CLI_OK && abut_model_geom(model, geom, &def) != ABUT_OK) code = cli_library_error();
    if (code == CLI_OK) {
      primitive *added = &out->primitives[out->nprimitive++];
      added->body = def.body;
      added->material = material_of(def.body);
      added->positions = append(out, mesh.positions, mesh.npoint, FLOAT, 3, 1);
      added->normals = append(out, mesh.normals, mesh.npoint, FLOAT, 3, 0);
      added->indices = append(out, mesh.indices, mesh.nindex, UINT32, 1, 0);
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

static int append_motion(glb *out, const gltf_motion *motion) {
  float *values = calloc((size_t)motion->nframe, 4 * sizeof *values);
  if (!values) return cli_error("out of memory");
  for (int64_t frame = 0; frame < motion->nframe; frame++)
    values[frame] = (float)((double)frame * motion->dt);
  out->times = append(out, values, motion->nframe, FLOAT, 1, 1);
  out->translations = out->naccessor;
  for (int32_t body = 1; body < motion->nbody; body++) {
    for (int64_t frame = 0; frame < motion->nframe; frame++)
      memcpy(values + 3 * frame, motion->xpos + 3 * (frame * motion->nbody + body), 3 * sizeof *values);
    append(out, values, motion->nframe, FLOAT, 3, 0);
    fill_rotations(motion, body, values);
    append(out, values, motion->nframe, FLOAT, 4, 0);
  }
  free(values);
  return CLI_OK;
}

/* --------------------------------------------------------------------------------------- JSON chunk */

static void write_accessors(json_writer *json, const glb *in) {
  emit_open(json, "bufferViews", '[');
  for (int i = 0; i < in->naccessor; i++) {
    emit_open(json, NULL, '{');
    emit_integer(json, "buffer", 0);
    emit_integer(json, "byteOffset", (int64_t)in->accessors[i].offset);
    emit_integer(json, "byteLength", (int64_t)in->accessors[i].bytes);
    emit_close(json, '}');
  }
  emit_close(json, ']');
  emit_open(json, "accessors", '[');
  for (int i = 0; i < in->naccessor; i++) {
    const accessor *at = &in->accessors[i];
    emit_open(json, NULL, '{');
    emit_integer(json, "bufferView", i);
    emit_integer(json, "componentType", at->component);
    emit_integer(json, "count", at->count);
    emit_text(json, "type", type_name(at->width));
    if (at->bounded) emit_numbers(json, "min", at->min, at->width);
    if (at->bounded) emit_numbers(json, "max", at->max, at->width);
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static int body_has_mesh(const glb *in, int32_t body) {
  for (int i = 0; i < in->nprimitive; i++)
    if (in->primitives[i].body == body) return 1;
  return 0;
}

/* One mesh per body that has geoms, in the order of bodies. */
static void write_meshes(json_writer *json, const glb *in, int32_t nbody) {
  if (in->nprimitive == 0) return;
  emit_open(json, "meshes", '[');
  for (int32_t body = 0; body < nbody; body++) {
    if (!body_has_mesh(in, body)) continue;
    emit_open(json, NULL, '{');
    emit_open(json, "primitives", '[');
    for (int i = 0; i < in->nprimitive; i++) {
      const primitive *at = &in->primitives[i];
      if (at->body != body) continue;
      emit_open(json, NULL, '{');
      emit_open(json, "attributes", '{');
      emit_integer(json, "POSITION", at->positions);
      emit_integer(json, "NORMAL", at->normals);
      emit_close(json, '}');
      emit_integer(json, "indices", at->indices);
      emit_integer(json, "material", at->material);
      emit_close(json, '}');
    }
    emit_close(json, ']');
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static void write_materials(json_writer *json) {
  emit_open(json, "materials", '[');
  for (int i = 0; i < MATERIAL_COUNT; i++) {
    double color[4] = {palette[i][0], palette[i][1], palette[i][2], 1};
    emit_open(json, NULL, '{');
    emit_open(json, "pbrMetallicRoughness", '{');
    emit_numbers(json, "baseColorFactor", color, 4);
    emit_number(json, "metallicFactor", 0);
    emit_number(json, "roughnessFactor", 0.7);
    emit_close(json, '}');
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

/* Node 0 is the root, node b + 1 body b. */
static void write_nodes(json_writer *json, const glb *in, const abut_model *model,
                        const gltf_motion *motion) {
  const double half = 0.70710678118654752;
  int mesh = 0;
  emit_open(json, "nodes", '[');
  emit_open(json, NULL, '{');
  emit_text(json, "name", "z_up");
  emit_numbers(json, "rotation", (double[]){-half, 0, 0, half}, 4);
  emit_open(json, "children", '[');
  for (int32_t body = 0; body < motion->nbody; body++) emit_integer(json, NULL, body + 1);
  emit_close(json, ']');
  emit_close(json, '}');
  for (int32_t body = 0; body < motion->nbody; body++) {
    const float *x = motion->xpos + 3 * body, *q = motion->xquat + 4 * body;
    const char *name = abut_model_name(model, 'b', body);
    char numbered[32];
    snprintf(numbered, sizeof numbered, "body_%d", body);
    emit_open(json, NULL, '{');
    emit_text(json, "name", name && *name ? name : numbered);
    emit_numbers(json, "translation", (double[]){x[0], x[1], x[2]}, 3);
    emit_numbers(json, "rotation", (double[]){q[1], q[2], q[3], q[0]}, 4);
    if (body_has_mesh(in, body)) emit_integer(json, "mesh", mesh++);
    emit_close(json, '}');
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

static void write_animation(json_writer *json, const glb *in, int32_t nbody) {
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

static void write_description(FILE *stream, const glb *in, const abut_model *model,
                              const gltf_motion *motion) {
  json_writer json = {.stream = stream};
  emit_open(&json, NULL, '{');
  emit_open(&json, "asset", '{');
  emit_text(&json, "version", "2.0");
  emit_text(&json, "generator", "abut " ABUT_VERSION);
  emit_close(&json, '}');
  emit_integer(&json, "scene", 0);
  emit_open(&json, "scenes", '[');
  emit_open(&json, NULL, '{');
  emit_open(&json, "nodes", '[');
  emit_integer(&json, NULL, 0);
  emit_close(&json, ']');
  emit_close(&json, '}');
  emit_close(&json, ']');
  write_nodes(&json, in, model, motion);
  write_meshes(&json, in, motion->nbody);
  write_materials(&json);
  write_animation(&json, in, motion->nbody);
  emit_open(&json, "buffers", '[');
  emit_open(&json, NULL, '{');
  emit_integer(&json, "byteLength", (int64_t)in->written);
  emit_close(&json, '}');
  emit_close(&json, ']');
  write_accessors(&json, in);
  emit_close(&json, '}');
}

/* ---------------------------------------------------------------------------------------- container */

static void write_word(FILE *file, size_t value) {
  const unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                                  (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
  fwrite(bytes, 1, sizeof bytes, file);
}

static int write_container(const char *path, const char *shown, const char *text, size_t text_size,
                           const glb *in) {
  size_t padding = (4 - text_size % 4) % 4, total = 12 + 8 + text_size + padding + 8 + in->written;
  if (total > UINT32_MAX)
    return cli_error("%s: %.1f GiB, a GLB file holds at most 4 GiB", shown, (double)total / 0x1p30);
  FILE *file = fopen(path, "wb");
  if (!file) return cli_error("%s: %s", shown, strerror(errno));
  fwrite("glTF", 1, 4, file);
  write_word(file, 2);
  write_word(file, total);
  write_word(file, text_size + padding);
  fwrite("JSON", 1, 4, file);
  fwrite(text, 1, text_size, file);
  fwrite("   ", 1, padding, file);
  write_word(file, in->written);
  fwrite("BIN\0", 1, 4, file);
  fwrite(in->bin, 1, in->written, file);
  int failed = ferror(file);
  failed |= fclose(file);
  return failed ? cli_error("%s: %s", shown, strerror(errno)) : CLI_OK;
}

static int begin(glb *out, const abut_model *model, int32_t nbody) {
  size_t ngeom = (size_t)abut_model_get_sizes(model).ngeom;
  memset(out, 0, sizeof *out);
  out->accessors = calloc(3 * ngeom + 2 * (size_t)nbody + 1, sizeof *out->accessors);
  out->primitives = calloc(ngeom + 1, sizeof *out->primitives);
  out->stream = open_memstream(&out->bin, &out->bin_size);
  return out->accessors && out->primitives && out->stream ? CLI_OK : cli_error("out of memory");
}

int gltf_write(const char *path, const char *shown, const abut_model *model, int contact,
               const gltf_motion *motion) {
  glb out;
  char *text = NULL;
  size_t text_size = 0;
  int code = begin(&out, model, motion->nbody);
  if (code == CLI_OK) code = append_meshes(&out, model, contact);
  if (code == CLI_OK) code = append_motion(&out, motion);
  if (out.stream && fclose(out.stream) && code == CLI_OK) code = cli_error("out of memory");
  FILE *stream = code == CLI_OK ? open_memstream(&text, &text_size) : NULL;
  if (stream) {
    write_description(stream, &out, model, motion);
    code = fclose(stream) ? cli_error("out of memory") : write_container(path, shown, text, text_size, &out);
  }
  free(text);
  free(out.bin);
  free(out.accessors);
  free(out.primitives);
  return code;
}
