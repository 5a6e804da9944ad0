/* A disk that fails when it is told to, and remembers what was written and synced: preloaded before libc.
 *
 * Only files below one directory are touched. `shim_arm` makes calls of one class fail; `shim_trace` keeps every change
 * and every sync in order, from which power_cut.py makes what a power cut would have left. While it traces, syncs return at
 * once: what counts is that they were asked for. A server is armed by the variables SHIM_DIR and SHIM_ARM. In the place of
 * an error, the process may be killed: before the call, in the middle of a write, or after the call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC, READ, RENAME, CREATE, TRUNCATE, UNLINK, SEND };
/* In the place of an error number. */
enum { KILL_BEFORE = 1000, KILL_DURING, KILL_AFTER };
enum { T_CREATE = 1, T_WRITE, T_TRUNCATE, T_SYNC, T_SYNC_FAILED, T_SYNC_DIR, T_RENAME, T_UNLINK, T_MKDIR };
#define HANDLES 65536
#define INODES 65536

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char directory[4096];
static int armed_class, armed_after, armed_times, armed_errno, hits, tracing;
static char *armed_name;
/* Which file a handle is: 0 is none of ours. Directories have ids as well. */
static uint32_t file_of[HANDLES], next_file = 1;
static struct { ino_t inode; uint32_t file; } known[INODES];
static char *trace; static size_t trace_length, trace_room; static uint32_t trace_count;

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static int is_ours(const char *path) {
  size_t length = strlen(directory);
  return length && path && strncmp(path, directory, length) == 0;
}

static void put(const void *data, size_t length) {
  if (trace_length + length > trace_room) {
    trace_room = (trace_length + length) * 2;
    trace = realloc(trace, trace_room);
  }
  memcpy(trace + trace_length, data, length);
  trace_length += length;
}

static void note(uint8_t kind, uint32_t file, uint64_t at, const void *data, uint64_t length) {
  if (!tracing) return;
  pthread_mutex_lock(&guard);
  put(&kind, 1); put(&file, 4); put(&at, 8); put(&length, 8);
  if (data) put(data, length);
  trace_count++;
  pthread_mutex_unlock(&guard);
}

static __thread int dies_after_call;

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* Called behind every call that can fail. */
static void after_call(void) { if (dies_after_call) die(); }

static int fails(int class, const char *path) {
  int failing = 0;
  pthread_mutex_lock(&guard);
  if (class == armed_class && armed_times && (!armed_name || (path && strstr(path, armed_name)))) {
    if (armed_after > 0) armed_after--;
    else { failing = 1; hits++; if (armed_times > 0) armed_times--; }
  }
  pthread_mutex_unlock(&guard);
  if (failing && armed_errno == KILL_BEFORE) die();
  if (failing && (armed_errno == KILL_AFTER || (armed_errno == KILL_DURING && class != WRITE))) {
    dies_after_call = 1;
    return 0;
  }
  if (failing) errno = armed_errno;
  return failing;
}

static uint32_t id_of_inode(ino_t inode, int is_new) {
  size_t place = inode % INODES;
  while (known[place].file && known[place].inode != inode) place = (place + 1) % INODES;
  if (is_new || !known[place].file) { known[place].inode = inode; known[place].file = next_file++; }
  return known[place].file;
}

static void remember(int handle, const char *path, int is_new) {
  struct stat found;
  if (handle < 0 || handle >= HANDLES || fstat(handle, &found)) return;
  pthread_mutex_lock(&guard);
  uint32_t file = id_of_inode(found.st_ino, is_new);
  file_of[handle] = file;
  pthread_mutex_unlock(&guard);
  if (is_new) note(T_CREATE, file, 0, path, strlen(path));
}

static uint32_t file_of_handle(int handle) { return handle >= 0 && handle < HANDLES ? file_of[handle] : 0; }

static const char *name_of(int handle) {
  static __thread char name[4096];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
  ssize_t length = readlink(link, name, sizeof name - 1);
  name[length > 0 ? length : 0] = 0;
  return name;
}

static int is_directory(int handle) {
  struct stat found;
  return fstat(handle, &found) == 0 && S_ISDIR(found.st_mode);
}

/* ---- for the test ---- */

void shim_directory(const char *path) { snprintf(directory, sizeof directory, "%s", path); }
void shim_arm(int class, int after, int times, int error, const char *name) {
  pthread_mutex_lock(&guard);
  free(armed_name);
  armed_name = name && *name ? strdup(name) : NULL;
  armed_class = class; armed_after = after; armed_times = times; armed_errno = error; hits = 0;
  pthread_mutex_unlock(&guard);
}
int shim_hits(void) { return hits; }
void shim_trace_begin(void) {
  tracing = 1; trace_length = 0; trace_count = 0; next_file = 1;
  memset(known, 0, sizeof known);
}
void shim_trace_end(void) { tracing = 0; }
uint32_t shim_trace_count(void) { return trace_count; }
const char *shim_trace(uint64_t *length) { *length = trace_length; return trace; }

__attribute__((constructor)) static void begin(void) {
  int class, after, times, error;
  const char *where = getenv("SHIM_DIR"), *arm = getenv("SHIM_ARM");
  if (where) shim_directory(where);
  if (arm && sscanf(arm, "%d,%d,%d,%d", &class, &after, &times, &error) == 4)
    shim_arm(class, after, times, error, getenv("SHIM_NAME"));
}

/* ---- the calls ---- */

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
    if (!is_ours(path)) { int other = real(path, flags, mode); if (other >= 0 && other < HANDLES) file_of[other] = 0; return other; } \
    int is_new = (flags & O_CREAT) && access(path, F_OK) != 0; \
    if (is_new && fails(CREATE, path)) return -1; \
    int handle = real(path, flags, mode); \
    after_call(); \
    remember(handle, path, is_new); \
    if (handle >= 0 && !is_new && (flags & O_TRUNC)) note(T_TRUNCATE, file_of_handle(handle), 0, NULL, 0); \
    return handle; \
  }
OPEN(open)
OPEN(open64)

#define PWRITE(name, offset_type) \
  ssize_t name(int handle, const void *data, size_t length, offset_type at) { \
    REAL(name); \
    uint32_t file = file_of_handle(handle); \
    if (file && fails(WRITE, name_of(handle))) { \
      /* A part of it may be there. */ \
      if (length > 1 && real(handle, data, length / 2, at) > 0) note(T_WRITE, file, at, data, length / 2); \
      if (armed_errno == KILL_DURING) die(); \
      errno = armed_errno; \
      return -1; \
    } \
    ssize_t written = real(handle, data, length, at); \
    after_call(); \
    if (file && written > 0) note(T_WRITE, file, at, data, written); \
    return written; \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

static int is_sent(int handle) {
  struct stat found;
  return armed_class == SEND && fstat(handle, &found) == 0 && S_ISSOCK(found.st_mode);
}

ssize_t write(int handle, const void *data, size_t length) {
  REAL(write);
  uint32_t file = file_of_handle(handle);
  off_t at = file ? lseek(handle, 0, SEEK_CUR) : 0;
  if (file && fails(WRITE, name_of(handle))) {
    if (armed_errno == KILL_DURING && real(handle, data, length / 2) < (ssize_t)length) die();
    return -1;
  }
  if (is_sent(handle) && fails(SEND, NULL)) return -1;
  ssize_t written = real(handle, data, length);
  after_call();
  if (file && written > 0) note(T_WRITE, file, at, data, written);
  return written;
}

ssize_t writev(int handle, const struct iovec *parts, int n) {
  REAL(writev);
  if (is_sent(handle) && fails(SEND, NULL)) return -1;
  ssize_t written = real(handle, parts, n);
  after_call();
  return written;
}

#define PREAD(name, offset_type) \
  ssize_t name(int handle, void *data, size_t length, offset_type at) { \
    REAL(name); \
    if (file_of_handle(handle) && fails(READ, name_of(handle))) return -1; \
    return real(handle, data, length, at); \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t read(int handle, void *data, size_t length) {
  REAL(read);
  if (file_of_handle(handle) && fails(READ, name_of(handle))) return -1;
  return real(handle, data, length);
}

static int synced(int handle, int (*real)(int)) {
  uint32_t file = file_of_handle(handle);
  if (!file) return real(handle);
  int is_dir = is_directory(handle);
  if (fails(SYNC, name_of(handle))) {
    if (!is_dir) note(T_SYNC_FAILED, file, 0, NULL, 0);
    errno = armed_errno;
    return -1;
  }
  const char *name = name_of(handle);
  if (is_dir) note(T_SYNC_DIR, file, 0, name, strlen(name));
  else note(T_SYNC, file, 0, NULL, 0);
  int done = tracing ? 0 : real(handle);
  after_call();
  return done;
}
int fsync(int handle) { REAL(fsync); return synced(handle, real); }
int fdatasync(int handle) { REAL(fdatasync); return synced(handle, real); }

#define FTRUNCATE(name, offset_type) \
  int name(int handle, offset_type length) { \
    REAL(name); \
    uint32_t file = file_of_handle(handle); \
    if (file && fails(TRUNCATE, name_of(handle))) return -1; \
    int done = real(handle, length); \
    after_call(); \
    if (file && !done) note(T_TRUNCATE, file, length, NULL, 0); \
    return done; \
  }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
  REAL(rename);
  if (!is_ours(from)) return real(from, to);
  if (fails(RENAME, from)) return -1;
  int done = real(from, to);
  after_call();
  if (!done) {
    char both[8192];
    int length = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
    note(T_RENAME, 0, 0, both, length);
  }
  return done;
}

int unlink(const char *path) {
  REAL(unlink);
  if (!is_ours(path)) return real(path);
  if (fails(UNLINK, path)) return -1;
  int done = real(path);
  after_call();
  if (!done) note(T_UNLINK, 0, 0, path, strlen(path));
  return done;
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  int done = real(path, mode);
  if (!done && is_ours(path)) note(T_MKDIR, 0, 0, path, strlen(path));
  return done;
}

int close(int handle) {
  REAL(close);
  if (handle >= 0 && handle < HANDLES) file_of[handle] = 0;
  return real(handle);
}
