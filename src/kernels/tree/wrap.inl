/* wrap.inl: the shortest way between two points, straight or around a sphere or a cylinder, with two
 * derivatives (docs/step.md section 3).
 *
 * In the plane of the circle, with r the distance of an end from its centre, the way that turns by phi about
 * it is
 *
 *   L = s(a) + s(b) + R (phi - alpha(a) - alpha(b)),   s^2 = r^2 - R^2,   cos alpha = R/r
 *
 * and straight where the bracket is not positive. Its slopes are the unit vectors along the free pieces, so
 * an end's second derivative is 1/s across its piece. On a sphere the plane turns with the ends, which adds
 * derivatives across it; on a cylinder the way climbs by z: sqrt(L^2 + z^2). Where the tendon meets the geom
 * the second derivative jumps.
 *
 * By which side it goes is decided at a step's start, by the side site or as it is shorter; within the step
 * phi goes on from there, so that the length has no jumps and no crest. */

/* Length from a to b, slopes by both ends and second derivatives. */
typedef struct way {
  real length;
  vec3 ga, gb;
  mat3 haa, hab, hbb;
} way;

/* Angle from a to b about unit n, in [-pi, pi]; what is along n does not count. */
FN real angle_about(vec3 n, vec3 a, vec3 b) {
  real s = dot(n, cross(a, b)), c = dot(a, b) - dot(n, a) * dot(n, b);
  real y = rabs(s), x = rmax(rabs(c), splat(K(ELEM_TINY)));
  real t = atan2_quadrant(y, x);
  t = sel(lt(c, zero()), K(3.14159265358979323846) - t, t);
  return sel(lt(s, zero()), -t, t);
}

FN way way_straight(vec3 a, vec3 b) {
  vec3 d = sub(b, a);
  real length = norm(d);
  mask some = gt(length, splat(K(1e-15)));
  real over = sel(some, splat(1) / sel(some, length, splat(1)), zero());
  way w;
  w.length = length;
  w.gb = scale(over, d);
  w.ga = scale(splat(-1), w.gb);
  w.haa = w.hbb = mat_scale(over, mat_sub(mat_identity(), outer(w.gb, w.gb)));
  w.hab = mat_scale(splat(-1), w.haa);
  return w;
}

/* The plane's normal: the cylinder's axis; of a sphere along a x b, or any. */
FN vec3 wrap_normal(vec3 a, vec3 b, vec3 axis, int cylinder) {
  if (cylinder) return axis;
  vec3 e1, e2, n = cross(a, b);
  real tiny = splat(K(1e-15)), size = norm(a), across = norm(n);
  frame_from_normal(scale(splat(1) / rmax(size, tiny), a), &e1, &e2);
  return vec_sel(gt(across, tiny), scale(splat(1) / rmax(across, tiny), n), e1);
}

/* How the way goes: phi with the sense about `normal` as its sign. */
typedef struct turning {
  real turn;
  vec3 normal;
} turning;
/* At a step's start. side: a point that it turns by, where sided. */
FN turning wrap_turning(vec3 a, vec3 b, vec3 side, vec3 axis, int cylinder, int sided) {
  turning s;
  s.normal = wrap_normal(a, b, axis, cylinder);
  s.turn = angle_about(s.normal, a, b);
  if (sided) s.turn = angle_about(s.normal, a, side) + angle_about(s.normal, side, b);
  return s;
}

/* Ends seen from the geom's centre; axis: of the cylinder, world axes; s: how it goes at the step's start. */
FN way way_around(vec3 a, vec3 b, vec3 axis, turning s, int cylinder, elem radius) {
  vec3 fa = a, fb = b, n = wrap_normal(a, b, axis, cylinder); /* ends within the plane */
  if (cylinder) {
    fa = axpy(-dot(a, n), n, a);
    fb = axpy(-dot(b, n), n, b);
  }
  n = scale(sel(lt(dot(n, s.normal), zero()), splat(-1), splat(1)), n);
  real least = splat(radius * K(1 + 1e-6)), r2 = splat(radius * radius);
  real ra = norm(fa), rb = norm(fb);
  mask outside = mask_and(ge(ra, splat(radius)), ge(rb, splat(radius)));
  ra = rmax(ra, least);
  rb = rmax(rb, least);
  real sa = root(ra * ra - r2), sb = root(rb * rb - r2);
  real turn = angle_about(n, fa, fb);
  turn = turn + K(6.28318530717958647693) * nearest((s.turn - turn) * K(0.15915494309189533577));
  real sense = sel(lt(turn, zero()), splat(-1), splat(1)), phi = sense * turn;
  real bow = phi - atan2_quadrant(sa, splat(radius)) - atan2_quadrant(sb, splat(radius));
  mask wraps = mask_and(outside, gt(bow, zero()));
  vec3 nn = scale(sense, n), ua = scale(splat(1) / ra, fa), ub = scale(splat(1) / rb, fb);
  vec3 ta = cross(nn, ua), tb = cross(nn, ub);
  real ca = sa / ra, cb = sb / rb, da = K(radius) / ra, db = K(radius) / rb;
  vec3 ea = axpy(ca, ta, scale(da, ua)), eb = axpy(cb, tb, scale(-db, ub));
  way w, straight = way_straight(a, b);
  w.length = sa + sb + K(radius) * bow;
  w.ga = axpy(-da, ta, scale(ca, ua));
  w.gb = axpy(db, tb, scale(cb, ub));
  w.haa = mat_scale(splat(1) / sa, outer(ea, ea));
  w.hbb = mat_scale(splat(1) / sb, outer(eb, eb));
  w.hab = mat_zero();
  if (cylinder) {
    real z = dot(sub(b, a), axis), whole = root(w.length * w.length + z * z);
    real flat = w.length / whole, steep = z / whole, over = splat(1) / whole;
    vec3 pa = axpy(flat, axis, scale(steep, w.ga)), pb = axpy(-flat, axis, scale(steep, w.gb));
    w.length = whole;
    w.ga = axpy(-steep, axis, scale(flat, w.ga));
    w.gb = axpy(steep, axis, scale(flat, w.gb));
    w.haa = mat_add(mat_scale(flat, w.haa), mat_scale(over, outer(pa, pa)));
    w.hbb = mat_add(mat_scale(flat, w.hbb), mat_scale(over, outer(pb, pb)));
    w.hab = mat_scale(over, outer(pa, pb));
  } else {
    real sine, c;
    sincos_lane(phi, &sine, &c); /* 0 with ends opposite: no plane */
    sine = sel(lt(sine, zero()), rmin(sine, splat(K(-1e-6))), rmax(sine, splat(K(1e-6))));
    mat3 across = outer(n, n);
    w.haa = mat_add(w.haa, mat_scale((ca + da * c / sine) / ra, across));
    w.hbb = mat_add(w.hbb, mat_scale((cb + db * c / sine) / rb, across));
    w.hab = mat_scale(-K(radius) / (ra * rb * sine), across);
  }
  w.length = sel(wraps, w.length, straight.length);
  w.ga = vec_sel(wraps, w.ga, straight.ga);
  w.gb = vec_sel(wraps, w.gb, straight.gb);
  w.haa = mat_sel(wraps, w.haa, straight.haa);
  w.hab = mat_sel(wraps, w.hab, straight.hab);
  w.hbb = mat_sel(wraps, w.hbb, straight.hbb);
  return w;
}
