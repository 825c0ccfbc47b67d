/* failures.c: reasons by name, with the shapes that overlap. */
#include "failures.h"

static const struct {
  uint32_t bit;
  const char *name;
} kinds[FAILURE_KINDS] = {[FAILED_UNCONVERGED] = {ABUT_ENV_UNCONVERGED, "unconverged"},
                          [FAILED_NONFINITE] = {ABUT_ENV_NONFINITE, "nonfinite"},
                          [FAILED_OVERLAP] = {ABUT_ENV_OVERLAP, "overlap"},
                          [FAILED_NOT_MINIMUM] = {ABUT_ENV_NOT_MINIMUM, "not_minimum"}};

failures failures_count(const uint32_t *status, const array *overlap_pair, int64_t nenv) {
  failures out = {.overlap_pair = -1};
  for (int64_t env = 0; env < nenv; env++)
    for (int i = 0; i < FAILURE_KINDS; i++) {
      if (!(status[env] & kinds[i].bit) || out.envs[i]++) continue;
      out.first_env[i] = env;
      if (i == FAILED_OVERLAP) out.overlap_pair = (int32_t)array_get(overlap_pair, env);
    }
  return out;
}

/* The two geoms of the overlapping pair and their bodies; 0 where they are not known. */
static int overlapping(const failures *in, int kind, const abut_model *model, int32_t geoms[2],
                       int32_t bodies[2]) {
  abut_geom_def def;
  if (kind != FAILED_OVERLAP || abut_model_pair(model, in->overlap_pair, geoms) != ABUT_OK) return 0;
  for (int i = 0; i < 2; i++) {
    if (abut_model_geom(model, geoms[i], &def) != ABUT_OK) return 0;
    bodies[i] = def.body;
  }
  return 1;
}

static void print_name(const char *what, const abut_model *model, char kind, int32_t id) {
  const char *name = abut_model_name(model, kind, id);
  if (name && *name)
    printf("%s '%s'", what, name);
  else
    printf("%s %d", what, id);
}

void failures_print(const failures *in, const abut_model *model) {
  for (int i = 0; i < FAILURE_KINDS; i++) {
    int32_t geoms[2], bodies[2];
    if (!in->envs[i]) continue;
    printf("    %-20s  %lld, the first is environment %lld", kinds[i].name, (long long)in->envs[i],
           (long long)in->first_env[i]);
    for (int side = 0; overlapping(in, i, model, geoms, bodies) && side < 2; side++) {
      print_name(side ? " and geom" : ": geom", model, 'g', geoms[side]);
      print_name(" of body", model, 'b', bodies[side]);
    }
    printf("\n");
  }
}

static void json_names(json_writer *json, const char *key, const abut_model *model, char kind,
                       const int32_t ids[2]) {
  emit_open(json, key, '[');
  for (int i = 0; i < 2; i++) emit_text(json, NULL, abut_model_name(model, kind, ids[i]));
  emit_close(json, ']');
}

void failures_json(json_writer *json, const failures *in, const abut_model *model) {
  int any = 0;
  for (int i = 0; i < FAILURE_KINDS; i++) {
    int32_t geoms[2], bodies[2];
    if (!in->envs[i]) continue;
    if (!any++) emit_open(json, "failures", '{');
    emit_open(json, kinds[i].name, '{');
    emit_integer(json, "envs", in->envs[i]);
    emit_integer(json, "first_env", in->first_env[i]);
    if (overlapping(in, i, model, geoms, bodies)) {
      emit_numbers(json, "geoms", (double[]){geoms[0], geoms[1]}, 2);
      json_names(json, "geom_names", model, 'g', geoms);
      json_names(json, "body_names", model, 'b', bodies);
    }
    emit_close(json, '}');
  }
  if (any) emit_close(json, '}');
}
