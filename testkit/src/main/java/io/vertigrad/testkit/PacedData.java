package io.vertigrad.testkit;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A data set named {@code paced}: the samples of another one, which come slowly until a file
 * exists. A run on it has few steps, and lasts until a test has disturbed it and creates the file;
 * meanwhile it waits rather than computes. The parameters that it ends in do not depend on the
 * pace.
 *
 * <p>Options: {@code of} (name of the other data set, digits), {@code millis} (time that a training
 * sample takes, 10; each worker's own), {@code until} (the file; without one, samples come at
 * once), {@code testHeld} (a file; while it exists, nobody gets the shape of the test set, so
 * nothing is tested). All other options are the other data set's.
 */
public final class PacedData implements DatasetProvider {

  private static final String OF = "of";
  private static final String MILLIS = "millis";
  private static final String UNTIL = "until";
  private static final String TEST_HELD = "testHeld";
  private static final long LOOK_MILLIS = 10;

  /** Creates the provider; called by the {@code ServiceLoader}. */
  public PacedData() {}

  @Override
  public String name() {
    return "paced";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Dataset samples = DatasetProvider.open(paced(config), split, loader());
    if (split == Split.TEST) {
      return file(config, TEST_HELD).<Dataset>map(f -> new Held(samples, f)).orElse(samples);
    }
    long millis = ((Number) config.options().getOrDefault(MILLIS, 10)).longValue();
    return file(config, UNTIL).<Dataset>map(f -> new Paced(samples, millis, f)).orElse(samples);
  }

  @Override
  public void check(DataConfig config, Split split) {
    DatasetProvider.check(paced(config), split, loader());
  }

  @Override
  public long samples(DataConfig config, Split split) {
    return DatasetProvider.samples(paced(config), split, loader());
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(DatasetProvider.targets(paced(config), Split.TEST, loader()));
  }

  @Override
  public List<String> classNames(DataConfig config) {
    return DatasetProvider.classNames(paced(config), loader());
  }

  @Override
  public Optional<FieldReader> fields(DataConfig config, List<Integer> shape) {
    return DatasetProvider.fields(paced(config), shape, loader());
  }

  /** Workers of one job may differ in their pace. */
  @Override
  public void scopes(Settings data) {
    data.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE).has(MILLIS);
  }

  /** Reads the other data set, whose samples come at once. */
  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    return DatasetProvider.fingerprint(paced(config), split, loader());
  }

  /** Returns the data section of the other data set. */
  private static DataConfig paced(DataConfig config) {
    Map<String, Object> options = new TreeMap<>(config.options());
    options.keySet().removeAll(List.of(MILLIS, UNTIL, TEST_HELD));
    String name = (String) Optional.ofNullable(options.remove(OF)).orElse("digits");
    return new DataConfig(
        name, config.directory(), config.download(), options, config.origin(), config.fitted());
  }

  private static Optional<Path> file(DataConfig config, String key) {
    return Optional.ofNullable((String) config.options().get(key)).map(Path::of);
  }

  private static ClassLoader loader() {
    return PacedData.class.getClassLoader();
  }

  /** Sleeps; an interrupt ends it, and is left for the next wait of the caller. */
  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A data set that answers as another one does. */
  private interface Same extends Dataset {

    Dataset samples();

    @Override
    default int size() {
      return samples().size();
    }

    @Override
    default List<Integer> shape() {
      return samples().shape();
    }

    @Override
    default int classes() {
      return samples().classes();
    }

    @Override
    default Targets targets() {
      return samples().targets();
    }

    @Override
    default List<String> classNames() {
      return samples().classNames();
    }

    @Override
    default void read(int index, float[] features, int offset) {
      samples().read(index, features, offset);
    }

    @Override
    default float black(int channel) {
      return samples().black(channel);
    }

    @Override
    default Optional<List<Normalisation>> normalisation() {
      return samples().normalisation();
    }

    @Override
    default int label(int index) {
      return samples().label(index);
    }
  }

  /** The training samples. */
  private record Paced(Dataset samples, long millis, Path until) implements Same {

    @Override
    public void read(int index, float[] features, int offset) {
      if (!Files.exists(until)) {
        sleep(millis);
      }
      samples.read(index, features, offset);
    }
  }

  /** The test samples. */
  private record Held(Dataset samples, Path whileExists) implements Same {

    @Override
    public List<Integer> shape() {
      while (Files.exists(whileExists) && !Thread.currentThread().isInterrupted()) {
        sleep(LOOK_MILLIS);
      }
      return samples.shape();
    }
  }
}
