package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.GeneratedImages;
import io.vertigrad.compute.data.Normalisation;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Opens {@code shapes}: images of ten coloured shapes, 3x32x32 like CIFAR-10, generated when they
 * are opened.
 *
 * <p>Options: {@code train} (samples, 10000), {@code test} (samples, 2000), {@code seed} (1),
 * {@code normalization} (standard), {@code augmentation} (none).
 */
public final class ShapesProvider implements DatasetProvider {

  private static final GeneratedImages IMAGES =
      new GeneratedImages(
          List.of(Canvas.CHANNELS, Canvas.SIDE, Canvas.SIDE),
          Shape.values().length,
          Normalisation.CIFAR10,
          10_000,
          2_000);

  @Override
  public String name() {
    return "shapes";
  }

  @Override
  public long samples(DataConfig config, Split split) {
    return IMAGES.samples(config, split);
  }

  @Override
  public void check(DataConfig config, Split split) {
    IMAGES.check(config, split);
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(Targets.Kind.CLASS);
  }

  @Override
  public OptionalInt classes(DataConfig config) {
    return OptionalInt.of(IMAGES.classes());
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    return IMAGES.open(config, split, ShapePainter::new);
  }
}
