package io.vertigrad.internal.shard;

import io.vertigrad.codecs.BorrowedTensor;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.events.Scalars;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.shard.ParameterStore.ParameterSource;
import io.vertigrad.internal.shard.ParameterStore.StoreConfig;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.PartitionStore;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One partition's parameters, optimizer state, version and samples. */
final class StoredPartition implements PartitionStore {

  /** Stands for the workers of a round. */
  private static final int SEVERAL = -1;

  /** Shorter spans are left out of a timeline, which shall have every update. */
  private static final long SHORTEST_SPAN_NANOS = 1_000;

  private final Partition partition;

  /** Empty for statistics. */
  private final Optional<Optimizer> optimizer;

  private final long trainingSamples;
  private final DataType type;
  private final float[] parameters;
  private final List<SavedState.Part> parts = new ArrayList<>();
  private final String spanName;
  private final Map<Integer, String> spanNames = new HashMap<>();
  private int worker = SEVERAL;
  private float[] strategyMemory = new float[0];
  private long version;
  private long samples;
  private boolean restored;
  private final TensorMemory answers;
  private SharedTensor current;
  private SharedTensor previous;
  private SavedState copy;
  private SpanRecorder track = SpanRecorder.OFF;
  private Optional<Scalars> scalars = Optional.empty();

  /**
   * Creates a partition at version 0.
   *
   * @param answers memory for the tensors of its versions
   */
  StoredPartition(
      Partition partition, StoreConfig config, ParameterSource initial, TensorMemory answers) {
    this.answers = answers;
    this.partition = partition;
    this.optimizer =
        Optional.of(partition)
            .filter(part -> part.kind() != Block.Kind.STATISTIC)
            .map(part -> Optimizer.of(config.engine(), config.optimizer(), part.length()));
    this.trainingSamples = config.trainingSamples();
    this.type = config.type();
    this.spanName = "apply partition " + partition.index();
    this.parameters = new float[partition.length()];
    initial.read(partition.first(), FloatBuffer.wrap(parameters));
    parts.add(new Parameters());
    optimizer.ifPresent(each -> parts.add(SavedState.Part.of(SavedState.OPTIMIZER, each)));
    parts.add(
        SavedState.Part.of(
            SavedState.MEMORY,
            () -> strategyMemory.length,
            to -> to.put(strategyMemory),
            from -> from.get(strategyMemory)));
  }

  public Partition partition() {
    return partition;
  }

  /** Records each update on this track from now on. */
  void recordOn(SpanRecorder recorder) {
    track = recorder;
  }

  /** Publishes the scalars of the strategy from now on. */
  void reportTo(Scalars receiver) {
    scalars = Optional.of(receiver);
  }

  /** Sets the worker whose gradient alone makes the next update. */
  void updatedBy(int rank) {
    worker = rank;
  }

  /** Returns the number of training samples applied so far. */
  public long samples() {
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
   * Returns the parameters before the last update, for a replacement that repeats a step which this
   * partition has closed and another has not.
   *
   * @return empty when no worker has received them
   */
  Optional<Tensor> previous() {
    return Optional.ofNullable(previous).map(SharedTensor::copy);
  }

  @Override
  public void apply(float[] gradient, float scale, long count) {
    long startedNanos = track.now();
    finishCopy();
    keepPrevious();
    if (scale != 1f) {
      for (int i = 0; i < gradient.length; i++) {
        gradient[i] *= scale;
      }
    }
    step(gradient);
    version++;
    samples += count;
    if (track != SpanRecorder.OFF) {
      long endedNanos = Math.max(track.now(), startedNanos + SHORTEST_SPAN_NANOS);
      track.span(spanName(), startedNanos, endedNanos, version - 1);
    }
  }

  /** Makes a step of the optimizer, or {@code p -= g} for statistics; overwrites the gradient. */
  private void step(float[] gradient) {
    if (optimizer.isPresent()) {
      double epochs = (double) samples / trainingSamples;
      optimizer.get().step(parameters, gradient, version, epochs);
      return;
    }
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] -= gradient[i];
    }
  }

  private String spanName() {
    return worker == SEVERAL
        ? spanName
        : spanNames.computeIfAbsent(worker, rank -> spanName + " of worker " + rank);
  }

  @Override
  public void skipTo(long newVersion) {
    if (newVersion < version) {
      throw new IllegalArgumentException("version %s after %s".formatted(newVersion, version));
    }
    version = newVersion;
    drop(previous);
    previous = null;
  }

  @Override
  public boolean isRestored() {
    return restored;
  }

  @Override
  public float[] memory(int elements) {
    strategyMemory = new float[elements];
    return strategyMemory;
  }

  @Override
  public void keepMemory() {
    finishCopy();
  }

  @Override
  public void report(String name, double value) {
    scalars.ifPresent(receiver -> receiver.report(name, version, value));
  }

  @Override
  public void report(int rank, String name, double value) {
    scalars.ifPresent(receiver -> receiver.ofWorker(rank).report(name, version, value));
  }

  @Override
  public Tensor parameters() {
    return Tensor.copyOf(type, FloatBuffer.wrap(parameters));
  }

  /** Lends the tensor of this version, which is made once however many workers are answered. */
  @Override
  public TensorView lend() {
    keepVersion();
    return current.lend();
  }

  /**
   * Keeps this version, so that it is the {@linkplain #previous() previous} one after an update.
   */
  public void keepVersion() {
    if (current == null) {
      current = answers.share(type, FloatBuffer.wrap(parameters));
    }
  }

  /** Makes this version the previous one, if it was lent or kept. */
  private void keepPrevious() {
    drop(previous);
    previous = current;
    current = null;
  }

  private static void drop(SharedTensor version) {
    if (version != null) {
      version.release();
    }
  }

  /** Starts a copy for a checkpoint, made by another thread, or here before the next update. */
  SavedState beginCopy(CopyMemory memory, LedgerSnapshot ledger, boolean withPrevious) {
    finishCopy();
    copy = SavedState.begin(head(ledger), withPrevious ? partsWithPrevious() : parts, memory);
    return copy;
  }

  /** Returns the parts, and the {@linkplain #previous() previous} version as one more. */
  private List<SavedState.Part> partsWithPrevious() {
    float[] before = new float[previous == null ? 0 : parameters.length];
    previous().ifPresent(tensor -> tensor.copyTo(before, 0));
    return with(before);
  }

  private List<SavedState.Part> with(float[] before) {
    List<SavedState.Part> all = new ArrayList<>(parts);
    all.add(
        SavedState.Part.of(
            SavedState.PREVIOUS, () -> before.length, to -> to.put(before), from -> {}));
    return all;
  }

  private SavedState.Head head(LedgerSnapshot ledger) {
    return new SavedState.Head(partition.index(), partition.first(), version, samples, ledger);
  }

  /** Returns whether the tensor that workers receive has the same bits as the parameters. */
  boolean lendsParameters() {
    return type == DataType.FLOAT32;
  }

  /** The parameters, which a tensor that was lent to workers may already hold. */
  private final class Parameters implements SavedState.Part {

    @Override
    public String name() {
      return SavedState.PARAMETERS;
    }

    @Override
    public int length() {
      return parameters.length;
    }

    @Override
    public void give(FloatBuffer to) {
      to.put(parameters);
    }

    @Override
    public void take(FloatBuffer from) {
      from.get(parameters);
    }

    @Override
    public Optional<SavedState.Lent> lend() {
      if (!lendsParameters() || current == null) {
        return Optional.empty();
      }
      BorrowedTensor lent = current.lend();
      return Optional.of(
          new SavedState.Lent(lent.bytes().asFloatBuffer(), () -> SharedTensor.giveBack(lent)));
    }
  }

  /** Makes a pending copy before the values change. */
  private void finishCopy() {
    if (copy != null) {
      copy.make();
      copy = null;
    }
  }

  /** Returns the parts of this partition's state. */
  List<SavedState.Part> parts() {
    return parts;
  }

  /** Returns a copy for a checkpoint, with the {@linkplain #previous() previous} version. */
  SavedState snapshot(LedgerSnapshot ledger) {
    return SavedState.copy(head(ledger), partsWithPrevious());
  }

  /**
   * Restores a checkpoint of this partition.
   *
   * @throws IllegalArgumentException if it is of another partition or another optimizer
   */
  void restore(SavedState saved) {
    requireFirst(saved.head().first());
    finishCopy();
    float[] before = saved.part(SavedState.PREVIOUS);
    saved.restore(with(new float[before.length == 0 ? 0 : parameters.length]));
    restored = true;
    version = saved.version();
    samples = Math.round(saved.head().samples());
    keepPrevious();
    drop(previous);
    previous = before.length == 0 ? null : answers.share(type, FloatBuffer.wrap(before));
  }

  private void requireFirst(int found) {
    if (found != partition.first()) {
      throw new IllegalArgumentException(
          ("checkpoint of partition %s: found first element %s, expected %s;"
                  + " resume with the job file it was written under")
              .formatted(partition.index(), found, partition.first()));
    }
  }
}
