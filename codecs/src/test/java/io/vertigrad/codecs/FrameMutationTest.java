package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.vertx.core.buffer.Buffer;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Damages frames at random with a seed: no bytes make a codec throw, or allocate more than it
 * received.
 */
class FrameMutationTest {

  private static final int MUTATIONS = 100_000;

  /**
   * Number of bytes that reading a small frame or describing a fault allocates besides the input's
   * size.
   */
  private static final long SLACK_BYTES = 64 << 10;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @Test
  @Tag("slow")
  void shouldDecodeToAFrameWhenBytesAreDamaged() {
    SplittableRandom random = new SplittableRandom(20_240_607);
    int intact = 0;
    decodeMeasured(Frames.PULL, Frames.encode(Frames.REFUSAL));
    for (int i = 0; i < MUTATIONS; i++) {
      Frame original = Frames.EVERY.get(random.nextInt(Frames.EVERY.size()));
      byte[] mutant = mutate(Frames.encode(original), random);

      Frame decoded = decodeMeasured(original, mutant);

      if (!(decoded instanceof Malformed)) {
        assertEquals(decoded, Frames.decode(decoded, Frames.encode(decoded)));
        intact++;
      }
    }
    assertTrue(intact > MUTATIONS / 20, intact + " mutants were still frames");
  }

  @Test
  void shouldAllocateLittleWhenTheHeaderAnnouncesALargeBody() {
    byte[] header = Arrays.copyOf(Frames.encode(Frames.GRADIENT), HeaderField.HEADER_BYTES);
    Buffer lying =
        Buffer.buffer(header)
            .setIntLE(HeaderField.ELEMENT_COUNT.offset(), FrameLimits.MAX_ELEMENTS)
            .setIntLE(HeaderField.PAYLOAD_LENGTH.offset(), FrameLimits.MAX_PAYLOAD_BYTES);
    Frames.decode(Frames.GRADIENT, header);

    Frame decoded = decodeMeasured(Frames.GRADIENT, Frames.seal(lying.getBytes()));

    assertEquals("payload length", assertInstanceOf(Malformed.class, decoded).field());
  }

  private Frame decodeMeasured(Frame original, byte[] bytes) {
    long before = threads.getCurrentThreadAllocatedBytes();
    Frame decoded = Frames.decode(original, bytes);
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;
    assertTrue(allocated <= bytes.length + SLACK_BYTES, "allocated " + allocated);
    return decoded;
  }

  /**
   * Changes one to four bytes, sometimes the length, and corrects the checksum three times in four.
   */
  private static byte[] mutate(byte[] bytes, SplittableRandom random) {
    byte[] mutant = bytes;
    if (random.nextInt(4) == 0) {
      mutant = Arrays.copyOf(bytes, random.nextInt(2 * bytes.length));
    }
    for (int changes = random.nextInt(1, 5); changes > 0 && mutant.length > 0; changes--) {
      mutant[random.nextInt(mutant.length)] = (byte) random.nextInt();
    }
    boolean sealable = mutant.length >= HeaderField.HEADER_BYTES;
    return sealable && random.nextInt(4) > 0 ? Frames.seal(mutant) : mutant;
  }
}
