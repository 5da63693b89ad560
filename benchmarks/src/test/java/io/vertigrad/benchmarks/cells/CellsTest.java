package io.vertigrad.benchmarks.cells;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CellsTest {

  private static final String COMMAND = "command, conf/mnist-sync.json, processes";
  private static final Pattern WEAK_SCALING =
      Pattern.compile("weak scaling, (.+) b(\\d+), (.+), (\\d+) workers?, (processes|one JVM)");
  private static final Pattern MARGINAL =
      Pattern.compile("marginal, (.+) b(\\d+), (\\d+) workers, (.+)");

  @TempDir Path folder;

  @Test
  void shouldHaveNoNameTwice() {
    List<String> names = cells("").stream().map(Cell::name).toList();

    assertEquals(names.size(), new HashSet<>(names).size(), names::toString);
    assertTrue(
        names.containsAll(
            List.of(
                "marginal, convnet b128, 2 workers, sync, one JVM",
                "marginal, mlp b64, 2 workers, dpsgd, streams",
                "marginal, mlp b32, 4 workers, allreduce, processes",
                "marginal, resnet20 b64, 2 workers, allreduce, processes",
                "marginal, resnet20 b64, 2 workers, allreduce, processes, pytorch",
                "archive",
                "archive, Java 25 or newer",
                COMMAND + ", Java 25 or newer",
                "exchange, 407,050 x 2, sync, raw TCP",
                "allreduce, 64 MiB x 4, ring, processes",
                COMMAND)),
        names::toString);
  }

  @Test
  void shouldReportWhyACellIsSkipped() throws Exception {
    assertEquals(
        Optional.of("no --data, expected a folder with train-images-idx3-ubyte.gz"),
        named(COMMAND, "").missing());
    assertEquals(
        Optional.of("--data %s: found no train-images-idx3-ubyte.gz".formatted(folder)),
        named(COMMAND, folder.toString()).missing());

    Files.createFile(folder.resolve("train-images-idx3-ubyte.gz"));
    assertEquals(Optional.empty(), named(COMMAND, folder.toString()).missing());
  }

  @Test
  void shouldReportWhyThereIsNoNewerJava() throws Exception {
    assertEquals(
        Optional.of("no --java, expected the folder of Java 25 or newer"), archive("").missing());
    assertEquals(
        Optional.of("--java %s: found no file named release".formatted(folder)),
        archive(folder.toString()).missing());

    Path release = folder.resolve("release");
    Files.writeString(release, "A=\"b\"\nJAVA_VERSION=\"17.0.15\"\n");
    assertEquals(
        Optional.of("--java %s: found Java 17, expected 25 or newer".formatted(folder)),
        archive(folder.toString()).missing());

    Files.writeString(release, "JAVA_VERSION=\"25\"\n");
    assertEquals(Optional.empty(), archive(folder.toString()).missing());
  }

  @Test
  void shouldReportAnArchiveThatCannotBeMade() throws Exception {
    List<List<String>> made = new ArrayList<>();

    List<String> notes =
        Cells.archive(
            List.of(List.of(), List.of("env", "A=b")),
            before -> {
              made.add(before);
              if (before.isEmpty()) {
                throw new IOException("./vertigrad archive: found 'no class archive'");
              }
              return folder;
            });

    assertEquals(List.of(List.of(), List.of("env", "A=b")), made);
    assertEquals(
        List.of(
            "no class archive, so every start takes longer: ./vertigrad archive: found 'no class archive'"),
        notes);
  }

  @Test
  void shouldMeasureOneAndTheMostWorkersThatHaveAProcessorEachFirst() {
    List<Cell> cells = weakScaling(16);

    assertEquals(72, cells.size());
    assertEquals(
        List.of(
            "weak scaling, resnet20 b64, allreduce, 1 worker, processes",
            "weak scaling, resnet20 b64, allreduce, 8 workers, processes",
            "weak scaling, resnet20 b64, allreduce, 1 worker, one JVM",
            "weak scaling, resnet20 b64, allreduce, 8 workers, one JVM"),
        cells.subList(0, 4).stream().map(Cell::name).toList());
    assertEquals(
        "weak scaling, resnet20 b64, allreduce, 2 workers, processes", cells.get(36).name());
    assertTrue(cells.stream().allMatch(cell -> cell.missing().isEmpty()));
  }

  @Test
  void shouldSkipWorkersThatWouldShareProcessorsExceptTwo() {
    List<Cell> cells = weakScaling(1);

    assertEquals(
        "weak scaling, resnet20 b64, allreduce, 2 workers, processes", cells.get(1).name());
    assertEquals(
        Optional.empty(),
        named("weak scaling, mlp b64, sync, 2 workers, one JVM", cells).missing());
    assertEquals(
        Optional.of("found 1 processors, expected 4, one for each worker"),
        named("weak scaling, mlp b64, sync, 4 workers, one JVM", cells).missing());
    assertEquals(36, cells.stream().filter(cell -> cell.missing().isPresent()).count());
  }

  @Test
  void shouldHaveAPeerOfEachWeakScalingCell() throws Exception {
    PeerCommands peers = gloo();

    assertEquals(36 + 6, peers.commands().size());
    for (String name : weakScaling(8).stream().map(Cell::name).toList()) {
      Matcher parts = WEAK_SCALING.matcher(name);
      assertTrue(parts.matches(), name);
      assertEquals(
          "${PYTHON:-python3} gloo.py --model %s --batch %s --strategy %s --workers %s"
              .formatted(parts.group(1), parts.group(2), parts.group(3), parts.group(4)),
          peers.commands().get(peers.keyOf(name).orElseThrow()));
    }
  }

  @Test
  void shouldHaveOnePeerOfAllPlacesOfTraining() throws Exception {
    PeerCommands peers = gloo();

    for (String place : List.of("one JVM", "processes", "streams")) {
      String key = peers.keyOf("marginal, mlp b64, 2 workers, dpsgd, " + place).orElseThrow();
      assertEquals("marginal, mlp b64, 2 workers, dpsgd", key);
    }
    for (Map.Entry<String, String> peer : peers.commands().entrySet()) {
      Matcher parts = MARGINAL.matcher(peer.getKey());
      if (parts.matches()) {
        assertEquals(
            "${PYTHON:-python3} gloo.py --model %s --batch %s --strategy %s --workers %s"
                .formatted(parts.group(1), parts.group(2), parts.group(4), parts.group(3)),
            peer.getValue());
      }
    }
  }

  @Test
  @Tag("slow")
  void shouldMeasureACell() throws Exception {
    Cell cell = named("compute, mlp b64, dl4j", "");

    Map<Figure, Double> figures = cell.measurement().measure();

    assertEquals(cell.figures(), List.copyOf(figures.keySet()));
    assertTrue(figures.get(Figure.WALL_MILLIS_PER_ROUND) > 0, figures::toString);
  }

  private static PeerCommands gloo() throws IOException {
    List<String> names = cells("").stream().map(Cell::name).toList();
    return PeerCommands.read(Path.of("peers/gloo.json"), names);
  }

  private static List<Cell> weakScaling(int processors) {
    return Cells.all(ReportOptions.read(name -> null, true), processors).stream()
        .filter(cell -> cell.name().startsWith("weak scaling"))
        .toList();
  }

  private static Cell archive(String java) {
    return named(
        "archive, Java 25 or newer",
        Cells.all(ReportOptions.read(name -> name.endsWith(".java") ? java : null, true)));
  }

  private static Cell named(String name, String data) {
    return named(name, cells(data));
  }

  private static Cell named(String name, List<Cell> cells) {
    return cells.stream().filter(cell -> cell.name().equals(name)).findFirst().orElseThrow();
  }

  private static List<Cell> cells(String data) {
    return Cells.all(ReportOptions.read(name -> name.endsWith("data") ? data : null, true));
  }
}
