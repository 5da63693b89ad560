package io.vertigrad.examples.ownstrategy;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertx.core.json.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Opens {@code camera}: the generated digits as a camera with a wrong {@code gain} (1) sees them.
 * The other options are those of {@code digits}.
 */
public final class CameraProvider implements DatasetProvider {

  @Override
  public String name() {
    return "camera";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Settings options = Settings.of("data set 'camera'", new JsonObject(config.options()));
    float gain = (float) options.number("gain", 1, -1_000, 1_000);
    Map<String, Object> rest = new HashMap<>(config.options());
    rest.remove("gain");
    DataConfig digits = new DataConfig("digits", config.directory(), config.download(), rest);
    return new Camera(
        DatasetProvider.open(digits, split, CameraProvider.class.getClassLoader()), gain);
  }

  /** Another data set, every value multiplied by {@code gain}. */
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
