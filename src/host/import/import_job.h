/* import_job.h: what the files share that take over what MuJoCo compiled (import_mujoco.c). */
#ifndef ABUT_IMPORT_JOB_H
#define ABUT_IMPORT_JOB_H
#include "host/import/import.h"
#include "host/model/builder.h"
#include <mujoco/mujoco.h>
#include <string.h>

/* What is carried from MuJoCo's model to the builder's. Bodies, joints, sites and tendons keep their ids. */
typedef struct import_job {
  const mjModel *mj;
  abut_builder *builder;
  finding_list findings;
  int32_t hull_points, tessellation;
  int32_t *geoms, *actuators; /* builder's id of each, -1 if dropped */
} import_job;

#define COPY(to, from, index, n) memcpy((to), (from) + (size_t)(n) * (size_t)(index), (n) * sizeof(double))

static inline const char *name_of(const mjModel *mj, int type, int id) { return mj_id2name(mj, type, id); }

static inline int disabled(const mjModel *mj, int flag) { return (mj->opt.disableflags & flag) != 0; }

/* Constraints of one kind are off: by their own flag or by that of all constraints. */
static inline int constraint_disabled(const mjModel *mj, int flag) {
  return disabled(mj, flag | mjDSBL_CONSTRAINT);
}

/* Row `index` of solref and solimp arrays. What MuJoCo takes for its default, one positive and one negative
 * number, becomes it. */
void import_solver(const mjtNum *solrefs, const mjtNum *solimps, int index, double solref[2],
                   double solimp[5]);
/* import_elements.c: sites, tendons, equalities, actuators, sensors and keys, once bodies, joints and geoms
 * are there. */
abut_status import_elements(import_job *job);

#endif
