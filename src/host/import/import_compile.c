/* import_compile.c: MuJoCo's compiler, called so that it neither talks nor ends the process. */
#include "host/import/import.h"
#ifdef ABUT_HAVE_MUJOCO
#include "abut/file.h"
#include "host/base/status.h"
#include <mujoco/mujoco.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if mjVERSION_HEADER < 4000000
#error "MuJoCo 4.0.0 or newer is needed; tools/get_mujoco.sh fetches it"
#endif

enum { MESSAGE = 1024 };

/* MuJoCo's handlers are process-wide: one import at a time owns them, and puts back what it found. Meanwhile
 * they are called on every thread that uses MuJoCo: what is not this import's goes on to where it went
 * before. Standard error stays the process's; the one thing that writes there is the hull code inside MuJoCo,
 * of a mesh that is flat. */
static pthread_mutex_t compiler_lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf compiler_failed;
static char compiler_message[MESSAGE];
static _Thread_local int compiles; /* this thread has the lock */
static void (*error_before)(const char *), (*warning_before)(const char *);

static void on_error(const char *message) {
  if (compiles) {
    snprintf(compiler_message, sizeof compiler_message, "%s", message);
    longjmp(compiler_failed, 1);
  }
  if (error_before) error_before(message);
  /* MuJoCo does not go on after an error: without a handler, or after one that returns, it ends the process
   */
  mju_writeLog("ERROR", message);
  exit(EXIT_FAILURE);
}

/* What MuJoCo warns of while it compiles comes back from mj_loadXML. */
static void on_warning(const char *message) {
  if (compiles) return;
  if (warning_before)
    warning_before(message);
  else
    mju_writeLog("WARNING", message);
}

/* A virtual file system that holds one text under the name of a file. NULL if there is no memory for it. */
static mjVFS *open_vfs(const char *path, const char *text) {
  mjVFS *vfs = malloc(sizeof *vfs);
  if (!vfs) return NULL;
  mj_defaultVFS(vfs);
  int size = (int)strlen(text);
  if (!mj_addBufferVFS(vfs, path, text, size)) return vfs;
  mj_deleteVFS(vfs);
  free(vfs);
  return NULL;
}

static void close_vfs(mjVFS *vfs) {
  if (!vfs) return;
  mj_deleteVFS(vfs);
  free(vfs);
}

/* mj_loadXML, and what it does not tell: meshes whose volume is needed and that have none. */
static mjModel *load_xml(const char *path, const mjVFS *vfs, finding_list *findings, abut_status *status) {
  *status = import_check_hulls(path, vfs);
  if (*status != ABUT_OK) return NULL;
  mjSpec *spec = mj_parseXML(path, vfs, compiler_message, sizeof compiler_message);
  if (!spec) return NULL;
  import_mark_volumes(spec);
  mjModel *mj = mj_compile(spec, vfs);
  const char *message = !mj || mjs_isWarning(spec) ? mjs_getError(spec) : NULL;
  snprintf(compiler_message, sizeof compiler_message, "%s", message ? message : "");
  if (mj) *status = import_check_volumes(spec, mj, findings);
  mj_deleteSpec(spec);
  return mj;
}

/* Reads a file with every way in which MuJoCo fails or talks turned into compiler_message: an error where
 * there is no model, else a warning. */
static mjModel *compile_quietly(const char *path, const mjVFS *vfs, finding_list *findings,
                                abut_status *status) {
  mjModel *volatile mj = NULL;
  compiler_message[0] = 0;
  error_before = mju_user_error;
  warning_before = mju_user_warning;
  compiles = 1;
  mju_user_error = on_error;
  mju_user_warning = on_warning;
  if (!setjmp(compiler_failed)) mj = load_xml(path, vfs, findings, status);
  mju_user_error = error_before;
  mju_user_warning = warning_before;
  compiles = 0;
  return mj;
}

/* One line of at most size letters: MuJoCo breaks its messages. */
static void copy_line(char *to, const char *from, size_t size) {
  size_t length = 0;
  for (; *from && length + 1 < size; from++) {
    int space = *from == '\n' || *from == '\r' || *from == ' ';
    if (space && (length == 0 || to[length - 1] == ' ')) continue;
    to[length++] = space ? ' ' : *from;
  }
  while (length && to[length - 1] == ' ') length--;
  to[length] = 0;
}

static abut_status compile_text(const char *path, const char *text, finding_list *findings, mjModel **mj) {
  char *urdf = NULL;
  mjVFS *vfs = NULL;
  if (import_is_urdf(text)) {
    ATTEMPT(import_prepare_urdf(path, text, &urdf));
    vfs = open_vfs(path, urdf);
    free(urdf);
    if (!vfs) return fail_with(ABUT_ERROR_MEMORY, "%s: out of memory while reading", path);
  }
  pthread_mutex_lock(&compiler_lock);
  abut_status status = ABUT_OK;
  *mj = compile_quietly(path, vfs, findings, &status);
  char message[MESSAGE];
  copy_line(message, compiler_message, sizeof message);
  pthread_mutex_unlock(&compiler_lock);
  close_vfs(vfs);
  if (*mj && message[0]) findings_add(findings, FINDING_NOTE, "MuJoCo warns: %s", message);
  if (status != ABUT_OK) mj_deleteModel(*mj), *mj = NULL;
  if (*mj || status != ABUT_OK) return status;
  if (strstr(message, "allocate memory"))
    return fail_with(ABUT_ERROR_MEMORY, "%s: MuJoCo: %s", path, message);
  int flat = strstr(message, "qhull error") || strstr(message, "volume is too small") ||
             strstr(message, "coplanar vertices");
  return fail_with(ABUT_ERROR_FILE, "%s: MuJoCo cannot read it: %s%s", path,
                   message[0] ? message : "no reason given", flat ? " (a mesh must not be flat)" : "");
}

abut_status import_compile(const char *path, finding_list *findings, struct mjModel_ **mj) {
  if (mj_version() != mjVERSION_HEADER)
    return fail_with(ABUT_ERROR_UNSUPPORTED, "MuJoCo's library is version %d, abut was built with version %d",
                     mj_version(), mjVERSION_HEADER);
  char *text = NULL;
  size_t length = 0;
  ATTEMPT(abut_file_read(path, &text, &length));
  abut_status status = compile_text(path, text, findings, mj);
  free(text);
  return status;
}

#endif
