package io.vertigrad.examples.ownstrategy;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DecimalNotation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Opens {@code camera}: the generated digits as this machine's camera sees them. The file {@code
 * gain} of the data folder holds the camera's gain, 1 if there is no file; the options are those of
 * {@code digits}.
 */
public final class CameraProvider implements DatasetProvider {

  @Override
  public String name() {
    return "camera";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    DataConfig digits =
        new DataConfig(
            "digits", config.directory(), config.download(), config.options(), config.origin());
    return new Camera(
        DatasetProvider.open(digits, split, CameraProvider.class.getClassLoader()),
        config.directory().map(folder -> gain(folder.resolve("gain"))).orElse(1f));
  }

  /** Returns none: each machine has a camera of its own. */
  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    return Optional.empty();
  }

  private static float gain(Path file) {
    try {
      float gain =
          Files.exists(file)
              ? (float) DecimalNotation.POINT.parse(Files.readString(file).strip())
              : 1;
      if (Float.isFinite(gain)) {
        return gain;
      }
      throw new DataException("%s: expected a number, the camera's gain".formatted(file));
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(file, e), e);
    }
  }

  /** Multiplies every value of another data set by {@code gain}. */
  private record Camera(Dataset scene, float gain) implements Dataset {

    @Override
    public int size() {
      return scene.size();
    }

    @Override
    public List<Integer> shape() {
      return scene.shape();
    }

    @Override
    public int classes() {
      return scene.classes();
    }

    @Override
    public void read(int index, float[] features, int offset) {
      scene.read(index, features, offset);
      int length = scene.shape().stream().reduce(1, Math::multiplyExact);
      for (int i = offset; i < offset + length; i++) {
        features[i] *= gain;
      }
    }

    @Override
    public int label(int index) {
      return scene.label(index);
    }
  }
}
