/* text.h: lines of text that grow. */
#ifndef ABUT_TEXT_H
#define ABUT_TEXT_H
#include "abut/abut.h"
#include <stddef.h>

typedef struct text_lines {
  char *text; /* NULL: none; free with free() */
  size_t length;
} text_lines;

/* Appends a line, with its newline. Fails without memory. */
abut_status text_line(text_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
