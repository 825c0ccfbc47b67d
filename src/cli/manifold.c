/* manifold.c: abut manifold: smooth contacts of two surfaces at many poses, of which those that are active
 * are counted, written and drawn. Poses pass through in blocks, so that their number needs no memory. */
#include "abut/file.h"
#include "abut/manifold.h"
#include "cli.h"
#include "json.h"
#include "output_file.h"
#include "progress.h"
#include "read_npy.h"
#include "write_contacts.h"
#include "write_hdf5.h"
#include "write_manifold.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 4, BLOCK_BYTES = 64 << 20, MOST_POSES = 1 << 16 };
static const char *const groups[GROUPS] = {"vertices_1", "vertices_2", "edges_1", "edges_2"};

/* What all poses come to. */
typedef struct tally {
  int64_t poses, active[GROUPS], most; /* most: active contacts of one pair of poses */
  double deepest;                      /* m; infinite where nothing is active */
  int64_t deepest_pose, deepest_contact;
} tally;

typedef struct work {
  const cli_options *given;
  abut_model *models[2];
  abut_surface surface[2]; /* views into the models */
  abut_manifold *manifold;
  abut_manifold_counts counts;
  int64_t group_end[GROUPS]; /* contacts of a pose before the end of each group */
  npy_file poses;
  int64_t block; /* pairs of poses that are looked at together */
  double *pose, *memory;
  manifold_rows rows;
  manifold_file *hdf5;
  output_file gltf;
  tally sum;
  double seconds;
} work;

/* ------------------------------------------------------------------------------------------------ input */

/* The only surface of a file. */
static int load_surface(work *out, int which) {
  const char *path = out->given->arguments[which];
  int32_t found = 0;
  if (abut_model_load(path, NULL, &out->models[which]) != ABUT_OK) return cli_library_error();
  int32_t ngeom = abut_model_get_sizes(out->models[which]).ngeom;
  for (int32_t geom = 0; geom < ngeom; geom++) {
    abut_surface view;
    if (abut_model_surface(out->models[which], geom, &view) != ABUT_OK) return cli_library_error();
    if (view.primitive_count == 0) continue;
    out->surface[which] = view;
    found++;
  }
  if (found == 0) return cli_error("%s: it has no smooth surface; `abut fit` makes files with one", path);
  if (found > 1) return cli_error("%s: it has %d smooth surfaces, one is needed", path, found);
  return CLI_OK;
}

static int open_poses(work *out) {
  const char *path = out->given->poses;
  if (!path) return cli_error("manifold: needs --poses FILE.npy");
  int code = npy_open(&out->poses, path, "[P, 2, 7]");
  const int64_t *shape = out->poses.shape;
  if (code == CLI_OK && (shape[1] != 2 || shape[2] != 7))
    return cli_error("%s: shape [%lld, %lld, %lld], [P, 2, 7] needed", path, (long long)shape[0],
                     (long long)shape[1], (long long)shape[2]);
  if (code == CLI_OK && out->given->gltf && out->given->pose >= shape[0])
    return cli_error("--pose %lld: %s has %lld pair%s of poses", (long long)out->given->pose, path,
                     (long long)shape[0], PLURAL(shape[0]));
  return code;
}

/* Counts that were asked for by `auto`: as many as poses in which the surfaces touch need. */
static int suggest(const work *in, abut_manifold_options *asked) {
  const cli_options *given = in->given;
  const int vertices = given->surface_vertices[0] == COUNT_AUTO,
            edges = cli_given(given, "edges") && given->surface_edges[0] == COUNT_AUTO;
  abut_manifold_options options = *asked;
  abut_manifold_counts counts;
  if (!vertices && !edges) return CLI_OK;
  for (int i = 0; i < 2; i++) {
    options.vertices[i] = -1;
    options.edges[i] = edges ? -1 : 0;
  }
  progress_release_interrupt(); /* it takes up to minutes, and nothing is open */
  abut_status status = abut_manifold_suggest(&in->surface[0], &in->surface[1], &options, NULL, &counts);
  progress_catch_interrupt();
  if (status != ABUT_OK) return cli_library_error();
  for (int i = 0; i < 2; i++) {
    if (vertices) asked->vertices[i] = counts.vertices[i];
    if (edges) asked->edges[i] = counts.edges[i];
  }
  if (asked->edges[0] == 0 || asked->edges[1] == 0) asked->edges[0] = asked->edges[1] = 0;
  return CLI_OK;
}

static int create_manifold(work *out) {
  const cli_options *given = out->given;
  abut_manifold_options asked = abut_default_manifold_options();
  asked.form = given->manifold_form;
  asked.selection = given->selection;
  asked.dtype = given->batch.dtype;
  asked.threads = given->batch.threads;
  asked.device = given->batch.device;
  for (int i = 0; i < 2; i++) {
    asked.vertices[i] = (int32_t)given->surface_vertices[i];
    if (cli_given(given, "edges")) asked.edges[i] = (int32_t)given->surface_edges[i];
  }
  int code = suggest(out, &asked);
  if (code != CLI_OK) return code;
  if (abut_manifold_create(&out->surface[0], &out->surface[1], &asked, &out->manifold) != ABUT_OK ||
      abut_manifold_size(out->manifold, &out->counts) != ABUT_OK)
    return cli_library_error();
  const abut_manifold_counts *n = &out->counts;
  const int64_t pairs = (int64_t)n->edges[0] * n->edges[1],
                sizes[GROUPS] = {n->vertices[0], n->vertices[1], pairs, pairs};
  for (int g = 0; g < GROUPS; g++) out->group_end[g] = sizes[g] + (g ? out->group_end[g - 1] : 0);
  return CLI_OK;
}

static abut_contacts contacts_in(double *at, int64_t n) {
  return (abut_contacts){at, at + 3 * n, at + 4 * n, at + 7 * n};
}
/* A block's contacts take BLOCK_BYTES, or what those of one pair of poses need. */
static int allocate(work *out) {
  const int64_t numbers = out->given->derivatives ? 8 * (1 + MANIFOLD_COORDINATES) : 8;
  const int64_t n = out->counts.contacts, row = numbers * (int64_t)sizeof(double) + (int64_t)sizeof(int32_t);
  out->block = BLOCK_BYTES / (n * row);
  if (out->block > MOST_POSES) out->block = MOST_POSES;
  if (out->block > out->poses.shape[0]) out->block = out->poses.shape[0];
  if (out->block < 1) out->block = 1;
  const int64_t most = out->block * n;
  if ((double)most * (double)row > abut_memory_available())
    return cli_error("the %lld contacts of a pair of poses need %.1f GiB, %.1f GiB available", (long long)n,
                     (double)most * (double)row / 0x1p30, abut_memory_available() / 0x1p30);
  out->pose = malloc(14 * (size_t)out->block * sizeof *out->pose);
  out->memory = malloc((size_t)(numbers * most) * sizeof *out->memory);
  out->rows.contact = malloc((size_t)most * sizeof *out->rows.contact);
  out->rows.end = malloc((size_t)out->block * sizeof *out->rows.end);
  if (!out->pose || !out->memory || !out->rows.contact || !out->rows.end) return cli_error("out of memory");
  out->rows.values = contacts_in(out->memory, most);
  if (out->given->derivatives)
    out->rows.derivatives = contacts_in(out->memory + 8 * most, MANIFOLD_COORDINATES * most);
  return CLI_OK;
}

/* --------------------------------------------------------------------------------------------- contacts */

static void move_numbers(double *at, int64_t to, int64_t from, int64_t width) {
  memmove(at + width * to, at + width * from, (size_t)width * sizeof *at);
}
/* width: 1, or MANIFOLD_COORDINATES of derivatives. */
static void move_row(abut_contacts *c, int64_t to, int64_t from, int64_t width) {
  move_numbers(c->point, to, from, 3 * width);
  move_numbers(c->distance, to, from, width);
  move_numbers(c->normal, to, from, 3 * width);
  move_numbers(c->activity, to, from, width);
}

/* Keeps the active contacts, at the front, and counts them. */
static void keep_active(work *in, int64_t first, int64_t poses) {
  const int64_t n = in->counts.contacts;
  manifold_rows *rows = &in->rows;
  tally *sum = &in->sum;
  int64_t before = 0;
  for (int g = 0; g < GROUPS; g++) before += sum->active[g];
  rows->poses = poses;
  rows->count = 0;
  for (int64_t p = 0; p < poses; p++) {
    int64_t start = rows->count;
    for (int64_t i = 0, g = 0; i < n; i++) {
      while (i == in->group_end[g]) g++;
      if (!(rows->values.activity[p * n + i] > in->given->threshold)) continue;
      move_row(&rows->values, rows->count, p * n + i, 1);
      if (in->given->derivatives) move_row(&rows->derivatives, rows->count, p * n + i, MANIFOLD_COORDINATES);
      rows->contact[rows->count] = (int32_t)i;
      if (rows->values.distance[rows->count] < sum->deepest) {
        sum->deepest = rows->values.distance[rows->count];
        sum->deepest_pose = first + p;
        sum->deepest_contact = i;
      }
      rows->count++;
      sum->active[g]++;
    }
    rows->end[p] = before + rows->count;
    if (rows->count - start > sum->most) sum->most = rows->count - start;
  }
  sum->poses += poses;
}

/* The active contacts of pose p of the block. */
static int draw(const work *in, int64_t p) {
  const manifold_rows *rows = &in->rows;
  const abut_contacts *c = &rows->values;
  const int64_t base = rows->end[rows->poses - 1] - rows->count, first = p ? rows->end[p - 1] - base : 0;
  contacts_picture picture = {
      .surface = in->surface,
      .poses = in->pose + 14 * p,
      .count = rows->end[p] - base - first,
      .contacts = {c->point + 3 * first, c->distance + first, c->normal + 3 * first, c->activity + first}};
  while (picture.edges < picture.count && rows->contact[first + picture.edges] < in->group_end[1])
    picture.edges++;
  return contacts_picture_write(in->gltf.partial, in->gltf.path, &picture);
}

static int run_block(work *in, int64_t first, int64_t poses) {
  const int64_t shown = in->given->pose - first;
  int code = npy_read(&in->poses, poses, in->pose);
  if (code != CLI_OK) return code;
  if (abut_manifold_check_poses(in->manifold, first, poses, in->pose) != ABUT_OK)
    return cli_error("%s: %s", in->given->poses, abut_error_message());
  abut_status status =
      in->given->derivatives
          ? abut_manifold_jacobian(in->manifold, poses, in->pose, &in->rows.derivatives, &in->rows.values)
          : abut_manifold_contacts(in->manifold, poses, in->pose, &in->rows.values);
  if (status != ABUT_OK) return cli_library_error();
  keep_active(in, first, poses);
  if (in->hdf5) code = manifold_file_append(in->hdf5, &in->rows);
  if (code == CLI_OK && in->gltf.path && shown >= 0 && shown < poses) code = draw(in, shown);
  return code;
}

static int run_poses(work *in) {
  const int64_t poses = in->poses.shape[0];
  progress bar;
  int code = CLI_OK;
  double start = cli_now();
  progress_begin(&bar, "manifold");
  for (int64_t first = 0; code == CLI_OK && first < poses; first += in->block) {
    int64_t left = poses - first;
    code = run_block(in, first, left < in->block ? left : in->block);
    if (progress_report(&bar, (double)in->sum.poses / (double)poses) && code == CLI_OK)
      code = cli_error("interrupted");
  }
  progress_end(&bar);
  in->seconds = cli_now() - start;
  return code;
}

/* ---------------------------------------------------------------------------------------------- results */

/* Not a number where there are no poses. */
static double per_pose(const tally *sum, int64_t count) { return (double)count / (double)sum->poses; }

static int64_t active(const tally *sum) {
  int64_t all = 0;
  for (int g = 0; g < GROUPS; g++) all += sum->active[g];
  return all;
}

static void emit_counts(json_writer *json, const char *name, const int32_t counts[2]) {
  emit_open(json, name, '[');
  for (int i = 0; i < 2; i++) emit_integer(json, NULL, counts[i]);
  emit_close(json, ']');
}

static void print_json(const work *in) {
  const tally *sum = &in->sum;
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '{');
  emit_integer(&json, "poses", sum->poses);
  emit_integer(&json, "contacts", in->counts.contacts);
  emit_counts(&json, "vertices", in->counts.vertices);
  emit_counts(&json, "edges", in->counts.edges);
  emit_number(&json, "threshold", in->given->threshold);
  emit_integer(&json, "active", active(sum));
  emit_number(&json, "active_mean", per_pose(sum, active(sum)));
  emit_integer(&json, "active_max", sum->most);
  emit_open(&json, "active_mean_by_group", '{');
  for (int g = 0; g < GROUPS; g++) emit_number(&json, groups[g], per_pose(sum, sum->active[g]));
  emit_close(&json, '}');
  if (isfinite(sum->deepest)) {
    emit_open(&json, "deepest", '{');
    emit_number(&json, "distance", sum->deepest);
    emit_integer(&json, "pose", sum->deepest_pose);
    emit_integer(&json, "contact", sum->deepest_contact);
    emit_close(&json, '}');
  } else {
    emit_null(&json, "deepest");
  }
  emit_number(&json, "seconds", in->seconds);
  emit_number(&json, "poses_per_second", (double)sum->poses / in->seconds);
  emit_close(&json, '}');
  printf("\n");
}

static void print_table(const work *in) {
  const abut_manifold_counts *n = &in->counts;
  const tally *sum = &in->sum;
  printf("%s, %s: %lld pair%s of poses\n", in->given->arguments[0], in->given->arguments[1],
         (long long)sum->poses, PLURAL(sum->poses));
  printf("  contacts of a pair      %lld: %d + %d vertices, 2 x %d x %d pairs of edges\n",
         (long long)n->contacts, n->vertices[0], n->vertices[1], n->edges[0], n->edges[1]);
  if (sum->poses > 0) {
    printf("  active above %-10g %.2f mean, %lld max\n", in->given->threshold, per_pose(sum, active(sum)),
           (long long)sum->most);
    for (int g = 0; g < GROUPS; g++)
      printf("    %-20s  %.2f mean\n", groups[g], per_pose(sum, sum->active[g]));
  }
  if (isfinite(sum->deepest))
    printf("  deepest                 %.6g m, contact %lld of pose %lld\n", sum->deepest,
           (long long)sum->deepest_contact, (long long)sum->deepest_pose);
  printf("  seconds                 %.3f\n", in->seconds);
  printf("  poses/s                 %.0f\n", (double)sum->poses / in->seconds);
}

/* ---------------------------------------------------------------------------------------------- command */

static int check_outputs(const cli_options *options) {
  if (options->out && hdf5_check() != CLI_OK) return CLI_BAD_INPUT;
  if (options->out && !abut_file_has_extension(options->out, ".h5") &&
      !abut_file_has_extension(options->out, ".hdf5"))
    return cli_error("--out %s: the name must end in .h5 or .hdf5", options->out);
  if (options->gltf && !abut_file_has_extension(options->gltf, ".glb"))
    return cli_error("--gltf %s: the name must end in .glb", options->gltf);
  if (options->derivatives && options->batch.device == ABUT_DEVICE_CUDA)
    return cli_error("--derivatives: not on a GPU, --device is cuda");
  if (options->derivatives && !options->out) return cli_error("--derivatives: needs --out FILE.h5");
  if (!options->gltf && cli_given(options, "pose")) return cli_error("--pose: needs --gltf FILE.glb");
  return CLI_OK;
}

/* Outputs must not replace what is read. */
static int spare_inputs(const cli_options *options) {
  const char *const inputs[] = {options->arguments[0], options->arguments[1], options->poses};
  int code = CLI_OK;
  for (int i = 0; i < 3; i++) {
    if (code == CLI_OK && options->out) code = output_file_spares("out", options->out, inputs[i]);
    if (code == CLI_OK && options->gltf) code = output_file_spares("gltf", options->gltf, inputs[i]);
  }
  return code;
}

static int open_outputs(work *out) {
  const cli_options *given = out->given;
  int code = spare_inputs(given);
  if (code == CLI_OK && given->gltf) code = output_file_open(&out->gltf, given->gltf);
  if (code == CLI_OK && given->out)
    code = manifold_file_open(&out->hdf5, given->out, out->manifold, out->poses.shape[0], given);
  return code;
}

/* Gives the outputs their names if all went well, else removes them. */
static int close_outputs(work *in, int code) {
  int closed = manifold_file_close(in->hdf5, code == CLI_OK);
  if (code == CLI_OK) code = closed;
  closed = output_file_close(&in->gltf, code == CLI_OK);
  return code == CLI_OK ? closed : code;
}

static void release(work *in) {
  npy_close(&in->poses);
  abut_manifold_destroy(in->manifold);
  for (int i = 0; i < 2; i++) abut_model_destroy(in->models[i]);
  free(in->pose);
  free(in->memory);
  free(in->rows.contact);
  free(in->rows.end);
}

int cli_manifold(const cli_options *options) {
  work in = {.given = options, .sum = {.deepest = INFINITY}};
  int code = check_outputs(options);
  for (int i = 0; code == CLI_OK && i < 2; i++) code = load_surface(&in, i);
  if (code == CLI_OK) code = open_poses(&in);
  if (code == CLI_OK) code = create_manifold(&in);
  if (code == CLI_OK) code = allocate(&in);
  if (code == CLI_OK) code = open_outputs(&in);
  if (code == CLI_OK) code = run_poses(&in);
  code = close_outputs(&in, code);
  if (code == CLI_OK) {
    if (options->json)
      print_json(&in);
    else
      print_table(&in);
    code = cli_flush();
  }
  release(&in);
  return code;
}
