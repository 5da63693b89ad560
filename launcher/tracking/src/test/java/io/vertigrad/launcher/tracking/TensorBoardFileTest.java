package io.vertigrad.launcher.tracking;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.launcher.tracking.EventFileParser.Event;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TensorBoardFileTest {

  private static final long NOW = 1_764_000_000_250L;

  @TempDir private Path folder;

  @Test
  void shouldAgreeOnTheChecksumWhenTheTextIsThePublishedOne() {
    byte[] text = "123456789".getBytes(StandardCharsets.US_ASCII);

    assertEquals(0xE3069283, EventFileParser.crc32c(text));
  }

  @Test
  void shouldReadEveryPointFromItsFile() throws IOException {
    List<String> problems = new ArrayList<>();
    TensorBoardFile file = new TensorBoardFile(folder, NOW, problems::add);

    file.add(
        List.of(
            new Metric("test/loss", 10, NOW + 1_000, 0.5),
            new Metric("test/accuracy", 10, NOW + 1_000, 91.25)));
    file.add(List.of());
    file.add(List.of(new Metric("train/größe", 5_000_000_000L, NOW + 2_000, -1e-20)));
    file.end(Tracker.End.FINISHED);
    file.add(List.of(new Metric("late", 1, NOW, 1)));

    Path written = folder.resolve("events.out.tfevents.1764000000.vertigrad");
    assertEquals(
        List.of(
            new Event(1_764_000_000.25, 0, "brain.Event:2", Map.of()),
            new Event(
                1_764_000_001.25, 10, null, Map.of("test/loss", 0.5f, "test/accuracy", 91.25f)),
            new Event(1_764_000_002.25, 5_000_000_000L, null, Map.of("train/größe", -1e-20f))),
        EventFileParser.parse(written));
    assertEquals(List.of(), problems);
  }

  @Test
  void shouldBeReadableWhileTheRunContinues() throws IOException {
    TensorBoardFile file = new TensorBoardFile(folder, NOW, why -> {});

    file.add(List.of(new Metric("test/loss", 1, NOW, 2)));

    Path written = folder.resolve("events.out.tfevents.1764000000.vertigrad");
    assertEquals(2, EventFileParser.parse(written).size());
    file.end(Tracker.End.STOPPED);
  }

  @Test
  void shouldRepeatNoPointWhenAKilledRunIsResumed() throws IOException {
    TensorBoardFile killed = new TensorBoardFile(folder, NOW, why -> {});
    killed.add(List.of(point("train/loss", 10, 3), point("test/loss", 8, 4)));
    killed.add(List.of(point("train/loss", 30, 2)));
    Path first = folder.resolve("events.out.tfevents.1764000000.vertigrad");
    Files.write(first, new byte[] {9, 0, 0}, StandardOpenOption.APPEND);

    // Since then, the clock was set back by an hour.
    TensorBoardFile resumed = new TensorBoardFile(folder, NOW - 3_600_000, why -> {});
    resumed.add(List.of(point("train/loss", 20, 2.5), point("test/loss", 8, 4)));
    resumed.add(List.of(point("train/loss", 30, 2.25), point("test/loss", 28, 3)));
    resumed.add(List.of(point("train/loss", 40, 1)));
    resumed.end(Tracker.End.FINISHED);

    Path second = folder.resolve("events.out.tfevents.1764000000.vertigrad.2");
    assertEquals(
        List.of(Map.of(), Map.of("test/loss", 3f), Map.of("train/loss", 1f)),
        EventFileParser.parse(second).stream().map(Event::values).toList());
  }

  @Test
  void shouldWriteEachPointAtItsOwnStep() throws IOException {
    TensorBoardFile file = new TensorBoardFile(folder, NOW, why -> {});

    file.add(List.of(point("a", 2, 1), point("b", 3, 1), point("c", 2, 1)));
    file.add(List.of(point("test/loss", 4, 1)));
    // A test of the whole test set after one of a part of it, and twice.
    file.add(List.of(point("test/loss", 4, 2)));
    file.add(List.of(point("test/loss", 4, 2)));
    file.end(Tracker.End.FINISHED);

    assertEquals(
        List.of("0 {}", "2 {a=1.0, c=1.0}", "3 {b=1.0}", "4 {test/loss=1.0}", "4 {test/loss=2.0}"),
        EventFileParser.parse(folder.resolve("events.out.tfevents.1764000000.vertigrad")).stream()
            .map(event -> event.step() + " " + event.values())
            .toList());
  }

  private static Metric point(String curve, long step, double value) {
    return new Metric(curve, step, NOW, value);
  }

  @Test
  void shouldTakeAnotherNameWhenTheRunIsResumedWithinTheSecond() throws IOException {
    new TensorBoardFile(folder, NOW, why -> {}).end(Tracker.End.STOPPED);

    new TensorBoardFile(folder, NOW, why -> {}).end(Tracker.End.FINISHED);

    try (var files = Files.list(folder)) {
      assertEquals(
          List.of(
              "events.out.tfevents.1764000000.vertigrad",
              "events.out.tfevents.1764000000.vertigrad.2"),
          files.map(file -> file.getFileName().toString()).sorted().toList());
    }
  }
}
