/* memory.h: how much memory there is. */
#ifndef ABUT_MEMORY_H
#define ABUT_MEMORY_H

/* Bytes that can be had without swapping; infinity where the system does not say. */
double memory_available(void);

#endif
