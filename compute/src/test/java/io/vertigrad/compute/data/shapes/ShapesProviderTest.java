package io.vertigrad.compute.data.shapes;

import static io.vertigrad.compute.data.Fingerprint.sample;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.GeneratedDatasetContract;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ShapesProviderTest extends GeneratedDatasetContract {

  private static final int PLANE = 32 * 32;

  ShapesProviderTest() {
    super(new ShapesProvider(), "d509e13c5e25be36bc4f26149b2ca190848e76124c1f56ac60d2fd2b95cbaf7e");
  }

  @Test
  void shouldOfferCifarsShapeInBalanceWhenNoOptionIsGiven() {
    Dataset test = open(Split.TEST, Map.of());
    double[] sums = new double[3];
    for (int i = 0; i < test.size(); i++) {
      float[] values = sample(test, i);
      for (int p = 0; p < values.length; p++) {
        sums[p / PLANE] += values[p];
      }
    }

    assertBalanced(test, List.of(3, 32, 32));
    for (double sum : sums) {
      assertEquals(0, sum / test.size() / PLANE, 0.4, "mean after CIFAR-10's normalisation");
    }
  }

  @Test
  void shouldNotGiveTheClassAwayByColourWhenTheNearestMeanDecides() {
    double percent = percentRightByNearestMean();

    // Chance is 10 %, with a deviation of 1.3.
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
}
