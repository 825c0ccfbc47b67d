/* builder_add.h: what the files that add to a builder share (builder.c). */
#ifndef ABUT_BUILDER_ADD_H
#define ABUT_BUILDER_ADD_H
#include "host/model/builder.h"

/* append_body(builder, def, id) and its kin: takes over what def owns, or frees it on failure, as free_body
 * does. */
#define X(type, name, plural)                                                                                \
  abut_status append_##name(abut_builder *builder, type *def, int32_t *id);                                  \
  void free_##name(type *def);
BUILDER_LISTS(X)
#undef X

/* Copy of bytes; NULL for NULL, and once *status is a failure. */
void *copy_bytes(abut_status *status, const void *bytes, size_t size);
char *copy_text(abut_status *status, const char *text);

enum { LABEL = 128 };
/* "joint 'hip'", or "joint 3" for the one about to be added. Returns buffer. */
const char *label(char buffer[LABEL], const char *noun, const char *name, int32_t id);
abut_status check_id(const char *who, const char *noun, int32_t id, int32_t count);
/* Makes v unit; what: "quat". */
abut_status make_unit(const char *who, const char *what, double *v, int n);

#endif
