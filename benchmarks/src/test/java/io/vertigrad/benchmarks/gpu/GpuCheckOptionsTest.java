package io.vertigrad.benchmarks.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class GpuCheckOptionsTest {

  private static final Path HOME = Path.of("home");

  @Test
  void shouldCheckTheGpuByDefault() {
    GpuCheckOptions options = read();

    assertEquals("cuda", options.device().toString());
    assertEquals(25, options.minutes());
    assertFalse(options.rehearsal());
    assertTrue(read("--device", "cpu").rehearsal());
  }

  @Test
  void shouldNameWhatIsWrong() {
    assertRefused("--device: found 'gpu', expected cpu, cuda or cuda:N", "--device", "gpu");
    assertRefused("--minutes: found '0', expected a number above 0", "--minutes", "0");
    assertRefused(
        "--only: found '(', expected a regular expression: Unclosed group", "--only", "(");
    assertRefused(
        "found '--fast', expected --quick, --list, --device, --minutes, --only, --data, --out,"
            + " --module or --python",
        "--fast",
        "1");
    assertRefused(
        "found '--minutes' at the end, expected --quick, --list, or one of --device, --minutes,"
            + " --only, --data, --out, --module, --python with a value",
        "--minutes");
  }

  private static void assertRefused(String expected, String... words) {
    assertEquals(
        expected, assertThrows(IllegalArgumentException.class, () -> read(words)).getMessage());
  }

  private static GpuCheckOptions read(String... words) {
    return GpuCheckOptions.read(List.of(words), HOME, HOME);
  }
}
