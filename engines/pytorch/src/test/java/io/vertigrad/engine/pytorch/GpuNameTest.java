package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Device;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class GpuNameTest {

  @Test
  void shouldReadTheVersionOfTheDriver() {
    assertEquals(
        Optional.of("535.129.03"),
        GpuName.driver(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC"));
    assertEquals(
        Optional.of("580.82.07"),
        GpuName.driver(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build"));
    assertEquals(Optional.empty(), GpuName.driver("no driver"));
  }

  @Test
  void shouldNameTheLibrariesWithoutAGpu() {
    Map<String, String> found = LibTorch.platform(Device.PROCESSOR);

    assertEquals(java.util.Set.of("libtorch", "presets"), found.keySet());
    assertTrue(found.get("libtorch").matches("2\\.\\d+\\.\\d+ (cpu|cuda)"), found.toString());
    assertTrue(found.get("presets").matches("1\\.\\d+\\.\\d+"), found.toString());
  }
}
