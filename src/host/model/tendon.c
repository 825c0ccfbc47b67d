/* tendon.c: the shortest way along a tendon, from site to site and around geoms.
 *
 * A geom is wrapped in a plane in which it is a circle: of a sphere the plane through its centre and the two
 * sites; of a cylinder the one across its axis, the way climbs along the axis as it goes. A tendon runs
 * outside of the circle, or touches it from within where its side site lies inside the geom. */
#include "host/model/tendon.h"
#include "host/base/geometry.h"

static const double least = 1e-15; /* MuJoCo's mjMINVAL: shorter is nothing */

static double dot2(const double a[2], const double b[2]) { return a[0] * b[0] + a[1] * b[1]; }

/* ---------------------------------------------------------------- around a circle */

/* Where the way meets a circle about the origin, and how far it goes along it. */
typedef struct touch {
  double from[2], to[2], arc;
} touch;

/* Angle from a to b about the origin, counter-clockwise, in [-pi, pi]. */
static double angle_between(const double a[2], const double b[2]) {
  return atan2(a[0] * b[1] - a[1] * b[0], dot2(a, b));
}

/* The point of the circle at an angle from p. */
static void circle_point(double out[2], const double p[2], double angle, double radius) {
  const double scale = radius / sqrt(dot2(p, p)), c = scale * cos(angle), s = scale * sin(angle);
  out[0] = c * p[0] - s * p[1];
  out[1] = s * p[0] + c * p[1];
}

/* The way from a to b around the outside: it turns about the circle's centre as the way over `side` does, or,
 * where that is NULL, as the shorter one. Returns 0 where it is straight. */
static int touch_outside(touch *way, const double a[2], const double b[2], const double *side,
                         double radius) {
  const double ra = sqrt(dot2(a, a)), rb = sqrt(dot2(b, b));
  if (ra < radius || rb < radius || radius < least) return 0;
  const double turn = side ? angle_between(a, side) + angle_between(side, b) : angle_between(a, b);
  const double seen_a = acos(radius / ra), seen_b = acos(radius / rb), sense = turn < 0 ? -1 : 1;
  const double angle = fabs(turn) - seen_a - seen_b;
  if (!(angle > 0)) return 0;
  circle_point(way->from, a, sense * seen_a, radius);
  circle_point(way->to, b, -sense * seen_b, radius);
  way->arc = radius * angle;
  return 1;
}

/* The nearest point of segment a-b to the origin. Returns where it is along it, in [0, 1]. */
static double nearest_point(double out[2], const double a[2], const double b[2]) {
  const double d[2] = {b[0] - a[0], b[1] - a[1]}, square = dot2(d, d);
  const double t = fmin(fmax(-dot2(d, a) / square, 0), 1);
  for (int i = 0; i < 2; i++) out[i] = a[i] + t * d[i];
  return t;
}

/* The way from a to b that touches the circle from within: by way of the point of the circle that makes it
 * shortest. Returns 0 where it is straight. */
static int touch_inside(touch *way, const double a[2], const double b[2], double radius) {
  const double ra = sqrt(dot2(a, a)), rb = sqrt(dot2(b, b)), apart[2] = {b[0] - a[0], b[1] - a[1]};
  double nearest[2];
  if (ra <= radius || rb <= radius || radius < least) return 0;
  if (dot2(apart, apart) > least) {
    const double t = nearest_point(nearest, a, b);
    if (t > 0 && t < 1 && dot2(nearest, nearest) <= radius * radius) return 0;
  }
  const double cosine = dot2(a, b) / (ra * rb), sense = a[0] * b[1] - a[1] * b[0] < 0 ? -1 : 1;
  if (cosine < -1 + least) return 0;
  const double whole = acos(fmin(cosine, 1));
  /* the slope of the length grows with the angle from a while the point is seen from both ends */
  double low = fmax(0, whole - acos(radius / rb)), high = fmin(whole, acos(radius / ra));
  for (int i = 0; i < 100; i++) {
    const double x = (low + high) / 2, y = whole - x;
    const double da = sqrt(ra * ra + radius * radius - 2 * ra * radius * cos(x));
    const double db = sqrt(rb * rb + radius * radius - 2 * rb * radius * cos(y));
    *(ra * sin(x) / da < rb * sin(y) / db ? &low : &high) = x;
  }
  circle_point(way->from, a, sense * (low + high) / 2, radius);
  memcpy(way->to, way->from, sizeof way->to);
  way->arc = 0;
  return 1;
}

/* ---------------------------------------------------------------- around a geom */

/* Axes of the plane in which a sphere is wrapped, with both points in it; they may lie on one line. */
static void sphere_plane(double axes[2][3], const double a[3], const double b[3]) {
  double normal[3];
  memcpy(axes[0], a, 3 * sizeof *a);
  normalise(axes[0], 3);
  cross3(normal, a, b);
  if (sqrt(dot3(normal, normal)) < least) {
    int largest = 0;
    for (int i = 1; i < 3; i++)
      if (fabs(axes[0][i]) > fabs(axes[0][largest])) largest = i;
    const double other[3] = {largest != 0, largest != 1, largest != 2};
    cross3(normal, axes[0], other);
  }
  normalise(normal, 3);
  cross3(axes[1], normal, axes[0]);
}

/* Where the way from a to b meets geom g, in the world, and how far it goes along it. Returns 0 where it does
 * not meet it. side: the side site's place, or NULL. */
static int touch_geom(const abut_model *m, const model_pose *pose, int32_t g, int cylinder, const double *a,
                      const double *b, const double *side, double points[2][3], double *arc) {
  const double *given[3] = {a, b, side}, radius = m->geom_size[3 * (size_t)g];
  const size_t body = (size_t)m->geom_body[g];
  double centre[3], quat[4], frame[9], local[3][3], flat[3][2], axes[2][3] = {{1, 0, 0}, {0, 1, 0}};
  transform_point(centre, pose->xpos + 3 * body, pose->xquat + 4 * body, m->geom_pos + 3 * (size_t)g);
  quat_product(quat, pose->xquat + 4 * body, m->geom_quat + 4 * (size_t)g);
  quat_matrix(frame, quat);
  for (int n = 0; n < (side ? 3 : 2); n++)
    for (int i = 0; i < 3; i++) {
      local[n][i] = 0;
      for (int k = 0; k < 3; k++) local[n][i] += frame[3 * k + i] * (given[n][k] - centre[k]);
    }
  if (sqrt(dot3(local[0], local[0])) < least || sqrt(dot3(local[1], local[1])) < least) return 0;
  if (!cylinder) sphere_plane(axes, local[0], local[1]);
  for (int n = 0; n < (side ? 3 : 2); n++)
    for (int i = 0; i < 2; i++) flat[n][i] = dot3(axes[i], local[n]);
  touch way;
  if (side && sqrt(dot3(local[2], local[2])) < radius) {
    if (!touch_inside(&way, flat[0], flat[1], radius)) return 0;
  } else {
    if (!touch_outside(&way, flat[0], flat[1], side ? flat[2] : NULL, radius)) return 0;
  }
  *arc = way.arc;
  double rise[2] = {0, 0};
  if (cylinder) {
    const double before = hypot(flat[0][0] - way.from[0], flat[0][1] - way.from[1]);
    const double after = hypot(flat[1][0] - way.to[0], flat[1][1] - way.to[1]);
    const double slope = (local[1][2] - local[0][2]) / (before + way.arc + after);
    rise[0] = local[0][2] + slope * before;
    rise[1] = rise[0] + slope * way.arc;
    *arc = hypot(way.arc, slope * way.arc);
  }
  for (int n = 0; n < 2; n++) {
    const double *at = n ? way.to : way.from;
    double point[3];
    for (int i = 0; i < 3; i++) point[i] = axes[0][i] * at[0] + axes[1][i] * at[1];
    if (cylinder) point[2] = rise[n];
    transform_point(points[n], centre, quat, point);
  }
  return 1;
}

/* ---------------------------------------------------------------- along a tendon */

/* A place on the way and the body that it is fixed to. */
typedef struct place {
  int32_t body;
  double x[3];
} place;

static place site_place(const abut_model *m, const model_pose *pose, int32_t site) {
  const size_t body = (size_t)m->site_body[site];
  place p = {(int32_t)body, {0, 0, 0}};
  transform_point(p.x, pose->xpos + 3 * body, pose->xquat + 4 * body, m->site_pos + 3 * (size_t)site);
  return p;
}

/* gradient += how fast `along`.p grows with every dof. */
static void add_motion(const abut_model *m, const model_pose *pose, const place *p, const double along[3],
                       double *gradient) {
  const int32_t mover = m->body_weldid[p->body];
  double arm[3];
  if (mover == 0) return;
  for (int i = 0; i < 3; i++) arm[i] = p->x[i] - pose->centre[3 * (size_t)p->body + (size_t)i];
  for (int32_t d = m->body_dofadr[mover] + m->body_dofnum[mover] - 1; d >= 0; d = m->dof_parent[d]) {
    const double *motion = pose->motion + 6 * (size_t)d;
    double swing[3];
    cross3(swing, motion, arm);
    gradient[d] += dot3(along, motion + 3) + dot3(along, swing);
  }
}

/* A straight piece, divided by the pulleys before it. */
static double add_piece(const abut_model *m, const model_pose *pose, const place *from, const place *to,
                        double divisor, double *gradient) {
  double along[3], back[3], length = 0;
  for (int i = 0; i < 3; i++) along[i] = to->x[i] - from->x[i];
  length = sqrt(dot3(along, along));
  if (gradient && length > least) {
    for (int i = 0; i < 3; i++) along[i] /= length * divisor, back[i] = -along[i];
    add_motion(m, pose, from, back, gradient);
    add_motion(m, pose, to, along, gradient);
  }
  return length / divisor;
}

static double spatial_length(const abut_model *m, const model_pose *pose, int32_t t, double *gradient) {
  const int32_t first = m->tendon_adr[t], end = first + m->tendon_num[t];
  double length = 0, divisor = 1;
  for (int32_t row = first; row < end; row++) {
    const int geom = row + 1 < end && m->wrap_type[row + 1] >= ABUT_WRAP_SPHERE;
    if (m->wrap_type[row] == ABUT_WRAP_PULLEY) divisor = m->wrap_prm[row];
    if (m->wrap_type[row] != ABUT_WRAP_SITE || row + 1 == end || m->wrap_type[row + 1] == ABUT_WRAP_PULLEY)
      continue;
    const place from = site_place(m, pose, m->wrap_obj[row]);
    const place to = site_place(m, pose, m->wrap_obj[row + 1 + geom]);
    place on[2];
    double points[2][3], arc;
    if (geom) {
      const int32_t g = m->wrap_obj[row + 1], side = (int32_t)m->wrap_prm[row + 1];
      const place beside = site_place(m, pose, side < 0 ? 0 : side);
      if (touch_geom(m, pose, g, m->wrap_type[row + 1] == ABUT_WRAP_CYLINDER, from.x, to.x,
                     side < 0 ? NULL : beside.x, points, &arc)) {
        for (int n = 0; n < 2; n++) {
          on[n].body = m->geom_body[g];
          memcpy(on[n].x, points[n], sizeof points[n]);
        }
        length += add_piece(m, pose, &from, &on[0], divisor, gradient) + arc / divisor +
                  add_piece(m, pose, &on[1], &to, divisor, gradient);
        continue;
      }
    }
    length += add_piece(m, pose, &from, &to, divisor, gradient);
  }
  return length;
}

double model_tendon_length(const abut_model *model, const double *qpos, const model_pose *pose, int32_t t,
                           double *gradient) {
  const int32_t first = model->tendon_adr[t], end = first + model->tendon_num[t];
  double length = 0;
  if (gradient) memset(gradient, 0, (size_t)model->nv * sizeof *gradient);
  if (model->wrap_type[first] != ABUT_WRAP_JOINT) return spatial_length(model, pose, t, gradient);
  for (int32_t row = first; row < end; row++) {
    const int32_t joint = model->wrap_obj[row];
    length += model->wrap_prm[row] * qpos[model->jnt_qposadr[joint]];
    if (gradient) gradient[model->jnt_dofadr[joint]] += model->wrap_prm[row];
  }
  return length;
}

/* ---------------------------------------------------------------- what moves it, what it moves */

/* Whether dof d moves what is fixed to a body. */
static int dof_moves(const abut_model *m, int32_t d, int32_t body) {
  const int32_t mover = m->body_weldid[body];
  int32_t at = mover ? m->body_dofadr[mover] + m->body_dofnum[mover] - 1 : -1;
  while (at > d) at = m->dof_parent[at];
  return at == d;
}

/* Whether dof d may change the length of the piece that begins at a site in this row: what moves both ends
 * does not, but kernels take that for granted of straight pieces only. */
static int changes_piece(const abut_model *m, int32_t d, int32_t row) {
  const int geom = m->wrap_type[row + 1] >= ABUT_WRAP_SPHERE;
  const int from = dof_moves(m, d, m->site_body[m->wrap_obj[row]]);
  const int to = dof_moves(m, d, m->site_body[m->wrap_obj[row + 1 + geom]]);
  if (!geom) return from != to;
  return from || to || dof_moves(m, d, m->geom_body[m->wrap_obj[row + 1]]);
}

static int changes_length(const abut_model *m, int32_t d, int32_t t) {
  const int32_t end = m->tendon_adr[t] + m->tendon_num[t];
  for (int32_t row = m->tendon_adr[t]; row < end; row++) {
    if (m->wrap_type[row] == ABUT_WRAP_JOINT && m->jnt_dofadr[m->wrap_obj[row]] == d) return 1;
    if (m->wrap_type[row] == ABUT_WRAP_SITE && row + 1 < end && m->wrap_type[row + 1] != ABUT_WRAP_PULLEY &&
        changes_piece(m, d, row))
      return 1;
  }
  return 0;
}

int32_t model_tendon_dofs(const abut_model *model, int32_t t, int32_t *dofs) {
  int32_t count = 0;
  for (int32_t d = 0; d < model->nv; d++)
    if (changes_length(model, d, t)) dofs[count++] = d;
  return count;
}

int model_wrap_inside(const abut_model *model, const model_pose *pose, int32_t row) {
  const int32_t geom = model->wrap_obj[row];
  const size_t body = (size_t)model->geom_body[geom];
  const place side = site_place(model, pose, (int32_t)model->wrap_prm[row]);
  double centre[3], away[3];
  transform_point(centre, pose->xpos + 3 * body, pose->xquat + 4 * body, model->geom_pos + 3 * (size_t)geom);
  for (int i = 0; i < 3; i++) away[i] = side.x[i] - centre[i];
  return sqrt(dot3(away, away)) < model->geom_size[3 * (size_t)geom];
}

int model_tendon_acts(const abut_model *model, int32_t t) {
  if (model->tendon_stiffness[t] > 0 || model->tendon_damping[t] > 0 || model->tendon_armature[t] > 0 ||
      model->tendon_frictionloss[t] > 0 || model->tendon_limited[t])
    return 1;
  for (int32_t a = 0; a < model->nu; a++)
    if (model->actuator_trntype[a] == ABUT_TRANSMISSION_TENDON && model->actuator_trnid[2 * (size_t)a] == t)
      return 1;
  for (int32_t e = 0; e < model->neq; e++)
    if (model->eq_type[e] == ABUT_EQUALITY_TENDON && model->eq_active[e] &&
        (model->eq_obj1[e] == t || model->eq_obj2[e] == t))
      return 1;
  return 0;
}
