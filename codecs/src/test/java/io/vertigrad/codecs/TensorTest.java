package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TensorTest {

  @Test
  void shouldDecodeFactorsBetweenOtherElements() {
    TensorView tensor = Frames.LOW_RANK.tensor();
    float[] elements = new float[6];

    tensor.copyTo(elements, 0);

    assertArrayEquals(new float[] {7, 2, 3, 0, 8, 9}, elements);
    assertTrue(tensor.isWithin(9));
    assertFalse(tensor.isWithin(8.5f));
  }

  /** A bound must hold for products, whatever the factors are. */
  @ParameterizedTest
  @CsvSource({"1e30, 1e-30, true", "1e5, 1e5, false", "1e30, 1e30, false", "NaN, 0, false"})
  void shouldCompareProductsOfFactorsWithABound(float left, float right, boolean within) {
    float[] body = {left, 0, right, 0};
    TensorView tensor =
        Tensor.lowRank(4, 1, List.of(new MatrixRange(0, 4, 2, 0)), FloatBuffer.wrap(body));

    assertEquals(within, tensor.isWithin(1e9f));
  }

  /**
   * Lengths around the chunk boundaries, and odd ones, for which two-byte types end inside a word.
   */
  private static final int LENGTH = 2 * Chunk.ELEMENTS + 3;

  @ParameterizedTest
  @EnumSource
  void shouldContainEveryElementRoundedWhenCopied(DataType type) {
    float[] values = wave(LENGTH);

    TensorView tensor = Tensor.copyOf(type, FloatBuffer.wrap(values));

    assertEquals(LENGTH, tensor.length());
    assertEquals(LENGTH * type.bytes(), tensor.payloadBytes());
    assertArrayEquals(rounded(type, values), elements(tensor));
  }

  @Test
  void shouldConsumeOnlyWhatRemainsWhenTheSourceIsPositioned() {
    FloatBuffer source = FloatBuffer.wrap(new float[] {1, 2, 3, 4}, 1, 2);

    TensorView tensor = Tensor.copyOf(DataType.FLOAT16, source);

    assertArrayEquals(new float[] {2, 3}, elements(tensor));
    assertEquals(3, source.position());
  }

  @Test
  void shouldReadTheSameWhenTheSourceIsDirectAndBigEndian() {
    FloatBuffer source = ByteBuffer.allocateDirect(12).asFloatBuffer().put(new float[] {1, -2, 3});

    TensorView tensor = Tensor.copyOf(DataType.FLOAT32, source.flip());

    assertEquals(Tensor.ofFloats(1, -2, 3), tensor);
  }

  @Test
  void shouldStoreLittleEndianBytesWhenMadeOfFloats() {
    byte[] bytes = new byte[8];

    Tensor.ofFloats(1f, -2f).bytes().get(bytes);

    assertArrayEquals(new byte[] {0, 0, (byte) 0x80, 0x3f, 0, 0, 0, (byte) 0xc0}, bytes);
  }

  @Test
  void shouldKeepASignallingNaNWhenCopiedAsFloat32() {
    TensorView tensor = Tensor.ofFloats(Float.intBitsToFloat(0x7f800001));

    assertEquals(0x7f800001, tensor.bytes().getInt(0));
  }

  @ParameterizedTest
  @EnumSource
  void shouldFillTheBufferAndAdvanceItWhenCopiedOut(DataType type) {
    float[] values = wave(LENGTH);
    FloatBuffer destination = FloatBuffer.allocate(LENGTH + 2).position(1);

    Tensor.copyOf(type, FloatBuffer.wrap(values)).copyTo(destination);

    assertEquals(LENGTH + 1, destination.position());
    assertEquals(0f, destination.get(0));
    assertEquals(rounded(type, values)[LENGTH - 1], destination.get(LENGTH));
  }

  @ParameterizedTest
  @EnumSource
  void shouldWriteNothingWhenTheDestinationIsTooSmall(DataType type) {
    TensorView tensor = Tensor.copyOf(type, FloatBuffer.wrap(wave(LENGTH)));
    FloatBuffer tooSmall = FloatBuffer.allocate(LENGTH - 1);

    assertThrows(BufferOverflowException.class, () -> tensor.copyTo(tooSmall));

    assertEquals(0, tooSmall.position());
    assertArrayEquals(new float[LENGTH - 1], tooSmall.array());
    float[] array = new float[LENGTH];
    assertThrows(IndexOutOfBoundsException.class, () -> tensor.copyTo(array, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> tensor.addTo(array, 1, 1));
  }

  @ParameterizedTest
  @ValueSource(floats = {1f, -1f, 0.3f, 0f})
  void shouldAddEachProductRoundedOnceWhenScaled(float scale) {
    for (DataType type : DataType.values()) {
      float[] values = rounded(type, wave(LENGTH));
      float[] sums = wave(LENGTH + 9);
      float[] expected = sums.clone();
      for (int i = 0; i < LENGTH; i++) {
        expected[i + 5] += scale * values[i];
      }

      Tensor.copyOf(type, FloatBuffer.wrap(values)).addTo(sums, 5, scale);

      assertArrayEquals(expected, sums, type.toString());
    }
  }

  @Test
  void shouldAddTheElementsThemselvesWhenScaleIsOne() {
    float[] edges = {0f, -0f, Float.MIN_VALUE, Float.MAX_VALUE, Float.NEGATIVE_INFINITY, 1e-40f};
    float[] sums = {-0f, -0f, Float.MIN_VALUE, Float.MAX_VALUE, 1, -1e-40f};
    float[] expected = sums.clone();
    for (int i = 0; i < edges.length; i++) {
      expected[i] += edges[i];
    }

    Tensor.ofFloats(edges).addTo(sums, 0, 1f);

    assertArrayEquals(expected, sums);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFindOneNonFiniteElementAtAnyIndex(DataType type) {
    float[] notFinite = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY};
    float largest = type == DataType.FLOAT16 ? 65_504f : Float.intBitsToFloat(0x7f7f0000);
    for (int at : new int[] {0, 1, 2, Chunk.ELEMENTS, 2 * Chunk.ELEMENTS - 1, LENGTH - 1}) {
      for (int i = 0; i < notFinite.length; i++) {
        float[] values = wave(LENGTH);
        values[at] = i % 2 == 0 ? largest : -largest;
        assertTrue(Tensor.copyOf(type, FloatBuffer.wrap(values)).isFinite());
        values[at] = notFinite[i];
        assertFalse(Tensor.copyOf(type, FloatBuffer.wrap(values)).isFinite(), "element " + at);
      }
    }
  }

  @Test
  void shouldReportFiniteExactlyWhenTheValueIsFinite() {
    for (DataType type : new DataType[] {DataType.FLOAT16, DataType.BFLOAT16}) {
      for (int half = 0; half < 1 << 16; half++) {
        ByteBuffer pair = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
        TensorView tensor = Tensor.wrap(type, pair.putShort(half % 2 * 2, (short) half));
        float value = elements(tensor)[half % 2];
        assertEquals(Float.isFinite(value), tensor.isFinite(), type + " pattern " + half);
      }
    }
  }

  @Test
  void shouldReportWithinTheBoundExactlyWhenTheValueIs() {
    float[] bounds = {0, 1e-7f, 0.1f, 1, 3.14159f, 65_504, 65_505, 1e9f, Float.MAX_VALUE};
    for (DataType type : new DataType[] {DataType.FLOAT16, DataType.BFLOAT16}) {
      for (int half = 0; half < 1 << 16; half++) {
        ByteBuffer pair = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
        TensorView tensor = Tensor.wrap(type, pair.putShort(half % 2 * 2, (short) half));
        float value = elements(tensor)[half % 2];
        for (float bound : bounds) {
          assertEquals(
              Math.abs(value) <= bound, tensor.isWithin(bound), value + " within " + bound);
        }
      }
    }
  }

  @Test
  void shouldExceedTheBoundWhenOneElementDoesInAnyEncoding() {
    for (int at : new int[] {0, 1, LENGTH / 2, LENGTH - 1}) {
      for (float sign : new float[] {1, -1}) {
        float[] values = wave(LENGTH);
        values[at] = sign * 1e9f;
        float[] beyond = values.clone();
        beyond[at] = sign * Math.nextUp(1e9f);
        assertTrue(Tensor.ofFloats(values).isWithin(1e9f));
        assertFalse(Tensor.ofFloats(beyond).isWithin(1e9f), "element " + at);
        beyond[at] = sign * 2e9f;
        for (Compression.Kind kind : List.of(Compression.Kind.INT8, Compression.Kind.TOPK)) {
          Compression compression = new Compression(kind, 0.01);
          assertTrue(compression.of(FloatBuffer.wrap(values)).isWithin(1.01e9f));
          assertFalse(compression.of(FloatBuffer.wrap(beyond)).isWithin(1e9f), kind + "");
        }
      }
    }
  }

  @Test
  void shouldFindOneElementBeyondTheBoundAtAnyIndex() {
    int[] lengths = {1, Chunk.ELEMENTS - 1, Chunk.ELEMENTS, Chunk.ELEMENTS + 1, 3 * Chunk.ELEMENTS};
    for (int length : lengths) {
      for (int at : new int[] {0, length / 2, length - 1}) {
        float[] values = wave(length);
        assertTrue(Tensor.ofFloats(values).isWithin(1e9f));
        values[at] = Float.NaN;
        assertFalse(Tensor.ofFloats(values).isFinite(), at + " of " + length);
      }
    }
  }

  @Test
  void shouldCheckASmallerBoundAgainAndRememberALargerOne() {
    TensorView tensor = Tensor.ofFloats(1, -2, 3);

    assertTrue(tensor.isFinite());
    assertFalse(tensor.isWithin(2.5f));
    assertTrue(tensor.isWithin(3));
    assertFalse(tensor.isWithin(2.5f));
    assertTrue(tensor.isWithin(4));
  }

  @Test
  void shouldCheckElementsOnce() {
    ByteBuffer bytes = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    TensorView looked = Tensor.wrap(DataType.FLOAT32, bytes);
    TensorView unseen = Tensor.wrap(DataType.FLOAT32, bytes);
    assertTrue(looked.isFinite());

    bytes.putFloat(0, Float.NaN);

    assertTrue(looked.isFinite());
    assertFalse(unseen.isFinite());
  }

  @Test
  void shouldHaveNoElementsWhenEmpty() {
    TensorView empty = Tensor.ofFloats();

    empty.addTo(new float[0], 0, 1f);

    assertEquals(0, empty.length());
    assertTrue(empty.isFinite());
    assertEquals("FLOAT32[0] {}", empty.toString());
  }

  @Test
  void shouldBeEqualWhenTypeAndBitsAreEqual() {
    TensorView tensor = Tensor.ofFloats(1, Float.NaN);

    assertEquals(Tensor.ofFloats(1, Float.NaN), tensor);
    assertEquals(Tensor.ofFloats(1, Float.NaN).hashCode(), tensor.hashCode());
    assertNotEquals(Tensor.ofFloats(1, 2), tensor);
    assertNotEquals(Tensor.ofFloats(0f), Tensor.ofFloats(-0f));
    assertNotEquals(
        Tensor.wrap(DataType.FLOAT16, ByteBuffer.allocate(4)),
        Tensor.wrap(DataType.BFLOAT16, ByteBuffer.allocate(4)));
  }

  @Test
  void shouldShowTypeLengthAndHeadWhenPrinted() {
    assertEquals("FLOAT32[2] {1.0, -2.5}", Tensor.ofFloats(1, -2.5f).toString());
    assertEquals("FLOAT32[5] {1.0, 2.0, 3.0, 4.0, ...}", Tensor.ofFloats(1, 2, 3, 4, 5).toString());
  }

  @Test
  void shouldReturnReadOnlyBytes() {
    ByteBuffer bytes = Tensor.ofFloats(1).bytes();

    assertThrows(ReadOnlyBufferException.class, () -> bytes.put(0, (byte) 1));
    assertEquals(ByteOrder.LITTLE_ENDIAN, bytes.order());
  }

  @Test
  void shouldNameTheLengthWhenAWrappedPayloadIsNoMultiple() {
    ByteBuffer payload = ByteBuffer.allocate(7);

    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> Tensor.wrap(DataType.FLOAT32, payload));

    assertEquals("payload of 7 bytes: expected a multiple of 4 for FLOAT32", error.getMessage());
  }

  private static float[] elements(TensorView tensor) {
    float[] elements = new float[tensor.length()];
    tensor.copyTo(elements, 0);
    return elements;
  }

  private static float[] rounded(DataType type, float[] values) {
    float[] rounded = values.clone();
    for (int i = 0; i < rounded.length; i++) {
      rounded[i] =
          switch (type) {
            case FLOAT32 -> values[i];
            case FLOAT16 -> Float16.widen(Float16.narrow(values[i]));
            case BFLOAT16 -> BFloat16.widen(BFloat16.narrow(values[i]));
          };
    }
    return rounded;
  }

  private static float[] wave(int length) {
    float[] wave = new float[length];
    for (int i = 0; i < length; i++) {
      wave[i] = (float) (Math.sin(i) * Math.pow(2, i % 30 - 20));
    }
    return wave;
  }
}
