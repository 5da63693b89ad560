package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the errors when a GPU is requested and there is none. */
class CudaTest {

  private static final Device GPU = Device.of("cuda").orElseThrow();

  @Test
  void shouldNameTheProfileWhenLibtorchIsForTheProcessor() {
    assumeFalse(LibTorch.cuda().present(), "libtorch is for CUDA");
    JobConfig job =
        JobConfig.read(
            "job.json",
            new JsonObject()
                .put("engine", "pytorch")
                .put("workers", new JsonObject().put("device", "cuda")));

    assertEquals(
        "job.json: workers.device is cuda, but libtorch on the class path is for the processor:"
            + " build with -Ppytorch-cuda (VERTIGRAD_PROFILE=pytorch-cuda) for a GPU, or leave it"
            + " out",
        assertThrows(SettingsException.class, job::checkDevice).getMessage());
    Engine.named("pytorch").checkDevice(Device.PROCESSOR);
  }

  @Test
  void shouldReportTheMissingDriver() {
    Cuda cuda = new Cuda(true, "libno-such-driver.so.1");
    String message =
        "libtorch for CUDA finds no GPU on this machine (its driver cannot be loaded:"
            + " libno-such-driver.so.1): install NVIDIA's driver for it, or build without"
            + " -Ppytorch-cuda and leave workers.device out";

    // Without a driver libtorch for CUDA cannot compute at all.
    for (Device device : List.of(GPU, Device.PROCESSOR)) {
      assertEquals(
          message,
          assertThrows(IllegalArgumentException.class, () -> cuda.check(device)).getMessage());
    }
  }
}
