package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.buffer.Buffer;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/**
 * Compares each kind of frame with bytes that another program wrote, so the format cannot change
 * unnoticed.
 */
class GoldenFramesTest {

  @Test
  void shouldKeepItsBytesWhenAGradientIsWritten() {
    assertGolden(
        Frames.GRADIENT,
        """
        56 47 52 44 01 01 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        29 00 00 00 00 00 00 00 00 04 00 00 00 00 00 00
        02 00 00 00 01 00 00 00 80 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 08 00 00 00 19 d6 ef 63
        00 00 80 3f 00 00 00 c0
        """);
  }

  @Test
  void shouldKeepItsBytesWhenAParameterPartitionIsWritten() {
    assertGolden(
        Frames.PARAMETERS,
        """
        56 47 52 44 01 02 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        2a 00 00 00 00 00 00 00 00 04 00 00 00 00 00 00
        03 00 00 00 03 00 02 00 00 00 00 00 01 00 00 00
        06 00 00 00 01 00 00 00 06 00 00 00 cd d8 16 d1
        80 3f 00 c0 00 3f
        """);
  }

  @Test
  void shouldKeepItsBytesWhenAPullRequestIsWritten() {
    assertGolden(
        Frames.PULL,
        """
        56 47 52 44 01 03 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 ff ff ff ff 00 00 00 00
        05 00 00 00 04 00 00 00 00 00 00 00 00 00 00 00
        28 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 50 99 b4 f9
        """);
  }

  @Test
  void shouldKeepItsBytesWhenARefusalIsWritten() {
    assertGolden(
        Frames.REFUSAL,
        """
        56 47 52 44 01 04 00 00 88 77 66 55 44 33 22 11
        00 00 00 00 00 00 00 00 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 19 00 00 00 e2 8e 35 37
        17 00 77 6f 72 6b 65 72 20 31 20 77 61 73 20 6d
        69 73 73 69 6e 67 20 c3 bc
        """);
  }

  @Test
  void shouldKeepItsBytesWhenAMalformedFrameIsWritten() {
    assertGolden(
        Frames.MALFORMED,
        """
        56 47 52 44 01 05 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 23 00 00 00 57 19 bf 1b
        00 00 00 00 05 00 6d 61 67 69 63 0a 00 30 78 30
        30 30 30 30 30 30 30 0a 00 30 78 34 34 35 32 34
        37 35 36
        """);
  }

  @Test
  void shouldKeepItsBytesWhenAPeerPartitionIsWritten() {
    assertGolden(
        Frames.PEER,
        """
        56 47 52 44 01 06 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        02 00 00 00 02 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 07 00 00 00 04 00 00 00 8c 75 ef 24
        00 3c 00 c0
        """);
  }

  @Test
  void shouldKeepItsBytesWhenAGradientIsWrittenAsInt8() {
    assertGolden(
        Frames.INT8,
        """
        56 47 52 44 01 01 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        29 00 00 00 00 00 00 00 00 04 00 00 00 00 00 00
        03 00 00 00 01 01 00 00 80 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 07 00 00 00 9e 6b 5d 05
        00 00 80 3c 7f e0 00
        """);
  }

  @Test
  void shouldKeepItsBytesWhenTheLargestElementsAreWritten() {
    assertGolden(
        Frames.TOP_K,
        """
        56 47 52 44 01 06 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        05 00 00 00 01 02 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 07 00 00 00 10 00 00 00 d3 20 eb e7
        01 00 00 00 04 00 00 00 00 00 00 c0 00 00 80 3f
        """);
  }

  @Test
  void shouldKeepItsBytesWhenFourBitsAreWritten() {
    assertGolden(
        Frames.INT4,
        """
        56 47 52 44 01 06 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        03 00 00 00 01 03 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 07 00 00 00 06 00 00 00 ab 2d b9 77
        00 00 80 3e e7 01
        """);
  }

  @Test
  void shouldKeepItsBytesWhenSignsAreWritten() {
    assertGolden(
        Frames.SIGN,
        """
        56 47 52 44 01 06 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        09 00 00 00 01 04 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 07 00 00 00 06 00 00 00 f4 b3 6a 4b
        00 00 00 40 12 01
        """);
  }

  @Test
  void shouldKeepItsBytesWhenFactorsAreWritten() {
    assertGolden(
        Frames.LOW_RANK,
        """
        56 47 52 44 01 06 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        06 00 00 00 01 05 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 07 00 00 00 38 00 00 00 a2 49 ef 9c
        01 00 00 00 01 00 00 00 01 00 00 00 03 00 00 00
        03 00 00 00 01 00 00 00 00 00 e0 40 00 00 00 40
        00 00 00 00 00 00 00 3f 00 00 80 3f 00 00 c0 3f
        00 00 00 41 00 00 10 41
        """);
  }

  @Test
  void shouldKeepItsBytesWhenAStageTensorIsWritten() {
    assertGolden(
        Frames.STAGE,
        """
        56 47 52 44 01 07 00 00 88 77 66 55 44 33 22 11
        08 07 06 05 04 03 02 01 03 00 00 00 02 00 00 00
        05 00 00 00 04 00 00 00 07 ca 9a 3b 00 00 00 00
        00 00 00 00 00 00 00 00 00 04 00 00 00 00 00 00
        02 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00
        00 00 00 00 0d 00 00 00 08 00 00 00 52 86 9b 98
        00 00 80 3f 00 00 00 c0
        """);
  }

  private static void assertGolden(Frame frame, String expected) {
    String golden = String.join(" ", expected.split("\\s+"));
    byte[] bytes = HexFormat.ofDelimiter(" ").parseHex(golden);
    Buffer wire = Buffer.buffer("before");

    Frames.encode(frame, wire);

    assertEquals(golden, HexFormat.ofDelimiter(" ").formatHex(wire.getBytes(6, wire.length())));
    assertEquals(frame, Frames.decode(frame, bytes));
    assertEquals(frame, Frames.codec(frame).decodeFromWire(6, wire.appendString("after")));
  }
}
