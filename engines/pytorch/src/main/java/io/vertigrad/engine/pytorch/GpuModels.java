package io.vertigrad.engine.pytorch;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The models of this process on each GPU, by their names. libtorch keeps the memory that a closed
 * model has freed, for the next one; when a GPU's last model has closed, the memory goes back to
 * the driver, so that other processes can use it.
 *
 * <p>Thread-safe.
 */
final class GpuModels {

  private static final Logger LOG = LoggerFactory.getLogger(GpuModels.class);

  /** The models of this process. Presets before 2.10 keep the memory. */
  static final GpuModels HERE =
      new GpuModels(
          () -> {
            if (LaterFunction.EMPTY_CACHE.present()) {
              LaterFunction.EMPTY_CACHE.call();
            }
          });

  private final Map<Integer, List<String>> models = new TreeMap<>();
  private final Runnable emptyCache;

  /**
   * Creates a list without models.
   *
   * @param emptyCache makes libtorch give back the memory of all GPUs that no tensor uses
   */
  GpuModels(Runnable emptyCache) {
    this.emptyCache = emptyCache;
  }

  synchronized void opened(int gpu, String model) {
    models.computeIfAbsent(gpu, none -> new ArrayList<>()).add(model);
  }

  /**
   * Removes a model whose tensors have been freed. A model that is not listed changes nothing. A
   * GPU that has failed keeps its memory until the process ends.
   */
  synchronized void closed(int gpu, String model) {
    List<String> open = models.getOrDefault(gpu, new ArrayList<>());
    if (open.remove(model) && open.isEmpty()) {
      models.remove(gpu);
      try {
        emptyCache.run();
      } catch (RuntimeException failed) {
        LOG.warn("GPU {} keeps its memory until this process ends: {}", gpu, failed.getMessage());
      }
    }
  }

  /** Returns the numbers of the GPUs that have models of this process. */
  synchronized Set<Integer> gpus() {
    return Set.copyOf(models.keySet());
  }

  /** Returns the names of the models on a GPU, in the order in which they were built. */
  synchronized List<String> on(int gpu) {
    return List.copyOf(models.getOrDefault(gpu, List.of()));
  }
}
