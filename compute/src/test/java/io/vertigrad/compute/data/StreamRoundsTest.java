package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class StreamRoundsTest {

  @Test
  void shouldGiveEverySampleToOneRankInItsOrder() {
    for (int ranks = 1; ranks <= 4; ranks++) {
      for (int batch = 1; batch <= 3; batch++) {
        for (int samples = ranks; samples <= 40; samples++) {
          StreamRounds rounds = new StreamRounds(samples, ranks, batch);
          long next = 0;
          for (long round = 0; round < rounds.rounds(); round++) {
            for (int rank = 0; rank < ranks; rank++) {
              assertEquals(next, rounds.first(round, rank), rounds::toString);
              long size = rounds.first(round, rank + 1) - next;
              assertTrue(size >= 1 && size <= batch + 1, rounds + ": " + size);
              next += size;
            }
          }
          assertEquals(samples, next, rounds::toString);
        }
      }
    }
  }

  @Test
  void shouldRefuseFewerSamplesThanRanks() {
    assertThrows(IllegalArgumentException.class, () -> new StreamRounds(1, 2, 8));
  }
}
