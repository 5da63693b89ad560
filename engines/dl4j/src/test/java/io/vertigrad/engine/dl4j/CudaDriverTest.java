package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CudaDriverTest {

  private static final int NO_DEVICE = 100;

  @Test
  void shouldNotAskForADriverWhereNd4jComputesOnTheProcessor() {
    assertEquals(Optional.empty(), CudaDriver.obstacle());
  }

  @Test
  void shouldSayThatThereIsNoDriver() {
    Optional<String> found =
        CudaDriver.obstacle(
            () -> {
              throw new UnsatisfiedLinkError("libcuda.so.1: cannot open shared object file");
            });

    assertEquals(Optional.of("there is no NVIDIA driver on this machine"), found);
  }

  @Test
  void shouldSayThatThereIsNoGpu() {
    Optional<String> failed = CudaDriver.obstacle(() -> new FakeDriver(NO_DEVICE, List.of()));
    Optional<String> none = CudaDriver.obstacle(() -> new FakeDriver(0, List.of()));

    assertEquals(Optional.of("NVIDIA's driver finds no GPU (error 100)"), failed);
    assertEquals(Optional.of("NVIDIA's driver finds no GPU (error 0)"), none);
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.7", "7.5", "8.6", "8.9"})
  void shouldAcceptAGpuForWhichNd4jHasCode(String capability) {
    Optional<String> found = CudaDriver.obstacle(() -> new FakeDriver(0, List.of(capability)));

    assertEquals(Optional.empty(), found);
  }

  @ParameterizedTest
  @CsvSource({
    "3.5, 'hide it with CUDA_VISIBLE_DEVICES'",
    "9.0, 'hide it with CUDA_VISIBLE_DEVICES, or use the engine pytorch'",
    "12.0, 'hide it with CUDA_VISIBLE_DEVICES, or use the engine pytorch'"
  })
  void shouldRefuseAGpuForWhichNd4jHasNoCode(String capability, String advice) {
    Optional<String> found =
        CudaDriver.obstacle(() -> new FakeDriver(0, List.of("8.0", capability)));

    assertEquals(
        Optional.of(
            "GPU 1 has compute capability %s, and ND4J has code for 3.7 to 8.9: %s"
                .formatted(capability, advice)),
        found);
  }

  /** A driver that reports these GPUs, by their compute capabilities. */
  private record FakeDriver(int initError, List<String> gpus) implements CudaDriver.Functions {

    @Override
    public int init() {
      return initError;
    }

    @Override
    public int count(int[] count) {
      count[0] = gpus.size();
      return 0;
    }

    @Override
    public int attribute(int[] value, int attribute, int device) {
      value[0] = Integer.parseInt(gpus.get(device).split("\\.")[attribute == 75 ? 0 : 1]);
      return 0;
    }
  }
}
