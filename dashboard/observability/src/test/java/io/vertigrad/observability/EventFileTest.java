package io.vertigrad.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobStopped;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class EventFileTest {

  @TempDir private Path folder;

  @Test
  void shouldSkipLinesThatHoldNoEvent() throws IOException {
    Path file = folder.resolve("events.jsonl");
    try (OutputStream out = Files.newOutputStream(file)) {
      out.write(new byte[] {(byte) 0xff, (byte) 0xc3, 0, '\n'});
      out.write(line(new JobPaused(1).toJson().encode()));
      out.write(line(""));
      out.write(line("[1]"));
      out.write(line("null"));
      out.write(line("{\"type\":\"later\"}"));
      out.write(line("{\"type\":\"workerProgress\",\"staleness\":{\"x\":1},\"loss\":true}"));
      out.write(line(new JobPaused(2).toJson().encode()));
      out.write("{\"type\":\"jobPaus".getBytes(StandardCharsets.UTF_8));
    }
    List<TrainingEvent> events = new ArrayList<>();

    EventFile.forEach(file, events::add);

    assertEquals(List.of(new JobPaused(1), new JobPaused(2)), events);
  }

  @Test
  void shouldReadFromAPositionOnAndAPart() throws IOException {
    Path file = folder.resolve("events.jsonl");
    List<TrainingEvent> written = List.of(new JobPaused(1), new JobPaused(2), new JobPaused(3));
    int length = line(written.get(0).toJson().encode()).length;
    try (OutputStream out = Files.newOutputStream(file)) {
      for (TrainingEvent event : written) {
        out.write(line(event.toJson().encode()));
      }
    }
    List<TrainingEvent> events = new ArrayList<>();

    EventFile.forEach(file, length, new EventFold().on(JobPaused.class, read -> {}), events::add);

    assertEquals(written.subList(1, 3), events);
    assertEquals(written, EventFile.part(file, 0, 1 << 20).toList());
    assertEquals(written.subList(0, 1), EventFile.part(file, 0, 2 * length - 2).toList());
    assertEquals(written.subList(1, 2), EventFile.part(file, 1, 2 * length).toList());
    assertEquals(List.of(), EventFile.part(file, 10 * length, length).toList());
  }

  @Test
  void shouldReadOnlyTheKindsOfAFoldWhenKeysHaveAnyOrder() throws IOException {
    Path file = folder.resolve("events.jsonl");
    TrainingEvent stopped = new JobStopped(2, "{\"type\":\"jobPaused\"");
    Files.writeString(
        file,
        String.join(
            "\n",
            new JobPaused(1).toJson().encode(),
            stopped.toJson().encode(),
            "{\"timeMillis\":3,\"type\":\"jobPaused\"}",
            "{\"type\":\"jobPaus",
            new JobPaused(4).toJson().encode()));
    EventFold paused = new EventFold().on(JobPaused.class, read -> {});
    List<TrainingEvent> events = new ArrayList<>();

    EventFile.forEach(file, 0, paused, events::add);

    assertEquals(List.of(new JobPaused(1), new JobPaused(3), new JobPaused(4)), events);
  }

  @Test
  void shouldRefuseALineThatIsLongerThanAnyEventWithoutHoldingIt() throws IOException {
    Path file = folder.resolve("events.jsonl");
    Files.writeString(file, new JobPaused(1).toJson().encode() + "\n");
    try (FileChannel hole = FileChannel.open(file, StandardOpenOption.WRITE)) {
      hole.write(ByteBuffer.wrap(new byte[1]), 3L << 30);
    }
    List<TrainingEvent> events = new ArrayList<>();

    IOException refused =
        assertThrows(IOException.class, () -> EventFile.forEach(file, events::add));

    assertTrue(
        refused.getMessage().contains("line 2 has more than 4194304 bytes, expected one event"),
        refused.getMessage());
    assertEquals(List.of(new JobPaused(1)), events);
  }

  @Test
  void shouldRefuseADeviceAndAPipeAtOnce() throws Exception {
    Path device = Files.createSymbolicLink(folder.resolve("device"), Path.of("/dev/zero"));
    Path pipe = folder.resolve("pipe");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());

    for (Path file : List.of(device, pipe)) {
      IOException refused =
          assertThrows(IOException.class, () -> EventFile.forEach(file, event -> {}));
      assertEquals(file + ": is no regular file", refused.getMessage());
    }
  }

  private static byte[] line(String text) {
    return (text + "\n").getBytes(StandardCharsets.UTF_8);
  }
}
