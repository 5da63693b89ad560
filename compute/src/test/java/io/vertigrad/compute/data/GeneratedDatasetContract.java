package io.vertigrad.compute.data;

import static io.vertigrad.compute.data.Fingerprint.sample;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests the behaviour that every data set generated from a seed must have. */
public abstract class GeneratedDatasetContract {

  private final DatasetProvider provider;
  private final String fingerprint;

  /**
   * Creates the contract tests; {@code fingerprint} is that of the first 100 training samples of
   * seed 1.
   */
  protected GeneratedDatasetContract(DatasetProvider provider, String fingerprint) {
    this.provider = provider;
    this.fingerprint = fingerprint;
  }

  @Test
  void shouldDrawTheSameBytesOnEveryMachineWhenTheSeedIsTheSame() {
    Dataset drawn = open(Split.TRAIN, Map.of("train", 100, "seed", 1));

    assertEquals(fingerprint, Fingerprint.of(drawn));
  }

  @Test
  void shouldContainTheSmallerSetAtItsStartWhenTheSetIsLarger() {
    Dataset small = open(Split.TRAIN, Map.of("train", 70));
    Dataset large = open(Split.TRAIN, Map.of("train", 200));

    for (int i = 0; i < small.size(); i++) {
      assertArrayEquals(sample(small, i), sample(large, i));
      assertEquals(small.label(i), large.label(i));
    }
  }

  @Test
  void shouldDrawOtherImagesWhenSplitOrSeedDiffers() {
    Dataset train = open(Split.TRAIN, Map.of("train", 1, "test", 1));
    Dataset test = open(Split.TEST, Map.of("train", 1, "test", 1));
    Dataset other = open(Split.TRAIN, Map.of("train", 1, "seed", 2));

    assertFalse(Arrays.equals(sample(train, 0), sample(test, 0)));
    assertFalse(Arrays.equals(sample(train, 0), sample(other, 0)));
  }

  /** Checks the split's default size, its shape, and that ten classes occur about equally often. */
  protected static void assertBalanced(Dataset test, List<Integer> shape) {
    int[] counts = new int[10];
    for (int i = 0; i < test.size(); i++) {
      counts[test.label(i)]++;
    }

    assertEquals(2_000, test.size());
    assertEquals(shape, test.shape());
    assertEquals(10, test.classes());
    for (int count : counts) {
      // The expected count is 200 with deviation 13.4; the tolerance is five deviations.
      assertEquals(200, count, 67);
    }
  }

  /** Returns the percentage of 500 test samples that are nearest to the mean of their class. */
  protected final double percentRightByNearestMean() {
    return new NearestMean(open(Split.TRAIN, Map.of("train", 2_000)))
        .percentRight(open(Split.TEST, Map.of("test", 500)));
  }

  /** Returns the reason why these options are refused. */
  protected final String refusal(Map<String, Object> options) {
    return assertThrows(SettingsException.class, () -> open(Split.TRAIN, options)).getMessage();
  }

  /** Opens the data set with these options. */
  protected final Dataset open(Split split, Map<String, Object> options) {
    return provider.open(
        new DataConfig(provider.name(), Optional.empty(), Optional.empty(), options), split);
  }
}
