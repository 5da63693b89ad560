package io.vertigrad.launcher.deploy;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Reports which workers a job waits for and for how long, until it starts or fails. */
public final class StartProgress {

  private static final String WORKER = "worker";
  private static final long REMIND_MILLIS = 15_000;

  private final Vertx vertx;
  private final JobConfig job;
  private final Consumer<String> say;
  private final Set<Integer> present = new TreeSet<>();
  private final long deadlineNanos;
  private MessageConsumer<JsonObject> events;
  private long reminder;

  /** Creates a report of a wait that begins now. */
  public StartProgress(Vertx vertx, JobConfig job, Consumer<String> say) {
    this.vertx = vertx;
    this.job = job;
    this.say = say;
    this.deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(job.workers().waitSeconds());
  }

  /** Reports for the first time; completes when no later arrival can be missed. */
  public synchronized Future<Void> open() {
    say.accept(waiting());
    reminder = vertx.setPeriodic(REMIND_MILLIS, id -> say.accept(waiting()));
    events =
        vertx
            .eventBus()
            .consumer(job.addresses().events(), m -> onEvent(TrainingEvent.fromJson(m.body())));
    return events.completion();
  }

  private synchronized void onEvent(TrainingEvent event) {
    if (event instanceof MemberJoined joined && joined.role().equals(WORKER)) {
      present.add(joined.rank());
      String who = "%s joined from %s".formatted(job.nameOf(WORKER, joined.rank()), joined.node());
      say.accept(present.size() < job.workers().count() ? who + "; " + waiting() : who);
    } else if (event instanceof MemberLeft left && left.role().equals(WORKER)) {
      present.remove(left.rank());
    } else if (event instanceof JobStarted || event instanceof JobFailed) {
      vertx.cancelTimer(reminder);
      events.unregister();
    }
  }

  private synchronized String waiting() {
    long left = Math.max(0, Math.round((deadlineNanos - System.nanoTime()) / 1e9));
    String missing =
        IntStream.range(0, job.workers().count())
            .filter(rank -> !present.contains(rank))
            .mapToObj(rank -> job.nameOf(WORKER, rank))
            .collect(Collectors.joining(", "));
    return "waiting up to %d s (workers.waitSeconds) for %s"
        .formatted(left, missing.isEmpty() ? "the job to start" : missing);
  }
}
