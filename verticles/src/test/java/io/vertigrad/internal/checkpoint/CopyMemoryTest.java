package io.vertigrad.internal.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InterruptedIOException;
import java.nio.FloatBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class CopyMemoryTest {

  @Test
  void shouldReuseMemoryWhenItIsReleased() {
    CopyMemory memory = new CopyMemory();
    FloatBuffer first = memory.take(8);
    FloatBuffer second = memory.take(8);
    assertNotSame(first, second, "the first is still in use");

    memory.giveBack(first.put(1f).flip());

    FloatBuffer again = memory.take(8);
    assertSame(first, again);
    assertEquals(8, again.remaining(), "all of it may be written again");
    assertNotSame(second, memory.take(8));
  }

  @Test
  void shouldAllocateOnTheHeapBeyondTheLimit() {
    CopyMemory memory = new CopyMemory(10 * Float.BYTES);

    assertTrue(memory.take(8).isDirect());
    assertFalse(memory.take(3).isDirect(), "2 elements are left");
    assertTrue(memory.take(2).isDirect());
  }

  @Test
  void shouldReserveTheMissingMemoryOfACopy() throws InterruptedIOException {
    CopyMemory memory = new CopyMemory(20 * Float.BYTES);
    FloatBuffer taken = memory.take(4);

    memory.reserve(List.of(4, 8, 4), new WritePace());
    memory.reserve(List.of(4, 8, 4), new WritePace());

    assertTrue(memory.take(4).isDirect());
    assertTrue(memory.take(8).isDirect());
    assertTrue(memory.take(4).isDirect(), "16 elements for the copy, and 4 are left");
    assertFalse(memory.take(4).isDirect());
    memory.giveBack(taken);
    assertSame(taken, memory.take(4));
  }
}
