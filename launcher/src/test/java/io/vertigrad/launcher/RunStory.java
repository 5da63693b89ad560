package io.vertigrad.launcher;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.ProcessRestarted;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.StateTaken;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Makes the events of a run without running it. */
final class RunStory {

  private static final long START = 1_700_000_000_000L;

  private RunStory() {}

  /** Returns sixty seconds of a run with one worker, which ends with an accuracy of 99 %. */
  static List<TrainingEvent> of(String node, String reason) {
    List<TrainingEvent> events = new ArrayList<>();
    events.add(new MemberJoined(START, Role.SERVER, 0, 0, node, ""));
    events.add(new MemberJoined(START, Role.WORKER, 0, 0, node, ""));
    events.add(new JobStarted(START + 1_000, "sync", 1, 1, 1_960, 60, 60));
    for (int i = 1; i <= 60; i++) {
      long now = START + 1_000 * (i + 1);
      events.add(single(now, i, 2.0 / i));
      events.add(new Evaluated(now, i, 500, 1.0 / i, 39 + i, false, "00"));
    }
    events.add(new MemberLeft(START + 62_000, Role.WORKER, 0, 0, reason));
    return events;
  }

  /**
   * Returns a hundred seconds of one worker whose training loss falls until the end. The test loss
   * rises again after forty of them.
   */
  static List<TrainingEvent> ofOverfitting() {
    List<TrainingEvent> events = new ArrayList<>();
    events.add(new MemberJoined(START, Role.SERVER, 0, 0, "a pid 1", ""));
    events.add(new MemberJoined(START, Role.WORKER, 0, 0, "a pid 2", ""));
    events.add(new JobStarted(START, "sync", 1, 1, 1_960, 100, 100));
    for (int i = 1; i <= 100; i++) {
      long now = START + 1_000L * i;
      double loss = i <= 40 ? 2 - 0.04 * i : 0.4 + 0.01 * (i - 40);
      events.add(single(now, i, 2 * Math.exp(-i / 30.0)));
      events.add(new Evaluated(now, i, 500, loss, 80, false, "00"));
    }
    events.add(new JobFinished(START + 100_000, 100, 100 * 128));
    return events;
  }

  /** Returns a report of an only worker. */
  private static WorkerProgress single(long now, int step, double loss) {
    return new WorkerProgress(
        now,
        0,
        0,
        step,
        step,
        0,
        128L * step,
        loss,
        Double.NaN,
        0.7 * step,
        0.2 * step,
        0.1 * step,
        1_000L * step,
        0,
        2_000L * step,
        Map.of(0, (long) step),
        Map.of(0, 1_000L * step),
        Map.of(0, 2_000L * step));
  }

  /**
   * Returns a hundred seconds of two workers with a report a second each. The job is paused between
   * seconds 40 and 60, and worker 1 is dead between seconds 70 and 90. Both report their vitals.
   */
  static List<TrainingEvent> withGaps() {
    List<TrainingEvent> events = new ArrayList<>();
    events.add(new MemberJoined(START, Role.SERVER, 0, 0, "a pid 1", ""));
    events.add(new MemberJoined(START, Role.WORKER, 0, 0, "a pid 2", ""));
    events.add(new MemberJoined(START, Role.WORKER, 1, 0, "a pid 3", ""));
    events.add(new JobStarted(START, "async", 2, 1, 1_960, 100, 200));
    for (int second = 1; second <= 100; second++) {
      long now = START + 1_000L * second;
      if (second == 41) {
        events.add(new JobPaused(now - 999));
      } else if (second == 60) {
        events.add(new JobResumed(now - 1_000, 18_999));
      }
      if (second == 71) {
        events.add(new MemberLeft(now - 1, Role.WORKER, 1, 0, "its process ended"));
      } else if (second == 90) {
        events.add(new MemberJoined(now - 1, Role.WORKER, 1, 1, "a pid 4", ""));
      }
      if (second <= 40 || second >= 60) {
        int step = second <= 40 ? second : second - 19;
        events.add(report(now, 0, 0, step, step));
        events.add(health(now, 0, 0));
        if (second <= 70) {
          events.add(report(now, 1, 0, step, step));
          events.add(health(now, 1, 0));
        } else if (second >= 90) {
          events.add(report(now, 1, 1, second - 89, step));
        }
        events.add(new Evaluated(now, step, 500, 1 + 1.0 / step, 39 + step / 2.0, false, "00"));
      }
    }
    events.add(new JobFinished(START + 100_000, 81, 81 * 192));
    return events;
  }

  /**
   * Returns a run of one worker that is killed after 40 steps and resumed from step 30. Its tests
   * are of the same versions as its reports.
   */
  static List<TrainingEvent> ofResume() {
    List<TrainingEvent> events = new ArrayList<>();
    for (int second = 1; second <= 70; second++) {
      long now = START + 1_000L * second;
      int step = second <= 40 ? second : second - 10;
      int incarnation = second <= 40 ? 0 : 10_000;
      if (second == 1 || second == 41) {
        events.add(new MemberJoined(now - 1, Role.WORKER, 0, incarnation, "a pid 1", ""));
        events.add(new JobStarted(now - 1, "sync", 1, 1, 1_960, 60, 60));
      }
      events.add(report(now, 0, incarnation, step, step));
      events.add(new Evaluated(now, step, 500, 1 + 1.0 / step, 39, false, "00"));
    }
    events.add(new JobFinished(START + 71_000, 60, 60 * 64));
    return events;
  }

  /** Returns a report of one of two workers, whose curves are far apart. */
  private static WorkerProgress report(long now, int rank, int incarnation, int step, int version) {
    return report(now, rank, incarnation, step, version, 3 + rank + 1.0 / step);
  }

  /** Returns a report with this training loss. */
  static WorkerProgress report(
      long now, int rank, int incarnation, int step, int version, double loss) {
    return new WorkerProgress(
        now,
        rank,
        incarnation,
        step,
        version,
        0,
        (rank + 1) * 64L * step,
        loss,
        Double.NaN,
        0.7 * step,
        0.2 * step,
        0.1 * step,
        1_000L * step,
        0,
        2_000L * step,
        Map.of(rank, (long) step),
        Map.of(0, 1_000L * step),
        Map.of(0, 2_000L * step));
  }

  private static MemberVitals health(long now, int rank, int incarnation) {
    String node = "a pid " + (2 + rank);
    return new MemberVitals(
        now,
        Role.WORKER,
        rank,
        incarnation,
        node,
        new Vitals(
            Map.of(
                Vital.CORES,
                1.5,
                Vital.PROCESSORS,
                2.0,
                Vital.HEAP,
                10.0,
                Vital.HEAP_LIMIT,
                20.0,
                Vital.OFF_HEAP,
                30.0,
                Vital.RESIDENT,
                40.0,
                Vital.BUSY_GPUS,
                0.75,
                Vital.GPU_MEMORY,
                50.0,
                Vital.ROUND_TRIP_MEDIAN,
                0.5,
                Vital.ROUND_TRIP_99,
                1.5),
            0,
            Map.of()));
  }

  /**
   * Returns the run {@link #withGaps} whose workers also report two scalars a second. Six values of
   * one of them are not finite.
   */
  static List<TrainingEvent> withScalars() {
    List<TrainingEvent> events = new ArrayList<>();
    for (TrainingEvent event : withGaps()) {
      events.add(event);
      if (event instanceof WorkerProgress worker) {
        String source = "worker " + worker.rank();
        long version = worker.version();
        boolean bad = version >= 10 && version < 16;
        long notFinite = Math.max(0, Math.min(version - 9, 6));
        double norm = bad ? Double.NaN : 1 + worker.rank() + 1.0 / version;
        events.add(
            new ScalarReported(
                worker.timeMillis(), source, "norm", version, norm, 5 * version, notFinite));
        events.add(
            new ScalarReported(worker.timeMillis(), source, "cut.share", version, 0.5, version, 0));
      }
    }
    return events;
  }

  /** Returns the run {@link #withGaps} whose workers have unlike samples of the named classes. */
  static List<TrainingEvent> withOwnSamples() {
    List<TrainingEvent> events = new ArrayList<>();
    for (TrainingEvent event : withGaps()) {
      events.add(
          event instanceof JobStarted start ? start.withClasses(List.of("cat", "dog")) : event);
      if (event instanceof JobStarted) {
        events.add(new SamplesCounted(START, 0, 1_480, List.of(1_480, 0)));
      }
      if (event instanceof JobStarted
          || event instanceof MemberJoined again && again.incarnation() > 0) {
        events.add(new SamplesCounted(event.timeMillis(), 1, 500, List.of(100, 400)));
      }
    }
    return events;
  }

  /** Returns thirty seconds of four workers, the last of which sends its updates negated. */
  static List<TrainingEvent> withLiar() {
    List<TrainingEvent> events = new ArrayList<>();
    for (int rank = 0; rank < 4; rank++) {
      events.add(new MemberJoined(START, Role.WORKER, rank, 0, "a pid " + (2 + rank), ""));
    }
    events.add(new JobStarted(START, "robust", 4, 1, 1_960, 30, 30));
    for (int second = 1; second <= 30; second++) {
      long now = START + 1_000L * second;
      for (int rank = 0; rank < 4; rank++) {
        boolean liar = rank == 3;
        events.add(report(now, rank, 0, second, second));
        events.add(ofUpdate(now, rank, "distance", second, liar ? 1.75 : 1 + 0.01 * rank));
        events.add(ofUpdate(now, rank, "cosine", second, liar ? -0.31 : 0.62));
        events.add(ofUpdate(now, rank, "leftOut", second, liar && second % 2 == 0 ? 1 : 0));
      }
    }
    events.add(new JobFinished(START + 31_000, 30, 30 * 640));
    return events;
  }

  private static ScalarReported ofUpdate(
      long now, int rank, String name, int version, double value) {
    return new ScalarReported(now, "worker " + rank, "update." + name, version, value, version, 0);
  }

  /**
   * Returns twenty seconds of two workers, one of which leaves with a reason that quotes an object
   * and comes back. The first test is older than the first step.
   */
  static List<TrainingEvent> ofTrouble() {
    List<TrainingEvent> events = new ArrayList<>();
    events.add(new MemberJoined(START, Role.WORKER, 0, 0, "a pid 2", ""));
    events.add(new MemberJoined(START, Role.WORKER, 1, 0, "a pid 3", ""));
    events.add(new Evaluated(START, 0, 500, 2.3, 10, false, "00"));
    events.add(new JobStarted(START + 1_500, "async", 2, 1, 1_960, 100, 200));
    for (int second = 2; second <= 20; second++) {
      events.add(report(START + 1_000L * second, 1, 0, second, second));
      events.add(new Evaluated(START + 1_000L * second, second, 500, 2, 40, false, "00"));
    }
    String reason = "failed: {\"rank\": 0, \"cause\": \"out of memory\"}";
    events.add(new MemberLeft(START + 5_000, Role.WORKER, 0, 0, reason));
    events.add(new MemberSuspected(START + 6_000, Role.WORKER, 1, 0, 3_000));
    events.add(new UpdateRefused(START + 6_500, 0, 0, 5, 1, "holds NaN"));
    events.add(new CheckpointWritten(START + 7_000, 0, 50, "checkpoint-50", 12));
    events.add(new MemberJoined(START + 8_000, Role.WORKER, 0, 1, "a pid 4", ""));
    events.add(new JobFinished(START + 20_000, 81, 81 * 192));
    return events;
  }

  /** Returns one event of each kind that the page lists. */
  static List<TrainingEvent> ofEveryKind() {
    return List.of(
        new MemberJoined(START, Role.WORKER, 0, 0, "a pid 1", ""),
        new JobStarted(START + 1, "sync", 1, 1, 1_960, 60, 60),
        new MemberSuspected(START + 2, Role.WORKER, 0, 0, 3_000),
        new StallFound(START + 3, 17, 15_100, "worker 1", "shard 0 waits", "worker 0: trains"),
        new MemberLeft(START + 4, Role.WORKER, 0, 0, "its process ended"),
        new ProcessRestarted(START + 5, "worker-0", 1, 3, "worker-0 ended"),
        new UpdateRefused(START + 6, 0, 0, 5, 1, "holds NaN"),
        new CheckpointWritten(START + 7, 0, 50, "checkpoint-50", 12),
        new CheckpointFailed(START + 8, 0, 50, "no space"),
        new ShardRolledBack(START + 8, 0, 59, 50, ""),
        new StateTaken(START + 8, 0, 50, 1),
        new SamplesCounted(START + 8, 0, 1_480, List.of(0, 1_480)),
        new JobPaused(START + 9),
        new JobResumed(START + 10, 1),
        new EvaluationSkipped(START + 10, 50, "evaluator 0 is gone"),
        new JobEnding(START + 10, "accuracy", 90, 90.125, 1_234),
        new JobFinished(START + 11, 60, 60),
        new JobStopped(START + 12, "asked for on the dashboard"),
        new JobFailed(START + 13, "worker 0 is gone"));
  }

  /** Writes the folder of a finished run with these events. */
  static Path folder(Path parent, String name, List<TrainingEvent> events) throws IOException {
    Path run = Files.createDirectory(parent.resolve(name));
    JsonObject summary = new JsonObject().put("strategy", "sync").put("version", 60);
    summary.put("samples", 60 * 128).put("samplesPerSecond", 128.0);
    Files.writeString(run.resolve("summary.json"), summary.encode());
    write(run.resolve("events.jsonl"), events);
    return run;
  }

  /** Writes an {@code events.jsonl}. */
  static void write(Path file, List<TrainingEvent> events) throws IOException {
    Files.write(file, events.stream().map(event -> event.toJson().encode()).toList());
  }
}
