package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GpuLeaseTest {

  private static final long SECONDS = 60;

  @TempDir Path folder;

  @Test
  void shouldTakeTheGpuWithTheFewestModels() throws IOException {
    GpuLease first = GpuLease.take(folder, 2);
    GpuLease second = GpuLease.take(folder, 2);
    GpuLease third = GpuLease.take(folder, 2);
    assertEquals(List.of(0, 1, 0), List.of(first.gpu(), second.gpu(), third.gpu()));

    second.close();
    second.close();

    GpuLease fourth = GpuLease.take(folder, 2);
    assertEquals(1, fourth.gpu());
    List.of(first, third, fourth).forEach(GpuLease::close);
  }

  /** Has another process hold a lease on GPU 0 until it is killed. */
  @Test
  void shouldSeeThePlacesOfLivingProcesses() throws Exception {
    Process other =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Holder.class.getName(),
                folder.toString())
            .redirectErrorStream(true)
            .start();
    try {
      assertEquals('0', other.getInputStream().read());
      try (GpuLease here = GpuLease.take(folder, 2)) {
        assertEquals(1, here.gpu());
      }
    } finally {
      other.destroyForcibly();
    }
    assertTrue(other.waitFor(SECONDS, TimeUnit.SECONDS));
    try (GpuLease here = GpuLease.take(folder, 2)) {
      assertEquals(0, here.gpu());
    }
  }

  /** Takes a lease, prints its GPU and waits to be killed. */
  static final class Holder {

    private Holder() {}

    public static void main(String[] arguments) throws Exception {
      GpuLease lease = GpuLease.take(Path.of(arguments[0]), 2);
      System.out.print(lease.gpu());
      System.out.flush();
      TimeUnit.SECONDS.sleep(SECONDS);
      lease.close();
    }
  }
}
