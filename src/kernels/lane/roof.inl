/* roof.inl: what a GPU's roofs are measured with: nothing but one operation, in chains enough to keep its
 * units busy, on registers. Not part of any program (src/host/measure/measure_roof.c). */

enum { ROOF_FMA, ROOF_DIVISION, ROOF_ROOT, ROOF_KINDS, ROOF_CHAINS = 8 };

/* rounds times one operation per chain; out is written only if the results were not what they must be. */
FN void roof(elem *out, int which, int rounds) {
  real c[ROOF_CHAINS], low = splat(ELEM_HUGE);
  for (int i = 0; i < ROOF_CHAINS; i++) c[i] = splat(K(1) + K(i) / K(ROOF_CHAINS));
  for (int r = 0; which == ROOF_FMA && r < rounds; r++)
    for (int i = 0; i < ROOF_CHAINS; i++) c[i] = c[i] * K(0.5) + K(1);
  for (int r = 0; which == ROOF_DIVISION && r < rounds; r++)
    for (int i = 0; i < ROOF_CHAINS; i++) c[i] = K(2) / c[i];
  for (int r = 0; which == ROOF_ROOT && r < rounds; r++)
    for (int i = 0; i < ROOF_CHAINS; i++) c[i] = root(c[i]);
  for (int i = 0; i < ROOF_CHAINS; i++) low = rmin(low, c[i]); /* all stay in [1, 2] */
  if (any(lt(low, splat(K(0.5))))) *out = low;
}
