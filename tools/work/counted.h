/* counted.h: `real` as a number that counts what is done with it, in place of lane.h's. C++ because C has no
 * operators of one's own; what the kernels compute with it is what a GPU thread computes. */
#ifndef ABUT_COUNTED_H
#define ABUT_COUNTED_H
#include "tally.h"

struct real {
  elem x;
  real() = default;
  real(elem value) : x(value) {}
};

FN real operator-(real a) { return real(-a.x); }
FN real operator+(real a, real b) {
  tally_now.additions++;
  return real(a.x + b.x);
}
FN real operator-(real a, real b) {
  tally_now.additions++;
  return real(a.x - b.x);
}
FN real operator*(real a, real b) {
  tally_now.multiplications++;
  return real(a.x * b.x);
}
FN real operator/(real a, real b) {
  tally_now.divisions++;
  return real(a.x / b.x);
}
FN bool operator<(real a, real b) { return a.x < b.x; }
FN bool operator<=(real a, real b) { return a.x <= b.x; }
FN bool operator>(real a, real b) { return a.x > b.x; }

FN real counted_root(real a) {
  tally_now.roots++;
  return real(sizeof(elem) == 8 ? (elem)__builtin_sqrt((double)a.x) : (elem)__builtin_sqrtf((float)a.x));
}

#endif
