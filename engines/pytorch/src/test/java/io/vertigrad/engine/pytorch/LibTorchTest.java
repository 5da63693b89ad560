package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Device;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LibTorchTest {

  @Test
  void shouldNameTheLibrariesWithoutAGpu() {
    Map<String, String> found = LibTorch.platform(Device.PROCESSOR);

    assertTrue(found.keySet().containsAll(Set.of("libtorch", "presets")), found.toString());
    assertTrue(found.get("libtorch").matches("2\\.\\d+\\.\\d+ (cpu|cuda)"), found.toString());
    assertTrue(found.get("presets").matches("1\\.\\d+\\.\\d+"), found.toString());
  }

  @Test
  void shouldReadTheVersionsOfCudaAndCudnn() {
    assertEquals("13.1", LibTorch.version(13_010, 1_000, 10));
    assertEquals("12.9", LibTorch.version(12_090, 1_000, 10));
    assertEquals("9.19", LibTorch.version(91_900, 10_000, 100));
  }

  @Test
  void shouldSayWhereMissingLibrariesOfCudaCanCome() {
    String missing = "libcublas.so.13: cannot open shared object file: No such file or directory";

    assertEquals(missing, LibTorch.reason(missing, false));
    assertEquals("no space left on device", LibTorch.reason("no space left on device", true));
    assertEquals(
        missing
            + "; libtorch needs CUDA, cuDNN and NCCL: install NVIDIA's packages, or name their"
            + " folders in LD_LIBRARY_PATH",
        LibTorch.reason(missing, true));
  }
}
