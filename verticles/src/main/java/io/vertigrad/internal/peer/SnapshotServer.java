package io.vertigrad.internal.peer;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.job.Partition;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Shows one worker's parameters to readers: it answers pulls with the last snapshot the worker
 * took.
 *
 * <p>{@link #publish} belongs to the worker's thread, the rest to the endpoint's event loop. A pull
 * of a later version waits for it, up to a deadline; at most {@value #LIMIT} do.
 */
public final class SnapshotServer implements FrameEndpoint {

  private static final int LIMIT = 8192;

  private final PartitionPlan plan;
  private final int incarnation;
  private final DataType type;
  private final long deadlineNanos;
  private final List<Pull> waiting = new ArrayList<>();
  private volatile Snapshot newest = new Snapshot(-1, List.of());
  private String closed;

  private record Snapshot(long version, List<Optional<Tensor>> partitions) {}

  private record Pull(PullRequest request, long sinceNanos, Promise<Frame> promise) {}

  /**
   * A endpoint without a snapshot yet.
   *
   * @param incarnation of the worker
   * @param type how parameters travel
   */
  public SnapshotServer(PartitionPlan plan, int incarnation, DataType type, long deadlineMillis) {
    this.plan = plan;
    this.incarnation = incarnation;
    this.type = type;
    this.deadlineNanos = deadlineMillis * 1_000_000;
  }

  /** Copies the parameters as those of a version. */
  public void publish(long version, float[] parameters) {
    show(
        version,
        plan.partitions().stream()
            .map(p -> FloatBuffer.wrap(parameters, p.first(), p.length()))
            .map(part -> Optional.of(Tensor.copyOf(type, part)))
            .toList());
  }

  /** Shows these partitions, by index, as those of a version; others are not to be had here. */
  public void show(long version, List<Optional<Tensor>> partitions) {
    newest = new Snapshot(version, List.copyOf(partitions));
  }

  @Override
  public Future<Frame> handle(Frame frame) {
    if (!(frame instanceof PullRequest request)) {
      return Future.succeededFuture(frame);
    }
    if (request.layout() != plan.layout() || request.id().partition() >= plan.partitions().size()) {
      return Future.succeededFuture(
          new Refusal(request.id(), Reason.WRONG_LAYOUT, "another model: use the same job file"));
    }
    if (closed != null || waiting.size() >= LIMIT) {
      String why = closed == null ? LIMIT + " pulls wait already" : closed;
      return Future.succeededFuture(new Refusal(request.id(), Reason.UNAVAILABLE, why));
    }
    if (isThere(request)) {
      return Future.succeededFuture(answer(request));
    }
    Pull pull = new Pull(request, System.nanoTime(), Promise.promise());
    waiting.add(pull);
    return pull.promise().future();
  }

  @Override
  public void tick(long nowNanos) {
    for (Pull pull : List.copyOf(waiting)) {
      if (isThere(pull.request())) {
        settle(pull, answer(pull.request()));
      } else if (nowNanos - pull.sinceNanos() > deadlineNanos) {
        String message =
            "version %d, expected %d: this worker makes no progress"
                .formatted(newest.version(), pull.request().minimumVersion());
        settle(pull, new Refusal(pull.request().id(), Reason.DEADLINE, message));
      }
    }
  }

  @Override
  public void close(String why) {
    closed = why;
    List.copyOf(waiting)
        .forEach(p -> settle(p, new Refusal(p.request().id(), Reason.UNAVAILABLE, why)));
  }

  private void settle(Pull pull, Frame answer) {
    waiting.remove(pull);
    pull.promise().complete(answer);
  }

  private boolean isThere(PullRequest request) {
    return newest.version() >= request.minimumVersion();
  }

  private Frame answer(PullRequest request) {
    Snapshot shown = newest;
    Partition partition = plan.partitions().get(request.id().partition());
    Optional<Tensor> values = shown.partitions().get(partition.index());
    if (values.isEmpty()) {
      return new Refusal(request.id(), Reason.WRONG_LAYOUT, "this partition is another stage's");
    }
    return new ParameterPartition(
        request.id(),
        plan.layout(),
        incarnation,
        shown.version(),
        0,
        Outcome.PULLED,
        partition.first(),
        values.get());
  }
}
