package io.vertigrad.codecs;

import static io.vertigrad.codecs.Frames.decode;
import static io.vertigrad.codecs.Frames.encode;
import static io.vertigrad.codecs.Frames.seal;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.vertx.core.buffer.Buffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests damaged frames: each becomes a {@link Malformed} that names the fault. */
class FrameFaultsTest {

  static final List<Frame> FRAMES = Frames.EVERY;

  @ParameterizedTest
  @FieldSource("FRAMES")
  void shouldBeMalformedWhenTruncatedAtAnyByte(Frame frame) {
    byte[] bytes = encode(frame);
    for (int length = 0; length < bytes.length; length++) {
      Frame decoded = decode(frame, Arrays.copyOf(bytes, length));

      Malformed fault = assertInstanceOf(Malformed.class, decoded);
      boolean cutHeader = length < HeaderField.HEADER_BYTES;
      assertEquals(cutHeader ? "frame" : "payload length", fault.field(), "cut at " + length);
    }
  }

  @ParameterizedTest
  @FieldSource("FRAMES")
  void shouldBeMalformedWhenAnySingleBitFlips(Frame frame) {
    byte[] bytes = encode(frame);
    for (int bit = 0; bit < 8 * bytes.length; bit++) {
      byte[] flipped = bytes.clone();
      flipped[bit / 8] ^= (byte) (1 << bit % 8);

      Frame decoded = decode(frame, flipped);

      List<String> fields = List.of("magic", "format version", "payload length", "checksum");
      Malformed fault = assertInstanceOf(Malformed.class, decoded, "bit " + bit);
      assertEquals(true, fields.contains(fault.field()), fault.toString());
    }
  }

  @ParameterizedTest
  @MethodSource
  void shouldNameTheFieldWhenItsValueIsWrong(Frame frame, int offset, String hex, String expected) {
    byte[] bytes = encode(frame);
    byte[] wrong = HexFormat.of().parseHex(hex);
    System.arraycopy(wrong, 0, bytes, offset, wrong.length);

    Frame decoded = decode(frame, seal(bytes));

    assertEquals("malformed frame: " + expected, decoded.toString());
  }

  static Stream<Arguments> shouldNameTheFieldWhenItsValueIsWrong() {
    return Stream.of(
        arguments(
            Frames.PULL, 0, "00000000", "magic at offset 0 is 0x00000000, expected 0x44524756"),
        arguments(Frames.PULL, 4, "02", "format version at offset 4 is 2, expected 1"),
        arguments(Frames.PULL, 5, "01", "kind at offset 5 is 1, expected 3"),
        arguments(Frames.PULL, 6, "0080", "flags at offset 6 is 32768, expected 0"),
        arguments(
            Frames.PULL, 24, "feffffff", "worker at offset 24 is -2, expected -1 to 2147483647"),
        arguments(
            Frames.PULL,
            28,
            "00000080",
            "incarnation at offset 28 is -2147483648, expected 0 to 2147483647"),
        arguments(
            Frames.PULL,
            40,
            "ffffffffffffffff",
            "step at offset 40 is -1, expected 0 to 9223372036854775807"),
        arguments(Frames.PULL, 56, "01", "first element at offset 56 is 1, expected 0"),
        arguments(Frames.PULL, 72, "01", "samples at offset 72 is 1, expected 0"),
        arguments(Frames.PULL, 84, "01", "phase at offset 84 is 1, expected 0"),
        arguments(
            Frames.PULL,
            88,
            "01",
            "payload length at offset 88 is 1, expected at most 0, the bytes received"),
        arguments(
            Frames.PULL,
            88,
            "ffffff7f",
            "payload length at offset 88 is 2147483647, expected 0 to 523264"),
        arguments(
            Frames.GRADIENT,
            64,
            "03",
            "payload length at offset 88 is 8, expected 12 for 3 elements of FLOAT32"),
        arguments(
            Frames.GRADIENT,
            64,
            "ffffffff",
            "element count at offset 64 is -1, expected 0 to 130816"),
        arguments(
            Frames.GRADIENT,
            68,
            "09",
            "data type at offset 68 is 9, expected 1 (FLOAT32), 2 (FLOAT16), 3 (BFLOAT16)"),
        arguments(
            Frames.GRADIENT,
            69,
            "06",
            "encoding at offset 69 is 6, expected 0 (DENSE), 1 (INT8), 2 (TOP_K), 3 (INT4), 4"
                + " (SIGN), 5 (LOW_RANK)"),
        arguments(
            Frames.GRADIENT,
            69,
            "01",
            "payload length at offset 88 is 8, expected 6 for 2 elements of INT8"),
        arguments(
            Frames.INT8, 68, "02", "data type at offset 68 is 2, expected 1 (FLOAT32) for INT8"),
        arguments(
            Frames.INT8,
            64,
            "41ff0100",
            "element count at offset 64 is 130881, expected 0 to 130816"),
        arguments(
            Frames.INT8,
            96,
            "000080bf",
            "scale at offset 96 is -1.0, expected 0 to the largest float over 127"),
        arguments(
            Frames.INT8,
            96,
            "ffff7f7f",
            "scale at offset 96 is 3.4028235E38, expected 0 to the largest float over 127"),
        arguments(
            Frames.INT4,
            64,
            "05",
            "payload length at offset 88 is 6, expected 7 for 5 elements of INT4"),
        arguments(
            Frames.INT4,
            96,
            "ffffff7e",
            "scale at offset 96 is 1.7014117E38, expected 0 to the largest float over 8"),
        arguments(
            Frames.SIGN,
            96,
            "000080bf",
            "scale at offset 96 is -1.0, expected 0 to the largest float over 1"),
        arguments(
            Frames.SIGN, 68, "02", "data type at offset 68 is 2, expected 1 (FLOAT32) for SIGN"),
        arguments(Frames.LOW_RANK, 96, "00", "rank at offset 96 is 0, expected 1 to 256"),
        arguments(Frames.LOW_RANK, 96, "0101", "rank at offset 96 is 257, expected 1 to 256"),
        arguments(
            Frames.LOW_RANK, 100, "ffffffff", "matrices at offset 100 is -1, expected 0 to 3"),
        arguments(Frames.LOW_RANK, 100, "04", "matrices at offset 100 is 4, expected 0 to 3"),
        arguments(
            Frames.LOW_RANK,
            104,
            "ffffffff",
            "matrix at offset 104 is 0, expected a run of elements behind the matrix before and"
                + " below 6"),
        arguments(
            Frames.LOW_RANK,
            108,
            "ffffff7f",
            "matrix at offset 104 is 0, expected a run of elements behind the matrix before and"
                + " below 6"),
        arguments(
            Frames.LOW_RANK,
            116,
            "03",
            "matrix at offset 104 is 0, expected a run of elements behind the matrix before and"
                + " below 6"),
        arguments(
            Frames.LOW_RANK,
            112,
            "ffffff7f",
            "payload length at offset 88 is 56, expected 8589934628 for 6 elements of LOW_RANK"),
        arguments(
            Frames.LOW_RANK,
            64,
            "05",
            "payload length at offset 88 is 56, expected 52 for 5 elements of LOW_RANK"),
        arguments(
            Frames.TOP_K, 68, "03", "data type at offset 68 is 3, expected 1 (FLOAT32) for TOP_K"),
        arguments(
            Frames.TOP_K,
            64,
            "01",
            "payload length at offset 88 is 16, expected a multiple of 8 up to 8 for 1 elements of"
                + " TOP_K"),
        arguments(
            Frames.TOP_K,
            96,
            "ffffffff",
            "index at offset 96 is -1, expected above the one before and below 5"),
        arguments(
            Frames.TOP_K,
            100,
            "01",
            "index at offset 100 is 1, expected above the one before and below 5"),
        arguments(
            Frames.TOP_K,
            100,
            "05",
            "index at offset 100 is 5, expected above the one before and below 5"),
        arguments(
            Frames.GRADIENT, 72, "00000000", "samples at offset 72 is 0, expected 1 to 2147483647"),
        arguments(
            Frames.PARAMETERS,
            70,
            "00",
            "outcome at offset 70 is 0, expected 1 (PULLED), 2 (APPLIED), 3 (LATE), 4"
                + " (DUPLICATE), 5 (TOO_STALE), 6 (FINISHED)"),
        arguments(
            Frames.REFUSAL,
            71,
            "ff",
            "reason at offset 71 is 255, expected 1 (STALE_INCARNATION), 2 (WRONG_LAYOUT), 3"
                + " (NOT_FINITE), 4 (DEADLINE), 5 (UNAVAILABLE), 6 (PROTOCOL)"),
        arguments(
            Frames.REFUSAL, 96, "ffff", "message at offset 96 is 65535 bytes, expected at most 23"),
        arguments(Frames.REFUSAL, 96, "1500", "payload length at offset 88 is 25, expected 23"),
        arguments(
            Frames.REFUSAL,
            98,
            "ff",
            "message at offset 96 is 23 bytes that are no UTF-8, expected UTF-8"),
        arguments(
            Frames.MALFORMED,
            96,
            "ffffffff",
            "fault offset at offset 96 is -1, expected at least 0"),
        arguments(
            Frames.MALFORMED,
            100,
            "1d00",
            "fault found at offset 131 is 0 bytes left, expected a length of 2 bytes"));
  }

  @Test
  void shouldNameTheTextWhenThePayloadEndsBeforeIt() {
    byte[] bytes = Arrays.copyOf(encode(Frames.MALFORMED), HeaderField.HEADER_BYTES + 3);
    bytes[HeaderField.PAYLOAD_LENGTH.offset()] = 3;

    Frame decoded = decode(Frames.MALFORMED, seal(bytes));

    assertEquals(
        "malformed frame: fault offset at offset 96 is 3 bytes left, expected 4 bytes",
        decoded.toString());
  }

  @Test
  void shouldBeMalformedWhenTheStartLiesOutsideTheBuffer() {
    Buffer wire = Buffer.buffer(encode(Frames.PULL));
    for (int start : new int[] {-1, Integer.MIN_VALUE, 1, wire.length(), Integer.MAX_VALUE}) {
      Frame decoded = Frames.codec(Frames.PULL).decodeFromWire(start, wire);

      assertEquals("frame", assertInstanceOf(Malformed.class, decoded).field());
    }
  }

  @Test
  void shouldNameTheChecksumWhenThePayloadWasDamaged() {
    byte[] bytes = encode(Frames.GRADIENT);
    bytes[100] = 1;

    Malformed fault = assertInstanceOf(Malformed.class, decode(Frames.GRADIENT, bytes));

    assertEquals("checksum", fault.field());
    assertEquals(92, fault.offset());
    assertEquals("0x63efd619", fault.found());
  }
}
