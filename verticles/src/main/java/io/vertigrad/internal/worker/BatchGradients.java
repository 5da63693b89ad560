package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.ParameterExchange.Overlap;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Computes the gradients of a whole model; each step uses the batch that belongs to it. */
public final class BatchGradients implements GradientSource {

  private final Model model;
  private final LongFunction<Batch> batches;
  private final Supplier<Optional<Batch>> next;
  private final BatchNumber batchNumber;
  private final LongSupplier nanoClock;
  private final SpanRecorder timeline;
  private final LongConsumer beforeGradient;

  /** The number that selects a rank's batch. */
  enum BatchNumber {
    /** The version of the parameters. In lockstep without servers it equals every worker's step. */
    VERSION,
    /** The worker's own step. With servers, versions may run ahead of it. */
    STEP
  }

  /**
   * Creates the gradient source of one rank.
   *
   * @param batches returns the batch with a given number
   * @param next returns the batch that probably comes after the last one, if it is ready
   * @param beforeGradient receives the version of the parameters before each gradient
   */
  BatchGradients(
      Model model,
      LongFunction<Batch> batches,
      Supplier<Optional<Batch>> next,
      BatchNumber batchNumber,
      LongSupplier nanoClock,
      SpanRecorder timeline,
      LongConsumer beforeGradient) {
    this.model = model;
    this.batches = batches;
    this.next = next;
    this.batchNumber = batchNumber;
    this.nanoClock = nanoClock;
    this.timeline = timeline;
    this.beforeGradient = beforeGradient;
  }

  @Override
  public Computed compute(long version, long step, Optional<Overlap> overlap) {
    beforeGradient.accept(version);
    long start = nanoClock.getAsLong();
    Batch batch = batches.apply(batchNumber == BatchNumber.VERSION ? version : step);
    long ready = nanoClock.getAsLong();
    double loss = overlap.isPresent() ? gradient(batch, overlap.get()) : model.gradient(batch);
    next.get().ifPresent(model::prepareNext);
    long computed = nanoClock.getAsLong();
    timeline.span("data", start, ready, step);
    timeline.span("compute", ready, computed, step);
    return new Computed(
        batch.epoch(),
        batch.count(),
        batch.count(),
        loss,
        GradientSource.share(model.correct(), model.answers()),
        ready - start,
        computed - ready,
        0);
  }

  private double gradient(Batch batch, Overlap overlap) {
    overlap.begin(batch.count());
    return model.gradient(batch, overlap);
  }

  /** Opens the batches of a logical rank at any step. */
  @FunctionalInterface
  public interface BatchOpener {

    /**
     * Opens the batches of a rank. The batch of (rank, step) depends only on the job's seed, not on
     * the process that opens it or the time.
     *
     * @param rank the logical rank whose share of the data to read, from 0
     * @param firstBatch step of the first batch that the source returns, from 0
     * @return a source, which the caller must close
     */
    BatchSource open(int rank, long firstBatch);

    /**
     * Begins an incarnation of a rank, before its first batch.
     *
     * @param rank from 0
     * @return is called before each gradient with the version of the parameters
     */
    default LongConsumer begin(int rank) {
      return version -> {};
    }
  }

  /**
   * Returns the batch of any (rank, step), in any order. Consecutive steps of a rank are read from
   * one open source. Another rank, a repeated step or a skipped step opens a new source.
   */
  public static final class BatchesOfRank implements AutoCloseable {

    private final BatchOpener data;
    private BatchSource source;
    private int openRank;
    private long next;

    /**
     * Creates an instance that has no open source.
     *
     * @param data opens the batches of a rank
     */
    public BatchesOfRank(BatchOpener data) {
      this.data = data;
    }

    /**
     * Returns the batch of a step. Blocks until the batch is ready.
     *
     * @param rank from 0
     * @param step number of the batch in the run of this rank, from 0
     * @return the batch, which belongs to the caller
     */
    public Batch batch(int rank, long step) {
      if (source == null || openRank != rank || next != step) {
        close();
        source = data.open(rank, step);
        openRank = rank;
      }
      Batch batch = source.next();
      next = step + 1;
      return batch;
    }

    /** Begins an incarnation of a rank. Returns what is to be called before each gradient. */
    LongConsumer begin(int rank) {
      return data.begin(rank);
    }

    /** Returns how long a sample of the newest batch took to read; 0 where it is unknown. */
    double nanosPerSample() {
      return source == null ? 0 : source.nanosPerSample();
    }

    /** Returns the batch after the last one if it is ready. */
    Optional<Batch> peek() {
      return source == null ? Optional.empty() : source.peek();
    }

    @Override
    public void close() {
      if (source != null) {
        source.close();
        source = null;
      }
    }
  }
}
