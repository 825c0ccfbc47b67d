/* task_variable.h: the variables of a task file. */
#ifndef ABUT_CLI_TASK_VARIABLE_H
#define ABUT_CLI_TASK_VARIABLE_H
#include "json_node.h"
#include "abut/optimise.h"

typedef struct variable_list {
  abut_variable *items; /* free() */
  int32_t count, room;
} variable_list;

/* Appends the variables that one object describes: an actuator or an entry each. sequences_only: refuses
 * what a receding horizon cannot shift. */
int variable_list_add(variable_list *out, const json_node *from, const abut_model *model, int sequences_only);
/* The object of this name: 'b'ody, 'j'oint, 'a'ctuator. */
int task_find(const json_node *from, const char *key, const abut_model *model, char kind, const char *name,
              int32_t *id);

#endif
