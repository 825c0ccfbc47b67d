/* measure_time.h: the median time of something that is done again and again. */
#ifndef ABUT_HOST_BENCH_TIME_H
#define ABUT_HOST_BENCH_TIME_H

/* Median of nine runs of work(context) (s). */
double bench_seconds(void (*work)(void *context), void *context);

#endif
