/* fit.c: abut fit: a triangle mesh into a smooth surface of few primitives. */
#include "abut/file.h"
#include "abut/surface.h"
#include "cli.h"
#include "json.h"
#include "output_file.h"
#include "progress.h"
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------- results */

static void print_assumptions(const abut_fit_report *r) {
  if (r->dropped_triangles)
    printf("  %lld triangles without area were left out\n", (long long)r->dropped_triangles);
  if (r->duplicate_triangles)
    printf("  %lld repeated triangles were left out\n", (long long)r->duplicate_triangles);
  if (r->open_edges || r->nonmanifold_edges)
    printf("  %lld open and %lld non-manifold edges: inside is where the winding number is above 1/2\n",
           (long long)r->open_edges, (long long)r->nonmanifold_edges);
  if (r->flipped) printf("  the triangles face inwards and were taken as outward\n");
}

static void print_table(const cli_options *options, const abut_surface *s, const abut_fit_report *r,
                        double seconds) {
  double percent = 100 / r->diagonal;
  printf("%s\n", options->arguments[0]);
  print_assumptions(r);
  printf("  %d superquadrics, %d polyhedra, tau %.4g; %.1f s\n", r->superquadrics, r->polyhedra, s->tau,
         seconds);
  printf("  contact mesh: %d vertices, %d edges, %d triangles\n", s->vertex_count, s->edge_count,
         s->triangle_count);
  printf("                                     length    of the diagonal, %.4g\n", r->diagonal);
  const struct {
    const char *name;
    double value;
  } lines[] = {{"mean distance, mesh and surface", r->mean_distance},
               {"  mesh to surface", r->mesh_to_surface},
               {"  surface to mesh", r->surface_to_mesh},
               {"Hausdorff distance", r->hausdorff},
               {"contact mesh: largest gap", r->largest_gap},
               {"  vertices off the surface", r->vertex_gap},
               {"  edges stick out by", r->edge_out}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    printf("  %-32s %10.4g    %.4f %%\n", lines[i].name, lines[i].value, lines[i].value * percent);
  printf("  volume                           %10.4g    mesh %.4g, %+.2f %%\n", r->surface_volume,
         r->mesh_volume, 100 * (r->surface_volume / r->mesh_volume - 1));
}

static void print_json(const cli_options *options, const abut_surface *s, const abut_fit_report *r,
                       double seconds) {
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '{');
  emit_text(&json, "mesh", options->arguments[0]);
  if (options->out) emit_text(&json, "out", options->out);
  emit_integer(&json, "primitives", s->primitive_count);
  emit_integer(&json, "superquadrics", r->superquadrics);
  emit_integer(&json, "polyhedra", r->polyhedra);
  emit_number(&json, "tau", s->tau);
  emit_integer(&json, "vertices", s->vertex_count);
  emit_integer(&json, "edges", s->edge_count);
  emit_integer(&json, "triangles", s->triangle_count);
  emit_number(&json, "diagonal", r->diagonal);
  emit_number(&json, "mean_distance", r->mean_distance);
  emit_number(&json, "mean_distance_relative", r->mean_distance / r->diagonal);
  emit_number(&json, "mesh_to_surface", r->mesh_to_surface);
  emit_number(&json, "surface_to_mesh", r->surface_to_mesh);
  emit_number(&json, "hausdorff", r->hausdorff);
  emit_number(&json, "largest_gap", r->largest_gap);
  emit_number(&json, "vertex_gap", r->vertex_gap);
  emit_number(&json, "edge_out", r->edge_out);
  emit_number(&json, "mesh_volume", r->mesh_volume);
  emit_number(&json, "surface_volume", r->surface_volume);
  emit_number(&json, "volume_error", r->surface_volume / r->mesh_volume - 1);
  emit_open(&json, "assumed", '{');
  emit_integer(&json, "open_edges", r->open_edges);
  emit_integer(&json, "nonmanifold_edges", r->nonmanifold_edges);
  emit_integer(&json, "dropped_triangles", r->dropped_triangles);
  emit_integer(&json, "duplicate_triangles", r->duplicate_triangles);
  emit_bool(&json, "flipped", r->flipped);
  emit_close(&json, '}');
  emit_number(&json, "seconds", seconds);
  emit_close(&json, '}');
  printf("\n");
}

/* ------------------------------------------------------------------------------------------- command */

/* The file's name without folder and extension, for the body. */
static void body_name(const char *path, char name[64]) {
  const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path, *dot = strrchr(start, '.');
  size_t length = dot && dot > start ? (size_t)(dot - start) : strlen(start);
  if (length > 63) length = 63;
  memcpy(name, start, length);
  name[length] = 0;
}

/* Whether the name and its folder take a file, before minutes are spent. */
static int check_out(const char *out) {
  output_file file = {0};
  if (!abut_file_has_extension(out, ".abut")) return cli_error("%s: the name must end in .abut", out);
  int code = output_file_open(&file, out);
  return code == CLI_OK ? output_file_close(&file, 0) : code;
}

static int save(const cli_options *options, const abut_surface *surface) {
  abut_model *model = NULL;
  char name[64];
  body_name(options->geom ? options->geom : options->arguments[0], name);
  int good = abut_surface_build_model(surface, name, options->density, &model) == ABUT_OK &&
             abut_model_save(model, options->out) == ABUT_OK;
  abut_model_destroy(model);
  return good ? CLI_OK : cli_library_error();
}

static int fit(const cli_options *options, const abut_triangles *mesh) {
  abut_fit_options asked = abut_default_fit_options();
  asked.primitives = (int32_t)options->primitives;
  asked.vertices = (int32_t)options->vertices;
  asked.grid = (int32_t)options->grid;
  asked.rounds = (int32_t)options->rounds;
  asked.polyhedra = options->polyhedra;
  asked.seed = options->seed;
  asked.tau = options->tau;
  abut_surface *surface = NULL;
  abut_fit_report report;
  double start = cli_now();
  progress_release_interrupt(); /* it takes up to minutes, and nothing is open */
  abut_status fitted = abut_surface_fit(mesh, &asked, &surface, &report);
  progress_catch_interrupt();
  if (fitted != ABUT_OK) return cli_library_error();
  double seconds = cli_now() - start;
  int code = options->out ? save(options, surface) : CLI_OK;
  if (code == CLI_OK) {
    if (options->json)
      print_json(options, surface, &report, seconds);
    else
      print_table(options, surface, &report, seconds);
    code = cli_flush();
  }
  abut_surface_destroy(surface);
  return code;
}

int cli_fit(const cli_options *options) {
  abut_triangles *mesh = NULL;
  int code = options->out ? check_out(options->out) : CLI_OK;
  if (code == CLI_OK && options->out) code = output_file_spares("out", options->out, options->arguments[0]);
  if (code == CLI_OK && abut_triangles_load(options->arguments[0], options->geom, &mesh) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK) code = fit(options, mesh);
  abut_triangles_destroy(mesh);
  return code;
}
