package io.vertigrad.compute.data.digits;

import static io.vertigrad.compute.data.Fingerprint.sample;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.GeneratedDatasetContract;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DigitsProviderTest extends GeneratedDatasetContract {

  private static final int PIXELS = 28 * 28;

  DigitsProviderTest() {
    super(new DigitsProvider(), "7f3c235da6a87b2f6f659ef54334d2a1c871a190498b330b909f69045f31bade");
  }

  @Test
  void shouldLookLikeMnistInShapeInkAndBalanceWhenNoOptionIsGiven() {
    Dataset test = open(Split.TEST, Map.of());
    double ink = 0;
    for (int i = 0; i < test.size(); i++) {
      for (float value : sample(test, i)) {
        ink += value;
      }
    }

    assertBalanced(test, List.of(1, 28, 28));
    assertEquals(0, ink / test.size() / PIXELS, 0.05, "mean after MNIST's normalisation");
  }

  @Test
  void shouldBeLearnableButNotTrivialWhenTheNearestMeanDecides() {
    double percent = percentRightByNearestMean();

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
}
