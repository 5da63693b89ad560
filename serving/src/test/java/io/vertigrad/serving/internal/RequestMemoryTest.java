package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.serving.internal.Refusal.Code;
import io.vertigrad.serving.internal.RequestMemory.Share;
import org.junit.jupiter.api.Test;

class RequestMemoryTest {

  private static final long MEGABYTE = 1 << 20;

  /** Requests may hold 160 MB, of which 20 are kept for small ones. */
  private final RequestMemory memory = new RequestMemory(640 * MEGABYTE);

  @Test
  void shouldRefuseARequestBeyondItsMemory() {
    Share share = memory.share();

    Refusal why = assertThrows(Refusal.class, () -> share.resize(141 * MEGABYTE, "body"));

    assertEquals(Code.TOO_LARGE, why.code());
    assertEquals(
        "body: takes 148 MB of memory, expected at most 146 MB (a share of the heap: -Xmx)",
        why.getMessage());
    assertEquals(0, memory.held());
  }

  @Test
  void shouldRefuseRequestsBeyondTheMemoryOfAll() {
    Share first = memory.share();
    first.resize(100 * MEGABYTE, "body");
    Share second = memory.share();
    second.resize(30 * MEGABYTE, "body");

    Refusal why = assertThrows(Refusal.class, () -> second.resize(41 * MEGABYTE, "image"));

    assertEquals(Code.OVERLOADED, why.code());
    assertEquals(
        "image: requests hold 136 MB of memory, expected at most 146 MB (a share of the heap: -Xmx); try again later",
        why.getMessage());
    assertEquals(30 * MEGABYTE, second.bytes());
    first.release();
    second.resize(140 * MEGABYTE, "image");
    second.resize(10 * MEGABYTE, "image");
    assertEquals(10 * MEGABYTE, memory.held());
  }

  @Test
  void shouldReserveHalfOfTheMemoryForDecoding() {
    Share first = memory.share();
    first.receive(60 * MEGABYTE);

    Refusal why = assertThrows(Refusal.class, () -> memory.share().receive(20 * MEGABYTE));

    assertEquals(Code.OVERLOADED, why.code());
    first.resize(140 * MEGABYTE, "inputs");
    why = assertThrows(Refusal.class, () -> memory.share().receive(71 * MEGABYTE));
    assertEquals(Code.TOO_LARGE, why.code());
  }

  @Test
  void shouldReserveMemoryForSmallRequests() {
    memory.share().resize(140 * MEGABYTE, "body");
    for (int i = 0; i < 20; i++) {
      memory.share().resize(MEGABYTE, "body");
    }

    assertThrows(Refusal.class, () -> memory.share().resize(1, "body"));
    assertEquals(160 * MEGABYTE, memory.held());
  }

  @Test
  void shouldReleaseOnceAndRejectFurtherUse() {
    Share other = memory.share();
    other.resize(5 * MEGABYTE, "body");
    Share share = memory.share();
    share.resize(50 * MEGABYTE, "body");

    share.release();
    share.release();
    share.resize(50 * MEGABYTE, "body");

    assertEquals(5 * MEGABYTE, memory.held());
  }
}
