/* query.h: contact queries as JSON. */
#ifndef ABUT_CLI_QUERY_H
#define ABUT_CLI_QUERY_H
#include <stddef.h>

/* Answers a JSON array of queries ("plane", "longrange") on standard output; name: where the text is from,
 * for messages. Only where there is jansson. */
int query_text(const char *kind, const char *name, const char *text, size_t size, int dtype);

#endif
