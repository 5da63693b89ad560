package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class UpdatePrivacyTest {

  @Test
  void shouldClipToNormOfAllPartsWhenUpdateIsLonger() {
    float[] weights = {3};
    float[] biases = {0, 4};

    double norm = new UpdatePrivacy(1, 0, 1).apply(weights, biases);

    assertEquals(5, norm, 1e-12);
    assertArrayEquals(new float[] {0.6f}, weights, 1e-7f);
    assertArrayEquals(new float[] {0, 0.8f}, biases, 1e-7f);
  }

  @Test
  void shouldLeaveUpdateWhenItIsShorterAndThereIsNoNoise() {
    float[] update = {0.3f, 0.4f};

    new UpdatePrivacy(1, 0, 1).apply(update);

    assertArrayEquals(new float[] {0.3f, 0.4f}, update);
  }

  @Test
  void shouldClipWhenElementsAreHuge() {
    float[] update = {3e38f, -3e38f};

    new UpdatePrivacy(1, 0, 1).apply(update);

    float half = (float) Math.sqrt(0.5);
    assertArrayEquals(new float[] {half, -half}, update, 1e-6f);
  }

  @Test
  void shouldHaveDeviationOfFormulaWhenNoiseIsAdded() {
    int length = 1_000_000;
    float[] update = new float[length];

    new UpdatePrivacy(2, 1.5, 7).apply(update);

    double sum = 0;
    double squares = 0;
    double within = 0;
    for (float element : update) {
      sum += element;
      squares += (double) element * element;
      within += Math.abs(element) < 3 ? 1 : 0;
    }
    // The standard errors are 0.003, 0.0021 and 0.00047.
    assertEquals(0, sum / length, 0.015);
    assertEquals(3, Math.sqrt(squares / length), 0.012);
    assertEquals(0.682689, within / length, 0.0025);
  }

  @Test
  void shouldRepeatNoiseWhenSeedIsEqual() {
    float[] one = new float[10];
    float[] other = new float[10];

    new UpdatePrivacy(1, 1, 7).apply(one);
    new UpdatePrivacy(1, 1, 7).apply(other);

    assertArrayEquals(one, other);
  }

  @Test
  void shouldTakeNewNoiseWhenUpdateIsComputedAgain() {
    UpdatePrivacy privacy = new UpdatePrivacy(1, 1, 7);
    float[] one = new float[10];
    float[] again = new float[10];

    privacy.apply(one);
    privacy.apply(again);

    assertFalse(Arrays.equals(one, again));
  }

  @Test
  void shouldTakeOtherSeedWhenNoneIsGiven() {
    float[] one = new float[10];
    float[] other = new float[10];

    new UpdatePrivacy(1, 1).apply(one);
    new UpdatePrivacy(1, 1).apply(other);

    assertFalse(Arrays.equals(one, other));
  }

  @Test
  void shouldRefuseArgumentsWhenTheyHaveNoMeaning() {
    assertThrows(IllegalArgumentException.class, () -> new UpdatePrivacy(0, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> new UpdatePrivacy(1, -1, 1));
    assertThrows(
        IllegalArgumentException.class, () -> new UpdatePrivacy(Double.POSITIVE_INFINITY, 1, 1));
  }
}
