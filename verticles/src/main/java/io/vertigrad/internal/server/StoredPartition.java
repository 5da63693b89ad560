package io.vertigrad.internal.server;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.PartitionStore;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;

/** One partition's parameters, optimizer state, version and samples. */
final class StoredPartition implements PartitionStore {

  private final Partition partition;
  private final PartitionStep step;
  private final long trainingSamples;
  private final DataType type;
  private final float[] parameters;
  private final String noted;
  private long version;
  private long samples;
  private boolean restored;
  private Tensor current;
  private Tensor previous;
  private PartitionCopy copy;
  private SpanRecorder track = SpanRecorder.OFF;
  private ChangeListener listener = ChangeListener.NONE;

  /** Is told what changes here, on the owner's thread. */
  interface ChangeListener {

    /** Tells nobody. */
    ChangeListener NONE =
        new ChangeListener() {
          @Override
          public void stepping(float[] gradient, long version) {}

          @Override
          public void skipped() {}
        };

    /**
     * The optimizer is about to step with this gradient, which is overwritten afterwards.
     *
     * @param version before the step
     */
    void stepping(float[] gradient, long version);

    /** The version moved without a step. */
    void skipped();
  }

  StoredPartition(Partition partition, StoreConfig config, ParameterSource initial) {
    this.partition = partition;
    this.step = PartitionStep.of(partition, config);
    this.trainingSamples = config.trainingSamples();
    this.type = config.type();
    this.noted = "apply partition " + partition.index();
    this.parameters = new float[partition.length()];
    initial.read(partition.first(), FloatBuffer.wrap(parameters));
  }

  Partition partition() {
    return partition;
  }

  /** Notes each update from now on. */
  void noteOn(SpanRecorder some) {
    track = some;
  }

  /** Tells one listener of every change from now on. */
  void onChange(ChangeListener someListener) {
    listener = someListener;
  }

  /** Training samples applied so far. */
  long samples() {
    return samples;
  }

  @Override
  public int length() {
    return parameters.length;
  }

  @Override
  public long version() {
    return version;
  }

  /**
   * The parameters before the last update, for a replacement that repeats a step which this
   * partition has closed and another has not.
   *
   * @return empty when nobody was given them
   */
  Optional<Tensor> previous() {
    return Optional.ofNullable(previous);
  }

  @Override
  public void apply(float[] gradient, float scale, long count) {
    long begun = track.now();
    takeCopy();
    previous = current;
    if (scale != 1f) {
      for (int i = 0; i < gradient.length; i++) {
        gradient[i] *= scale;
      }
    }
    listener.stepping(gradient, version);
    step.step(parameters, gradient, version, (double) samples / trainingSamples);
    version++;
    samples += count;
    current = null;
    track.span(noted, begun, track.now(), version - 1);
  }

  @Override
  public void skipTo(long later) {
    if (later < version) {
      throw new IllegalArgumentException("version %d after %d".formatted(later, version));
    }
    version = later;
    previous = null;
    listener.skipped();
  }

  @Override
  public boolean isRestored() {
    return restored;
  }

  @Override
  public Tensor parameters() {
    if (current == null) {
      current = Tensor.copyOf(type, FloatBuffer.wrap(parameters));
    }
    return current;
  }

  /** A copy for a checkpoint, made by another thread, or by this one before the next update. */
  PartitionCopy beginCopy(List<DuplicateWindow.Entry> window, LedgerSnapshot ledger) {
    takeCopy();
    long of = version;
    long behind = samples;
    copy =
        new PartitionCopy(
            of,
            () ->
                new PartitionSnapshot(
                        partition.index(),
                        partition.first(),
                        of,
                        behind,
                        parameters.clone(),
                        step.state(),
                        window)
                    .with(ledger));
    return copy;
  }

  /** What is about to change was not copied yet, perhaps. */
  private void takeCopy() {
    if (copy != null) {
      copy.take();
      copy = null;
    }
  }

  /** Numbers of the optimizer's state. */
  int stateLength() {
    return step.stateLength();
  }

  /** A copy for a checkpoint. */
  PartitionSnapshot snapshot(List<DuplicateWindow.Entry> window) {
    return new PartitionSnapshot(
        partition.index(),
        partition.first(),
        version,
        samples,
        parameters.clone(),
        step.state(),
        window);
  }

  /**
   * Takes over a checkpoint of this partition.
   *
   * @throws IllegalArgumentException if it is of another partition or another optimizer
   */
  void restore(PartitionSnapshot snapshot) {
    copy(snapshot);
    restored = true;
  }

  /**
   * Takes over a copy of this partition that lacks nothing anybody has seen.
   *
   * @throws IllegalArgumentException if it is of another partition or another optimizer
   */
  void copy(PartitionSnapshot snapshot) {
    require("first element", snapshot.first(), partition.first());
    require("length", snapshot.parameters().length, parameters.length);
    require("optimizer state", snapshot.state().length, step.stateLength());
    takeCopy();
    System.arraycopy(snapshot.parameters(), 0, parameters, 0, parameters.length);
    step.restore(snapshot.state());
    version = snapshot.version();
    samples = snapshot.samples();
    current = null;
    previous = null;
  }

  private void require(String what, int found, int expected) {
    if (found != expected) {
      throw new IllegalArgumentException(
          ("checkpoint of partition %d: found %s %d, expected %d;"
                  + " resume with the job file it was written under")
              .formatted(partition.index(), what, found, expected));
    }
  }
}
