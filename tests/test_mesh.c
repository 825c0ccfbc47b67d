/* test_mesh.c: reading OBJ and STL files, good and bad, and the volume that their triangles enclose. */
#include "abut/surface.h"
#include "host/shape/hull.h"
#include "test.h"
#include <dirent.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file of the test's own in the folder for temporary files. */
static const char *scratch(const char *name, const void *bytes, size_t size) {
  static char path[256];
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/abut_mesh_%ld_%s", folder ? folder : P_tmpdir, (long)getpid(), name);
  FILE *stream = fopen(path, "wb");
  if (stream) {
    fwrite(bytes, 1, size, stream);
    fclose(stream);
  }
  return path;
}

static abut_status load_text(const char *name, const char *text, abut_triangles **mesh) {
  const char *path = scratch(name, text, strlen(text));
  abut_status status = abut_triangles_load(path, NULL, mesh);
  remove(path);
  return status;
}

/* Loading fails, and the message has both parts. */
static void refuse(const char *name, const char *text, const char *part) {
  abut_triangles *mesh;
  CHECK_STATUS(load_text(name, text, &mesh), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), name) != NULL);
  CHECK(strstr(abut_error_message(), part) != NULL);
  if (!strstr(abut_error_message(), part)) test_fail(__FILE__, __LINE__, "%s", abut_error_message());
  CHECK(mesh == NULL);
}

TEST(obj_index_forms) {
  abut_triangles *mesh;
  const char *text = "# comment\no tetra\nv 0 0 0 1 0 0\nv 1 0 0\n\tv 0 1 0\nv 0 0 1\r\nvt 0 0\nvn 0 0 1\n"
                     "f 1/1 3/1 2/1\nf 1//1 2//1 4//1\nf -4/1/1 -1/1/1 -2/1/1 # tail\nf 2 \\\n 3 4";
  REQUIRE(load_text("forms.obj", text, &mesh) == ABUT_OK);
  CHECK(mesh->nvertex == 4 && mesh->ntriangle == 4);
  const int32_t expected[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  CHECK(memcmp(mesh->triangles, expected, sizeof expected) == 0);
  double moment[10];
  CHECK_STATUS(mesh_moment(mesh->vertices, mesh->nvertex, mesh->triangles, mesh->ntriangle, moment), ABUT_OK);
  CHECK_REL(moment[0], 1.0 / 6, 1e-14);
  abut_triangles_destroy(mesh);
}

TEST(obj_polygon_becomes_fan) {
  abut_triangles *mesh;
  REQUIRE(load_text("fan.obj", "f 1 2 3 4\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n", &mesh) == ABUT_OK);
  const int32_t expected[6] = {0, 1, 2, 0, 2, 3};
  CHECK(mesh->ntriangle == 2 && memcmp(mesh->triangles, expected, sizeof expected) == 0);
  abut_triangles_destroy(mesh);
}

TEST(obj_vertices_alone) {
  abut_triangles *mesh;
  REQUIRE(load_text("cloud.obj", "v 0 0 0\nv 1 2 3e1\n", &mesh) == ABUT_OK);
  CHECK(mesh->nvertex == 2 && mesh->ntriangle == 0 && mesh->vertices[5] == 30);
  abut_triangles_destroy(mesh);
}

TEST(obj_bad) {
  refuse("empty.obj", "", "has no vertices");
  refuse("comment.obj", "# nothing\n", "has no vertices");
  refuse("short.obj", "v 0 0 0\nv 1 2\n", "line 2: a vertex needs three numbers, has 2");
  refuse("word.obj", "v 0 x 0\n", "line 1: a vertex needs three numbers, has 1");
  refuse("nan.obj", "v 0 0 0\nv 0 nan 0\n", "line 2: a vertex has coordinate nan");
  refuse("inf.obj", "v 0 1e999 0\n", "line 1: a vertex has coordinate inf");
  refuse("zero.obj", "v 0 0 0\nv 0 0 1\nv 0 1 0\nf 0 1 2\n", "line 4: a face has vertex 0 of 3");
  refuse("beyond.obj", "v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 4\n", "line 4: a face has vertex 4 of 3");
  refuse("continued.obj", "v 0 0 0\nv 0 0 1\nv 0 1 0\n# \\\nv 1 1 1\nf 1 2 4\n",
         "line 6: a face has vertex 4 of 3");
  refuse("before.obj", "v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 -4\n", "line 4: a face has vertex -4 of 3");
  refuse("huge.obj", "v 0 0 0\nf 1 1 99999999999999999999999\n", "line 2: a face has vertex");
  refuse("two.obj", "v 0 0 0\nv 0 0 1\nf 1 2\n", "line 3: a face needs three corners, has 2");
  refuse("corner.obj", "v 0 0 0\nf 1 a 1\n", "line 2: 'a 1' is not a corner");
  refuse("slash.obj", "v 0 0 0\nf 1x/1 1 1\n", "line 2: '1x/1 1 1' is not a corner");
}

TEST(obj_with_zero_byte) {
  abut_triangles *mesh;
  const char *path = scratch("zero_byte.obj", "v 0 0 0\n\0v 1 1 1\n", 17);
  CHECK_STATUS(abut_triangles_load(path, NULL, &mesh), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "byte 8 is 0") != NULL);
  remove(path);
}

static const char *const stl_tetra =
    "solid tetra\nfacet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 "
    "0\nendloop\nendfacet\n"
    "facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\nendfacet\n"
    "facet normal 0 0 0\nouter loop\nvertex -0 0 0\nvertex 0 0 1\nvertex 0 1 0\nendloop\nendfacet\n"
    "FACET NORMAL 0 0 0\nOUTER LOOP\nVERTEX 1 0 0\nVERTEX 0 1E0 0\nVERTEX 0 0 "
    "1\nENDLOOP\nENDFACET\nendsolid\n";

TEST(stl_text) {
  abut_triangles *mesh;
  double moment[10];
  REQUIRE(load_text("tetra.stl", stl_tetra, &mesh) == ABUT_OK);
  CHECK(mesh->nvertex == 4 && mesh->ntriangle == 4);
  CHECK_STATUS(mesh_moment(mesh->vertices, mesh->nvertex, mesh->triangles, mesh->ntriangle, moment), ABUT_OK);
  CHECK_REL(moment[0], 1.0 / 6, 1e-14);
  abut_triangles_destroy(mesh);
}

TEST(stl_text_bad) {
  refuse("empty.stl", "", "neither text nor binary");
  refuse("none.stl", "solid none\nendsolid none\n", "has no triangles");
  refuse("two.stl", "solid s\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nendloop\n",
         "line 5: a triangle has 2 corners");
  refuse("cut.stl", "solid s\nouter loop\nvertex 0 0 0\nvertex 0 1 0\n",
         "line 4: the file ends within a triangle");
  refuse("half.stl", "solid s\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\nendfac",
         "line 7: the file ends without endsolid: it is truncated");
  refuse("number.stl", "solid s\nouter loop\nvertex 0 0\n", "line 3: a vertex needs three numbers, has 2");
}

/* One triangle in binary: header "solid" to mislead, count, normal, corners, attribute. */
static void binary_triangle(unsigned char bytes[134], float x) {
  const float numbers[12] = {0, 0, 1, 0, 0, 0, x, 0, 0, 0, 1, 0};
  memset(bytes, 0, 134);
  memcpy(bytes, "solid", 5);
  bytes[80] = 1;
  memcpy(bytes + 84, numbers, sizeof numbers);
}

TEST(stl_binary) {
  unsigned char bytes[134];
  abut_triangles *mesh;
  binary_triangle(bytes, 2);
  const char *path = scratch("one.STL", bytes, sizeof bytes);
  REQUIRE(abut_triangles_load(path, NULL, &mesh) == ABUT_OK);
  CHECK(mesh->nvertex == 3 && mesh->ntriangle == 1 && mesh->vertices[3] == 2);
  abut_triangles_destroy(mesh);
  for (size_t size = 0; size < sizeof bytes; size++) {
    path = scratch("one.STL", bytes, size);
    CHECK_STATUS(abut_triangles_load(path, NULL, &mesh), ABUT_ERROR_FILE);
  }
  CHECK(strstr(abut_error_message(), "truncated: its 1 triangles make 134 bytes, it has 133") != NULL);
  bytes[83] = 0xff;
  path = scratch("one.STL", bytes, sizeof bytes);
  CHECK_STATUS(abut_triangles_load(path, NULL, &mesh), ABUT_ERROR_FILE);
  binary_triangle(bytes, INFINITY);
  path = scratch("one.STL", bytes, sizeof bytes);
  CHECK_STATUS(abut_triangles_load(path, NULL, &mesh), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "triangle 0 has a vertex") != NULL);
  remove(path);
}

TEST(mesh_paths) {
  abut_triangles *mesh;
  CHECK_STATUS(abut_triangles_load("no/such/file.obj", NULL, &mesh), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "no/such/file.obj") != NULL);
  CHECK_STATUS(abut_triangles_load("mesh.ply", NULL, &mesh), ABUT_ERROR_UNSUPPORTED);
  CHECK_STATUS(abut_triangles_load(".obj", NULL, &mesh), ABUT_ERROR_UNSUPPORTED);
  CHECK_STATUS(abut_triangles_load(NULL, NULL, &mesh), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_triangles_load("mesh.obj", NULL, NULL), ABUT_ERROR_ARGUMENT);
}

TEST(mesh_ignores_locale) {
  abut_triangles *mesh;
  /* where the locale is missing the test still reads a number */
  setlocale(LC_ALL, "de_DE.UTF-8");
  CHECK_STATUS(load_text("comma.obj", "v 0.5 0 0\n", &mesh), ABUT_OK);
  CHECK(mesh->nvertex == 1 && mesh->vertices[0] == 0.5);
  abut_triangles_destroy(mesh);
  setlocale(LC_ALL, "C");
}

/* ---------------------------------------------------------------------------------------- volume */

/* The box [0, a] x [0, b] x [0, c] as a closed surface, moved by (x, y, z). */
static const int32_t box_faces[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                      2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

static void box_points(double points[24], double a, double b, double c, double x, double y, double z) {
  for (int i = 0; i < 8; i++) {
    points[3 * i] = x + (i & 1 ? a : 0);
    points[3 * i + 1] = y + (i & 2 ? b : 0);
    points[3 * i + 2] = z + (i & 4 ? c : 0);
  }
}

TEST(volume_of_box) {
  double points[24], moment[10];
  box_points(points, 1, 2, 3, 0, 0, 0);
  REQUIRE(mesh_moment(points, 8, box_faces, 12, moment) == ABUT_OK);
  const double expected[10] = {6, 3, 6, 9, 2, 8, 18, 3, 4.5, 9};
  for (int i = 0; i < 10; i++) CHECK_REL(moment[i], expected[i], 1e-13);
  /* a metre-sized box ten kilometres away keeps its volume's digits */
  box_points(points, 1, 2, 3, 1e4, -1e4, 1e4);
  REQUIRE(mesh_moment(points, 8, box_faces, 12, moment) == ABUT_OK);
  CHECK_REL(moment[0], 6, 1e-10);
  CHECK_REL(moment[1], 6 * (1e4 + 0.5), 1e-10);
}

TEST(volume_refused) {
  double points[24], moment[10];
  int32_t faces[36];
  box_points(points, 1, 1, 1, 0, 0, 0);
  CHECK_STATUS(mesh_moment(points, 8, box_faces, 11, moment), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "it is open at edge") != NULL);
  CHECK_STATUS(mesh_moment(points, 8, box_faces, 0, moment), ABUT_ERROR_MODEL);
  memcpy(faces, box_faces, sizeof faces);
  faces[3] = 0, faces[4] = 2, faces[5] = 1;
  CHECK_STATUS(mesh_moment(points, 8, faces, 12, moment), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "bounds several faces") != NULL);
  for (int f = 0; f < 12; f++)
    for (int k = 0; k < 3; k++) faces[3 * f + k] = box_faces[3 * f + 2 - k];
  CHECK_STATUS(mesh_moment(points, 8, faces, 12, moment), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "must point outward") != NULL);
  faces[0] = 8;
  CHECK_STATUS(mesh_moment(points, 8, faces, 12, moment), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(mesh_moment(NULL, 8, faces, 12, moment), ABUT_ERROR_ARGUMENT);
}

/* ---------------------------------------------------------------------------------------- other people's
 * files */

typedef struct known_mesh {
  const char *name;
  int64_t npoint, nface; /* 0: refused */
} known_mesh;

TEST(models_of_others) {
  static const known_mesh known[] = {{"unit_cube.STL", 8, 12},   {"featuretype.STL", 2010, 3476},
                                     {"multibody.stl", 20, 32},  {"cubevt.obj", 8, 12},
                                     {"cube.OBJ", 8, 12},        {"negative_indices.obj", 8, 12},
                                     {"nancolor.obj", 8, 12},    {"polygonfaces.obj", 5, 3},
                                     {"two_objects.obj", 8, 16}, {"obj_with_no_face_in_chunk.obj", 3, 1},
                                     {"empty.obj", 0, 0},        {"empty.stl", 0, 0}};
  const char *folder = getenv("ABUT_MODELS");
  for (size_t i = 0; folder && i < sizeof known / sizeof *known; i++) {
    char path[512];
    abut_triangles *mesh;
    snprintf(path, sizeof path, "%s/trimesh_parser_a/%s", folder, known[i].name);
    CHECK_STATUS(abut_triangles_load(path, NULL, &mesh), known[i].npoint ? ABUT_OK : ABUT_ERROR_FILE);
    if (!mesh) continue;
    CHECK_NEAR((double)mesh->nvertex, (double)known[i].npoint, 0);
    CHECK_NEAR((double)mesh->ntriangle, (double)known[i].nface, 0);
    abut_triangles_destroy(mesh);
  }
}

/* ---------------------------------------------------------------------------------------- one geom of a
 * scene
 */

static double volume(const abut_triangles *mesh) {
  double moment[10];
  CHECK_STATUS(mesh_moment(mesh->vertices, mesh->nvertex, mesh->triangles, mesh->ntriangle, moment), ABUT_OK);
  return moment[0];
}

TEST(geom_of_a_compiled_scene) {
  abut_triangles *mesh;
  abut_model *model;
  REQUIRE(abut_model_load("scenes/stack5.abut", NULL, &model) == ABUT_OK);
  abut_geom_def def;
  for (int32_t g = 0; g < abut_model_get_sizes(model).ngeom; g++) {
    const double *corners;
    int64_t count;
    REQUIRE(abut_model_geom(model, g, &def) == ABUT_OK);
    CHECK_STATUS(abut_model_triangles(model, g, &corners, &count), ABUT_OK);
    if (def.type != ABUT_GEOM_BOX) {
      CHECK(def.type == ABUT_GEOM_PLANE && count == 0);
      CHECK_STATUS(abut_triangles_load("scenes/stack5.abut", def.name, &mesh), ABUT_ERROR_ARGUMENT);
      CHECK(mesh == NULL);
      continue;
    }
    REQUIRE(abut_triangles_load("scenes/stack5.abut", def.name, &mesh) == ABUT_OK);
    CHECK(mesh->nvertex == 8 && mesh->ntriangle == 12 && count == 12);
    for (int64_t i = 0; i < 9 * count; i++)
      CHECK_NEAR(mesh->vertices[3 * mesh->triangles[i / 3] + i % 3], corners[i], 0);
    CHECK_REL(volume(mesh), 8 * def.size[0] * def.size[1] * def.size[2], 1e-12);
    abut_triangles_destroy(mesh);
  }
  CHECK_STATUS(abut_model_triangles(model, -1, NULL, NULL), ABUT_ERROR_ARGUMENT);
  abut_model_destroy(model);
  CHECK_STATUS(abut_triangles_load("scenes/stack5.abut", NULL, &mesh), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "name one") != NULL);
  CHECK_STATUS(abut_triangles_load("scenes/stack5.abut", "absent", &mesh), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "absent") != NULL);
  abut_triangles_destroy(NULL);
}

TEST(geom_of_a_mesh_file) {
  const char *text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", *path = scratch("part.obj", text, strlen(text));
  abut_triangles *mesh;
  CHECK_STATUS(abut_triangles_load(path, "part", &mesh), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "not a scene") != NULL);
  remove(path);
}
