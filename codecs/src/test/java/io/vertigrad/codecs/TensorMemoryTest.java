package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorMemoryTest {

  private static final float[] VALUES = {1, -2.1f, 3.14159f, Float.NaN, 65_536, 1e-7f};

  private final TensorMemory memory = new TensorMemory();

  @ParameterizedTest
  @EnumSource(DataType.class)
  void shouldMakeTheSameBitsAsACopyOnTheHeap(DataType type) {
    TensorView lent = memory.copyOf(type, FloatBuffer.wrap(VALUES));

    assertEquals(Tensor.copyOf(type, FloatBuffer.wrap(VALUES)), lent);
    assertTrue(lent.payload().isDirect());
  }

  @ParameterizedTest
  @EnumSource(DataType.class)
  void shouldTravelAsTheSameBytesAsACopyOnTheHeap(DataType type) {
    TensorView heap = Tensor.copyOf(type, FloatBuffer.wrap(VALUES));
    TensorView lent = memory.copyOf(type, FloatBuffer.wrap(VALUES));

    assertArrayEquals(
        Frames.encode(new PeerPartition(Frames.ID, 1, 2, heap)),
        Frames.encode(new PeerPartition(Frames.ID, 1, 2, lent)));
  }

  @Test
  void shouldReuseTheMemoryThatWasReleasedLast() {
    TensorView first = tensor(1, 2, 3, 4);
    TensorView second = tensor(5, 6);
    TensorView kept = first.retain();
    memory.giveBack(second);
    memory.giveBack(first);

    TensorView third = tensor(7, 8, 9);

    assertEquals(Tensor.ofFloats(7, 8, 9), third);
    assertEquals(7, first.bytes().getFloat(), "the first one's memory");
    assertEquals(Tensor.ofFloats(1, 2, 3, 4), kept);
    assertEquals(Tensor.ofFloats(5, 6), second);
  }

  @Test
  void shouldReuseAWholePieceOfMemoryAfterAShorterTensor() {
    TensorView longest = tensor(1, 2, 3, 4);
    memory.giveBack(longest);
    memory.giveBack(tensor(5));

    TensorView again = tensor(6, 7, 8, 9);

    assertEquals(again, longest);
  }

  @Test
  void shouldAllocateMemoryWhenTheReleasedPieceIsTooSmall() {
    TensorView small = tensor(1);
    memory.giveBack(small);

    TensorView large = tensor(2, 3);

    assertEquals(Tensor.ofFloats(2, 3), large);
    assertEquals(Tensor.ofFloats(1), small);
  }

  @Test
  void shouldAllocatePiecesAsLongAsTheLongestTensor() {
    tensor(1, 2, 3);
    TensorView small = tensor(4);
    memory.giveBack(small);

    tensor(5, 6, 7);

    assertEquals(Tensor.ofFloats(5), small, "the third took the second's memory");
  }

  @Test
  void shouldLendTheWrittenMemory() {
    TensorView made = memory.make(3, elements -> elements.put(VALUES, 0, 3));

    assertEquals(Tensor.ofFloats(1, -2.1f, 3.14159f), made);
    assertTrue(made instanceof BorrowedTensor && made.payload().isDirect());
  }

  @Test
  void shouldLendACopyInAnyEncoding() {
    for (TensorView tensor : List.of(Frames.INT8.gradient(), Frames.PARAMETERS.parameters())) {
      TensorView copy = memory.copyOf(tensor);

      assertEquals(tensor, copy);
      assertTrue(copy instanceof BorrowedTensor);
    }
  }

  @ParameterizedTest
  @EnumSource(DataType.class)
  void shouldLendTheSameSumsAsAddingAndCopying(DataType type) {
    for (TensorView other : List.of(Frames.INT8.gradient(), Tensor.ofFloats(0.1f, -7e4f, 3))) {
      float[] own = {0.3f, 5, -1e-3f};
      float[] added = own.clone();
      other.addTo(added, 0, 1);

      TensorView sum = memory.sumOf(type, FloatBuffer.wrap(own), other);

      assertEquals(Tensor.copyOf(type, FloatBuffer.wrap(added)), sum);
      assertEquals(sum, Tensor.sumOf(type, FloatBuffer.wrap(own), other));
      assertTrue(sum instanceof BorrowedTensor);
    }
  }

  @Test
  void shouldLendSumsOfMoreElementsThanAChunkHolds() {
    float[] own = new float[3 * Chunk.ELEMENTS + 5];
    own[own.length - 1] = 2;
    float[] other = own.clone();
    other[Chunk.ELEMENTS] = 3;

    TensorView sum =
        memory.sumOf(DataType.FLOAT32, FloatBuffer.wrap(own), Tensor.ofFloats(other.clone()));

    other[own.length - 1] = 4;
    assertEquals(Tensor.ofFloats(other), sum);
  }

  @Test
  void shouldRejectMemoryThatWasNeverLent() {
    TensorView own = Tensor.ofFloats(1, 2, 3);
    memory.giveBack(own);

    tensor(4, 5, 6);

    assertEquals(Tensor.ofFloats(1, 2, 3), own);
  }

  @Test
  void shouldKeepNoMoreThanThirtyTwoMebibytes() {
    float[] fourMebibytes = new float[1 << 20];
    BorrowedTensor[] tensors = new BorrowedTensor[9];
    for (int i = 0; i < tensors.length; i++) {
      fourMebibytes[0] = i;
      tensors[i] = tensor(fourMebibytes);
    }
    for (TensorView tensor : tensors) {
      memory.giveBack(tensor);
    }
    fourMebibytes[0] = 100;
    for (int i = 0; i < tensors.length; i++) {
      tensor(fourMebibytes);
    }

    assertEquals(100, first(tensors[7]));
    assertEquals(8, first(tensors[8]), "its memory was let go");
  }

  @Test
  void shouldKeepReleasedMemoryUpToTheReservation() {
    float[] sixteenMebibytes = new float[1 << 22];
    memory.reserve(sixteenMebibytes.length * Float.BYTES);
    BorrowedTensor[] tensors = new BorrowedTensor[4];
    for (int i = 0; i < tensors.length; i++) {
      sixteenMebibytes[0] = i;
      tensors[i] = tensor(sixteenMebibytes);
    }
    for (TensorView tensor : tensors) {
      memory.giveBack(tensor);
    }
    sixteenMebibytes[0] = 100;
    for (int i = 0; i < tensors.length; i++) {
      tensor(sixteenMebibytes);
    }

    assertEquals(100, first(tensors[2]), "32 MiB and the 16 that were reserved are kept");
    assertEquals(3, first(tensors[3]), "its memory was let go");
  }

  @Test
  void shouldReuseSharedMemoryWhenOwnerAndReadersReleasedIt() {
    SharedTensor shared = memory.share(DataType.FLOAT32, FloatBuffer.wrap(new float[] {1, 2}));
    BorrowedTensor one = shared.lend();
    BorrowedTensor other = shared.lend();
    memory.giveBack(one);
    memory.giveBack(one);
    shared.release();
    tensor(3, 4);
    assertEquals(Tensor.ofFloats(1, 2), other, "given back twice by one reader, once by the owner");

    new TensorMemory().giveBack(other);
    tensor(5, 6);

    assertEquals(Tensor.ofFloats(5, 6), other, "it went back to where it came from");
  }

  @Test
  void shouldKeepAPermanentTensorAndCopyALentOne() {
    TensorView own = Tensor.ofFloats(1, 2);
    TensorView shared = memory.share(DataType.FLOAT32, FloatBuffer.wrap(new float[] {3, 4})).lend();
    TensorView fleeting = tensor(5, 6);

    assertSame(own, memory.keep(own));
    assertSame(shared, memory.keep(shared));
    assertNotSame(fleeting, memory.keep(fleeting));
    assertEquals(fleeting, memory.keep(fleeting));
  }

  @Test
  void shouldShareMemoryOutsideTheHeapUpToALimit() {
    TensorMemory limited = TensorMemory.outsideHeapUpTo(2L * VALUES.length * Float.BYTES);

    List<BorrowedTensor> lent =
        Stream.generate(() -> limited.share(DataType.FLOAT32, FloatBuffer.wrap(VALUES)).lend())
            .limit(4)
            .toList();

    assertEquals(
        List.of(true, true, false, false),
        lent.stream().map(one -> one.payload().isDirect()).toList());
    lent.forEach(one -> assertEquals(Tensor.ofFloats(VALUES), one.retain()));
  }

  private static float first(TensorView tensor) {
    return tensor.bytes().getFloat();
  }

  private BorrowedTensor tensor(float... values) {
    return memory.copyOf(DataType.FLOAT32, FloatBuffer.wrap(values));
  }
}
