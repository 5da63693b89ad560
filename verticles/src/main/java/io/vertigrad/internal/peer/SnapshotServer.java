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
import io.vertigrad.internal.exchange.PullQueue;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.job.Partition;
import io.vertx.core.Future;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * Serves one worker's parameters to readers. It answers pulls with the last snapshot of the worker.
 *
 * <p>{@link #publish} belongs to the worker's thread, the rest to the endpoint's event loop. A pull
 * of a later version waits in a {@link PullQueue}.
 */
public final class SnapshotServer implements FrameEndpoint {

  private final PartitionPlan plan;
  private final int incarnation;
  private final DataType type;
  private final Function<Partition, OptionalInt> offset;
  private final PullQueue waiting;
  private volatile Snapshot newest = new Snapshot(-1, List.of());
  private String closed;

  private record Snapshot(long version, List<Optional<Tensor>> partitions) {}

  /**
   * Creates an endpoint without a snapshot, of a worker that may have a part of the model.
   *
   * @param plan the partitions of the model's parameters
   * @param incarnation incarnation of the worker
   * @param type data type of the parameters in frames
   * @param deadlineMillis longest wait of a pull for a later version
   * @param clock monotonic clock in nanoseconds for that wait
   * @param offset returns where a partition begins in the worker's parameters; empty if it is not
   *     there
   */
  public SnapshotServer(
      PartitionPlan plan,
      int incarnation,
      DataType type,
      long deadlineMillis,
      LongSupplier clock,
      Function<Partition, OptionalInt> offset) {
    this.offset = offset;
    this.plan = plan;
    this.incarnation = incarnation;
    this.type = type;
    this.waiting =
        new PullQueue(
            deadlineMillis,
            clock,
            new PullQueue.Source(this::isReached, this::answer, this::overdue));
  }

  /** Copies the parameters and serves them as the given version. */
  public void publish(long version, float[] parameters) {
    newest =
        new Snapshot(
            version,
            plan.partitions().stream().map(partition -> copy(partition, parameters)).toList());
  }

  private Optional<Tensor> copy(Partition partition, float[] parameters) {
    OptionalInt first = offset.apply(partition);
    return first.isEmpty()
        ? Optional.empty()
        : Optional.of(
            Tensor.copyOf(
                type, FloatBuffer.wrap(parameters, first.getAsInt(), partition.length())));
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
    if (closed != null) {
      return Future.succeededFuture(new Refusal(request.id(), Reason.UNAVAILABLE, closed));
    }
    return waiting.pull(request);
  }

  @Override
  public void tick(long nowNanos) {
    waiting.tick();
  }

  @Override
  public void close(String why) {
    closed = why;
    waiting.close(why);
  }

  private String overdue(PullRequest request) {
    return "version %s, expected %s: this worker makes no progress"
        .formatted(newest.version(), request.minimumVersion());
  }

  private boolean isReached(PullRequest request) {
    return newest.version() >= request.minimumVersion();
  }

  private Frame answer(PullRequest request) {
    Snapshot snapshot = newest;
    Partition partition = plan.partitions().get(request.id().partition());
    Optional<Tensor> values = snapshot.partitions().get(partition.index());
    if (values.isEmpty()) {
      return new Refusal(request.id(), Reason.WRONG_LAYOUT, "this partition is another stage's");
    }
    return new ParameterPartition(
        request.id(),
        plan.layout(),
        incarnation,
        snapshot.version(),
        0,
        Outcome.PULLED,
        partition.first(),
        values.get());
  }
}
