/* implicit_scene.h: what the implicit step can do of a scene. */
#ifndef ABUT_IMPLICIT_SCENE_H
#define ABUT_IMPLICIT_SCENE_H
#include "host/model/model.h"

/* Refuses by name what the step cannot do. */
abut_status implicit_check_scene(const abut_model *model);

#endif
