package io.vertigrad.compute.data.digits;

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
 * Opens {@code digits}: handwritten-like digits, 28x28, generated when they are opened.
 *
 * <p>Options: {@code train} (samples, 12000), {@code test} (samples, 2000), {@code seed} (1),
 * {@code normalization} (standard), {@code augmentation} (none).
 */
public final class DigitsProvider implements DatasetProvider {

  private static final GeneratedImages IMAGES =
      new GeneratedImages(
          List.of(1, DigitPainter.SIDE, DigitPainter.SIDE),
          Handwriting.digits(),
          List.of(Normalisation.MNIST),
          12_000,
          2_000);

  @Override
  public String name() {
    return "digits";
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
    return IMAGES.open(config, split, DigitPainter::new);
  }
}
