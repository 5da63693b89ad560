package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the errors when a GPU is requested and there is none. */
class CudaTest {

  private static final Device GPU = Device.of("cuda").orElseThrow();

  @TempDir Path folder;

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
  void shouldReportTheMissingRuntime() {
    Cuda cuda = cuda("libc10.so,libcudart-1.so.12");

    assertTrue(cuda.present());
    String message =
        "libtorch for CUDA 12.4 finds no GPU on this machine (its runtime cannot be loaded: %s):"
            + " install NVIDIA's driver for it, or build without -Ppytorch-cuda and leave"
            + " workers.device out";
    String absent = "pytorch/cu124/linux-x86_64/libcudart-1.so.12 is not on the class path";
    assertRefused(message.formatted(absent), cuda, GPU);
    // Without a driver libtorch for CUDA cannot be loaded at all.
    assertRefused(message.formatted(absent), cuda, Device.PROCESSOR);
    assertRefused(message.formatted("there is no cudart among libc10.so"), cuda("libc10.so"), GPU);
  }

  @Test
  void shouldRecogniseLibtorchForTheProcessor() {
    Properties natives = new Properties();
    assertFalse(new Cuda(natives, folder).present());
    natives.setProperty("flavor", "cpu");
    assertFalse(new Cuda(natives, folder).present());
  }

  private static void assertRefused(String expected, Cuda cuda, Device device) {
    assertEquals(
        expected,
        assertThrows(IllegalArgumentException.class, () -> cuda.check(device)).getMessage());
  }

  private Cuda cuda(String libraries) {
    Properties natives = new Properties();
    natives.setProperty("version", "2.5.1-test");
    natives.setProperty("flavor", "cu124");
    natives.setProperty("classifier", "linux-x86_64");
    natives.setProperty("libraries", libraries);
    return new Cuda(natives, folder);
  }
}
