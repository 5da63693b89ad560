package io.vertigrad.compute.data;

import io.vertigrad.compute.data.DatasetProvider.Split;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Supplier;

/**
 * The data sets that are in use in this JVM, so that its members share one copy of each.
 *
 * <p>A data set is immutable, therefore sharing is safe; it is forgotten with its last user. Of
 * several threads that open the same one at once, the first opens it and the others wait.
 */
final class OpenDatasets {

  /** The ones of this JVM. */
  static final OpenDatasets SHARED = new OpenDatasets();

  private final ConcurrentMap<Key, WeakReference<Dataset>> open = new ConcurrentHashMap<>();

  private record Key(DataConfig config, Split split, ClassLoader loader) {}

  /** The shared data set, opened now if nobody uses it; an error is not remembered. */
  Dataset open(DataConfig config, Split split, ClassLoader loader, Supplier<Dataset> opening) {
    open.values().removeIf(reference -> reference.get() == null);
    Dataset[] found = new Dataset[1];
    open.compute(
        new Key(config, split, loader),
        (key, known) -> {
          found[0] = known == null ? null : known.get();
          if (found[0] != null) {
            return known;
          }
          found[0] = opening.get();
          return new WeakReference<>(found[0]);
        });
    return found[0];
  }
}
