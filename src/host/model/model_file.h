/* model_file.h: reads .abut files; abut_model_save writes them. */
#ifndef ABUT_MODEL_FILE_H
#define ABUT_MODEL_FILE_H
#include "abut/abut.h"

abut_status model_file_load(const char *path, abut_model **model);
/* The same of bytes in memory, which are left as they are; path: for messages. */
abut_status model_file_parse(const char *path, void *bytes, size_t size, abut_model **model);

#endif
