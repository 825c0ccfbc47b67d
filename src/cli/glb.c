/* glb.c: GLB: a header, a JSON chunk that describes, a binary chunk that holds numbers.
 * https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html */
#include "glb.h"
#include "cli.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int glb_open(glb *out, size_t accessors) {
  *out = (glb){.accessors = calloc(accessors, sizeof *out->accessors)};
  out->stream = open_memstream(&out->bin, &out->bin_size);
  return out->accessors && out->stream ? CLI_OK : cli_error("out of memory");
}

void glb_close(glb *in) {
  if (in->stream) fclose(in->stream);
  free(in->bin);
  free(in->accessors);
  *in = (glb){0};
}

int glb_append(glb *out, const void *data, int64_t count, int component, int width, int bounded) {
  glb_accessor *added = &out->accessors[out->naccessor];
  *added = (glb_accessor){.offset = out->written,
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

glb_primitive glb_append_mesh(glb *out, const shape_mesh *mesh, int material) {
  glb_primitive added = {.material = material};
  added.positions = glb_append(out, mesh->positions, mesh->npoint, GLB_FLOAT, 3, 1);
  added.normals = glb_append(out, mesh->normals, mesh->npoint, GLB_FLOAT, 3, 0);
  added.indices = glb_append(out, mesh->indices, mesh->nindex, GLB_UINT32, 1, 0);
  return added;
}

/* --------------------------------------------------------------------------------------- JSON chunk */

void glb_emit_root(json_writer *json, int children) {
  const double half = 0.70710678118654752;
  emit_open(json, NULL, '{');
  emit_text(json, "name", "z_up");
  emit_numbers(json, "rotation", (double[]){-half, 0, 0, half}, 4);
  emit_open(json, "children", '[');
  for (int i = 0; i < children; i++) emit_integer(json, NULL, i + 1);
  emit_close(json, ']');
  emit_close(json, '}');
}

void glb_emit_node(json_writer *json, const char *name, const double place[3], const double quaternion[4],
                   int mesh) {
  const double *q = quaternion;
  emit_open(json, NULL, '{');
  emit_text(json, "name", name);
  emit_numbers(json, "translation", place, 3);
  emit_numbers(json, "rotation", (double[]){q[1], q[2], q[3], q[0]}, 4);
  if (mesh >= 0) emit_integer(json, "mesh", mesh);
  emit_close(json, '}');
}

void glb_emit_primitive(json_writer *json, const glb_primitive *at) {
  emit_open(json, NULL, '{');
  emit_open(json, "attributes", '{');
  emit_integer(json, "POSITION", at->positions);
  emit_integer(json, "NORMAL", at->normals);
  emit_close(json, '}');
  emit_integer(json, "indices", at->indices);
  emit_integer(json, "material", at->material);
  emit_close(json, '}');
}

void glb_emit_material(json_writer *json, const double color[4]) {
  emit_open(json, NULL, '{');
  emit_open(json, "pbrMetallicRoughness", '{');
  emit_numbers(json, "baseColorFactor", color, 4);
  emit_number(json, "metallicFactor", 0);
  emit_number(json, "roughnessFactor", 0.7);
  emit_close(json, '}');
  if (color[3] < 1) emit_text(json, "alphaMode", "BLEND");
  emit_close(json, '}');
}

static const char *type_name(int width) { return width == 1 ? "SCALAR" : width == 3 ? "VEC3" : "VEC4"; }

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
    const glb_accessor *at = &in->accessors[i];
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

static void emit_start(json_writer *json) {
  emit_open(json, "asset", '{');
  emit_text(json, "version", "2.0");
  emit_text(json, "generator", "abut " ABUT_VERSION);
  emit_close(json, '}');
  emit_integer(json, "scene", 0);
  emit_open(json, "scenes", '[');
  emit_open(json, NULL, '{');
  emit_open(json, "nodes", '[');
  emit_integer(json, NULL, 0);
  emit_close(json, ']');
  emit_close(json, '}');
  emit_close(json, ']');
}

static void emit_buffer(json_writer *json, const glb *in) {
  emit_open(json, "buffers", '[');
  emit_open(json, NULL, '{');
  emit_integer(json, "byteLength", (int64_t)in->written);
  emit_close(json, '}');
  emit_close(json, ']');
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

int glb_write(glb *in, const char *path, const char *shown, glb_describe describe, const void *user) {
  char *text = NULL;
  size_t text_size = 0;
  int failed = fclose(in->stream);
  in->stream = NULL;
  FILE *stream = failed ? NULL : open_memstream(&text, &text_size);
  if (!stream) return cli_error("out of memory");
  json_writer json = {.stream = stream};
  emit_open(&json, NULL, '{');
  emit_start(&json);
  describe(&json, user);
  emit_buffer(&json, in);
  write_accessors(&json, in);
  emit_close(&json, '}');
  int code = fclose(stream) ? cli_error("out of memory") : write_container(path, shown, text, text_size, in);
  free(text);
  return code;
}
