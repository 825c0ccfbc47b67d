/* bench_fma.h: the speed of one core, to which other measurements can be compared. */
#ifndef ABUT_CLI_BENCH_FMA_H
#define ABUT_CLI_BENCH_FMA_H

/* f32 multiply-adds on one core, two operations each (GFLOP/s): the best of several short runs. */
double bench_fma(void);

#endif
