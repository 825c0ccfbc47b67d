/* moment.h: mass moments of rigid bodies: m, m c (3), integral rho x x^T (xx yy zz xy xz yz), about a frame's
 * origin. Moments of parts in one frame add. */
#ifndef ABUT_MOMENT_H
#define ABUT_MOMENT_H

enum { MOMENT_SIZE = 10 };

/* From mass (kg), centre of mass ipos (m), principal axes iquat and principal moments of inertia (kg m^2). */
void moment_from_principal(double moment[10], double mass, const double ipos[3], const double iquat[4],
                           const double inertia[3]);
/* The reverse, for mass > 0. */
void moment_to_principal(const double moment[10], double ipos[3], double iquat[4], double inertia[3]);
/* sum += scale * moment, moved from the frame (pos, quat) to the frame in which pos and quat are given. */
void moment_add(double sum[10], double scale, const double moment[10], const double pos[3],
                const double quat[4]);
/* Moment of inertia about an axis (unit) through a point. */
double moment_about(const double moment[10], const double point[3], const double axis[3]);

#endif
