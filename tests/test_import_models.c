/* test_import_models.c: what imports agrees with MuJoCo: kinematics, mass properties, parameters, contact
 * filters. Runs over scenes/ and over the files listed in import_models.txt, where they are (environment
 * variable ABUT_MODELS). */
#include "test.h"
#ifdef ABUT_HAVE_MUJOCO
#include "abut/file.h"
#include "host/import/import.h"
#include "host/model/model.h"
#include <dirent.h>
#include <limits.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fails and names the file. */
#define AGREE(cond, file)                                                                                    \
  do {                                                                                                       \
    if (!(cond)) test_fail(__FILE__, __LINE__, "%s: %s", file, #cond);                                       \
  } while (0)

/* ---------------------------------------------------------------------------------------- kinematics */

/* Poses of all bodies, and of all dofs the world twist: a point y moves with w x y + v. */
typedef struct poses {
  double (*xpos)[3], (*xquat)[4], (*w)[3], (*v)[3];
} poses;

static void rotate(double r[3], const double q[4], const double v[3]) { mju_rotVecQuat(r, v, q); }

/* Twist of a rotation about an axis through a point. */
static void turn(double w[3], double v[3], const double axis[3], const double point[3]) {
  mju_copy3(w, axis);
  mju_cross(v, point, axis);
}

static void move_by_joint(const abut_model *m, int j, const double *qpos, double xpos[3], double xquat[4],
                          poses *out) {
  const double *q = qpos + m->jnt_qposadr[j], *jpos = m->jnt_pos + 3 * j, *jaxis = m->jnt_axis + 3 * j;
  double anchor[3], axis[3], local[4], turned[4], arm[3];
  int dof = m->jnt_dofadr[j];
  rotate(anchor, xquat, jpos);
  mju_addTo3(anchor, xpos);
  rotate(axis, xquat, jaxis);
  if (m->jnt_type[j] == ABUT_JOINT_SLIDE) {
    mju_addToScl3(xpos, axis, q[0] - m->qpos0[m->jnt_qposadr[j]]);
    mju_zero3(out->w[dof]);
    mju_copy3(out->v[dof], axis);
    return;
  }
  if (m->jnt_type[j] == ABUT_JOINT_BALL)
    mju_copy4(local, q);
  else
    mju_axisAngle2Quat(local, jaxis, q[0] - m->qpos0[m->jnt_qposadr[j]]);
  mju_mulQuat(turned, xquat, local);
  mju_copy4(xquat, turned);
  rotate(arm, xquat, jpos);
  mju_sub3(xpos, anchor, arm);
  if (m->jnt_type[j] == ABUT_JOINT_HINGE) turn(out->w[dof], out->v[dof], axis, anchor);
}

/* The rotations of ball and free joints turn about the axes of the moved body. */
static void twist_body_axes(const abut_model *m, int j, const double xpos[3], const double xquat[4],
                            poses *out) {
  int dof = m->jnt_dofadr[j], is_free = m->jnt_type[j] == ABUT_JOINT_FREE;
  double anchor[3];
  rotate(anchor, xquat, m->jnt_pos + 3 * j);
  mju_addTo3(anchor, xpos);
  for (int k = 0; k < 3; k++) {
    double unit[3] = {k == 0, k == 1, k == 2}, axis[3];
    if (is_free) {
      mju_zero3(out->w[dof + k]);
      mju_copy3(out->v[dof + k], unit);
    }
    rotate(axis, xquat, unit);
    turn(out->w[dof + k + 3 * is_free], out->v[dof + k + 3 * is_free], axis, is_free ? xpos : anchor);
  }
}

static void kinematics(const abut_model *m, const double *qpos, poses *out) {
  mju_zero3(out->xpos[0]);
  for (int k = 0; k < 4; k++) out->xquat[0][k] = k == 0;
  for (int b = 1; b < m->nbody; b++) {
    int parent = m->body_parent[b], first = m->body_jntadr[b], count = m->body_jntnum[b];
    double *xpos = out->xpos[b], *xquat = out->xquat[b];
    if (count && m->jnt_type[first] == ABUT_JOINT_FREE) {
      mju_copy3(xpos, qpos + m->jnt_qposadr[first]);
      mju_copy4(xquat, qpos + m->jnt_qposadr[first] + 3);
    } else {
      rotate(xpos, out->xquat[parent], m->body_pos + 3 * b);
      mju_addTo3(xpos, out->xpos[parent]);
      mju_mulQuat(xquat, out->xquat[parent], m->body_quat + 4 * b);
      for (int j = first; j < first + count; j++) move_by_joint(m, j, qpos, xpos, xquat, out);
    }
    mju_normalize4(xquat);
    for (int j = first; j < first + count; j++)
      if (m->jnt_type[j] == ABUT_JOINT_FREE || m->jnt_type[j] == ABUT_JOINT_BALL)
        twist_body_axes(m, j, xpos, xquat, out);
  }
}

/* Adds a body's mass moments, moved to the world frame, to sum: m, m c, integral rho x x^T (3x3). */
static void add_world_moment(double sum[13], const double local[10], const double xpos[3],
                             const double xquat[4]) {
  double r[9],
      s[9] = {local[4], local[7], local[8], local[7], local[5], local[9], local[8], local[9], local[6]};
  double t[9], turned[9], c[3];
  mju_quat2Mat(r, xquat);
  mju_mulMatMat(t, r, s, 3, 3, 3);
  mju_mulMatMatT(turned, t, r, 3, 3, 3);
  mju_mulMatVec(c, r, local + 1, 3, 3);
  sum[0] += local[0];
  for (int i = 0; i < 3; i++) {
    sum[1 + i] += c[i] + local[0] * xpos[i];
    for (int k = 0; k < 3; k++)
      sum[4 + 3 * i + k] +=
          turned[3 * i + k] + c[i] * xpos[k] + xpos[i] * c[k] + local[0] * xpos[i] * xpos[k];
  }
}

/* Twice the kinetic energy of a mass that moves with a unit twist: an entry on the diagonal of the mass
 * matrix. */
static double twist_inertia(const double moment[13], const double w[3], const double v[3]) {
  const double *s = moment + 4;
  double trace = s[0] + s[4] + s[8], sw[3], wc[3];
  mju_mulMatVec(sw, s, w, 3, 3);
  mju_cross(wc, w, moment + 1);
  return trace * mju_dot3(w, w) - mju_dot3(w, sw) + 2 * mju_dot3(v, wc) + moment[0] * mju_dot3(v, v);
}

/* ---------------------------------------------------------------------------------------- agreement */

static double random_unit(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(*seed >> 11) / 9007199254740992.0 * 2 - 1;
}

static void random_configuration(const mjModel *mj, double *qpos, uint64_t *seed) {
  for (int i = 0; i < mj->nq; i++) qpos[i] = random_unit(seed);
  mj_normalizeQuat(mj, qpos);
}

static double largest_difference(const double *a, const double *b, int n) {
  double largest = 0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(a[i] - b[i]) / (1 + fabs(b[i])));
  return largest;
}

/* Diagonal of the mass matrix from body_moment, against MuJoCo's without armature. */
static double mass_matrix_error(const abut_model *m, const mjModel *mj, mjData *data, const poses *at) {
  double(*subtree)[13] = calloc((size_t)m->nbody, sizeof *subtree), largest = 0;
  double *full = malloc(sizeof(double) * (size_t)(m->nv * m->nv + 1));
  for (int b = m->nbody - 1; b > 0; b--) {
    add_world_moment(subtree[b], m->body_moment + 10 * b, at->xpos[b], at->xquat[b]);
    for (int k = 0; k < 13; k++) subtree[m->body_parent[b]][k] += subtree[b][k];
  }
  mj_comPos(mj, data);
  mj_makeM(mj, data);
  mj_fullM(mj, data, full);
  for (int i = 0; i < m->nv; i++) {
    double expected = full[(size_t)i * (size_t)(m->nv + 1)];
    double got = twist_inertia(subtree[m->dof_body[i]], at->w[i], at->v[i]) + mj->dof_armature[i];
    largest = fmax(largest, fabs(got - expected) / fabs(expected));
  }
  free(subtree);
  free(full);
  return largest;
}

static void agree_on_kinematics(const abut_model *m, const mjModel *mj, const char *file) {
  mjData *data = mj_makeData(mj);
  size_t nbody = (size_t)m->nbody, nv = (size_t)m->nv + 1;
  poses at = {calloc(nbody, sizeof(double[3])), calloc(nbody, sizeof(double[4])),
              calloc(nv, sizeof(double[3])), calloc(nv, sizeof(double[3]))};
  uint64_t seed = 7;
  double position = 0, rotation = 0, mass = 0;
  for (int i = 0; i < 20; i++) {
    random_configuration(mj, data->qpos, &seed);
    kinematics(m, data->qpos, &at);
    mj_kinematics(mj, data);
    position = fmax(position, largest_difference(at.xpos[0], data->xpos, 3 * m->nbody));
    rotation = fmax(rotation, largest_difference(at.xquat[0], data->xquat, 4 * m->nbody));
    if (i < 3) mass = fmax(mass, mass_matrix_error(m, mj, data, &at));
  }
  AGREE(position < 1e-12, file);
  AGREE(rotation < 1e-12, file);
  AGREE(mass < 1e-9, file);
  free(at.xpos);
  free(at.xquat);
  free(at.w);
  free(at.v);
  mj_deleteData(data);
}

#define SAME(ours, theirs, n) AGREE(largest_difference(ours, theirs, n) < 1e-15, file)

static void agree_on_parameters(const abut_model *m, const mjModel *mj, const char *file) {
  SAME(m->body_mass, mj->body_mass, m->nbody);
  SAME(m->body_ipos, mj->body_ipos, 3 * m->nbody);
  SAME(m->body_inertia, mj->body_inertia, 3 * m->nbody);
  SAME(m->qpos0, mj->qpos0, m->nq);
  SAME(m->qpos_spring, mj->qpos_spring, m->nq);
  SAME(m->key_qpos, mj->key_qpos, m->nkey * m->nq);
  SAME(m->key_qvel, mj->key_qvel, m->nkey * m->nv);
  SAME(m->key_ctrl, mj->key_ctrl, m->nkey * m->nu);
  SAME(m->jnt_range, mj->jnt_range, 2 * m->njnt);
  for (int g = 0; g < m->ngeom; g++) {
    if (m->geom_type[g] == ABUT_GEOM_MESH || m->geom_type[g] == ABUT_GEOM_PLANE) continue;
    SAME(m->geom_size + 3 * g, mj->geom_size + 3 * g, m->geom_type[g] == ABUT_GEOM_SPHERE ? 1 : 2);
    SAME(m->geom_pos + 3 * g, mj->geom_pos + 3 * g, 3);
  }
  for (int j = 0; j < m->njnt; j++) {
    int dof = mj->jnt_dofadr[j];
    AGREE(m->jnt_armature[j] == mj->dof_armature[dof], file);
    AGREE(m->jnt_damping[j] == mj->dof_damping[dof], file);
    AGREE(m->jnt_stiffness[j] == mj->jnt_stiffness[j], file);
  }
  for (int i = 0; i < m->nu; i++) AGREE(m->actuator_gear[6 * i] == mj->actuator_gear[6 * i], file);
  for (int i = 1; i < m->nbody; i++) {
    const char *name = mj_id2name(mj, mjOBJ_BODY, i);
    AGREE(!strcmp(abut_model_name(m, 'b', i), name ? name : ""), file);
  }
}

/* ---------------------------------------------------------------------------------------- contact filters */

/* MuJoCo's broad-phase filters and its rule for friction, for two geoms. Returns -1 where they do not
 * collide, or neither can move (a mocap body and the world), which MuJoCo finds out later. */
static double mujoco_friction(const mjModel *mj, int g1, int g2) {
  int b1 = mj->geom_bodyid[g1], b2 = mj->geom_bodyid[g2], low = b1 < b2 ? b1 : b2, high = b1 + b2 - low;
  if (mj->opt.disableflags & (mjDSBL_CONTACT | mjDSBL_CONSTRAINT)) return -1;
  for (int i = 0; i < mj->npair; i++)
    if (mj->pair_geom1[i] + mj->pair_geom2[i] == g1 + g2 &&
        (mj->pair_geom1[i] == g1 || mj->pair_geom2[i] == g1))
      return mj->pair_dim[i] == 1 ? 0 : mj->pair_friction[5 * i];
  for (int i = 0; i < mj->nexclude; i++)
    if (mj->exclude_signature[i] == (low << 16) + high) return -1;
  int w1 = mj->body_weldid[b1], w2 = mj->body_weldid[b2];
  int p1 = mj->body_weldid[mj->body_parentid[w1]], p2 = mj->body_weldid[mj->body_parentid[w2]];
  if (w1 == w2 || (mj->body_treeid[b1] < 0 && mj->body_treeid[b2] < 0)) return -1;
  if (w1 && w2 && (w1 == p2 || w2 == p1) && !(mj->opt.disableflags & mjDSBL_FILTERPARENT)) return -1;
  if (!(mj->geom_contype[g1] & mj->geom_conaffinity[g2]) &&
      !(mj->geom_contype[g2] & mj->geom_conaffinity[g1]))
    return -1;
  if (mj->geom_type[g1] == mjGEOM_PLANE && mj->geom_type[g2] == mjGEOM_PLANE) return -1;
  int ranks = mj->geom_priority[g1] - mj->geom_priority[g2];
  int dim1 = mj->geom_condim[g1], dim2 = mj->geom_condim[g2];
  double f1 = mj->geom_friction[3 * g1], f2 = mj->geom_friction[3 * g2];
  int dim = ranks > 0 ? dim1 : ranks < 0 ? dim2 : dim1 > dim2 ? dim1 : dim2;
  return dim == 1 ? 0 : ranks > 0 ? f1 : ranks < 0 ? f2 : fmax(f1, f2);
}

static void agree_on_contacts(const abut_model *m, const mjModel *mj, const char *file) {
  size_t n = (size_t)m->ngeom;
  double *expected = malloc(sizeof(double) * (n * n + 1));
  for (int g1 = 0; g1 < m->ngeom; g1++)
    for (int g2 = 0; g2 < m->ngeom; g2++)
      expected[(size_t)g1 * n + (size_t)g2] = g1 == g2 ? -1 : mujoco_friction(mj, g1, g2);
  int wrong = 0, missing = 0;
  for (int p = 0; p < m->npair; p++) {
    int g1 = m->pair_geom1[p], g2 = m->pair_geom2[p];
    double friction =
        m->pair_friction[p] < 0 ? fmax(m->geom_friction[g1], m->geom_friction[g2]) : m->pair_friction[p];
    wrong += expected[(size_t)g1 * n + (size_t)g2] != friction;
    expected[(size_t)g1 * n + (size_t)g2] = expected[(size_t)g2 * n + (size_t)g1] = -1;
  }
  for (size_t i = 0; i < n * n; i++) missing += expected[i] >= 0;
  AGREE(wrong == 0, file);
  AGREE(missing == 0, file);
  free(expected);
}

static void agree(const abut_model *m, const char *path, const char *file) {
  finding_list findings = {0};
  mjModel *mj = NULL;
  REQUIRE(import_compile(path, &findings, &mj) == ABUT_OK);
  findings_free(&findings);
  int same = m->nq == mj->nq && m->nv == mj->nv && m->nu == mj->nu && m->nbody == mj->nbody &&
             m->njnt == mj->njnt && m->ngeom == mj->ngeom && m->nkey == mj->nkey;
  AGREE(same, file);
  if (same) {
    agree_on_kinematics(m, mj, file);
    agree_on_parameters(m, mj, file);
    agree_on_contacts(m, mj, file);
  }
  mj_deleteModel(mj);
}

/* ---------------------------------------------------------------------------------------- other people's
 * models */

static const char *models_folder(void) {
  struct stat status;
  const char *folder = getenv("ABUT_MODELS");
  if (!folder) folder = "../shared/models";
  return stat(folder, &status) == 0 && S_ISDIR(status.st_mode) ? folder : NULL;
}

static void check_imports(const char *path, const char *file) {
  abut_model *model = NULL;
  abut_status status = abut_model_load(path, NULL, &model);
  if (status == ABUT_OK)
    agree(model, path, file);
  else
    test_fail(__FILE__, __LINE__, "%s", abut_error_message());
  abut_model_destroy(model);
}

/* Refused with a word of the message; taken, with a warning that has it, where that may be dropped. */
static void check_refused(const char *path, const char *file, const char *word) {
  abut_load_options ignore = {.ignore_unsupported = 1};
  abut_model *model = NULL;
  AGREE(abut_model_load(path, NULL, &model) == ABUT_ERROR_UNSUPPORTED && !model, file);
  if (!strstr(abut_error_message(), word))
    test_fail(__FILE__, __LINE__, "'%s' is not in: %s", word, abut_error_message());
  if (abut_model_load(path, &ignore, &model) == ABUT_OK)
    AGREE(strstr(abut_model_warnings(model), word), file);
  abut_model_destroy(model);
}

static void check_line(const char *folder, char *line) {
  char path[PATH_MAX], *verdict = strchr(line, ' ');
  if (line[0] == '#' || !verdict) return;
  *verdict++ = 0;
  snprintf(path, sizeof path, "%s/%s", folder, line);
  if (!strcmp(verdict, "imports")) {
    check_imports(path, line);
  } else if (!strncmp(verdict, "refused: ", 9)) {
    check_refused(path, line, verdict + 9);
  } else if (!strcmp(verdict, "mujoco-refuses")) {
    abut_model *model = NULL;
    AGREE(abut_model_load(path, NULL, &model) == ABUT_ERROR_FILE && !model, line);
  } else {
    test_fail(__FILE__, __LINE__, "import_models.txt: '%s' has the unknown verdict '%s'", line, verdict);
  }
}

TEST(models_of_others) {
  const char *folder = models_folder();
  if (!folder) return;
  char *text = NULL, *next = NULL;
  size_t size = 0;
  REQUIRE(abut_file_read("tests/import_models.txt", &text, &size) == ABUT_OK);
  for (char *line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next))
    check_line(folder, line);
  free(text);
}

/* ---------------------------------------------------------------------------------------- our own scenes */

static abut_model *load_scene(const char *name) {
  char path[PATH_MAX];
  abut_model *model = NULL;
  snprintf(path, sizeof path, "scenes/%s.xml", name);
  CHECK_STATUS(abut_model_load(path, NULL, &model), ABUT_OK);
  return model;
}

static const char *const scene_folders[] = {"scenes", "scenes/tasks"};
enum { SCENE_FOLDERS = sizeof scene_folders / sizeof *scene_folders };

/* Calls check for every MJCF file of ours, with its path less the extension; returns their number. */
static int for_each_scene(void (*check)(const char *stem)) {
  int count = 0;
  for (int i = 0; i < SCENE_FOLDERS; i++) {
    DIR *folder = opendir(scene_folders[i]);
    CHECK(folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
      char stem[PATH_MAX];
      if (!abut_file_has_extension(entry->d_name, ".xml")) continue;
      snprintf(stem, sizeof stem, "%s/%.*s", scene_folders[i], (int)strlen(entry->d_name) - 4, entry->d_name);
      check(stem);
      count++;
    }
    if (folder) closedir(folder);
  }
  return count;
}

static void check_agreement(const char *stem) {
  char path[PATH_MAX];
  abut_model *model = NULL;
  snprintf(path, sizeof path, "%.4000s.xml", stem);
  CHECK_STATUS(abut_model_load(path, NULL, &model), ABUT_OK);
  if (!model) return;
  AGREE(!strcmp(abut_model_warnings(model), ""), path);
  agree(model, path, path);
  abut_model_destroy(model);
}

TEST(scenes_agree_with_mujoco) { CHECK(for_each_scene(check_agreement) >= 9); }

TEST(scene_sizes) {
  static const struct {
    const char *name;
    int nbody, nv, nu;
  } scenes[] = {{"stack5", 6, 30, 0},     {"planks20", 21, 114, 0}, {"ant_box", 11, 22, 12},
                {"chains4x8", 33, 32, 0}, {"arm_mesh", 6, 10, 4},   {"incline", 3, 6, 0},
                {"pile", 13, 72, 0}};
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    abut_model *model = load_scene(scenes[i].name);
    if (!model) continue;
    abut_model_sizes sizes = abut_model_get_sizes(model);
    AGREE(sizes.nbody == scenes[i].nbody, scenes[i].name);
    AGREE(sizes.nv == scenes[i].nv, scenes[i].name);
    AGREE(sizes.nu == scenes[i].nu, scenes[i].name);
    abut_model_destroy(model);
  }
}

/* Counted from the top, plank k reaches L/(2k) - 0.001 L beyond plank k + 1, and rests on it. */
TEST(planks_have_the_harmonic_overhang) {
  abut_model *model = load_scene("planks20");
  REQUIRE(model);
  CHECK(model->nbody == 21);
  for (int k = 1; k < 20 && model->nbody == 21; k++) {
    const double *above = model->body_pos + 3 * (21 - k), *below = above - 3;
    CHECK_NEAR(above[0] - below[0], 2.0 / (2 * k) - 0.002, 1e-12);
    CHECK_NEAR(above[2] - below[2], 0.2, 1e-12);
    CHECK_NEAR(model->body_mass[21 - k], 0.16, 1e-15);
  }
  abut_model_destroy(model);
}

static void check_compiled(const char *stem) {
  char xml[PATH_MAX], kept[PATH_MAX], scratch[] = P_tmpdir "/abut_scene_XXXXXX", fresh[sizeof scratch + 16];
  char *before = NULL, *after = NULL;
  size_t size_before = 0, size_after = 0;
  abut_model *model = NULL;
  REQUIRE(mkdtemp(scratch));
  snprintf(xml, sizeof xml, "%.4000s.xml", stem);
  snprintf(kept, sizeof kept, "%.4000s.abut", stem);
  snprintf(fresh, sizeof fresh, "%s/scene.abut", scratch);
  CHECK_STATUS(abut_model_load(xml, NULL, &model), ABUT_OK);
  CHECK_STATUS(abut_model_save(model, fresh), ABUT_OK);
  CHECK_STATUS(abut_file_read(kept, &before, &size_before), ABUT_OK);
  CHECK_STATUS(abut_file_read(fresh, &after, &size_after), ABUT_OK);
  /* another version of MuJoCo may round masses differently */
  if (before && after && mj_version() == 4000000)
    AGREE(size_before == size_after && !memcmp(before, after, size_after), kept);
  free(before);
  free(after);
  abut_model_destroy(model);
  unlink(fresh);
  rmdir(scratch);
}

/* scenes/ keeps every scene compiled, for machines without MuJoCo. */
TEST(compiled_scenes_are_current) { CHECK(for_each_scene(check_compiled) >= 9); }

#endif
