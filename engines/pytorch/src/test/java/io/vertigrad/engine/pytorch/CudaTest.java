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
    Cuda cuda =
        new Cuda(
            true,
            () -> {
              throw new UnsatisfiedLinkError("libcuda.so.1: cannot open shared object file");
            });

    // Without a driver libtorch for CUDA cannot compute at all.
    for (Device device : List.of(GPU, Device.PROCESSOR)) {
      assertEquals(none("there is no NVIDIA driver"), refusal(cuda, device));
    }
  }

  @Test
  void shouldReportADriverWithoutAGpu() {
    assertEquals(none("it has none"), refusal(cuda(0, List.of()), GPU));
    assertEquals(none("error 803"), refusal(cuda(803, NvidiaDriverTest.TWO), GPU));
  }

  @Test
  void shouldFindTheGpusThatADeviceStandsFor() {
    List<Gpu> two = NvidiaDriverTest.TWO;
    Cuda cuda = cuda(0, two);

    assertEquals(two, cuda.check(GPU));
    assertEquals(List.of(two.get(1)), cuda.check(Device.of("cuda:1").orElseThrow()));
    assertEquals(List.of(), cuda.check(Device.PROCESSOR));
    assertEquals(
        "this machine has 2 GPUs, expected cuda:0 to cuda:1",
        refusal(cuda, Device.of("cuda:2").orElseThrow()));
  }

  private static Cuda cuda(int error, List<Gpu> gpus) {
    return new Cuda(true, () -> new NvidiaDriver(new NvidiaDriverTest.FakeDriver(error, gpus)));
  }

  private static String none(String reason) {
    return "libtorch for CUDA finds no GPU on this machine (%s): install NVIDIA's driver for it, or"
            .formatted(reason)
        + " build without -Ppytorch-cuda and leave workers.device out";
  }

  private static String refusal(Cuda cuda, Device device) {
    return assertThrows(IllegalArgumentException.class, () -> cuda.check(device)).getMessage();
  }
}
