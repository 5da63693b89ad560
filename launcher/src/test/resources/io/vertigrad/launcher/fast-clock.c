/*
 * Preloaded into a process, puts its wall clock an hour ahead for as long as the file exists that
 * FAST_CLOCK names. Other clocks, and waits, are left as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int (*real)(clockid_t, struct timespec *);
static const char *file;

__attribute__((constructor)) static void find(void) {
  file = getenv("FAST_CLOCK");
  real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (real == NULL) {
    find();
  }
  int result = real(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME && file != NULL && access(file, F_OK) == 0) {
    time->tv_sec += 3600;
  }
  return result;
}
