package io.vertigrad.benchmarks.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Notes five times a second how much processor time the threads of a command and of all processes
 * below it have had so far, by kind. What threads had that have ended stays in the sums.
 */
public final class ThreadSampler implements AutoCloseable {

  private static final long INTERVAL_MILLIS = 200;
  private static final long END_MILLIS = 10_000;
  private static final Path PROC = Path.of("/proc");

  private final Map<Id, Reading> last = new HashMap<>();
  private final Map<ThreadKind, Long> sums = new EnumMap<>(ThreadKind.class);
  private final List<Sample> samples = new ArrayList<>();
  private Thread thread;

  /** A thread of a process, as long as both live. */
  record Id(long process, long thread) {}

  /**
   * What was read of a thread.
   *
   * @param nanos processor time since it began
   */
  record Reading(ThreadKind kind, long nanos) {}

  /**
   * The processor time so far.
   *
   * @param timeMillis when, since 1970
   * @param nanos processor time by kind; never less than in the sample before
   */
  public record Sample(long timeMillis, Map<ThreadKind, Long> nanos) {

    public Sample {
      nanos = Map.copyOf(nanos);
    }

    /** Returns the time of a kind, 0 for one that had none. */
    public long nanos(ThreadKind kind) {
      return nanos.getOrDefault(kind, 0L);
    }
  }

  /** Samples a command, and goes on with it on a thread of its own. */
  void start(ProcessHandle command) {
    add(System.currentTimeMillis(), read(command));
    thread = new Thread(() -> run(command), "thread-sampler");
    thread.setDaemon(true);
    thread.start();
  }

  /** Stops to sample, and returns all samples in their order. */
  List<Sample> stop() throws InterruptedException {
    close();
    thread.join(END_MILLIS);
    if (thread.isAlive()) {
      throw new IllegalStateException(
          "the sampler of threads has not ended %s ms after it was stopped".formatted(END_MILLIS));
    }
    return samples();
  }

  @Override
  public void close() {
    if (thread != null) {
      thread.interrupt();
    }
  }

  private void run(ProcessHandle command) {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        TimeUnit.MILLISECONDS.sleep(INTERVAL_MILLIS);
        add(System.currentTimeMillis(), read(command));
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Adds what was read. A thread that has had less time than one with its number before is another
   * one.
   */
  void add(long timeMillis, Map<Id, Reading> readings) {
    readings.forEach(
        (id, now) -> {
          Reading before = last.put(id, now);
          boolean same = before != null && before.nanos() <= now.nanos();
          sums.merge(now.kind(), now.nanos() - (same ? before.nanos() : 0), Long::sum);
        });
    samples.add(new Sample(timeMillis, sums));
  }

  /** Returns the samples so far, where no thread samples. */
  List<Sample> samples() {
    return List.copyOf(samples);
  }

  private Map<Id, Reading> read(ProcessHandle command) {
    Map<Id, Reading> readings = new HashMap<>();
    for (ProcessHandle process :
        Stream.concat(Stream.of(command), command.descendants()).toList()) {
      Path threads = PROC.resolve(process.pid() + "/task");
      String[] found = threads.toFile().list();
      for (String number : found == null ? new String[0] : found) {
        try {
          Id id = new Id(process.pid(), Long.parseLong(number));
          readings.put(id, read(threads.resolve(number), last.get(id)));
        } catch (IOException ended) {
          // It had its last reading before.
        }
      }
    }
    return readings;
  }

  /** Reads a thread; its name only where it has run since, because it may have a new one then. */
  private static Reading read(Path thread, Reading before) throws IOException {
    String times = Files.readString(thread.resolve("schedstat"));
    long nanos = Long.parseLong(times.substring(0, times.indexOf(' ')));
    return before != null && before.nanos() == nanos
        ? before
        : new Reading(ThreadKind.of(Files.readString(thread.resolve("comm")).strip()), nanos);
  }
}
