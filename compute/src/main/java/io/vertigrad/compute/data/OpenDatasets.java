package io.vertigrad.compute.data;

import io.vertigrad.compute.data.DatasetProvider.Split;
import java.lang.ref.WeakReference;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The data sets in use in this JVM, so that its members share one copy of each.
 *
 * <p>A data set is immutable, so sharing is safe; it is dropped when nothing refers to it any more.
 * If several threads open the same data set at once, the first opens it and the others wait. A
 * provider may open another data set while it opens its own.
 */
final class OpenDatasets {

  /** The data sets of this JVM. */
  static final OpenDatasets SHARED = new OpenDatasets();

  private final ConcurrentMap<Key, Entry> entries = new ConcurrentHashMap<>();

  private record Key(DataConfig config, Split split, ClassLoader loader) {}

  /** One data set. Its lock guards all but the counter, which the map guards. */
  private static final class Entry {

    private final ReentrantLock lock = new ReentrantLock();
    private volatile WeakReference<Dataset> dataset = new WeakReference<>(null);
    private Optional<DataFingerprint> fingerprint;
    private int callers;

    private boolean isUnused() {
      return callers == 0 && dataset.get() == null;
    }
  }

  /**
   * Returns the shared data set, which is opened now if it is not in use; errors are not cached.
   */
  Dataset open(DataConfig config, Split split, ClassLoader loader, Supplier<Dataset> opening) {
    return with(config, split, loader, entry -> opened(entry, opening));
  }

  /** Returns the fingerprint of the shared data set, which is opened now if it is not in use. */
  Optional<DataFingerprint> fingerprint(
      DataConfig config,
      Split split,
      ClassLoader loader,
      Supplier<Dataset> opening,
      Function<Dataset, Optional<DataFingerprint>> making) {
    return with(
        config,
        split,
        loader,
        entry -> {
          Dataset dataset = opened(entry, opening);
          if (entry.fingerprint == null) {
            entry.fingerprint = making.apply(dataset);
          }
          return entry.fingerprint;
        });
  }

  private static Dataset opened(Entry entry, Supplier<Dataset> opening) {
    Dataset found = entry.dataset.get();
    if (found == null) {
      found = opening.get();
      entry.dataset = new WeakReference<>(found);
      entry.fingerprint = null;
    }
    return found;
  }

  /** Calls the action with the entry of a data set, for one thread at a time. */
  private <T> T with(
      DataConfig config, Split split, ClassLoader loader, Function<Entry, T> action) {
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
      return action.apply(entry);
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
