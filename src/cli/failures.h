/* failures.h: which environments of a run failed, and why. */
#ifndef ABUT_CLI_FAILURES_H
#define ABUT_CLI_FAILURES_H
#include "array.h"
#include "json.h"

/* One per status bit. */
enum { FAILED_UNCONVERGED, FAILED_NONFINITE, FAILED_OVERLAP, FAILED_NOT_MINIMUM, FAILURE_KINDS };

typedef struct failures {
  int64_t envs[FAILURE_KINDS];      /* that have the bit */
  int64_t first_env[FAILURE_KINDS]; /* the first of them */
  int32_t overlap_pair;             /* of the first that overlapped, -1: not known */
} failures;

/* Counts the bits of every environment; overlap_pair: as the rollout wrote it. */
failures failures_count(const uint32_t *status, const array *overlap_pair, int64_t nenv);
/* A line per reason that occurs. */
void failures_print(const failures *in, const abut_model *model);
/* A member "failures" with a member per reason that occurs; nothing where there are none. */
void failures_json(json_writer *json, const failures *in, const abut_model *model);

#endif
