package io.vertigrad.benchmarks.cells;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests {@code benchmarks/peers/gloo.py}, where there is a Python with PyTorch. */
class GlooTest {

  private static final Path PEERS = Path.of("peers/gloo.json");
  private static final List<Figure> FIGURES = Figure.TRAINING;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "mlp b64, allreduce, 1 worker",
        "mlp b64, sync, 1 worker",
        "mlp b64, dpsgd, 2 workers"
      })
  @Tag("slow")
  void shouldMeasureARound(String name) throws Exception {
    String key = "weak scaling, " + name;
    String python =
        Stream.of("python3", "/usr/bin/python3").filter(GlooTest::hasTorch).findFirst().orElse("");
    assumeTrue(!python.isEmpty(), "there is no python3 with PyTorch");
    List<String> cells =
        Cells.all(ReportOptions.read(unset -> null, true)).stream().map(Cell::name).toList();
    String command =
        PeerCommands.read(PEERS, cells).commands().get(key).replace("${PYTHON:-python3}", python);

    Map<Figure, Double> figures =
        new PeerCommands(PEERS, Map.of(key, command)).measure(key, FIGURES, 100, "");

    assertEquals(EnumSet.copyOf(FIGURES), EnumSet.copyOf(figures.keySet()));
    int workers = Integer.parseInt(name.replaceAll(".*, (\\d+) workers?", "$1"));
    assertEquals(
        workers * 64 * 1e3 / figures.get(Figure.WALL_MILLIS_PER_ROUND),
        figures.get(Figure.SAMPLES_PER_SECOND),
        1e-6 * figures.get(Figure.SAMPLES_PER_SECOND));
    assertEquals(
        workers * 64 * 1e3 / figures.get(Figure.FIRST_WALL_MILLIS_PER_ROUND),
        figures.get(Figure.FIRST_SAMPLES_PER_SECOND),
        1e-6 * figures.get(Figure.FIRST_SAMPLES_PER_SECOND));
    assertTrue(figures.get(Figure.CPU_MILLIS_PER_ROUND) > 0, figures::toString);
  }

  private static boolean hasTorch(String python) {
    try {
      Process process =
          new ProcessBuilder(python, "-c", "import torch")
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.waitFor() == 0;
    } catch (IOException none) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
