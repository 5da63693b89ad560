package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.streams.internal.LabelJoin.Waiting;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LabelJoinTest {

  private final LabelJoin join =
      new LabelJoin(new LabelConfig("labels", Optional.of("id"), 100, 2));

  @Test
  void shouldGiveAnEventItsLabel() {
    add("a", 1, 10);
    add("b", 2, 20);

    assertArrayEquals(new Object[] {"a", "yes"}, join.label("a", 50, "yes").orElseThrow().values());
    assertEquals(List.of(2L), join.indices());
    assertEquals(0, join.unlabelled());
  }

  @Test
  void shouldCountEventsThatNeverGetALabel() {
    add("a", 1, 10);
    add("b", 2, 20);
    add("c", 3, 30);
    assertEquals(1, join.unlabelled(), "more than two wait");

    assertTrue(join.label("a", 40, "yes").isEmpty());
    assertTrue(join.label("b", 121, "yes").isEmpty(), "later than 100 ms");
    assertEquals(2, join.unlabelled());

    add("c", 4, 125);
    assertEquals(3, join.unlabelled(), "another event with the same key");
    assertEquals(List.of(4L), join.indices());
  }

  private void add(String key, long index, long millis) {
    join.add(key, new Waiting(index, millis, new Object[] {key, null}, "record"));
  }
}
