/* A disk that forgets: what a process writes to files below LOSSY_ROOT is noted in LOSSY_LOG, with
 * each sync. `tests.support.lossy_disk` makes the files as they would be if nothing but what was
 * synced had reached the disk. Preloaded into the process (LD_PRELOAD). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -2;

static int is_watched(int fd, char *path) {
    const char *root = getenv("LOSSY_ROOT");
    char link[64];
    ssize_t length;
    if (!root) return 0;
    /* /proc/self/fd/N names the file, whichever call opened it */
    char *at = link;
    memcpy(at, "/proc/self/fd/", 14); at += 14;
    char digits[16]; int count = 0, rest = fd;
    do { digits[count++] = (char)('0' + rest % 10); rest /= 10; } while (rest);
    while (count) *at++ = digits[--count];
    *at = 0;
    length = readlink(link, path, 4000);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, root, strlen(root)) == 0 && !strstr(path, "-shm");
}

static void note(char kind, const char *path, int64_t offset, const void *data, int64_t size) {
    static ssize_t (*real_write)(int, const void *, size_t);
    if (!real_write) real_write = dlsym(RTLD_NEXT, "write");
    if (log_file == -2) {
        log_file = open(getenv("LOSSY_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    int64_t head[3] = {(int64_t)strlen(path), offset, data ? size : 0};
    real_write(log_file, &kind, 1);
    real_write(log_file, head, sizeof head);
    real_write(log_file, path, strlen(path));
    if (data && size) real_write(log_file, data, (size_t)size);
}

#define LOGGED(kind, offset, data, size)            \
    do {                                            \
        char path[4096];                            \
        if (is_watched(fd, path)) {                 \
            pthread_mutex_lock(&lock);              \
            note(kind, path, offset, data, size);   \
            pthread_mutex_unlock(&lock);            \
        }                                           \
    } while (0)

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t done = real(fd, data, size, offset);
    if (done > 0) LOGGED('w', offset, data, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    return pwrite64(fd, data, size, offset);
}

ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    off_t offset = getenv("LOSSY_ROOT") ? lseek(fd, 0, SEEK_CUR) : -1;
    ssize_t done = real(fd, data, size);
    if (done > 0 && offset >= 0) LOGGED('w', offset, data, done);
    return done;
}

int ftruncate64(int fd, off64_t size) {
    static int (*real)(int, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "ftruncate64");
    int done = real(fd, size);
    if (done == 0) LOGGED('t', size, NULL, 0);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int unlink(const char *path) {
    static int (*real)(const char *);
    const char *root = getenv("LOSSY_ROOT");
    if (!real) real = dlsym(RTLD_NEXT, "unlink");
    int done = real(path);
    if (done == 0 && root && strncmp(path, root, strlen(root)) == 0) {
        pthread_mutex_lock(&lock);
        note('u', path, 0, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return done;
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    int done = real(fd);
    if (done == 0) LOGGED('s', 0, NULL, 0);
    return done;
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    int done = real(fd);
    if (done == 0) LOGGED('s', 0, NULL, 0);
    return done;
}
