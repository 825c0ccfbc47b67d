/* write_contacts.h: two surfaces and their active contacts at one pair of poses, as a GLB file. */
#ifndef ABUT_CLI_WRITE_CONTACTS_H
#define ABUT_CLI_WRITE_CONTACTS_H
#include "abut/manifold.h"

typedef struct contacts_picture {
  const abut_surface *surface; /* 2 */
  const double *poses;         /* 2 x 7 */
  int64_t count, edges;        /* contacts; the first of a pair of edges */
  abut_contacts contacts;      /* count each, in the world's frame */
} contacts_picture;

/* Writes to a file of this name; messages name `shown`. The pin of a contact of activity 1 is 0.15 of the
 * larger surface's diagonal long. */
int contacts_picture_write(const char *path, const char *shown, const contacts_picture *in);

#endif
