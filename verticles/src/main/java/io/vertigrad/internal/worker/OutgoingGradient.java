package io.vertigrad.internal.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ErrorFeedback;
import io.vertigrad.codecs.GradientCompression;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.checkpoint.SavedState.Lent;
import io.vertigrad.internal.checkpoint.SavedState.Part;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.job.Partition;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * A model's last gradient as tensors, clipped to a norm if the job asks for it.
 *
 * <p>If gradients are compressed, the part that compression leaves out is added to the next
 * gradient: see {@link GradientCompression}. {@link GradientClip} clips all trainable elements
 * together. Statistics are never clipped or compressed. A gradient whose norm is not finite is not
 * clipped. Belongs to the model's thread.
 */
final class OutgoingGradient {

  /** Elements per check; they fit into the first-level cache. */
  private static final int CHECK_ELEMENTS = 8_192;

  /** Limit of copies made ahead: the default window of unanswered requests. */
  private static final long MAX_PREPARED_BYTES = 4 << 20;

  private final Model model;
  private final ModelPartitions partitions;
  private final List<Partition> plan;
  private final DataType type;
  private final double clipNorm;
  private final float maxMagnitude;
  private final float[] trainable;
  private final float[] scratch;
  private final ByteBuffer checkBuffer;
  private final TensorMemory memory = new TensorMemory();
  private final Optional<GradientCompression> compression;
  private final Map<Partition, Tensor> compressed = new HashMap<>();
  private final Set<Partition> undelivered = new HashSet<>();
  private final Map<Partition, TensorView> prepared = new HashMap<>();
  private final Set<Partition> checked = new HashSet<>();
  private final Set<Partition> replaced = new HashSet<>();
  private float replacement;
  private long preparedBytes;
  private boolean notFinite;
  private boolean clipped;

  /**
   * Creates the outgoing gradient of a model.
   *
   * @param partitions copies the model's partitions if nothing is clipped
   */
  OutgoingGradient(Model model, ModelPartitions partitions, TrainingPlan plan) {
    this.model = model;
    this.partitions = partitions;
    this.plan = plan.partitions().partitions();
    this.type = plan.type();
    this.clipNorm = plan.clipNorm();
    this.maxMagnitude = plan.maxMagnitude();
    this.compression = compression(model, plan);
    this.trainable = new float[clipNorm > 0 ? model.layout().trainable() : 0];
    this.scratch = new float[this.plan.stream().mapToInt(Partition::length).max().orElse(0)];
    this.checkBuffer = ByteBuffer.allocate(CHECK_ELEMENTS * Float.BYTES);
  }

  private static Optional<GradientCompression> compression(Model model, TrainingPlan plan) {
    return plan.compressor()
        .map(of -> of.create(model.layout().blocks(), plan.partitions().partitions()))
        .or(
            () ->
                plan.compression().isOn()
                    ? Optional.of(new ErrorFeedback(plan.compression(), model.layout().trainable()))
                    : Optional.empty());
  }

  /** Begins a new gradient, whose partitions are checked as they become final. */
  void begin() {
    checked.clear();
    replaced.clear();
    compressed.clear();
    undelivered.clear();
    reclaimPrepared();
    notFinite = false;
  }

  /**
   * Checks a partition that is final before the whole gradient is. Call it before you take the
   * partition.
   *
   * @return false if some element would be sent as NaN, as infinity or beyond the job's limit
   */
  boolean isSendable(Partition partition) {
    return !checked.add(partition) || isSendableAsType(partition);
  }

  /**
   * Checks the partitions that have not been checked since {@link #begin}. Call it when the whole
   * gradient is final.
   *
   * @return the first partition that is not sendable
   */
  Optional<Partition> checkRest() {
    Optional<Partition> first =
        plan.stream()
            .filter(partition -> !checked.contains(partition) && !isSendableAsType(partition))
            .findFirst();
    notFinite = first.isPresent();
    if (notFinite) {
      reclaimPrepared();
    }
    return first;
  }

  /** Sends these partitions with this value in place of their elements. */
  void replace(List<Partition> partitions, float value) {
    replaced.addAll(partitions);
    replacement = value;
  }

  /**
   * Checks a new gradient. Call it before you take the first partition.
   *
   * @return the first partition with an element that would be sent as NaN, as infinity or beyond
   *     the job's limit
   */
  Optional<Partition> check() {
    if (clipNorm > 0) {
      clip();
    }
    begin();
    return checkRest();
  }

  /**
   * Returns a copy of one partition. Repeated calls return the same elements. The copy may be
   * {@linkplain #reclaim reclaimed} for reuse.
   */
  TensorView partition(Partition partition) {
    return isCompressed(partition) && !notFinite
        ? compressed.computeIfAbsent(partition, this::compress)
        : dense(partition);
  }

  /**
   * Takes back a copy that is no longer needed.
   *
   * @param unread true if nobody reads it any more, so that its memory may be reused
   */
  void reclaim(TensorView copy, boolean unread) {
    if (unread) {
      memory.giveBack(copy);
    } else {
      TensorMemory.leave(copy);
    }
  }

  /** Ends the last gradient. */
  void close() {
    reclaimPrepared();
  }

  /**
   * Returns the residual that will hold once the whole of a finite gradient has been delivered,
   * with what else the next gradient is compressed by. Lending it compresses the gradient; it
   * changes with the next one.
   */
  Part pendingResidual() {
    return residual(
        state -> {
          plan.stream().filter(this::isCompressed).forEach(this::partition);
          return state.pending();
        });
  }

  /** Returns the residual without what has not been delivered. */
  Part currentResidual() {
    return residual(GradientCompression::current);
  }

  /** Returns a part that lends its elements; empty without compression. */
  private Part residual(Function<GradientCompression, FloatBuffer> elements) {
    return new Part() {
      @Override
      public String name() {
        return SavedState.RESIDUAL;
      }

      @Override
      public int length() {
        return compression.map(state -> state.current().remaining()).orElse(0);
      }

      @Override
      public void give(FloatBuffer to) {
        compression.ifPresent(state -> to.put(elements.apply(state).duplicate()));
      }

      @Override
      public void take(FloatBuffer from) {
        float[] residual = new float[from.remaining()];
        from.get(residual);
        compression.ifPresent(state -> state.restore(residual));
      }

      @Override
      public Optional<Lent> lend() {
        return compression.map(state -> new Lent(elements.apply(state), () -> {}));
      }
    };
  }

  /** Returns true if a partition was compressed for this gradient and has not been delivered. */
  boolean lacksDelivery() {
    return !undelivered.isEmpty();
  }

  /** Records that a partition was applied; what compression left out of it joins the residual. */
  void delivered(Partition partition) {
    if (compressed.containsKey(partition)) {
      undelivered.remove(partition);
      compression.orElseThrow().delivered(partition.first(), partition.length());
    }
  }

  private Tensor compress(Partition partition) {
    undelivered.add(partition);
    return compression.orElseThrow().compress(partition.first(), values(partition));
  }

  private TensorView dense(Partition partition) {
    if (replaced.contains(partition)) {
      float[] values = new float[partition.length()];
      Arrays.fill(values, replacement);
      return memory.copyOf(type, FloatBuffer.wrap(values));
    }
    TensorView ready = prepared.remove(partition);
    if (ready != null) {
      preparedBytes -= ready.payloadBytes();
      return ready;
    }
    return isClipped(partition)
        ? memory.copyOf(type, FloatBuffer.wrap(trainable, partition.first(), partition.length()))
        : partitions.gradient(partition, memory);
  }

  private boolean isCompressed(Partition partition) {
    return compression.isPresent() && partition.kind() == Block.Kind.TRAINABLE;
  }

  private void clip() {
    model.readGradient(0, FloatBuffer.wrap(trainable));
    clipped = GradientClip.clip(trainable, trainable.length, clipNorm);
  }

  private boolean isClipped(Partition partition) {
    return clipped && partition.kind() == Block.Kind.TRAINABLE;
  }

  /** Rounding to the exchange type keeps the order, so checking the largest magnitude is enough. */
  private boolean isSendableAsType(Partition partition) {
    DataType travelsAs = isCompressed(partition) ? DataType.FLOAT32 : type;
    if (travelsAs == DataType.FLOAT32 && !isClipped(partition)) {
      return isCompressed(partition) || !fitsPrepared(partition)
          ? isFinite(partition)
          : prepare(partition).isWithin(maxMagnitude);
    }
    FloatBuffer values = values(partition);
    float largest = Magnitudes.largest(values.array(), values.position(), values.remaining());
    return Tensor.copyOf(travelsAs, FloatBuffer.wrap(new float[] {largest})).isWithin(maxMagnitude);
  }

  private boolean fitsPrepared(Partition partition) {
    return preparedBytes + (long) partition.length() * Float.BYTES <= MAX_PREPARED_BYTES;
  }

  /** Makes the copy that will be sent. Checking this copy records in it that it is finite. */
  private TensorView prepare(Partition partition) {
    TensorView copy = partitions.gradient(partition, memory);
    preparedBytes += copy.payloadBytes();
    prepared.put(partition, copy);
    return copy;
  }

  private void reclaimPrepared() {
    prepared.values().forEach(memory::giveBack);
    prepared.clear();
    preparedBytes = 0;
  }

  /** Checks the bits as they would be sent, which is several times as fast as checking floats. */
  private boolean isFinite(Partition partition) {
    int end = partition.first() + partition.length();
    for (int first = partition.first(); first < end; first += CHECK_ELEMENTS) {
      int length = Math.min(CHECK_ELEMENTS, end - first);
      ByteBuffer bits = checkBuffer.clear().limit(length * Float.BYTES);
      model.readGradient(first, bits.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer());
      if (!Tensor.wrap(DataType.FLOAT32, bits).isWithin(maxMagnitude)) {
        return false;
      }
    }
    return true;
  }

  /** Returns the partition's elements, valid until the next call. */
  private FloatBuffer values(Partition partition) {
    if (isClipped(partition)) {
      return FloatBuffer.wrap(trainable, partition.first(), partition.length());
    }
    model.readGradient(partition.first(), FloatBuffer.wrap(scratch, 0, partition.length()));
    return FloatBuffer.wrap(scratch, 0, partition.length());
  }
}
