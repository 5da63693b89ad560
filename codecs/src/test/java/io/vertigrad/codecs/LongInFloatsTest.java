package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LongInFloatsTest {

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 1_048_575, 1_048_576, 16_777_217, 1_234_567_890_123L, (1L << 44) - 1})
  void shouldKeepTheNumberExactlyWhenItIsBetweenOtherElements(long number) {
    float[] array = {7, 8, 9, 10};

    LongInFloats.put(array, 1, number);

    assertEquals(number, LongInFloats.get(array, 1));
    assertArrayEquals(new float[] {7, 10}, new float[] {array[0], array[3]});
  }
}
