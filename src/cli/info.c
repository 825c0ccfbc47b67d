/* info.c: abut info: what a scene holds, the defaults in force, advice on contact. */
#include "abut/surface.h"
#include "advice.h"
#include "job.h"
#include "json.h"
#include <math.h>

static const char *const joint_names[] = {"free", "ball", "slide", "hinge"};
static const char *const geom_names[] = {"plane",    "",    "sphere", "capsule", "ellipsoid",
                                         "cylinder", "box", "mesh",   "hfield"};
static const char *const equality_names[] = {"connect", "weld", "joint", "tendon"};
static const char *const transmission_names[] = {"joint", "jointinparent", "slidercrank", "tendon", "site"};
static const char *const dynamics_names[] = {"none", "integrator", "filter", "filterexact"};

/* One barrier at the asked gap. */
typedef struct advice {
  double reach, stiffness; /* advised: a face contact of the whole weight rests at the gap, or closer */
  double face, point;      /* gaps with the stiffness in force (m) */
} advice;

static advice advise(int contact, const abut_options *used, double load, double gap) {
  int local = contact == ABUT_CONTACT_LOCAL;
  advice out = {.reach = used->implicit.reach, .stiffness = used->implicit.stiffness};
  int half_spaces = contact == ABUT_CONTACT_INVERSE && used->implicit.contact == ABUT_CONTACT_LONGRANGE;
  if (contact != used->implicit.contact && !half_spaces) out.stiffness = local ? 1e-7 : 1e-8;
  out.face = resting_gap(contact, out.reach, out.stiffness, used->implicit.length, load, FACE_POINTS);
  out.point = resting_gap(contact, out.reach, out.stiffness, used->implicit.length, load, 1);
  double needed = resting_stiffness(contact, out.reach, used->implicit.length, load, FACE_POINTS, gap);
  if (needed < INFINITY) out.stiffness = needed;
  if (local) out.reach = reach_of_gap(used->implicit.length, gap);
  return out;
}

/* ------------------------------------------------------------------------------------------- tables */

static void print_bodies(const job *in) {
  printf("\nbodies\n  id  parent        mass (kg)  name\n");
  for (int32_t i = 0; i < in->sizes.nbody; i++) {
    abut_body_def def;
    if (abut_model_body(in->model, i, &def) == ABUT_OK)
      printf("%4d  %6d  %15.6g  %s\n", i, def.parent, def.mass, def.name);
  }
}

static void print_joints(const job *in) {
  if (in->sizes.njnt) printf("\njoints\n  id    body  type   range                    name\n");
  for (int32_t i = 0; i < in->sizes.njnt; i++) {
    abut_joint_def def;
    char range[32] = "-";
    if (abut_model_joint(in->model, i, &def) != ABUT_OK) continue;
    if (def.limited) snprintf(range, sizeof range, "%.4g to %.4g", def.range[0], def.range[1]);
    printf("%4d  %6d  %-5s  %-23s  %s\n", i, def.body, joint_names[def.type], range, def.name);
  }
}

static void print_actuators(const job *in) {
  if (in->sizes.nu)
    printf("\nactuators\n  id  acts on              gear      gain  dynamics     control range            "
           "name\n");
  for (int32_t i = 0; i < in->sizes.nu; i++) {
    abut_actuator_def def;
    char range[32] = "-", target[32];
    if (abut_model_actuator(in->model, i, &def) != ABUT_OK) continue;
    if (def.ctrllimited) snprintf(range, sizeof range, "%.4g to %.4g", def.ctrlrange[0], def.ctrlrange[1]);
    snprintf(target, sizeof target, "%s %d", transmission_names[def.transmission], def.joint);
    printf("%4d  %-15s  %8.4g  %8.4g  %-11s  %-23s  %s\n", i, target, def.gear, def.gain,
           dynamics_names[def.dynamics], range, def.name);
  }
}

static void print_tendons(const job *in) {
  if (in->sizes.ntendon)
    printf("\ntendons\n  id  kind     parts  stiffness   damping  range                    name\n");
  for (int32_t i = 0; i < in->sizes.ntendon; i++) {
    abut_tendon_def def;
    abut_wrap first;
    char range[32] = "-";
    if (abut_model_tendon(in->model, i, &def) != ABUT_OK ||
        abut_model_wrap(in->model, i, 0, &first) != ABUT_OK)
      continue;
    if (def.limited) snprintf(range, sizeof range, "%.4g to %.4g", def.range[0], def.range[1]);
    printf("%4d  %-7s  %5d  %9.4g  %8.4g  %-23s  %s\n", i,
           first.type == ABUT_WRAP_JOINT ? "fixed" : "spatial", def.nwrap, def.stiffness, def.damping, range,
           def.name);
  }
}

static void print_equalities(const job *in) {
  if (in->sizes.neq) printf("\nequalities\n  id  type     first  second  name\n");
  for (int32_t i = 0; i < in->sizes.neq; i++) {
    abut_equality_def def;
    if (abut_model_equality(in->model, i, &def) == ABUT_OK)
      printf("%4d  %-7s  %5d  %6d  %s%s\n", i, equality_names[def.type], def.obj1, def.obj2, def.name,
             def.inactive ? " (inactive)" : "");
  }
}

static void print_geoms(const job *in) {
  if (in->sizes.ngeom)
    printf("\ngeoms\n  id    body  type       points  radius (m)  hull error (m)  friction  name\n");
  for (int32_t i = 0; i < in->sizes.ngeom; i++) {
    abut_geom_def def;
    abut_hull hull;
    if (abut_model_geom(in->model, i, &def) != ABUT_OK || abut_model_hull(in->model, i, &hull) != ABUT_OK)
      continue;
    printf("%4d  %6d  %-9s  %6d  %10.4g  %14.4g  %8.4g  %s\n", i, def.body, geom_names[def.type], hull.npoint,
           hull.radius, hull.error, def.friction, def.name);
  }
}

/* Surfaces of geoms that have one (abut fit). */
static void print_surfaces(const job *in) {
  for (int32_t i = 0, headed = 0; i < in->sizes.ngeom; i++) {
    abut_surface s;
    if (abut_model_surface(in->model, i, &s) != ABUT_OK || s.primitive_count == 0) continue;
    if (!headed) printf("\nsurfaces\n  geom  primitives  planes     tau (m)  vertices   edges  triangles\n");
    headed = 1;
    printf("%6d  %10d  %6d  %10.4g  %8d  %6d  %9d\n", i, s.primitive_count, s.plane_count, s.tau,
           s.vertex_count, s.edge_count, s.triangle_count);
  }
}

static void print_defaults(const job *in) {
  const abut_options *used = &in->options;
  printf("\noptions in force\n");
  printf("  --method %s\n", cli_choice("method", used->method));
  printf("  --dt %g (the scene's timestep is %g)\n", used->timestep, abut_model_timestep(in->model));
  printf("  --contact %s", cli_choice("contact", used->implicit.contact));
  if (used->implicit.contact == ABUT_CONTACT_LOCAL) printf(" --reach %g", used->implicit.reach);
  if (used->implicit.contact == ABUT_CONTACT_LONGRANGE)
    printf(" --epsilon %g --form %s", used->implicit.epsilon, cli_choice("form", used->implicit.form));
  printf(" --stiffness %g --length %g --weights %s\n", used->implicit.stiffness, used->implicit.length,
         cli_choice("weights", used->implicit.weights));
  printf("  --gap0 %g --max-separation %g --overlap %s\n", used->implicit.gap0, used->implicit.max_separation,
         cli_choice("overlap", used->implicit.overlap));
  if (used->friction >= 0)
    printf("  --friction %g", used->friction);
  else
    printf("  --friction as the scene's");
  printf(" --friction-form %s --slip %g\n", cli_choice("friction-form", used->implicit.friction_form),
         used->implicit.slip_velocity);
  printf("  --tol %g --max-iterations %d --solver %s\n", used->tolerance, used->max_iterations,
         cli_choice("solver", used->implicit.solver));
  printf("  --device %s --threads %d", cli_choice("device", used->device), used->threads);
  printf(" --dtype %s\n", cli_choice("dtype", used->dtype));
  printf("bytes_per_env %lld (--envs %lld)\n", (long long)in->bytes_per_env, (long long)used->nenv);
}

static void print_advice(const job *in, double load, double gap) {
  printf("\ncontact under the weight of everything that moves, %.6g N\n", load);
  if (!(load > 0)) {
    printf("  nothing has weight, so nothing is pressed together\n");
    return;
  }
  for (int contact = ABUT_CONTACT_LOCAL; contact <= ABUT_CONTACT_INVERSE; contact++) {
    advice found = advise(contact, &in->options, load, gap);
    printf("  %-7s  rests at a gap of %.3g m on a face, %.3g m on one point\n",
           cli_choice("contact", contact), found.face, found.point);
    printf("           for at most %g m: --stiffness %.3g or less", gap, found.stiffness);
    if (contact == ABUT_CONTACT_LOCAL) printf(", or --reach %.3g whatever the load", found.reach);
    printf("\n");
  }
  if (in->options.implicit.contact == ABUT_CONTACT_LONGRANGE)
    printf("  longrange  on half-spaces as inverse; between meshes the gap depends on their triangles "
           "(docs/longrange.md)\n");
}

static void print_table(const job *in, const cli_options *options, double load, const char *refused) {
  abut_model_sizes sizes = in->sizes;
  printf("%s\n  nbody %d, njnt %d, nq %d, nv %d, nu %d, na %d, ngeom %d, npair %d, nkey %d\n",
         options->arguments[0], sizes.nbody, sizes.njnt, sizes.nq, sizes.nv, sizes.nu, sizes.na, sizes.ngeom,
         sizes.npair, sizes.nkey);
  printf("  nsite %d, ntendon %d, neq %d, nsensor %d, nsensordata %d, nmocap %d, nhfield %d\n", sizes.nsite,
         sizes.ntendon, sizes.neq, sizes.nsensor, sizes.nsensordata, sizes.nmocap, sizes.nhfield);
  print_bodies(in);
  print_joints(in);
  print_tendons(in);
  print_equalities(in);
  print_actuators(in);
  print_geoms(in);
  print_surfaces(in);
  for (int32_t i = 0; i < sizes.nkey; i++)
    printf("%s%s", i ? ", " : "\nkeyframes: ", abut_model_name(in->model, 'k', i));
  if (sizes.nkey) printf("\n");
  if (*refused) {
    printf("\n--method %s cannot run this scene: %s\n", cli_choice("method", options->batch.method), refused);
    return;
  }
  print_defaults(in);
  print_advice(in, load, options->gap);
}

/* --------------------------------------------------------------------------------------------- JSON */

static void json_sizes(json_writer *json, const job *in) {
  abut_model_sizes sizes = in->sizes;
  emit_integer(json, "nbody", sizes.nbody);
  emit_integer(json, "njnt", sizes.njnt);
  emit_integer(json, "nq", sizes.nq);
  emit_integer(json, "nv", sizes.nv);
  emit_integer(json, "nu", sizes.nu);
  emit_integer(json, "ngeom", sizes.ngeom);
  emit_integer(json, "npair", sizes.npair);
  emit_integer(json, "nkey", sizes.nkey);
  emit_integer(json, "na", sizes.na);
  emit_integer(json, "nmocap", sizes.nmocap);
  emit_integer(json, "nsite", sizes.nsite);
  emit_integer(json, "nhfield", sizes.nhfield);
  emit_integer(json, "ntendon", sizes.ntendon);
  emit_integer(json, "neq", sizes.neq);
  emit_integer(json, "nsensor", sizes.nsensor);
  emit_integer(json, "nsensordata", sizes.nsensordata);
  emit_number(json, "timestep", abut_model_timestep(in->model));
}

static void json_bodies(json_writer *json, const job *in) {
  emit_open(json, "bodies", '[');
  for (int32_t i = 0; i < in->sizes.nbody; i++) {
    abut_body_def def;
    if (abut_model_body(in->model, i, &def) != ABUT_OK) continue;
    emit_open(json, NULL, '{');
    emit_text(json, "name", def.name);
    emit_integer(json, "parent", def.parent);
    emit_number(json, "mass", def.mass);
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static void json_joints(json_writer *json, const job *in) {
  emit_open(json, "joints", '[');
  for (int32_t i = 0; i < in->sizes.njnt; i++) {
    abut_joint_def def;
    if (abut_model_joint(in->model, i, &def) != ABUT_OK) continue;
    emit_open(json, NULL, '{');
    emit_text(json, "name", def.name);
    emit_integer(json, "body", def.body);
    emit_text(json, "type", joint_names[def.type]);
    if (def.limited) emit_numbers(json, "range", def.range, 2);
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

/* What an actuator's first object is called. */
static const char *transmission_member(int32_t transmission) {
  return transmission <= ABUT_TRANSMISSION_JOINTINPARENT ? "joint"
         : transmission == ABUT_TRANSMISSION_TENDON      ? "tendon"
                                                         : "site";
}

static void json_tendons(json_writer *json, const job *in) {
  emit_open(json, "tendons", '[');
  for (int32_t i = 0; i < in->sizes.ntendon; i++) {
    abut_tendon_def def;
    if (abut_model_tendon(in->model, i, &def) != ABUT_OK) continue;
    emit_open(json, NULL, '{');
    emit_text(json, "name", def.name);
    emit_integer(json, "parts", def.nwrap);
    emit_number(json, "stiffness", def.stiffness);
    emit_number(json, "damping", def.damping);
    if (def.limited) emit_numbers(json, "range", def.range, 2);
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static void json_equalities(json_writer *json, const job *in) {
  emit_open(json, "equalities", '[');
  for (int32_t i = 0; i < in->sizes.neq; i++) {
    abut_equality_def def;
    if (abut_model_equality(in->model, i, &def) != ABUT_OK) continue;
    emit_open(json, NULL, '{');
    emit_text(json, "name", def.name);
    emit_text(json, "type", equality_names[def.type]);
    emit_integer(json, "first", def.obj1);
    emit_integer(json, "second", def.obj2);
    emit_bool(json, "active", !def.inactive);
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static void json_actuators(json_writer *json, const job *in) {
  emit_open(json, "actuators", '[');
  for (int32_t i = 0; i < in->sizes.nu; i++) {
    abut_actuator_def def;
    if (abut_model_actuator(in->model, i, &def) != ABUT_OK) continue;
    emit_open(json, NULL, '{');
    emit_text(json, "name", def.name);
    emit_text(json, "transmission", transmission_names[def.transmission]);
    emit_integer(json, transmission_member(def.transmission), def.joint);
    emit_text(json, "dynamics", dynamics_names[def.dynamics]);
    emit_number(json, "gear", def.gear);
    emit_number(json, "gain", def.gain);
    if (def.ctrllimited) emit_numbers(json, "ctrlrange", def.ctrlrange, 2);
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static void json_surface(json_writer *json, const job *in, int32_t geom) {
  static const char *const kinds[] = {"superquadric", "polyhedron"};
  abut_surface s;
  if (abut_model_surface(in->model, geom, &s) != ABUT_OK || s.primitive_count == 0) return;
  emit_open(json, "surface", '{');
  emit_number(json, "tau", s.tau);
  emit_integer(json, "vertices", s.vertex_count);
  emit_integer(json, "edges", s.edge_count);
  emit_integer(json, "triangles", s.triangle_count);
  emit_open(json, "primitives", '[');
  for (int32_t l = 0; l < s.primitive_count; l++) {
    const abut_primitive *p = s.primitives + l;
    emit_open(json, NULL, '{');
    emit_text(json, "kind", kinds[p->kind]);
    emit_numbers(json, "position", p->position, 3);
    emit_numbers(json, "quaternion", p->quaternion, 4);
    if (p->kind == ABUT_PRIMITIVE_SUPERQUADRIC) {
      emit_numbers(json, "size", p->size, 3);
      emit_numbers(json, "exponents", p->exponents, 2);
    } else {
      emit_rows(json, "planes", s.planes + 4 * (int64_t)p->first_plane, p->plane_count, 4);
    }
    emit_close(json, '}');
  }
  emit_close(json, ']');
  emit_close(json, '}');
}

static void json_geoms(json_writer *json, const job *in) {
  emit_open(json, "geoms", '[');
  for (int32_t i = 0; i < in->sizes.ngeom; i++) {
    abut_geom_def def;
    abut_hull hull;
    if (abut_model_geom(in->model, i, &def) != ABUT_OK || abut_model_hull(in->model, i, &hull) != ABUT_OK)
      continue;
    emit_open(json, NULL, '{');
    emit_text(json, "name", def.name);
    emit_integer(json, "body", def.body);
    emit_text(json, "type", geom_names[def.type]);
    emit_integer(json, "hull_points", hull.npoint);
    emit_number(json, "radius", hull.radius);
    emit_number(json, "hull_error", hull.error);
    emit_number(json, "friction", def.friction);
    json_surface(json, in, i);
    emit_close(json, '}');
  }
  emit_close(json, ']');
}

static void json_options(json_writer *json, const abut_options *used) {
  emit_open(json, "options", '{');
  emit_text(json, "method", cli_choice("method", used->method));
  emit_number(json, "dt", used->timestep);
  emit_text(json, "contact", cli_choice("contact", used->implicit.contact));
  if (used->implicit.contact == ABUT_CONTACT_LONGRANGE) {
    emit_number(json, "epsilon", used->implicit.epsilon);
    emit_text(json, "form", cli_choice("form", used->implicit.form));
  }
  emit_number(json, "reach", used->implicit.reach);
  emit_number(json, "stiffness", used->implicit.stiffness);
  emit_number(json, "length", used->implicit.length);
  emit_text(json, "weights", cli_choice("weights", used->implicit.weights));
  emit_number(json, "gap0", used->implicit.gap0);
  emit_number(json, "max_separation", used->implicit.max_separation);
  emit_text(json, "overlap", cli_choice("overlap", used->implicit.overlap));
  if (used->friction >= 0) emit_number(json, "friction", used->friction);
  emit_text(json, "friction_form", cli_choice("friction-form", used->implicit.friction_form));
  emit_number(json, "slip", used->implicit.slip_velocity);
  emit_number(json, "tol", used->tolerance);
  emit_integer(json, "max_iterations", used->max_iterations);
  emit_text(json, "solver", cli_choice("solver", used->implicit.solver));
  emit_text(json, "device", cli_choice("device", used->device));
  emit_integer(json, "threads", used->threads);
  emit_text(json, "dtype", cli_choice("dtype", used->dtype));
  emit_close(json, '}');
}

static void json_advice(json_writer *json, const job *in, double load, double gap) {
  emit_open(json, "advice", '{');
  emit_number(json, "gap", gap);
  emit_number(json, "load", load);
  for (int contact = ABUT_CONTACT_LOCAL; load > 0 && contact <= ABUT_CONTACT_INVERSE; contact++) {
    advice found = advise(contact, &in->options, load, gap);
    emit_open(json, cli_choice("contact", contact), '{');
    emit_number(json, "stiffness", found.stiffness);
    if (contact == ABUT_CONTACT_LOCAL) emit_number(json, "reach", found.reach);
    emit_number(json, "gap_on_face", found.face);
    emit_number(json, "gap_on_point", found.point);
    emit_close(json, '}');
  }
  emit_close(json, '}');
}

static void print_json(const job *in, const cli_options *options, double load, const char *refused) {
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '{');
  emit_text(&json, "scene", options->arguments[0]);
  json_sizes(&json, in);
  json_bodies(&json, in);
  json_joints(&json, in);
  json_tendons(&json, in);
  json_equalities(&json, in);
  json_actuators(&json, in);
  json_geoms(&json, in);
  emit_open(&json, "pairs", '[');
  for (int32_t i = 0; i < in->sizes.npair; i++) {
    int32_t geoms[2];
    if (abut_model_pair(in->model, i, geoms) == ABUT_OK)
      emit_numbers(&json, NULL, (double[]){geoms[0], geoms[1]}, 2);
  }
  emit_close(&json, ']');
  emit_open(&json, "keys", '[');
  for (int32_t i = 0; i < in->sizes.nkey; i++) emit_text(&json, NULL, abut_model_name(in->model, 'k', i));
  emit_close(&json, ']');
  if (*refused) {
    emit_text(&json, "refused", refused);
  } else {
    emit_integer(&json, "envs", in->options.nenv);
    emit_integer(&json, "bytes_per_env", in->bytes_per_env);
    json_options(&json, &in->options);
    json_advice(&json, in, load, options->gap);
  }
  emit_close(&json, '}');
  printf("\n");
}

/* Creates the batch; what the method refuses of the scene, "" if nothing, into refused. */
static int create(job *work, const abut_options *asked, char refused[1024]) {
  abut_options one = *asked;
  int64_t bytes, total;
  one.nenv = 1;
  refused[0] = 0;
  if (abut_batch_memory(work->model, &one, 0, &bytes, &total) != ABUT_ERROR_UNSUPPORTED)
    return job_create(work, asked, 1, 0);
  snprintf(refused, 1024, "%s", abut_error_message());
  return CLI_OK;
}

int cli_info(const cli_options *options) {
  job work;
  char refused[1024];
  int code = job_load(&work, options->arguments[0], options);
  if (code == CLI_OK) {
    abut_options asked = job_options(options);
    code = job_check(options, &asked);
    if (code == CLI_OK) code = create(&work, &asked, refused);
  }
  if (code == CLI_OK) {
    double load = moving_weight(work.model);
    if (options->json)
      print_json(&work, options, load, refused);
    else
      print_table(&work, options, load, refused);
    code = cli_flush();
  }
  job_close(&work);
  return code;
}
