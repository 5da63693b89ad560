package io.vertigrad.compute.data;

import java.util.ServiceLoader;

/** Opens a data set by name; found through ServiceLoader. */
public interface DatasetProvider {

  /** The name used in job files. */
  String name();

  /**
   * Opens one split.
   *
   * @throws DataException naming the file, what was found and what is expected
   * @throws io.vertigrad.codecs.settings.SettingsException naming an option that is unknown or out
   *     of range
   */
  Dataset open(DataConfig config, Split split);

  /** Which half of a data set. */
  enum Split {
    TRAIN,
    TEST
  }

  /** The split of the data set that {@code config} names; one copy is shared by all of this JVM. */
  static Dataset open(DataConfig config, Split split, ClassLoader loader) {
    return OpenDatasets.SHARED.open(config, split, loader, () -> load(config, split, loader));
  }

  private static Dataset load(DataConfig config, Split split, ClassLoader loader) {
    StringBuilder found = new StringBuilder();
    for (DatasetProvider provider : ServiceLoader.load(DatasetProvider.class, loader)) {
      if (provider.name().equals(config.name())) {
        return provider.open(config, split);
      }
      found.append(found.isEmpty() ? "" : ", ").append(provider.name());
    }
    throw new DataException(
        "data set '%s' is not known, expected one of: %s".formatted(config.name(), found));
  }
}
