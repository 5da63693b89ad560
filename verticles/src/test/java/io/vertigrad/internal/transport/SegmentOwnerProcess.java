package io.vertigrad.internal.transport;

import io.vertx.core.Vertx;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * A process that owns a segment, writes one payload when it is asked to, and then keeps running.
 */
public final class SegmentOwnerProcess {

  /** Marks this process's own output lines among its log lines. */
  static final String SAYS = "says: ";

  static final SegmentLayout LAYOUT = new SegmentLayout(16);

  private SegmentOwnerProcess() {}

  /** Prints the segment's name and, after a line of input, where the payload is. */
  public static void main(String[] arguments) throws Exception {
    SharedMemory memory = new SharedMemory(Vertx.vertx(), Path.of(arguments[0]), LAYOUT, 1L << 30);
    OwnedSegment segment = memory.create();
    System.out.println(SAYS + segment.name());
    if (System.in.read() >= 0) {
      SlotReference at = segment.write(1, payload());
      System.out.println(SAYS + at.slot() + " " + at.length() + " " + at.generation());
      Thread.sleep(Long.MAX_VALUE);
    }
  }

  /** Returns the payload that it writes. */
  static ByteBuffer payload() {
    ByteBuffer bytes = ByteBuffer.allocate(300_000);
    while (bytes.hasRemaining()) {
      bytes.put((byte) (31 * bytes.position()));
    }
    return bytes.flip();
  }
}
