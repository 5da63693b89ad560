package io.vertigrad.launcher.deploy;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.observability.EventFold;
import io.vertigrad.run.RunView.Member;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Reports which workers a job waits for and for how long, until it starts or fails. */
public final class StartProgress {

  private static final long REMIND_MILLIS = 15_000;

  private final Vertx vertx;
  private final JobConfig job;
  private final Supplier<List<Member>> workers;
  private final Consumer<String> say;
  private volatile long deadlineNanos;
  private final long reminder;
  private final EventFold fold =
      new EventFold()
          .on(MemberJoined.class, this::joined)
          .on(JobStarted.class, started -> end())
          .on(JobFailed.class, failed -> end());

  /**
   * Begins a report of a wait that begins now.
   *
   * @param workers returns the workers that are present; called from any thread
   * @param say receives the lines; called from any thread
   */
  public StartProgress(
      Vertx vertx, JobConfig job, Supplier<List<Member>> workers, Consumer<String> say) {
    this.vertx = vertx;
    this.job = job;
    this.workers = workers;
    this.say = say;
    restartWait();
    say.accept(waiting());
    reminder = vertx.setPeriodic(REMIND_MILLIS, id -> say.accept(waiting()));
  }

  /** Processes the next event, which {@code workers} includes already. */
  public void record(TrainingEvent event) {
    fold.apply(event);
  }

  private void joined(MemberJoined joined) {
    restartWait();
    if (joined.role() == Role.WORKER) {
      String who = "%s joined from %s".formatted(name(joined.rank()), joined.node());
      boolean complete = workers.get().size() >= job.workers().count();
      say.accept(complete ? who : who + "; " + waiting());
    }
  }

  private void end() {
    vertx.cancelTimer(reminder);
  }

  /** The coordinator's wait counts from the last member that joined. */
  private void restartWait() {
    deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(job.workers().waitSeconds());
  }

  private String waiting() {
    long left = Math.max(0, Math.round((deadlineNanos - System.nanoTime()) / 1e9));
    Set<Integer> present =
        workers.get().stream().map(Member::rank).collect(Collectors.toUnmodifiableSet());
    String missing =
        IntStream.range(0, job.workers().count())
            .filter(rank -> !present.contains(rank))
            .mapToObj(this::name)
            .collect(Collectors.joining(", "));
    return "waiting up to %s s (workers.waitSeconds) for %s"
        .formatted(left, missing.isEmpty() ? "the job to start" : missing);
  }

  private String name(int rank) {
    return job.nameOf(Role.WORKER.lower(), rank);
  }
}
