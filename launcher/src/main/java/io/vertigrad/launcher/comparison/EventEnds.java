package io.vertigrad.launcher.comparison;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.observability.EventFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The first and the last events of an {@code events.jsonl} of any size.
 *
 * @param first the first event
 * @param started the start of the job, if it is among the first events
 * @param last the last events, in order; empty if they were not asked for
 */
public record EventEnds(
    Optional<TrainingEvent> first, Optional<JobStarted> started, List<TrainingEvent> last) {

  static final EventEnds NONE = new EventEnds(Optional.empty(), Optional.empty(), List.of());

  private static final int FIRST_BYTES = 64 * 1024;

  /** Holds the last report of each of some hundred members. */
  private static final int LAST_BYTES = 256 * 1024;

  private static final String STARTED = "{\"type\":\"jobStarted\"";

  /** Copies the events. */
  public EventEnds {
    last = List.copyOf(last);
  }

  /**
   * Returns why the last attempt of a run failed.
   *
   * @param events the run's events, which may be absent or damaged
   * @return empty if it did not fail, or its events do not say so
   */
  public static Optional<String> failure(Path events) {
    try {
      return Files.isRegularFile(events)
          ? read(events, true).last().stream()
              .filter(event -> event instanceof JobStarted || event instanceof JobFailed)
              .reduce((before, newest) -> newest)
              .flatMap(
                  event ->
                      event instanceof JobFailed failed
                          ? Optional.of(failed.reason())
                          : Optional.empty())
          : Optional.empty();
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  /** Reads the first events, and the last ones too if {@code last} is true. */
  static EventEnds read(Path events, boolean last) throws IOException {
    try (FileChannel file = FileChannel.open(events)) {
      List<String> lines = lines(file, 0, FIRST_BYTES);
      Optional<TrainingEvent> first =
          lines.stream().flatMap(line -> EventFile.read(line).stream()).findFirst();
      Optional<JobStarted> started =
          lines.stream()
              .filter(line -> line.startsWith(STARTED))
              .flatMap(line -> EventFile.read(line).stream())
              .map(JobStarted.class::cast)
              .findFirst();
      return new EventEnds(first, started, last ? last(file) : List.of());
    }
  }

  /** Reads the last events; the first line is a part of one, unless the file begins with it. */
  private static List<TrainingEvent> last(FileChannel file) throws IOException {
    long from = Math.max(0, file.size() - LAST_BYTES);
    return lines(file, from, LAST_BYTES).stream()
        .skip(from == 0 ? 0 : 1)
        .flatMap(line -> EventFile.read(line).stream())
        .toList();
  }

  private static List<String> lines(FileChannel file, long from, int most) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(most, Math.max(0, file.size() - from)));
    while (bytes.hasRemaining() && file.read(bytes, from + bytes.position()) >= 0) {
      // Reads on: a channel may return less than was asked for.
    }
    String text = StandardCharsets.UTF_8.decode(bytes.flip()).toString();
    return Arrays.asList(text.split("\n"));
  }
}
