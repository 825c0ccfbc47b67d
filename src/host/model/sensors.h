/* sensors.h: what each type of sensor is attached to and how many numbers it gives. */
#ifndef ABUT_MODEL_SENSORS_H
#define ABUT_MODEL_SENSORS_H
#include <stdint.h>

/* Of an ABUT_SENSOR_* that exists. */
int32_t sensor_dim(int32_t type);
/* The kinds of object that it may be attached to, letters as abut_model_name and 'i'; "": none. */
const char *sensor_kinds(int32_t type);
/* Whether it may be seen from a frame. */
int sensor_has_reference(int32_t type);

#endif
