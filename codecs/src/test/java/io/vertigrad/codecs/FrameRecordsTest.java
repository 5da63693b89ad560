package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class FrameRecordsTest {

  @Test
  void shouldNameTheComponentWhenAnIdentityIsOutOfRange() {
    assertRefused("worker is -2, expected at least -1", () -> new ExchangeId(0, -2, 0, 0, 0, 0));
    assertRefused(
        "incarnation is -1, expected at least 0", () -> new ExchangeId(0, 0, -1, 0, 0, 0));
    assertRefused("epoch is -1, expected at least 0", () -> new ExchangeId(0, 0, 0, -1, 0, 0));
    assertRefused("step is -1, expected at least 0", () -> new ExchangeId(0, 0, 0, 0, -1, 0));
    assertRefused("partition is -1, expected at least 0", () -> new ExchangeId(0, 0, 0, 0, 0, -1));
  }

  @Test
  void shouldNameTheComponentWhenAGradientIsOutOfRange() {
    TensorView tensor = Tensor.ofFloats(1);

    assertRefused(
        "samples is 0, expected at least 1",
        () -> new GradientPartition(Frames.ID, 0, 0, 0, 0, tensor));
    assertRefused(
        "version is -1, expected at least 0",
        () -> new GradientPartition(Frames.ID, 0, -1, 1, 0, tensor));
    assertRefused(
        "firstElement is -1, expected at least 0",
        () -> new GradientPartition(Frames.ID, 0, 0, 1, -1, tensor));
  }

  @Test
  void shouldReportTheLimitWhenATensorIsLargerThanAFrame() {
    TensorView floats = zeros(DataType.FLOAT32, FrameLimits.MAX_ELEMENTS + 1);
    TensorView halves = zeros(DataType.FLOAT16, 2 * FrameLimits.MAX_ELEMENTS + 1);

    assertRefused(
        "gradient has 130817 elements of FLOAT32, expected at most 130816: cut the vector into"
            + " smaller partitions",
        () -> new GradientPartition(Frames.ID, 0, 0, 1, 0, floats));
    assertRefused(
        "parameters has 261633 elements of FLOAT16, expected at most 261632: cut the vector into"
            + " smaller partitions",
        () ->
            new ParameterPartition(
                Frames.ID, 0, 0, 0, 0, ParameterPartition.Outcome.PULLED, 0, halves));
  }

  @Test
  void shouldNameTheComponentWhenAPullIsOutOfRange() {
    assertRefused(
        "minimumVersion is -1, expected at least 0", () -> new PullRequest(Frames.ID, 0, -1));
  }

  @Test
  void shouldNameTheComponentWhenAStageTensorIsOutOfRange() {
    TensorView tensor = Tensor.ofFloats(1);

    assertRefused(
        "microBatch is -1, expected at least 0",
        () -> new StageTensor(Frames.ID, 0, StageTensor.Direction.FORWARD, -1, 0, tensor));
    assertRefused(
        "microBatch is 1048576, expected less than 1048576",
        () -> new StageTensor(Frames.ID, 0, StageTensor.Direction.FORWARD, 1 << 20, 0, tensor));
    assertRefused(
        "firstElement is -1, expected at least 0",
        () -> new StageTensor(Frames.ID, 0, StageTensor.Direction.FORWARD, 0, -1, tensor));
  }

  @Test
  void shouldDistinguishDirectionAndMicroBatchOfAPhase() {
    assertEquals(13, Frames.STAGE.phase());
    assertEquals(6, StageTensor.microBatchOf(13));
    assertEquals(StageTensor.Direction.BACKWARD, StageTensor.directionOf(13));
    assertEquals(StageTensor.Direction.FORWARD, StageTensor.directionOf(12));
  }

  @Test
  void shouldCutAMessageBetweenCharactersWhenItIsTooLong() {
    String tooLong = "x" + "ü".repeat(FrameLimits.MAX_MESSAGE_BYTES);

    Refusal refusal = new Refusal(Frames.ID, Refusal.Reason.PROTOCOL, tooLong);

    assertEquals(FrameLimits.MAX_MESSAGE_BYTES - 1, utf8Bytes(refusal.message()));
    assertTrue(tooLong.startsWith(refusal.message()));
    assertEquals(refusal, Frames.decode(refusal, Frames.encode(refusal)));
  }

  @Test
  void shouldEncodeTextWithAHalfCharacterTheSameOnBothSides() {
    Malformed malformed = new Malformed("f\ud800ield", 7, null, "y".repeat(1_000));

    assertEquals("f?ield", malformed.field());
    assertEquals("null", malformed.found());
    assertEquals(FrameLimits.MAX_DETAIL_BYTES, malformed.expected().length());
    assertEquals(malformed, Frames.decode(malformed, Frames.encode(malformed)));
  }

  private static int utf8Bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  private static Tensor zeros(DataType type, int length) {
    return Tensor.wrap(type, ByteBuffer.allocate(length * type.bytes()));
  }

  private static void assertRefused(String message, Executable making) {
    assertEquals(message, assertThrows(IllegalArgumentException.class, making).getMessage());
  }
}
