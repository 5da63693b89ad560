package io.vertigrad.compute.data.shapes;

import static io.vertigrad.compute.data.Fingerprint.sample;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.settings.SettingsException;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.Fingerprint;
import io.vertigrad.compute.data.NearestMean;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ShapesProviderTest {

  private static final int PLANE = 32 * 32;

  @Test
  void shouldDrawTheSameBytesOnEveryMachineWhenTheSeedIsTheSame() {
    Dataset shapes = open(Split.TRAIN, Map.of("train", 100, "seed", 1));

    assertEquals(
        "d509e13c5e25be36bc4f26149b2ca190848e76124c1f56ac60d2fd2b95cbaf7e", Fingerprint.of(shapes));
  }

  @Test
  void shouldBeginWithTheSmallerSetWhenTheSetIsLarger() {
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

  @Test
  void shouldOfferCifarsShapeInBalanceWhenNoOptionIsGiven() {
    Dataset test = open(Split.TEST, Map.of());
    int[] counts = new int[10];
    double[] sums = new double[3];
    for (int i = 0; i < test.size(); i++) {
      counts[test.label(i)]++;
      float[] values = sample(test, i);
      for (int p = 0; p < values.length; p++) {
        sums[p / PLANE] += values[p];
      }
    }

    assertEquals(2_000, test.size());
    assertEquals(List.of(3, 32, 32), test.shape());
    assertEquals(10, test.classes());
    for (int count : counts) {
      // 200 expected, deviation 13.4: five of them.
      assertEquals(200, count, 67);
    }
    for (double sum : sums) {
      assertEquals(0, sum / test.size() / PLANE, 0.4, "mean after CIFAR-10's normalisation");
    }
  }

  @Test
  void shouldNotGiveTheClassAwayByColourWhenTheNearestMeanDecides() {
    Dataset train = open(Split.TRAIN, Map.of("train", 2_000));
    Dataset test = open(Split.TEST, Map.of("test", 500));

    double percent = new NearestMean(train).percentRight(test);

    // Chance is 10 %, deviation 1.3.
    assertTrue(percent < 20, "nearest mean is right in " + percent + " %");
  }

  @Test
  void shouldNameTheOptionWhenItIsUnknownOrOutOfRange() {
    assertEquals(
        "data set 'shapes': test is 700000, expected a whole number from 1 to 699050",
        refusal(Map.of("test", 700_000)));
    assertEquals(
        "data set 'shapes': sed is not a known key, did you mean \"seed\"?",
        refusal(Map.of("sed", 5)));
  }

  private static String refusal(Map<String, Object> options) {
    return assertThrows(SettingsException.class, () -> open(Split.TRAIN, options)).getMessage();
  }

  private static Dataset open(Split split, Map<String, Object> options) {
    return new ShapesProvider()
        .open(new DataConfig("shapes", Optional.empty(), Optional.empty(), options), split);
  }
}
