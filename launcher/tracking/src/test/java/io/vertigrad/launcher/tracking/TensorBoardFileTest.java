package io.vertigrad.launcher.tracking;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.launcher.tracking.EventFileParser.Event;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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
