package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NvidiaDriverTest {

  static final List<Gpu> TWO =
      List.of(
          new Gpu(0, "NVIDIA H100 80GB HBM3", 9, 0, 81_559L << 20),
          new Gpu(1, "NVIDIA GeForce GTX 1080", 6, 1, 8_192L << 20));

  @Test
  void shouldDescribeTheGpusOfTheMachine() {
    assertEquals(TWO, new NvidiaDriver(new FakeDriver(0, TWO)).gpus());
    assertEquals("NVIDIA H100 80GB HBM3, compute capability 9.0, 81,559 MiB", TWO.get(0).text());
    assertEquals("0000:31:00.0", new NvidiaDriver(new FakeDriver(0, TWO)).busAddress(1));
  }

  @Test
  void shouldReportTheErrorOfTheDriver() {
    NvidiaDriver driver = new NvidiaDriver(new FakeDriver(803, TWO));

    assertEquals("error 803", assertThrows(IllegalStateException.class, driver::gpus).getMessage());
  }

  @Test
  void shouldReadTheVersionOfTheDriver() {
    assertEquals(
        Optional.of("535.129.03"),
        NvidiaDriver.version(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC"));
    assertEquals(
        Optional.of("580.82.07"),
        NvidiaDriver.version(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build"));
    assertEquals(Optional.empty(), NvidiaDriver.version("no driver"));
  }

  /** A driver that reports these GPUs. */
  record FakeDriver(int initError, List<Gpu> gpus) implements NvidiaDriver.Functions {

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
    public int name(byte[] name, int gpu) {
      byte[] text = gpus.get(gpu).name().getBytes(StandardCharsets.US_ASCII);
      System.arraycopy(text, 0, name, 0, text.length);
      return 0;
    }

    @Override
    public int attribute(int[] value, int attribute, int gpu) {
      value[0] = attribute == 75 ? gpus.get(gpu).major() : gpus.get(gpu).minor();
      return 0;
    }

    @Override
    public int totalMemory(long[] bytes, int gpu) {
      bytes[0] = gpus.get(gpu).totalBytes();
      return 0;
    }

    @Override
    public int busAddress(byte[] address, int gpu) {
      byte[] text = "0000:3%d:00.0".formatted(gpu).getBytes(StandardCharsets.US_ASCII);
      System.arraycopy(text, 0, address, 0, text.length);
      return 0;
    }

    @Override
    public String error(int number) {
      return "error " + number;
    }
  }
}
