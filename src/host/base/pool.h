/* pool.h: threads that sleep until there is work, for as long as their owner lives. */
#ifndef ABUT_POOL_H
#define ABUT_POOL_H
#include "host/base/status.h"

typedef struct pool pool;

/* For work on so many threads, the calling one included; each is started when it is first needed. */
abut_status pool_create(int32_t threads, pool **p);
void pool_destroy(pool *p);

/* work(0, arg) on the calling thread and at the same time work(i, arg), i < count, on others; when it returns
 * so have all of them. Only the first call is certain: a thread that cannot be started, or has not woken up
 * when the first call returns, is left out. So the calls take pieces from a common heap until it is empty,
 * and fewer threads change nothing but time. A pool that is at work already, or NULL, leaves all of it to the
 * caller.
 *
 * A process forked from the owner's finds itself without threads and starts its own. */
typedef void (*pool_work)(int32_t index, void *arg);
void pool_run(pool *p, int32_t count, pool_work work, void *arg);

#endif
