package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.vertx.core.buffer.Buffer;

/**
 * Searches for bytes that break a codec, guided by coverage.
 *
 * <p>An ordinary build replays the stored inputs, one frame of each kind. To search for a minute:
 * {@code JAZZER_FUZZ=1 mvn -pl codecs test -Dtest=FrameFuzzTest -Djazzer.hooks=true}.
 */
class FrameFuzzTest {

  @FuzzTest(maxDuration = "1m")
  void shouldReadItsOwnOutputForAnyDecodedBytes(byte[] bytes) {
    assertStable(bytes);
    if (bytes.length >= HeaderField.HEADER_BYTES) {
      assertStable(Frames.seal(bytes));
    }
  }

  private static void assertStable(byte[] bytes) {
    Buffer wire = Buffer.buffer(bytes);
    for (FrameCodec<?> codec : FrameCodecs.all()) {
      Frame decoded = codec.decodeFromWire(0, wire);

      assertEquals(decoded, Frames.decode(decoded, Frames.encode(decoded)));
    }
  }
}
