package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import io.vertx.core.buffer.Buffer;

/**
 * Coverage-guided search for bytes that break a codec.
 *
 * <p>An ordinary build replays the seed inputs; {@code JAZZER_FUZZ=1 mvn -pl codecs test
 * -Dtest=FrameFuzzTest} searches for a minute.
 */
class FrameFuzzTest {

  @FuzzTest(maxDuration = "1m")
  void shouldReadWhatItWroteWhenAnyBytesAreDecoded(FuzzedDataProvider data) {
    boolean sealed = data.consumeBoolean();
    byte[] bytes = data.consumeRemainingAsBytes();
    boolean sealable = sealed && bytes.length >= HeaderField.HEADER_BYTES;
    Buffer wire = Buffer.buffer(sealable ? Frames.seal(bytes) : bytes);
    for (FrameCodec<?> codec : FrameCodecs.all()) {
      Frame decoded = codec.decodeFromWire(0, wire);

      assertEquals(decoded, Frames.decode(decoded, Frames.encode(decoded)));
    }
  }
}
