/* noise.h: normal random numbers that are functions of counters. */
#ifndef ABUT_NOISE_H
#define ABUT_NOISE_H
#include <stdint.h>

/* Standard normal; a function of (seed, environment, step, entry) only. */
double noise_normal(uint64_t seed, uint64_t env, uint64_t step, uint64_t entry);

#endif
