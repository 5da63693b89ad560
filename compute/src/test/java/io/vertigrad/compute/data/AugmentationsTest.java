package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

class AugmentationsTest {

  @Test
  void shouldKeepSamplesUnchangedByDefault() {
    DataConfig config = named("shapes", Map.of("test", 1));
    Dataset shapes = open(config);
    float[] sample = Fingerprint.sample(shapes, 0);

    Augmentations.of(config, shapes).apply(sample, 0, shapes.shape(), new SplitMix64(1));

    assertArrayEquals(Fingerprint.sample(shapes, 0), sample);
  }

  @Test
  void shouldPadWithNormalisedBlack() {
    DataConfig config = named("shapes", Map.of("test", 1, "augmentation", "pad-crop-flip"));
    Dataset shapes = open(config);
    Augmentation augmentation = Augmentations.of(config, shapes);
    float[] sample = Fingerprint.sample(shapes, 0);

    augmentation.apply(sample, 0, shapes.shape(), shiftedDownAndRight());

    assertInstanceOf(PadCropFlip.class, augmentation);
    assertEquals(-0.4914f / 0.2023f, sample[0], 1e-6f);
    assertEquals(-0.4822f / 0.1994f, sample[1024], 1e-6f);
    assertEquals(-0.4465f / 0.2010f, sample[2048], 1e-6f);
  }

  @Test
  void shouldReportTheExpectedShapeWhenSamplesAreNoImages() {
    DataConfig config = named("csv", Map.of("augmentation", "pad-crop-flip"));

    assertEquals(
        "data set 'csv': augmentation is \"pad-crop-flip\", but samples have shape [2], "
            + "expected images [channels, height, width]; use none",
        assertThrows(
                SettingsException.class, () -> Augmentations.of(config, new NumberedDataset(3)))
            .getMessage());
  }

  @Test
  void shouldRefuseAnUnknownAugmentationInEveryDataSet() {
    for (DatasetProvider provider : ServiceLoader.load(DatasetProvider.class)) {
      DataConfig config = named(provider.name(), Map.of("augmentation", "cutout"));

      assertEquals(
          "data set '%s': augmentation is \"cutout\", expected one of none, pad-crop-flip"
              .formatted(provider.name()),
          assertThrows(SettingsException.class, () -> provider.open(config, Split.TEST))
              .getMessage());
    }
  }

  /** Returns a generator whose first crop shows padding in the upper left corner, not mirrored. */
  private static SplitMix64 shiftedDownAndRight() {
    for (int seed = 0; ; seed++) {
      SplitMix64 tried = new SplitMix64(seed);
      if (tried.below(9) < 4 && tried.below(9) < 4 && tried.below(2) == 0) {
        return new SplitMix64(seed);
      }
    }
  }

  private static Dataset open(DataConfig config) {
    return DatasetProvider.open(config, Split.TEST, AugmentationsTest.class.getClassLoader());
  }

  private static DataConfig named(String name, Map<String, Object> options) {
    return new DataConfig(name, Optional.empty(), Optional.empty(), options);
  }
}
