/*
 * Counts the calls of the CUDA runtime that move data, wait, or start a kernel. Preloaded into a
 * process, it writes them as JSON to the file that VERTIGRAD_CUDA_CALLS names when the process ends.
 *
 *   cc -O2 -shared -fPIC -o calls.so calls.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long to_device, to_host, on_device, bytes, waits, launches, memsets;

static int find(struct dl_phdr_info *library, size_t size, void *found) {
  const char *name = strrchr(library->dlpi_name, '/');
  (void)size;
  if (!strncmp(name ? name + 1 : library->dlpi_name, "libcudart", 9)) {
    *(const char **)found = library->dlpi_name;
    return 1;
  }
  return 0;
}

/* Returns the function of the CUDA runtime that this process has loaded, if it has loaded one. */
static void *real(const char *name) {
  const char *path = NULL;
  void *runtime;
  dl_iterate_phdr(find, &path);
  runtime = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (!runtime) {
    fprintf(stderr, "calls.so: %s was called, and no libcudart is loaded\n", name);
    abort();
  }
  return dlsym(runtime, name);
}

#define CALL(name, types, words) \
  static int(*next) types; \
  if (!next) next = (int(*) types)real(#name); \
  return next words;

static void copied(size_t size, int kind) {
  __atomic_add_fetch(&bytes, kind == 3 ? 0 : size, __ATOMIC_RELAXED);
  __atomic_add_fetch(kind == 1 ? &to_device : kind == 2 ? &to_host : &on_device, 1, __ATOMIC_RELAXED);
}

static void count(unsigned long *counter) { __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED); }

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
  copied(size, kind);
  CALL(cudaMemcpyAsync, (void *, const void *, size_t, int, void *), (to, from, size, kind, stream))
}

int cudaMemcpy(void *to, const void *from, size_t size, int kind) {
  copied(size, kind);
  CALL(cudaMemcpy, (void *, const void *, size_t, int), (to, from, size, kind))
}

int cudaMemsetAsync(void *at, int value, size_t size, void *stream) {
  count(&memsets);
  CALL(cudaMemsetAsync, (void *, int, size_t, void *), (at, value, size, stream))
}

int cudaStreamSynchronize(void *stream) {
  count(&waits);
  CALL(cudaStreamSynchronize, (void *), (stream))
}

int cudaEventSynchronize(void *event) {
  count(&waits);
  CALL(cudaEventSynchronize, (void *), (event))
}

int cudaDeviceSynchronize(void) {
  count(&waits);
  CALL(cudaDeviceSynchronize, (void), ())
}

struct size3 { unsigned x, y, z; };

int cudaLaunchKernel(const void *kernel, struct size3 grid, struct size3 block, void **words, size_t shared, void *stream) {
  count(&launches);
  CALL(cudaLaunchKernel, (const void *, struct size3, struct size3, void **, size_t, void *),
       (kernel, grid, block, words, shared, stream))
}

int cudaLaunchKernelExC(const void *config, const void *kernel, void **words) {
  count(&launches);
  CALL(cudaLaunchKernelExC, (const void *, const void *, void **), (config, kernel, words))
}

__attribute__((destructor)) static void report(void) {
  const char *name = getenv("VERTIGRAD_CUDA_CALLS");
  FILE *file = name ? fopen(name, "w") : NULL;
  if (file) {
    fprintf(file,
            "{\"toDevice\": %lu, \"toHost\": %lu, \"onDevice\": %lu, \"bytes\": %lu,"
            " \"synchronise\": %lu, \"launch\": %lu, \"memset\": %lu}\n",
            to_device, to_host, on_device, bytes, waits, launches, memsets);
    fclose(file);
  }
}
