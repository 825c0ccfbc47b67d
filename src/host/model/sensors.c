/* sensors.c: what each type of sensor is attached to and how many numbers it gives. */
#include "host/model/sensors.h"
#include "abut/abut.h"

typedef struct sensor_row {
  const char *kinds;
  int32_t dim;
} sensor_row;

static const sensor_row rows[ABUT_SENSOR_NUM] = {
    [ABUT_SENSOR_TOUCH] = {"s", 1},          [ABUT_SENSOR_ACCELEROMETER] = {"s", 3},
    [ABUT_SENSOR_VELOCIMETER] = {"s", 3},    [ABUT_SENSOR_GYRO] = {"s", 3},
    [ABUT_SENSOR_FORCE] = {"s", 3},          [ABUT_SENSOR_TORQUE] = {"s", 3},
    [ABUT_SENSOR_MAGNETOMETER] = {"s", 3},   [ABUT_SENSOR_RANGEFINDER] = {"s", 1},
    [ABUT_SENSOR_JOINTPOS] = {"j", 1},       [ABUT_SENSOR_JOINTVEL] = {"j", 1},
    [ABUT_SENSOR_TENDONPOS] = {"t", 1},      [ABUT_SENSOR_TENDONVEL] = {"t", 1},
    [ABUT_SENSOR_ACTUATORPOS] = {"a", 1},    [ABUT_SENSOR_ACTUATORVEL] = {"a", 1},
    [ABUT_SENSOR_ACTUATORFRC] = {"a", 1},    [ABUT_SENSOR_JOINTACTFRC] = {"j", 1},
    [ABUT_SENSOR_TENDONACTFRC] = {"t", 1},   [ABUT_SENSOR_BALLQUAT] = {"j", 4},
    [ABUT_SENSOR_BALLANGVEL] = {"j", 3},     [ABUT_SENSOR_JOINTLIMITPOS] = {"j", 1},
    [ABUT_SENSOR_JOINTLIMITVEL] = {"j", 1},  [ABUT_SENSOR_JOINTLIMITFRC] = {"j", 1},
    [ABUT_SENSOR_TENDONLIMITPOS] = {"t", 1}, [ABUT_SENSOR_TENDONLIMITVEL] = {"t", 1},
    [ABUT_SENSOR_TENDONLIMITFRC] = {"t", 1}, [ABUT_SENSOR_FRAMEPOS] = {"bigs", 3},
    [ABUT_SENSOR_FRAMEQUAT] = {"bigs", 4},   [ABUT_SENSOR_FRAMEXAXIS] = {"bigs", 3},
    [ABUT_SENSOR_FRAMEYAXIS] = {"bigs", 3},  [ABUT_SENSOR_FRAMEZAXIS] = {"bigs", 3},
    [ABUT_SENSOR_FRAMELINVEL] = {"bigs", 3}, [ABUT_SENSOR_FRAMEANGVEL] = {"bigs", 3},
    [ABUT_SENSOR_FRAMELINACC] = {"bigs", 3}, [ABUT_SENSOR_FRAMEANGACC] = {"bigs", 3},
    [ABUT_SENSOR_SUBTREECOM] = {"b", 3},     [ABUT_SENSOR_SUBTREELINVEL] = {"b", 3},
    [ABUT_SENSOR_SUBTREEANGMOM] = {"b", 3},  [ABUT_SENSOR_CLOCK] = {"", 1},
};

int32_t sensor_dim(int32_t type) { return rows[type].dim; }

const char *sensor_kinds(int32_t type) { return rows[type].kinds; }

int sensor_has_reference(int32_t type) {
  return type >= ABUT_SENSOR_FRAMEPOS && type <= ABUT_SENSOR_FRAMEANGVEL;
}
