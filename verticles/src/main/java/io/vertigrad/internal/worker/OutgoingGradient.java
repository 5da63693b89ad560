package io.vertigrad.internal.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ErrorFeedback;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.job.Partition;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A model's last gradient as tensors, clipped to a norm where the job asks for it.
 *
 * <p>Where gradients are compressed, what that leaves out is fed back into the next: {@link
 * ErrorFeedback}. {@link GradientClip} over all trainable elements together; statistics are never
 * clipped or compressed, nor is a gradient whose norm is not finite clipped. Belongs to the model's
 * thread.
 */
final class OutgoingGradient {

  /** As many as fit into the first-level cache. */
  private static final int LOOK_ELEMENTS = 8_192;

  /** As much as is sent at once by default: the window of unanswered requests. */
  private static final long MOST_MADE_BYTES = 4 << 20;

  private final Model model;
  private final ModelPartitions partitions;
  private final List<Partition> plan;
  private final DataType type;
  private final double clipNorm;
  private final float maxMagnitude;
  private final float[] trainable;
  private final float[] scratch;
  private final ByteBuffer words;
  private final TensorMemory memory = new TensorMemory();
  private final Optional<ErrorFeedback> feedback;
  private final Map<Partition, Tensor> compressed = new HashMap<>();
  private final Map<Partition, TensorView> made = new HashMap<>();
  private final Set<Partition> looked = new HashSet<>();
  private final Set<Partition> leftOut = new HashSet<>();
  private long madeBytes;
  private boolean broken;
  private boolean clipped;

  /**
   * The gradients of a model.
   *
   * @param partitions copies its partitions where nothing is clipped
   */
  OutgoingGradient(Model model, ModelPartitions partitions, TrainingPlan plan) {
    this.model = model;
    this.partitions = partitions;
    this.plan = plan.partitions().partitions();
    this.type = plan.type();
    this.clipNorm = plan.clipNorm();
    this.maxMagnitude = plan.maxMagnitude();
    this.feedback =
        plan.compression().isOn()
            ? Optional.of(new ErrorFeedback(plan.compression(), model.layout().trainable()))
            : Optional.empty();
    this.trainable = new float[clipNorm > 0 ? model.layout().trainable() : 0];
    this.scratch = new float[this.plan.stream().mapToInt(Partition::length).max().orElse(0)];
    this.words = ByteBuffer.allocate(LOOK_ELEMENTS * Float.BYTES);
  }

  /**
   * A new gradient begins to be computed, of which partitions are looked at as they become final.
   */
  void begin() {
    looked.clear();
    leftOut.clear();
    compressed.clear();
    takeBackMade();
    broken = false;
  }

  /**
   * Looks at a partition that is final before all are; call before it is taken.
   *
   * @return false when some element would travel as NaN, as infinity or beyond the job's bound
   */
  boolean isSendable(Partition partition) {
    return !looked.add(partition) || travelsFinite(partition);
  }

  /**
   * Looks at what has not been looked at since {@link #begin}, now that all of it is there.
   *
   * @return the first partition that breaks it
   */
  Optional<Partition> rest() {
    Optional<Partition> first =
        plan.stream()
            .filter(partition -> !looked.contains(partition) && !travelsFinite(partition))
            .findFirst();
    broken = first.isPresent();
    if (broken) {
      takeBackMade();
    }
    return first;
  }

  /** Has these partitions travel as zeros: some others of a broken gradient have been sent. */
  void leaveOut(List<Partition> partitions) {
    leftOut.addAll(partitions);
  }

  /**
   * Looks at a new gradient; call before its first partition is taken.
   *
   * @return the first partition of which some element would travel as NaN, as infinity or beyond
   *     the job's bound
   */
  Optional<Partition> computed() {
    if (clipNorm > 0) {
      clip();
    }
    begin();
    return rest();
  }

  /**
   * A copy of one partition, with the same elements however often it is asked for; it may be
   * {@linkplain #takeBack lent}.
   */
  TensorView partition(Partition partition) {
    return isCompressed(partition) && !broken
        ? compressed.computeIfAbsent(partition, this::compress)
        : dense(partition);
  }

  /** Nobody reads this copy of a partition any more. */
  void takeBack(TensorView copy) {
    memory.giveBack(copy);
  }

  /** Goes on with what was owed before, where gradients are compressed. */
  void owes(float[] residual) {
    feedback.ifPresent(memory -> memory.restore(residual));
  }

  /**
   * Compresses all of a finite gradient.
   *
   * @return what will be owed once all of it has been delivered, for reading; it changes with the
   *     next gradient
   */
  FloatBuffer owedAfter() {
    plan.stream().filter(this::isCompressed).forEach(this::partition);
    return feedback.orElseThrow().pending();
  }

  /** A partition was applied: what compression left out of it is owed from now on. */
  void delivered(Partition partition) {
    if (compressed.containsKey(partition)) {
      feedback.orElseThrow().delivered(partition.first(), partition.length());
    }
  }

  private Tensor compress(Partition partition) {
    return feedback.orElseThrow().compress(partition.first(), values(partition));
  }

  private TensorView dense(Partition partition) {
    if (leftOut.contains(partition)) {
      return memory.copyOf(type, FloatBuffer.allocate(partition.length()));
    }
    TensorView ready = made.remove(partition);
    if (ready != null) {
      madeBytes -= ready.payloadBytes();
      return ready;
    }
    return isClipped(partition)
        ? memory.copyOf(type, FloatBuffer.wrap(trainable, partition.first(), partition.length()))
        : partitions.gradient(partition, memory);
  }

  private boolean isCompressed(Partition partition) {
    return feedback.isPresent() && partition.kind() == Block.Kind.TRAINABLE;
  }

  private void clip() {
    model.readGradient(0, FloatBuffer.wrap(trainable));
    clipped = GradientClip.clip(trainable, trainable.length, clipNorm);
  }

  private boolean isClipped(Partition partition) {
    return clipped && partition.kind() == Block.Kind.TRAINABLE;
  }

  /** Rounding to the exchange type keeps the order, so the largest magnitude decides for all. */
  private boolean travelsFinite(Partition partition) {
    DataType travelsAs = isCompressed(partition) ? DataType.FLOAT32 : type;
    if (travelsAs == DataType.FLOAT32 && !isClipped(partition)) {
      return isCompressed(partition) || !fitsMade(partition)
          ? isFinite(partition)
          : make(partition).isWithin(maxMagnitude);
    }
    FloatBuffer values = values(partition);
    float largest = Magnitudes.largest(values.array(), values.position(), values.remaining());
    return Tensor.copyOf(travelsAs, FloatBuffer.wrap(new float[] {largest})).isWithin(maxMagnitude);
  }

  private boolean fitsMade(Partition partition) {
    return madeBytes + (long) partition.length() * Float.BYTES <= MOST_MADE_BYTES;
  }

  /** The copy that will be sent is looked at, which then knows that it is finite. */
  private TensorView make(Partition partition) {
    TensorView copy = partitions.gradient(partition, memory);
    madeBytes += copy.payloadBytes();
    made.put(partition, copy);
    return copy;
  }

  private void takeBackMade() {
    made.values().forEach(memory::giveBack);
    made.clear();
    madeBytes = 0;
  }

  /** Over the bits as they would travel, which is several times as fast as over floats. */
  private boolean isFinite(Partition partition) {
    int end = partition.first() + partition.length();
    for (int first = partition.first(); first < end; first += LOOK_ELEMENTS) {
      ByteBuffer bits = words.clear().limit(Math.min(LOOK_ELEMENTS, end - first) * Float.BYTES);
      model.readGradient(first, bits.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer());
      if (!Tensor.wrap(DataType.FLOAT32, bits).isWithin(maxMagnitude)) {
        return false;
      }
    }
    return true;
  }

  /** The partition's elements, valid until the next call. */
  private FloatBuffer values(Partition partition) {
    if (isClipped(partition)) {
      return FloatBuffer.wrap(trainable, partition.first(), partition.length());
    }
    model.readGradient(partition.first(), FloatBuffer.wrap(scratch, 0, partition.length()));
    return FloatBuffer.wrap(scratch, 0, partition.length());
  }
}
