package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

class CrossEntropyTest {

  @Test
  void shouldCountNoRightAnswerWhenAModelReturnsNaN() {
    float[] logits = {Float.NaN, Float.NaN, Float.NaN, Float.NaN};

    Score score = new CrossEntropy(FloatBuffer.wrap(logits), 2).score(new int[] {0, 1}, 1);

    assertEquals(0, score.correct());
    assertEquals(0, score.correctTop());
  }
}
