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
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.StateTaken;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.events.TrainingEvent.VersionRefused;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.run.RunProgress;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Formats events and progress as text. */
final class EventText {

  /** With more workers, only the smallest and the largest batch are listed. */
  private static final int MOST_SHARES = 16;

  /** Labels of a worker's own samples that are listed. */
  private static final int MOST_LABELS = 10;

  private static final String NONE = "";

  private static final Map<Class<?>, BiFunction<TrainingEvent, JobConfig, String>> TEXTS =
      new HashMap<>();

  static {
    on(Evaluated.class, (tested, job) -> tested.samples() == 0 ? NONE : evaluated(tested));
    on(DataAwaited.class, EventText::awaited);
    on(DataWarning.class, (found, job) -> worker(found.rank(), job) + ": " + found.message());
    on(JobStarted.class, EventText::started);
    on(MemberJoined.class, EventText::joined);
    on(MemberDraining.class, EventText::draining);
    on(MemberSuspected.class, EventText::suspected);
    on(StallFound.class, (stall, job) -> stalled(stall));
    on(JobEnding.class, (ending, job) -> ending(ending));
    on(
        JobPaused.class,
        (paused, job) -> "paused: no worker begins another step until the job is resumed");
    on(
        JobResumed.class,
        (resumed, job) -> "resumed after a pause of " + duration(resumed.pausedMillis() / 1e3));
    on(BatchesDivided.class, (divided, job) -> divided(divided));
    on(SamplesCounted.class, EventText::counted);
    on(MemberLeft.class, EventText::left);
    on(ProcessRestarted.class, (again, job) -> restarted(again));
    on(UpdateRefused.class, (refused, job) -> refused(refused));
    on(EvaluationSkipped.class, (skipped, job) -> skipped(skipped));
    on(ShardRolledBack.class, (back, job) -> rolledBack(back));
    on(StateTaken.class, EventText::taken);
    on(VersionRefused.class, (refused, job) -> refused(refused));
    on(CheckpointFailed.class, EventText::notWritten);
    on(CheckpointsDelayed.class, (delayed, job) -> delayed(delayed));
  }

  private EventText() {}

  private static <E extends TrainingEvent> void on(
      Class<E> kind, BiFunction<? super E, JobConfig, String> text) {
    TEXTS.put(kind, (event, job) -> text.apply(kind.cast(event), job));
  }

  /** Returns a line for an event that concerns the user. */
  static Optional<String> of(TrainingEvent event, JobConfig job) {
    return Optional.ofNullable(TEXTS.get(event.getClass()))
        .map(text -> text.apply(event, job))
        .filter(line -> !line.isEmpty());
  }

  /**
   * Returns the same line, except for tests, which a display shows in its own way, for members that
   * leave a stopped job, which nobody needs to know, and for updates that are refused after the
   * first one, which the log has.
   */
  static Optional<String> of(TrainingEvent event, RunProgress progress, JobConfig job) {
    boolean further =
        event instanceof Evaluated
            || event instanceof MemberLeft && progress.stopped()
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

  private static String worker(int rank, JobConfig job) {
    return name(Role.WORKER, rank, job);
  }

  private static String name(Role role, int rank, JobConfig job) {
    return job.nameOf(role.lower(), rank);
  }

  private static String awaited(DataAwaited silent, JobConfig job) {
    return "%s waits for events: %s".formatted(worker(silent.rank(), job), silent.source());
  }

  private static String started(JobStarted start, JobConfig job) {
    return format(
        "training: %s, %d %s%s, %s server%s, %,d parameters",
        start.strategy(),
        start.workers(),
        job.pipeline().isPresent() ? "stage" : "worker",
        plural(start.workers()),
        start.servers() == 0 ? "no" : start.servers(),
        plural(start.servers()),
        start.parameters());
  }

  private static String joined(MemberJoined joined, JobConfig job) {
    String name = name(joined.role(), joined.rank(), job);
    if (!joined.data().isEmpty()) {
      return (job.workers().ownData()
              ? "each node trains on its own data, in the form of those of %s at %s: %s"
              : "trains on the data of %s at %s: %s; all members must have the same")
          .formatted(name, joined.node(), joined.data());
    }
    return joined.incarnation() > 0 ? name + " is back" : NONE;
  }

  private static String draining(MemberDraining leaving, JobConfig job) {
    return "%s leaves (asked to end): its place %s"
        .formatted(name(leaving.role(), leaving.rank(), job), leaving.place());
  }

  private static String suspected(MemberSuspected silent, JobConfig job) {
    return format(
        "%s has been silent for %.1f s",
        name(silent.role(), silent.rank(), job), silent.silentMillis() / 1e3);
  }

  private static String stalled(StallFound stall) {
    String missing =
        stall.stillMillis() == 0
            ? "training waits: missing " + stall.missing()
            : format("no step for %.1f s: missing %s", stall.stillMillis() / 1e3, stall.missing());
    return missing + (stall.waits().isEmpty() ? "" : "; " + stall.waits());
  }

  private static String left(MemberLeft left, JobConfig job) {
    // Where a member fails the job, the job's failure says it.
    return left.finished() || left.reason().startsWith(MemberLeft.FAILS_JOB)
        ? NONE
        : format("%s left: %s", name(left.role(), left.rank(), job), left.reason());
  }

  private static String restarted(ProcessRestarted again) {
    return format(
        "%s; started again (restart %d of at most %d, cluster.restarts)",
        again.reason(), again.restart(), again.limit());
  }

  private static String refused(UpdateRefused refused) {
    return format(
        "shard %d refused a gradient of worker %d, step %d: %s (run.log has any further ones)",
        refused.shard(), refused.rank(), refused.step(), refused.reason());
  }

  private static String skipped(EvaluationSkipped skipped) {
    return format(
        "training goes on without the test of version %d: %s", skipped.version(), skipped.reason());
  }

  private static String rolledBack(ShardRolledBack back) {
    return format(
        "%s at version %d, although %d was reached%s; what is missing is trained again",
        back.shard() == UpdatesCounted.NO_SERVER
            ? "all workers go on"
            : format("shard %d goes on", back.shard()),
        back.version(),
        back.known(),
        back.reason().isEmpty() ? "" : ": " + back.reason());
  }

  private static String taken(StateTaken taken, JobConfig job) {
    return format(
        "%s goes on at version %d from the memory of %s; no checkpoint was read",
        worker(taken.rank(), job),
        taken.version(),
        taken.holder() == taken.rank()
            ? "its new process, which followed it while it waited for a place"
            : worker(taken.holder(), job));
  }

  private static String refused(VersionRefused refused) {
    return format(
        "version %d is not served: %s %s in the last test, %s in the best (serving.guard)",
        refused.version(),
        refused.metric(),
        figure(refused.metric(), refused.value()),
        figure(refused.metric(), refused.best()));
  }

  private static String notWritten(CheckpointFailed failed, JobConfig job) {
    return format(
        "%s could not write checkpoint %d: %s; training goes on",
        keeper(failed.shard(), job), failed.version(), failed.reason());
  }

  private static String delayed(CheckpointsDelayed delayed) {
    return format(
        "checkpoints are %.1f s apart, checkpoint.seconds is %s: %s; a loss repeats as much",
        delayed.seconds(), delayed.wanted(), delayed.reason());
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

  private static String counted(SamplesCounted own, JobConfig job) {
    if (own.rank() >= MOST_SHARES) {
      return NONE;
    }
    List<Integer> labels = own.labels();
    List<Integer> present =
        IntStream.range(0, labels.size()).filter(i -> labels.get(i) > 0).boxed().toList();
    List<String> names = job.classNames();
    String all =
        present.stream()
            .limit(MOST_LABELS)
            .map(i -> format("%,d of %s", labels.get(i), names.isEmpty() ? i : names.get(i)))
            .collect(Collectors.joining(", "));
    return format(
        "%s has %,d samples of its own%s%s%s",
        worker(own.rank(), job),
        own.samples(),
        labels.isEmpty() ? "" : format(", %d of %d labels: ", present.size(), labels.size()),
        all,
        present.size() > MOST_LABELS ? ", ..." : "");
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
