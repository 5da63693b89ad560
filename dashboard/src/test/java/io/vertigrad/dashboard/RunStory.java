package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;

/** Makes the events of a run with two workers. */
public final class RunStory {

  public static final long START = 1_000_000;

  private RunStory() {}

  public static JobConfig job() {
    return JobConfig.read("story", new JsonObject().put("job", "story"));
  }

  static RunMetrics metrics() {
    return new RunMetrics(RunDescription.of(job(), false));
  }

  public static List<TrainingEvent> beginning() {
    return List.of(
        new MemberJoined(START, Role.SERVER, 0, 0, "a pid 1", ""),
        new MemberJoined(START, Role.WORKER, 0, 0, "a pid 2", ""),
        new MemberJoined(START, Role.WORKER, 1, 0, "<b>\"x'</b> pid 3", ""),
        new JobStarted(START, "sync", 2, 1, 1_960, 200, 200));
  }

  /** Returns a report of the first worker's process. */
  static MemberVitals vitals(long now) {
    return new MemberVitals(
        now,
        Role.WORKER,
        0,
        0,
        "a pid 2",
        new Vitals(
            Map.of(
                Vital.CORES,
                1.5,
                Vital.PROCESSORS,
                2.0,
                Vital.HEAP,
                10.0,
                Vital.RESIDENT,
                40.0,
                Vital.ROUND_TRIP_99,
                1.5),
            2_000,
            Map.of(500, 1L, 2_000, 1L)));
  }

  /** Returns the reports of both workers and the server after this many tenths of a second. */
  public static List<TrainingEvent> after(int tenths) {
    long now = START + 100L * tenths;
    return List.of(
        progress(now, 0, 0, tenths),
        progress(now, 1, 0, tenths),
        new ServerProgress(now, 0, 0, tenths, 256L * tenths, 2L * tenths, 1, 2, 3, 4),
        vitals(now),
        new Evaluated(now, tenths, 500, 1.0 / tenths, 100 - 1.0 / tenths, false, "00"));
  }

  /**
   * Returns the report of a worker that joined again, with counters that start from 0 and have
   * reached this many steps.
   */
  static WorkerProgress progress(long now, int rank, int incarnation, int step) {
    return new WorkerProgress(
        now,
        rank,
        incarnation,
        step,
        step,
        0,
        128L * step,
        2.0 / step,
        Double.NaN,
        0.06 * step,
        0.03 * step,
        0.01 * step,
        1_000L * step,
        500L * step,
        2_000L * step,
        Map.of(0, (long) step),
        Map.of(0, 600L * step, 3, 300L * step, -1, 100L * step),
        Map.of(0, 2_000L * step));
  }
}
