package io.vertigrad.compute.data;

import io.vertigrad.compute.data.DatasetProvider.Split;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * The data sets that are in use in this JVM, so that its members share one copy of each.
 *
 * <p>A data set is immutable, therefore sharing is safe; it is forgotten with its last user. Of
 * several threads that open the same one at once, the first opens it and the others wait. Opening
 * one data set may open another, as a provider does that changes the samples of another.
 */
final class OpenDatasets {

  /** The ones of this JVM. */
  static final OpenDatasets SHARED = new OpenDatasets();

  private final ConcurrentMap<Key, Entry> entries = new ConcurrentHashMap<>();

  private record Key(DataConfig config, Split split, ClassLoader loader) {}

  /** One data set; its lock is held while it is opened, its counter is guarded by the map. */
  private static final class Entry {

    private final ReentrantLock lock = new ReentrantLock();
    private volatile WeakReference<Dataset> dataset = new WeakReference<>(null);
    private int callers;

    private boolean isUnused() {
      return callers == 0 && dataset.get() == null;
    }
  }

  /** The shared data set, opened now if nobody uses it; an error is not remembered. */
  Dataset open(DataConfig config, Split split, ClassLoader loader, Supplier<Dataset> opening) {
    entries.keySet().forEach(this::forgetIfUnused);
    Key key = new Key(config.withoutOrigin(), split, loader);
    Entry entry =
        entries.compute(
            key,
            (any, known) -> {
              Entry wanted = known == null ? new Entry() : known;
              wanted.callers++;
              return wanted;
            });
    entry.lock.lock();
    try {
      Dataset found = entry.dataset.get();
      if (found == null) {
        found = opening.get();
        entry.dataset = new WeakReference<>(found);
      }
      return found;
    } finally {
      entry.lock.unlock();
      entries.computeIfPresent(
          key,
          (any, known) -> {
            known.callers--;
            return known.isUnused() ? null : known;
          });
    }
  }

  private void forgetIfUnused(Key key) {
    entries.computeIfPresent(key, (any, known) -> known.isUnused() ? null : known);
  }
}
