package io.vertigrad.launcher.terminal;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.BatchesDivided;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointsDelayed;
import io.vertigrad.events.TrainingEvent.DataAwaited;
import io.vertigrad.events.TrainingEvent.DataWarning;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberDraining;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.ProcessRestarted;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.StateTaken;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.events.TrainingEvent.VersionRefused;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunProgress;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Formats events and progress as text. */
final class EventText {

  /** With more workers, only the smallest and the largest batch are listed. */
  private static final int MOST_SHARES = 16;

  private EventText() {}

  /** Returns a line for an event that concerns the user. */
  static Optional<String> of(TrainingEvent event, JobConfig job) {
    if (event instanceof Evaluated tested) {
      return tested.samples() == 0 ? Optional.empty() : Optional.of(evaluated(tested));
    }
    if (event instanceof DataAwaited silent) {
      return Optional.of(
          "%s waits for events: %s"
              .formatted(job.nameOf("worker", silent.rank()), silent.source()));
    }
    if (event instanceof DataWarning found) {
      return Optional.of("%s: %s".formatted(job.nameOf("worker", found.rank()), found.message()));
    }
    if (event instanceof JobStarted start) {
      return Optional.of(
          format(
              "training: %s, %d %s%s, %s server%s, %,d parameters",
              start.strategy(),
              start.workers(),
              job.pipeline().isPresent() ? "stage" : "worker",
              plural(start.workers()),
              start.servers() == 0 ? "no" : start.servers(),
              plural(start.servers()),
              start.parameters()));
    }
    if (event instanceof MemberJoined joined && !joined.data().isEmpty()) {
      return Optional.of(
          "trains on the data of %s at %s: %s; all members must have the same"
              .formatted(
                  job.nameOf(joined.role().lower(), joined.rank()), joined.node(), joined.data()));
    }
    if (event instanceof MemberJoined joined && joined.incarnation() > 0) {
      return Optional.of(job.nameOf(joined.role().lower(), joined.rank()) + " is back");
    }
    if (event instanceof MemberDraining leaving) {
      return Optional.of(
          "%s leaves (asked to end): its place %s"
              .formatted(job.nameOf(leaving.role().lower(), leaving.rank()), leaving.place()));
    }
    if (event instanceof MemberSuspected silent) {
      return Optional.of(
          format(
              "%s has been silent for %.1f s",
              job.nameOf(silent.role().lower(), silent.rank()), silent.silentMillis() / 1e3));
    }
    if (event instanceof StallFound stall) {
      return Optional.of(
          (stall.stillMillis() == 0
                  ? "training waits: missing " + stall.missing()
                  : format(
                      "no step for %.1f s: missing %s", stall.stillMillis() / 1e3, stall.missing()))
              + (stall.waits().isEmpty() ? "" : "; " + stall.waits()));
    }
    if (event instanceof JobEnding ending) {
      return Optional.of(ending(ending));
    }
    if (event instanceof JobPaused) {
      return Optional.of("paused: no worker begins another step until the job is resumed");
    }
    if (event instanceof JobResumed resumed) {
      return Optional.of("resumed after a pause of " + duration(resumed.pausedMillis() / 1e3));
    }
    if (event instanceof BatchesDivided divided) {
      return Optional.of(divided(divided));
    }
    return problem(event, job);
  }

  /**
   * Returns the same line, except for members that leave a stopped job, which nobody needs to know,
   * and for updates that are refused after the first one, which the log has.
   */
  static Optional<String> of(TrainingEvent event, RunProgress progress, JobConfig job) {
    boolean further =
        event instanceof MemberLeft && progress.stopped()
            || event instanceof UpdateRefused && progress.refused() > 1;
    return further ? Optional.empty() : of(event, job);
  }

  /** Returns the run's progress without the step. */
  static String progress(RunProgress progress) {
    return ProgressLine.of(progress).words();
  }

  /** Formats a duration as {@code 0:07}, {@code 12:34} or {@code 1:02:03}. */
  static String duration(double seconds) {
    long whole = Math.round(seconds);
    return whole < 3_600
        ? format("%d:%02d", whole / 60, whole % 60)
        : format("%d:%02d:%02d", whole / 3_600, whole / 60 % 60, whole % 60);
  }

  static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }

  private static Optional<String> problem(TrainingEvent event, JobConfig job) {
    if (event instanceof MemberLeft left && left.reason().startsWith(MemberLeft.FAILS_JOB)) {
      // The job's failure says it.
      return Optional.empty();
    }
    if (event instanceof MemberLeft left && !left.finished()) {
      return Optional.of(
          format("%s left: %s", job.nameOf(left.role().lower(), left.rank()), left.reason()));
    }
    if (event instanceof ProcessRestarted again) {
      return Optional.of(
          format(
              "%s; started again (restart %d of at most %d, cluster.restarts)",
              again.reason(), again.restart(), again.limit()));
    }
    if (event instanceof UpdateRefused refused) {
      return Optional.of(
          format(
              "shard %d refused a gradient of worker %d, step %d: %s (run.log has any further ones)",
              refused.shard(), refused.rank(), refused.step(), refused.reason()));
    }
    if (event instanceof EvaluationSkipped skipped) {
      return Optional.of(
          format(
              "training goes on without the test of version %d: %s",
              skipped.version(), skipped.reason()));
    }
    if (event instanceof ShardRolledBack back) {
      return Optional.of(
          format(
              "%s at version %d, although %d was reached%s; what is missing is trained again",
              back.shard() == UpdatesCounted.NO_SERVER
                  ? "all workers go on"
                  : format("shard %d goes on", back.shard()),
              back.version(),
              back.known(),
              back.reason().isEmpty() ? "" : ": " + back.reason()));
    }
    if (event instanceof StateTaken taken) {
      return Optional.of(
          format(
              "%s goes on at version %d from the memory of %s; no checkpoint was read",
              job.nameOf("worker", taken.rank()),
              taken.version(),
              taken.holder() == taken.rank()
                  ? "its new process, which followed it while it waited for a place"
                  : job.nameOf("worker", taken.holder())));
    }
    if (event instanceof VersionRefused refused) {
      return Optional.of(
          format(
              "version %d is not served: %s %s in the last test, %s in the best (serving.guard)",
              refused.version(),
              refused.metric(),
              figure(refused.metric(), refused.value()),
              figure(refused.metric(), refused.best())));
    }
    if (event instanceof CheckpointFailed failed) {
      return Optional.of(
          format(
              "%s could not write checkpoint %d: %s; training goes on",
              keeper(failed.shard(), job), failed.version(), failed.reason()));
    }
    if (event instanceof CheckpointsDelayed delayed) {
      return Optional.of(
          format(
              "checkpoints are %.1f s apart, checkpoint.seconds is %s: %s; a loss repeats as much",
              delayed.seconds(), delayed.wanted(), delayed.reason()));
    }
    return Optional.empty();
  }

  /** Formats an accuracy in percent, or a loss. */
  private static String figure(String metric, double value) {
    return metric.equals("accuracy") ? Metric.ACCURACY.figure(value) : format("%.4f", value);
  }

  private static String ending(JobEnding ending) {
    String found =
        switch (ending.reason()) {
          case "accuracy" -> format("accuracy %.2f %% reached", ending.value());
          case "loss" -> format("loss %.4f reached", ending.value());
          default -> format("%s of training reached", duration(60 * ending.value()));
        };
    return format(
        "ending at version %,d: %s stop.%s, %s",
        ending.version(), found, ending.reason(), ending.threshold());
  }

  private static String divided(BatchesDivided divided) {
    List<Integer> shares = divided.shares();
    String all = shares.stream().map(String::valueOf).collect(Collectors.joining(", "));
    return format(
        "from step %,d on, workers train %s samples a step (workers.balance)",
        divided.version(),
        shares.size() <= MOST_SHARES
            ? all
            : Collections.min(shares) + " to " + Collections.max(shares));
  }

  private static String keeper(int shard, JobConfig job) {
    return job.pipeline().map(stages -> stages.name(shard)).orElse("shard " + shard);
  }

  /** Returns the outcome of a test. */
  static String evaluated(Evaluated tested) {
    return format(
        "version %,6d  %s  loss %.4f  (%,d test samples%s)",
        tested.version(),
        figures(tested),
        tested.loss(),
        tested.samples(),
        tested.wholeTestSet() ? ", all of them" : "");
  }

  private static String figures(Evaluated tested) {
    String top =
        tested.topK() == 0 ? "" : format("  top %d %.2f %%", tested.topK(), tested.topAccuracy());
    return tested.kind() == Metric.ACCURACY
        ? format("accuracy %6.2f %%%s", tested.accuracy(), top)
        : tested.text(top).replace(", ", "  ");
  }

  private static String plural(int count) {
    return count == 1 ? "" : "s";
  }
}
