package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TensorLeaksTest {

  private final TensorMemory memory = new TensorMemory();

  @BeforeEach
  void forgetLeaksOfOtherTests() {
    TensorLeaks.find();
  }

  @Test
  void shouldNameTheMethodThatLentATensorThatIsNeverGivenBack() {
    lendAndForget();

    List<String> leaks = TensorLeaks.find();

    assertEquals(1, leaks.size(), () -> String.join("\n", leaks));
    assertTrue(
        leaks.get(0).startsWith("never given back: a tensor of 3 elements was lent by thread"),
        leaks.get(0));
    assertTrue(leaks.get(0).contains("TensorLeaksTest.lendAndForget("), leaks.get(0));
    assertEquals(List.of(), TensorLeaks.find(), "reported once");
  }

  @Test
  void shouldNameTheMethodThatLentASharedTensorThatIsNeverGivenBack() {
    SharedTensor shared = memory.share(DataType.FLOAT32, FloatBuffer.wrap(new float[3]));
    SharedTensor.giveBack(shared.lend());
    lendSharedAndForget(shared);
    shared.release();

    List<String> leaks = TensorLeaks.find();

    assertEquals(1, leaks.size(), () -> String.join("\n", leaks));
    assertTrue(leaks.get(0).contains("TensorLeaksTest.lendSharedAndForget("), leaks.get(0));
  }

  @Test
  void shouldReportNoTensorThatWasGivenBackOrLeftOrIsStillReachable() {
    memory.giveBack(tensor());
    TensorMemory.leave(tensor());
    BorrowedTensor reachable = tensor();

    assertEquals(List.of(), TensorLeaks.find());
    memory.giveBack(reachable);
  }

  @Test
  void shouldRefuseATensorThatIsGivenBackTwice() {
    BorrowedTensor tensor = tensor();
    memory.giveBack(tensor);

    IllegalStateException twice =
        assertThrows(IllegalStateException.class, () -> memory.giveBack(tensor));

    assertTrue(
        List.of(twice.getCause().getStackTrace()).stream()
            .anyMatch(
                call -> call.getMethodName().equals("shouldRefuseATensorThatIsGivenBackTwice")),
        "the cause shows where the tensor was lent");
  }

  @Test
  void shouldRefuseAReceivedTensor() {
    ByteBuffer received = ByteBuffer.allocateDirect(12);
    TensorView tensor = TensorView.over(DataType.FLOAT32, Encoding.DENSE, 3, true, received);

    assertThrows(IllegalStateException.class, () -> memory.giveBack(tensor));
    SharedTensor.giveBack(tensor);
  }

  private void lendAndForget() {
    tensor();
  }

  private static void lendSharedAndForget(SharedTensor shared) {
    shared.lend();
  }

  private BorrowedTensor tensor() {
    return memory.copyOf(DataType.FLOAT32, FloatBuffer.wrap(new float[3]));
  }
}
