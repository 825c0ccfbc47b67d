/* import_urdf.c: what changes in a URDF text before MuJoCo reads it.
 *
 * - package://NAME/rest, model://NAME/rest and file:///rest become paths: NAME is looked for beside the file
 * and in every folder above it, as ROS workspaces lay packages out;
 * - <mujoco><compiler strippath="false"/></mujoco> is added, since MuJoCo's default for URDF drops the
 * folders of mesh names; a file that has a <mujoco> element of its own keeps what it says there;
 * - <visual> elements are blanked: they never collide, and their meshes are often of kinds that MuJoCo cannot
 * read.
 *
 * No line break is added or removed, so that line numbers in MuJoCo's messages are those of the user's file.
 */
#include "host/import/import.h"
#include "host/base/status.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char insertion[] = "<mujoco><compiler strippath=\"false\"/></mujoco>";

/* A growing text. */
typedef struct buffer {
  char *text;
  size_t length, capacity;
  int failed;
} buffer;

static void append(buffer *out, const char *text, size_t length) {
  if (out->length + length + 1 > out->capacity) {
    size_t capacity = 2 * (out->length + length + 1);
    char *grown = realloc(out->text, capacity);
    if (!grown) {
      out->failed = 1;
      return;
    }
    out->text = grown;
    out->capacity = capacity;
  }
  memcpy(out->text + out->length, text, length);
  out->length += length;
  out->text[out->length] = 0;
}

static void append_escaped(buffer *out, const char *text) {
  for (; *text; text++) {
    const char *escape = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '"' ? "&quot;" : NULL;
    if (escape)
      append(out, escape, strlen(escape));
    else
      append(out, text, 1);
  }
}

/* As append, with everything but line breaks replaced by spaces. */
static void append_blank(buffer *out, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) append(out, text[i] == '\n' || text[i] == '\r' ? text + i : " ", 1);
}

/* One piece of XML: text between tags, a comment or declaration, or a tag. */
typedef struct token {
  const char *start;
  size_t length;
  const char *name; /* tag: its name without '/', else NULL */
  size_t name_length;
  int closing, self_closing;
} token;

/* Length of a piece that starts at text and ends with the given mark, the mark included. */
static size_t until(const char *text, const char *mark) {
  const char *end = strstr(text, mark);
  return end ? (size_t)(end - text) + strlen(mark) : strlen(text);
}

/* Length of a tag; '>' inside quotes does not end it. */
static size_t tag_length(const char *text) {
  char quote = 0;
  for (size_t i = 0; text[i]; i++) {
    if (quote) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text[i] == '>') {
      return i + 1;
    }
  }
  return strlen(text);
}

static token next_token(const char *text) {
  token result = {text, 0, NULL, 0, 0, 0};
  if (text[0] != '<') {
    result.length = strcspn(text, "<");
  } else if (!strncmp(text, "<!--", 4)) {
    result.length = until(text, "-->");
  } else if (!strncmp(text, "<![CDATA[", 9)) {
    result.length = until(text, "]]>");
  } else if (text[1] == '?' || text[1] == '!') {
    result.length = tag_length(text);
  } else {
    result.length = tag_length(text);
    result.closing = text[1] == '/';
    result.self_closing = result.length >= 3 && text[result.length - 2] == '/';
    result.name = text + 1 + result.closing;
    result.name_length = strcspn(result.name, " \t\r\n/>");
  }
  return result;
}

static int is_tag(const token *tag, const char *name) {
  return tag->name && tag->name_length == strlen(name) && !strncmp(tag->name, name, tag->name_length);
}

int32_t import_is_urdf(const char *text) {
  while (*text) {
    token piece = next_token(text);
    if (piece.name) return is_tag(&piece, "robot");
    text += piece.length;
  }
  return 0;
}

/* Finds attribute="value" in a tag; returns the value's start and length. */
static const char *find_attribute(const token *tag, const char *name, size_t *length) {
  const char *end = tag->start + tag->length;
  for (const char *at = tag->name + tag->name_length; at < end;) {
    at += strspn(at, " \t\r\n");
    size_t name_length = strcspn(at, " \t\r\n=>");
    const char *quote = at + name_length + strspn(at + name_length, " \t\r\n=");
    if (quote >= end || (*quote != '"' && *quote != '\'')) return NULL;
    const char *close = memchr(quote + 1, *quote, (size_t)(end - quote - 1));
    if (!close) return NULL;
    *length = (size_t)(close - quote) - 1;
    if (name_length == strlen(name) && !strncmp(at, name, name_length)) return quote + 1;
    at = close + 1;
  }
  return NULL;
}

/* What a file's own <mujoco> element says about paths. */
typedef struct settings {
  int present, keeps_path, keeps_visual;
} settings;

static settings find_settings(const char *text) {
  settings found = {0, 0, 0};
  size_t length = 0;
  while (*text) {
    token piece = next_token(text);
    if (is_tag(&piece, "mujoco")) found.present = 1;
    if (is_tag(&piece, "compiler")) {
      const char *value = find_attribute(&piece, "strippath", &length);
      if (value) found.keeps_path = !strncmp(value, "false", length);
      value = find_attribute(&piece, "discardvisual", &length);
      if (value) found.keeps_visual = !strncmp(value, "false", length);
    }
    text += piece.length;
  }
  return found;
}

/* Path of NAME/rest in the folder of the URDF file or one above; the empty string if there is none. */
static void find_package(const char *urdf, const char *rest, char *found) {
  char folder[PATH_MAX], *slash;
  found[0] = 0;
  if (!realpath(urdf, folder)) return;
  while ((slash = strrchr(folder, '/'))) {
    struct stat status;
    *slash = 0;
    int length = snprintf(found, PATH_MAX, "%s/%s", folder, rest);
    if (length < PATH_MAX && stat(found, &status) == 0) break;
    found[0] = 0;
  }
}

static abut_status append_resolved(buffer *out, const char *urdf, const char *uri, size_t length) {
  static const char *const schemes[] = {"package://", "model://"};
  char rest[PATH_MAX], found[PATH_MAX];
  if (length >= sizeof rest)
    return fail_with(ABUT_ERROR_FILE, "%s: a mesh name has %zu letters", urdf, length);
  memcpy(rest, uri, length);
  rest[length] = 0;
  for (int i = 0; i < 2; i++) {
    size_t prefix = strlen(schemes[i]);
    if (strncmp(rest, schemes[i], prefix)) continue;
    find_package(urdf, rest + prefix, found);
    if (!found[0])
      return fail_with(ABUT_ERROR_FILE, "%s: mesh '%s': no folder above the file holds '%s'", urdf, rest,
                       rest + prefix);
    append_escaped(out, found);
    return ABUT_OK;
  }
  size_t file = strncmp(rest, "file://", 7) ? 0 : 7;
  append(out, uri + file, length - file);
  return ABUT_OK;
}

static abut_status append_mesh(buffer *out, const char *urdf, const token *tag) {
  size_t length = 0;
  const char *uri = find_attribute(tag, "filename", &length);
  if (!uri) {
    append(out, tag->start, tag->length);
    return ABUT_OK;
  }
  append(out, tag->start, (size_t)(uri - tag->start));
  ATTEMPT(append_resolved(out, urdf, uri, length));
  append(out, uri + length, (size_t)(tag->start + tag->length - uri) - length);
  return ABUT_OK;
}

/* Length of an element that starts with this opening tag, to the end of its closing tag. */
static size_t element_length(const token *opening) {
  const char *text = opening->start + opening->length;
  while (!opening->self_closing && *text) {
    token piece = next_token(text);
    text += piece.length;
    if (piece.closing && piece.name_length == opening->name_length &&
        !strncmp(piece.name, opening->name, piece.name_length))
      break;
  }
  return (size_t)(text - opening->start);
}

static abut_status prepare(buffer *out, const char *path, const char *text) {
  settings own = find_settings(text);
  int inserted = own.present, keeps_path = !own.present || own.keeps_path;
  while (*text) {
    token piece = next_token(text);
    size_t length = piece.length;
    if (is_tag(&piece, "visual") && !piece.closing && !own.keeps_visual) {
      length = element_length(&piece);
      append_blank(out, piece.start, length);
    } else if (is_tag(&piece, "mesh") && keeps_path) {
      ATTEMPT(append_mesh(out, path, &piece));
    } else {
      append(out, piece.start, length);
      if (is_tag(&piece, "robot") && !piece.closing && !piece.self_closing && !inserted) {
        append(out, insertion, strlen(insertion));
        inserted = 1;
      }
    }
    text += length;
  }
  return out->failed ? fail_with(ABUT_ERROR_MEMORY, "%s: out of memory while reading", path) : ABUT_OK;
}

abut_status import_prepare_urdf(const char *path, const char *text, char **prepared) {
  buffer out = {NULL, 0, 0, 0};
  append(&out, "", 0);
  abut_status status = prepare(&out, path, text);
  if (status != ABUT_OK) {
    free(out.text);
    return status;
  }
  *prepared = out.text;
  return ABUT_OK;
}
