package io.vertigrad.compute.data.digits;

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

class DigitsProviderTest {

  private static final int PIXELS = 28 * 28;

  @Test
  void shouldDrawTheSameBytesOnEveryMachineWhenTheSeedIsTheSame() {
    Dataset digits = open(Split.TRAIN, Map.of("train", 100, "seed", 1));

    assertEquals(
        "7f3c235da6a87b2f6f659ef54334d2a1c871a190498b330b909f69045f31bade", Fingerprint.of(digits));
  }

  @Test
  void shouldBeginWithTheSmallerSetWhenTheSetIsLarger() {
    Dataset small = open(Split.TRAIN, Map.of("train", 70));
    Dataset large = open(Split.TRAIN, Map.of("train", 300));

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
  void shouldOfferTheDefaultSizesAndMnistsShapeWhenNoOptionIsGiven() {
    Dataset test = open(Split.TEST, Map.of());

    assertEquals(2_000, test.size());
    assertEquals(List.of(1, 28, 28), test.shape());
    assertEquals(10, test.classes());
  }

  @Test
  void shouldLookLikeMnistInInkAndBalanceWhenManyAreDrawn() {
    Dataset test = open(Split.TEST, Map.of());
    int[] counts = new int[10];
    double ink = 0;
    for (int i = 0; i < test.size(); i++) {
      counts[test.label(i)]++;
      for (float value : sample(test, i)) {
        ink += value;
      }
    }

    for (int count : counts) {
      // 200 expected, deviation 13.4: five of them.
      assertEquals(200, count, 67);
    }
    assertEquals(0, ink / test.size() / PIXELS, 0.05, "mean after MNIST's normalisation");
  }

  @Test
  void shouldBeLearnableButNotTrivialWhenTheNearestMeanDecides() {
    Dataset train = open(Split.TRAIN, Map.of("train", 2_000));
    Dataset test = open(Split.TEST, Map.of("test", 500));

    double percent = new NearestMean(train).percentRight(test);

    assertTrue(percent > 55 && percent < 90, "nearest mean is right in " + percent + " %");
  }

  @Test
  void shouldNameTheOptionWhenItIsUnknownOrOutOfRange() {
    assertEquals(
        "data set 'digits': train is 0, expected a whole number from 1 to 1000000",
        refusal(Map.of("train", 0)));
    assertEquals(
        "data set 'digits': trian is not a known key, did you mean \"train\"?",
        refusal(Map.of("trian", 5)));
  }

  private static String refusal(Map<String, Object> options) {
    return assertThrows(SettingsException.class, () -> open(Split.TRAIN, options)).getMessage();
  }

  private static Dataset open(Split split, Map<String, Object> options) {
    return new DigitsProvider()
        .open(new DataConfig("digits", Optional.empty(), Optional.empty(), options), split);
  }
}
