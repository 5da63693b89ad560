package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
    Optional<String> failed = CudaDriver.obstacle(() -> new FakeDriver(NO_DEVICE, 0, 0, 0));
    Optional<String> none = CudaDriver.obstacle(() -> new FakeDriver(0, 0, 0, 0));

    assertEquals(Optional.of("NVIDIA's driver finds no GPU (error 100)"), failed);
    assertEquals(Optional.of("NVIDIA's driver finds no GPU (error 0)"), none);
  }

  @ParameterizedTest
  @CsvSource({
    "7, 5,",
    "8, 6,",
    "8, 9,",
    "9, 0, 'the GPU has compute capability 9.0, and ND4J has code for 3.7 to 8.6 (engine pytorch"
        + " computes on it)'"
  })
  void shouldRefuseAGpuForWhichNd4jHasNoCode(int major, int minor, String expected) {
    Optional<String> found = CudaDriver.obstacle(() -> new FakeDriver(0, 1, major, minor));

    assertEquals(Optional.ofNullable(expected), found);
  }

  private record FakeDriver(int initError, int gpus, int major, int minor)
      implements CudaDriver.Functions {

    @Override
    public int init() {
      return initError;
    }

    @Override
    public int count(int[] count) {
      count[0] = gpus;
      return 0;
    }

    @Override
    public int attribute(int[] value, int attribute, int device) {
      value[0] = attribute == 75 ? major : minor;
      return 0;
    }
  }
}
