/* task_variable.c: reads what a task changes: controls of actuators, entries of the initial state. */
#include "cli.h"

#ifdef ABUT_HAVE_JANSSON
#include "task_variable.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 7, MOST_COUNT = 100000 };

int task_find(const json_node *from, const char *key, const abut_model *model, char kind, const char *name,
              int32_t *id) {
  const char *at, *noun = kind == 'b' ? "body" : kind == 'j' ? "joint" : "actuator";
  for (*id = 0; (at = abut_model_name(model, kind, *id)) != NULL; ++*id)
    if (!strcmp(at, name)) return CLI_OK;
  return node_error(from, key, "'%.80s': the scene has no %s of this name", name, noun);
}

static int append(variable_list *out, const json_node *from, const char *key, const abut_variable *v) {
  for (int32_t i = 0; i < out->count; i++) {
    const abut_variable *other = &out->items[i];
    int same =
        v->kind >= ABUT_VARIABLE_SEQUENCE ? other->kind >= ABUT_VARIABLE_SEQUENCE : other->kind == v->kind;
    if (same && other->index == v->index) return node_error(from, key, "is a variable twice");
  }
  if (out->count == out->room) {
    int32_t room = 2 * out->room + 8;
    abut_variable *more = realloc(out->items, (size_t)room * sizeof *more);
    if (!more) return cli_error("out of memory");
    out->items = more;
    out->room = room;
  }
  out->items[out->count++] = *v;
  return CLI_OK;
}

/* start, noise, rate: one number, or for sines amplitude, frequency and phase. */
static int read_parts(const json_node *from, abut_variable *out) {
  int parts = out->kind == ABUT_VARIABLE_SINES ? 3 : 1, count;
  int code = node_numbers(from, "start", NUMBER_ANY, parts, parts, out->start, &count);
  if (code == CLI_OK)
    code = node_numbers(from, "noise", NUMBER_NONNEGATIVE, parts, parts, out->noise, &count);
  if (code == CLI_OK) code = node_numbers(from, "rate", NUMBER_POSITIVE, parts, parts, out->rate, &count);
  if (parts == 3) return code; /* sines are bounded by the actuator alone */
  if (code == CLI_OK) code = node_number(from, "min", NUMBER_ANY, &out->min);
  if (code == CLI_OK) code = node_number(from, "max", NUMBER_ANY, &out->max);
  if (code == CLI_OK && out->min > out->max)
    code = node_error(from, "min", "is %g, above max, %g", out->min, out->max);
  return code;
}

/* ------------------------------------------------------------------------------------------ controls */

static int read_form(const json_node *from, abut_variable *out) {
  static const char *const forms[] = {"sequence", "spline", "sines", NULL};
  static const char *const sequence[] = {"ctrl", "form", "start", "noise", "rate", "min", "max", NULL};
  static const char *const spline[] = {"ctrl", "form", "start", "noise", "rate", "min", "max", "knots", NULL};
  static const char *const sines[] = {"ctrl", "form", "start", "noise", "rate", "waves", NULL};
  static const char *const *const known[] = {sequence, spline, sines};
  static const char *const bounds[] = {"min", "max"};
  int form = 0;
  int64_t count = 0;
  int code = node_choice(from, "form", forms, &form);
  for (int i = 0; i < 2 && code == CLI_OK && form == 2; i++)
    if (node_has(from, bounds[i]))
      code = node_error(from, bounds[i], "sines have no bounds but the ctrlrange of their actuator");
  if (code == CLI_OK) code = node_keys(from, known[form]);
  out->kind = ABUT_VARIABLE_SEQUENCE + form;
  const char *key = form == 1 ? "knots" : "waves";
  if (code == CLI_OK && form > 0) code = node_needs(from, key);
  if (code == CLI_OK && form > 0) code = node_integer(from, key, form == 1 ? 2 : 1, MOST_COUNT, &count);
  out->count = (int32_t)count;
  return code == CLI_OK ? read_parts(from, out) : code;
}

static int add_control(variable_list *out, const json_node *from, const char *key, const abut_model *model,
                       const json_t *name, abut_variable v) {
  if (!json_is_string(name)) return node_error(from, key, "is not the name of an actuator");
  int code = task_find(from, key, model, 'a', json_string_value(name), &v.index);
  return code == CLI_OK ? append(out, from, key, &v) : code;
}

static int read_controls(variable_list *out, const json_node *from, const abut_model *model,
                         int sequences_only) {
  abut_variable v = abut_default_variable();
  const json_t *names = json_object_get(from->object, "ctrl");
  int64_t count = 0;
  int code = read_form(from, &v);
  if (code == CLI_OK && sequences_only && v.kind != ABUT_VARIABLE_SEQUENCE)
    code = node_error(from, "form", "must be sequence where there is a horizon");
  if (code != CLI_OK || json_is_string(names))
    return code == CLI_OK ? add_control(out, from, "ctrl", model, names, v) : code;
  code = node_length(from, "ctrl", &count);
  for (int64_t i = 0; code == CLI_OK && i < count; i++) {
    char key[32];
    snprintf(key, sizeof key, "ctrl[%lld]", (long long)i);
    code = add_control(out, from, key, model, json_array_get(names, (size_t)i), v);
  }
  return code;
}

/* ------------------------------------------------------------------------------------- initial state */

/* First entry of a joint in qpos or qvel, and how many of its entries may be changed one by one. */
static int joint_entries(const abut_model *model, int32_t joint, int kind, int32_t *first, int32_t *count) {
  static const int32_t nq[] = {7, 4, 1, 1}, nv[] = {6, 3, 1, 1}, single[] = {3, 0, 1, 1};
  abut_joint_def def;
  *first = *count = 0;
  for (int32_t i = 0; i <= joint; i++) {
    if (abut_model_joint(model, i, &def) != ABUT_OK) return cli_library_error();
    if (i < joint) *first += kind == ABUT_VARIABLE_QPOS ? nq[def.type] : nv[def.type];
  }
  *count = kind == ABUT_VARIABLE_QPOS ? single[def.type] : nv[def.type];
  return CLI_OK;
}

static int read_state(variable_list *out, const json_node *from, const char *key, int kind,
                      const abut_model *model) {
  abut_variable v = abut_default_variable();
  const char *name = NULL;
  double entries[MOST_ENTRIES];
  int32_t joint = 0, first = 0, most = 0;
  int count = 0;
  v.kind = kind;
  int code =
      node_keys(from, (const char *const[]){key, "entries", "start", "noise", "rate", "min", "max", NULL});
  if (code == CLI_OK) code = node_text(from, key, &name);
  if (code == CLI_OK) code = task_find(from, key, model, 'j', name, &joint);
  if (code == CLI_OK) code = joint_entries(model, joint, kind, &first, &most);
  if (code == CLI_OK && most == 0)
    code = node_error(from, key, "'%.80s' is a ball joint: its entries belong to a quaternion", name);
  if (code == CLI_OK) code = read_parts(from, &v);
  if (code == CLI_OK && node_has(from, "entries"))
    code = node_numbers(from, "entries", NUMBER_ANY, 1, MOST_ENTRIES, entries, &count);
  else
    for (; count < most; count++) entries[count] = count;
  for (int i = 0; code == CLI_OK && i < count; i++) {
    char element[32];
    snprintf(element, sizeof element, "entries[%d]", i);
    if (!(entries[i] >= 0 && entries[i] < most) || entries[i] != (int32_t)entries[i])
      return node_error(from, element, "is %g, must be one of 0 to %d", entries[i], most - 1);
    v.index = first + (int32_t)entries[i];
    code = append(out, from, element, &v);
  }
  return code;
}

int variable_list_add(variable_list *out, const json_node *from, const abut_model *model,
                      int sequences_only) {
  int ctrl = node_has(from, "ctrl"), qpos = node_has(from, "qpos"), qvel = node_has(from, "qvel");
  if (ctrl + qpos + qvel != 1)
    return node_error(from, "ctrl", "of ctrl, qpos and qvel there must be one, not %d", ctrl + qpos + qvel);
  if (ctrl) return read_controls(out, from, model, sequences_only);
  const char *key = qpos ? "qpos" : "qvel";
  if (sequences_only) return node_error(from, key, "cannot be a variable where there is a horizon");
  return read_state(out, from, key, qpos ? ABUT_VARIABLE_QPOS : ABUT_VARIABLE_QVEL, model);
}

#endif
