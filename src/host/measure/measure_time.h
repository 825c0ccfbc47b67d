/* measure_time.h: the median time of something that is done again and again. */
#ifndef ABUT_MEASURE_TIME_H
#define ABUT_MEASURE_TIME_H

/* Median of nine runs of work(context) (s). */
double median_seconds(void (*work)(void *context), void *context);

#endif
