package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.vertigrad.compute.Batch;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Batches of three samples of two values, of three classes. */
class BatchArraysTest {

  private final BatchArrays arrays = new BatchArrays(3, List.of(2), 3);

  @ParameterizedTest
  @CsvSource({"0, 1, 2", "0, 0, 0", "2, 0, 1", "1, 1, 0"})
  void shouldMarkTheClassOfEachSampleWhenFilledForTheFirstTime(int first, int second, int third) {
    fill(first, second, third);

    assertLabels(first, second, third);
  }

  @Test
  void shouldMarkNothingElseWhenFilledAgain() {
    fill(0, 1, 2);
    fill(2, 0, 2);
    fill(0, 0, 1);

    assertLabels(0, 0, 1);
  }

  private void fill(int... labels) {
    arrays.fill(new Batch(new float[6], labels, List.of(2), 0));
  }

  private void assertLabels(int... labels) {
    float[][] expected = new float[3][3];
    for (int i = 0; i < labels.length; i++) {
      expected[i][labels[i]] = 1;
    }
    assertArrayEquals(expected, arrays.labels().toFloatMatrix());
  }
}
