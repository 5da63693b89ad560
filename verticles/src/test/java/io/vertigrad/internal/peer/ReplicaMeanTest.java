package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.peer.ModelReader.ReplicaMean;
import org.junit.jupiter.api.Test;

class ReplicaMeanTest {

  @Test
  void shouldComputeMeanAndDistanceOfVectors() {
    ReplicaMean mean = new ReplicaMean(2);
    mean.add(new float[] {1, 0});
    mean.add(new float[] {3, 0});
    mean.add(new float[] {5, 6});

    assertArrayEquals(new float[] {3, 2}, mean.mean(), 1e-6f);
    // Squared distances 4 + 4, 0 + 4 and 4 + 16: 32 over three vectors.
    assertEquals(Math.sqrt(32 / 3.0), mean.consensusDistance(), 1e-12);
  }

  @Test
  void shouldGiveTheVectorItselfWhenAllAreEqual() {
    float[] vector = {0.1f, 1e-30f, -7.3e7f};
    ReplicaMean mean = new ReplicaMean(3);
    for (int i = 0; i < 7; i++) {
      mean.add(vector.clone());
    }

    assertArrayEquals(vector, mean.mean());
    assertEquals(0, mean.consensusDistance());
  }
}
