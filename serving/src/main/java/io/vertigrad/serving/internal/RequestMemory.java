package io.vertigrad.serving.internal;

import io.vertigrad.serving.internal.Refusal.Code;

/**
 * The memory that the requests of a process may hold together: their bodies, what decoding takes,
 * inputs, outputs and answers. A request takes its share before the memory is used, and is refused
 * if there is too little. Any thread may use it.
 *
 * <p>An eighth is kept for small requests, so that they are answered while large ones wait.
 */
final class RequestMemory {

  /** Requests with a share of up to this many bytes may also use the part kept for them. */
  static final long SMALL_BYTES = 1 << 20;

  private static final int HEAP_PARTS = 4;
  private static final int SMALL_PARTS = 8;

  /** Memory of one output: as a number, as an element of JSON, as text, and in the socket. */
  private static final long OUTPUT_BYTES = 48;

  private static final long MEGABYTE = 1_000_000;

  private final long most;
  private long held;

  /**
   * Creates a limit.
   *
   * @param heapBytes largest heap of the process; requests may hold a quarter of it
   */
  RequestMemory(long heapBytes) {
    this.most = heapBytes / HEAP_PARTS;
  }

  /** Returns the bytes that samples hold until their answer has been sent. */
  static long answerBytes(long samples, SampleFormat format) {
    // Labels and values with names are answered by name, too.
    long outputs = (long) format.outputs() + format.columns().size();
    return samples * ((long) Float.BYTES * format.inputs() + OUTPUT_BYTES * outputs);
  }

  /** Returns the most bytes that one request may hold. */
  long mostOfOne() {
    return most - most / SMALL_PARTS;
  }

  /** Returns the bytes that requests hold now. */
  synchronized long held() {
    return held;
  }

  /** Returns an empty share. */
  Share share() {
    return new Share();
  }

  private synchronized boolean change(long from, long to, long limit) {
    if (to <= from || held - from + to <= (to <= SMALL_BYTES ? most : limit)) {
      held += to - from;
      return true;
    }
    return false;
  }

  /** The memory of one request. Any thread may use it, one at a time. */
  final class Share {

    private long bytes;
    private boolean released;

    private Share() {}

    /**
     * Changes the number of bytes that the request holds.
     *
     * @param wanted bytes that it is to hold from now on
     * @param what names them in messages, such as {@code body}
     * @throws Refusal if one request may not hold so many, or if others hold too many now; the
     *     share is then as it was
     */
    void resize(long wanted, String what) {
      resize(wanted, what, mostOfOne());
    }

    /**
     * Changes the number of bytes that the request holds while its body is received. Bodies leave
     * half of the memory to those that are decoded: otherwise all of them could wait for it.
     *
     * @throws Refusal as {@link #resize}
     */
    void receive(long wanted) {
      resize(wanted, "body", mostOfOne() / 2);
    }

    private synchronized void resize(long wanted, String what, long limit) {
      if (released) {
        return;
      }
      if (wanted > limit) {
        throw new Refusal(
            Code.TOO_LARGE,
            "%s: takes %s MB of memory, expected at most %s MB (a share of the heap: -Xmx)"
                .formatted(what, megabytes(wanted), limit / MEGABYTE));
      }
      if (!change(bytes, wanted, limit)) {
        throw new Refusal(
            Code.OVERLOADED,
            "%s: requests hold %s MB of memory, expected at most %s MB (a share of the heap: -Xmx); try again later"
                .formatted(what, held() / MEGABYTE, limit / MEGABYTE));
      }
      bytes = wanted;
    }

    /** Returns the bytes that the request holds. */
    synchronized long bytes() {
      return bytes;
    }

    /** Gives everything back. The share stays empty from now on. */
    synchronized void release() {
      if (!released) {
        released = true;
        change(bytes, 0, 0);
        bytes = 0;
      }
    }

    private static long megabytes(long bytes) {
      return (bytes + MEGABYTE - 1) / MEGABYTE;
    }
  }
}
