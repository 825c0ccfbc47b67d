/* model.h: the compiled scene, whose struct is kernels/tree/model.h. Built by builder.c, saved and loaded by
 * model_file.c, read by everyone. */
#ifndef ABUT_MODEL_H
#define ABUT_MODEL_H
#include "kernels/tree/model.h"

/* Of contact pairs: kernels count three numbers of each in 32 bits. */
enum { MODEL_MOST_PAIRS = 1 << 29 };

/* Allocates every array (zeroed) for the counts already set in *model; frees all on failure. */
abut_status model_allocate(abut_model *model);
void model_free_arrays(abut_model *model);
/* Checks every index, size and number of a model whose arrays are filled, whoever filled them (a builder, an
 * importer, a file). Names the object and the value. Reads no derived array: validate first, then derive. */
abut_status model_validate(const abut_model *model);
/* Whether a real type of so many bytes holds every number of the model. */
abut_status model_check_numbers(const abut_model *model, int bytes);
/* Numbers of a scene's options that MuJoCo would take. */
abut_status model_check_options(const abut_scene_options *options);
/* Fills the derived arrays: weldid, moments, dof tree, inertias of joints, inverse weights. Fails without
 * memory. */
abut_status model_derive(abut_model *model);
/* Bytes of one array, rows x columns x element; -1 if negative or beyond int64. */
int64_t model_array_bytes(int64_t rows, int64_t columns, int64_t element);
/* Bytes of all arrays for the counts in *model; -1 if a count is negative, an array longer than int32 counts
 * (places in it are int32), or the sum beyond int64. */
int64_t model_bytes(const abut_model *model);

/* model_surface.c: the surfaces of geoms. Counts for surfaces in the order of the compiled geoms, NULL where
 * a geom has none; the arrays, once they and the geoms are there; their checks, which model_validate
 * makes. */
abut_status model_count_surfaces(abut_model *model, int32_t ngeom, const abut_surface *const *surfaces);
void model_fill_surfaces(abut_model *model, const abut_surface *const *surfaces);
abut_status model_check_surfaces(const abut_model *model);

/* The body that mocap pose i places. */
int32_t model_mocap(const abut_model *model, int64_t i);

enum { LABEL_SIZE = 160 };
/* "geom 'pad'", or "geom 3" where it has no name, for messages; kinds as abut_model_name. Returns label. */
const char *model_label(const abut_model *model, char kind, int32_t id, char label[LABEL_SIZE]);

#endif
