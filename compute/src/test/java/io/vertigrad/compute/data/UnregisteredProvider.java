package io.vertigrad.compute.data;

import io.vertigrad.compute.data.digits.DigitsProvider;
import java.util.Map;
import java.util.Optional;

/** A data set of three digits that is not registered and is found only by its class name. */
public final class UnregisteredProvider implements DatasetProvider {

  @Override
  public String name() {
    return "unregistered";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Map<String, Object> three = Map.of("train", 3, "test", 3);
    return new DigitsProvider()
        .open(new DataConfig("digits", Optional.empty(), Optional.empty(), three), split);
  }
}
