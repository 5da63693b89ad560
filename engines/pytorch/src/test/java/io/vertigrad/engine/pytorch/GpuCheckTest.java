package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;

class GpuCheckTest {

  private static final String LIBRARY = "libtorch 2.10.0 cuda 13.1";
  private static final Gpu OLD = new Gpu(1, "NVIDIA GeForce GTX 1080", 6, 1, 8L << 30);
  private static final String ADVICE =
      "choose another version of it (docs/guide/pytorch.md#on-a-gpu), hide the GPU with"
          + " CUDA_VISIBLE_DEVICES, or leave workers.device out";

  @Test
  void shouldComputeOnAGpuOnce() {
    List<Integer> computed = new ArrayList<>();
    GpuCheck check = new GpuCheck(computed::add, LIBRARY);

    assertEquals(Optional.empty(), check.obstacle(OLD));
    assertEquals(Optional.empty(), check.obstacle(OLD));
    assertEquals(List.of(1), computed);
  }

  @Test
  void shouldNameACardForWhichThereIsNoCode() {
    assertEquals(
        Optional.of(
            "GPU 1 is NVIDIA GeForce GTX 1080, compute capability 6.1, 8,192 MiB, and libtorch"
                + " 2.10.0 cuda 13.1 has no code for it: "
                + ADVICE),
        obstacle("CUDA error: no kernel image is available for execution on the device\nCUDA..."));
  }

  @Test
  void shouldQuoteTheFirstLineOfAnotherFailure() {
    assertEquals(
        Optional.of(
            "GPU 1 is NVIDIA GeForce GTX 1080, compute capability 6.1, 8,192 MiB, and libtorch"
                + " 2.10.0 cuda 13.1 cannot compute on it (CUDA error: device not ready): "
                + ADVICE),
        obstacle("CUDA error: device not ready\nCompile with `TORCH_USE_CUDA_DSA`"));
  }

  @Test
  void shouldTryAgainAfterAFullGpuHadNoRoom() {
    List<String> failures = new ArrayList<>(List.of("CUDA error: out of memory"));
    GpuCheck check =
        new GpuCheck(
            gpu -> {
              if (!failures.isEmpty()) {
                throw new RuntimeException(failures.remove(0));
              }
            },
            LIBRARY);

    assertEquals(
        Optional.of(
            "GPU 1 is NVIDIA GeForce GTX 1080, compute capability 6.1, 8,192 MiB, and libtorch"
                + " 2.10.0 cuda 13.1 finds no room on it: the GPU is out of memory; end"
                + " another process that uses it, or choose another GPU by workers.device"),
        check.obstacle(OLD));
    assertEquals(Optional.empty(), check.obstacle(OLD));
  }

  private static Optional<String> obstacle(String message) {
    IntConsumer failing =
        gpu -> {
          throw new RuntimeException(message);
        };
    return new GpuCheck(failing, LIBRARY).obstacle(OLD);
  }
}
