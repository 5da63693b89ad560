package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * Assembles training batches ahead of time on its own daemon thread.
 *
 * <p>The order of batches is the sampler's, independent of timing. An error while assembling stops
 * the thread; {@link #next()} throws it after the batches before it. One thread may call {@code
 * next}; any thread may call {@code close}.
 */
public final class PrefetchingBatchSource implements BatchSource {

  private static final long CLOSE_MILLIS = 2_000;

  private final String owner;
  private final Sampler sampler;
  private final BatchConfig config;
  private final BatchAssembler assembler;
  private final Handoff<Batch> ready;
  private final Thread thread;
  private final long firstBatch;
  private volatile Position position = new Position(0, 0);
  private volatile double nanosPerSample;

  /** The position of the prefetching thread, for messages. */
  private record Position(int epoch, int batch) {}

  private PrefetchingBatchSource(
      String owner,
      Sampler sampler,
      BatchConfig config,
      BatchAssembler assembler,
      long firstBatch) {
    if (firstBatch < 0) {
      throw new IllegalArgumentException(
          "%s: first batch is %s, expected at least 0".formatted(owner, firstBatch));
    }
    this.owner = owner;
    this.sampler = sampler;
    this.config = config;
    this.assembler = assembler;
    this.firstBatch = firstBatch;
    this.ready = new Handoff<>(config.ahead());
    this.thread = new Thread(this::run, "batches of " + owner);
    this.thread.setDaemon(true);
  }

  /**
   * Starts prefetching at the first batch of the run; {@code owner} names the worker in errors and
   * the thread.
   *
   * @param owner name of the worker
   * @param dataset the data set to read
   * @param sampler which samples, in which order
   * @param config size of a batch, seed, how many are kept ready
   * @param augmentation applied to each sample
   * @return a source to be closed
   */
  public static PrefetchingBatchSource start(
      String owner,
      Dataset dataset,
      Sampler sampler,
      BatchConfig config,
      Augmentation augmentation) {
    return start(owner, dataset, sampler, config, augmentation, 0);
  }

  /**
   * Starts prefetching in the middle of a run. A source that was opened at batch k returns the same
   * batches as one opened at 0 does from its k-th on, including augmentation. The batches before
   * are counted and not read.
   *
   * @param owner name of the worker
   * @param dataset the data set to read
   * @param sampler which samples, in which order
   * @param config size of a batch, seed, how many are kept ready
   * @param augmentation applied to each sample
   * @param firstBatch number of the batch that {@link #next} returns first, counted over all epochs
   *     from 0
   * @return a source to be closed
   * @throws IllegalArgumentException when {@code firstBatch} is negative
   */
  public static PrefetchingBatchSource start(
      String owner,
      Dataset dataset,
      Sampler sampler,
      BatchConfig config,
      Augmentation augmentation,
      long firstBatch) {
    BatchAssembler assembler = new BatchAssembler(dataset, augmentation, config.seed());
    PrefetchingBatchSource source =
        new PrefetchingBatchSource(owner, sampler, config, assembler, firstBatch);
    source.thread.start();
    return source;
  }

  /**
   * Returns the next batch.
   *
   * @throws DataException of the data set, or when no batch arrived within the configured time
   * @throws ComponentException when the data set has thrown anything else
   * @throws IllegalStateException after {@link #close()}
   */
  @Override
  public Batch next() {
    try {
      return ready.take(config.timeoutMillis());
    } catch (TimeoutException e) {
      throw new DataException(
          "%s: no batch within %s ms; thread \"%s\" is still at %s, in %s"
              .formatted(owner, config.timeoutMillis(), thread.getName(), at(), whereabouts()),
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DataException("%s: interrupted while waiting for %s".formatted(owner, at()), e);
    }
  }

  @Override
  public Optional<Batch> peek() {
    return ready.peek();
  }

  @Override
  public double nanosPerSample() {
    return nanosPerSample;
  }

  /** Stops the thread and waits briefly for it; batches that were ready are discarded. */
  @Override
  public void close() {
    ready.close();
    thread.interrupt();
    try {
      thread.join(CLOSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      long passed = firstBatch;
      int epoch = 0;
      for (long count = batches(0); passed >= count; count = batches(epoch)) {
        passed -= count;
        epoch++;
      }
      for (int batch = (int) passed; produce(epoch, batch); batch = 0) {
        epoch++;
      }
    } catch (InterruptedException e) {
      ready.fail(new DataException("%s: the prefetching thread was interrupted".formatted(owner)));
    } catch (Throwable e) {
      ready.fail(ComponentException.of("the sampler of " + owner, at(), e));
    }
  }

  /** Returns the number of batches of an epoch, at least one. */
  private long batches(int epoch) {
    position = new Position(epoch, 0);
    int samples = sampler.length(epoch);
    int end = end(samples);
    if (end == 0) {
      throw noBatch(epoch, samples);
    }
    return ((long) end + config.size() - 1) / config.size();
  }

  /** Returns how many of an epoch's samples are in its batches. */
  private int end(int samples) {
    return config.dropLast() ? samples - samples % config.size() : samples;
  }

  private boolean produce(int epoch, int firstBatch) throws InterruptedException {
    position = new Position(epoch, firstBatch);
    int[] order = sampler.epoch(epoch);
    int end = end(order.length);
    if (end == 0) {
      throw noBatch(epoch, order.length);
    }
    for (int from = firstBatch * config.size(); from < end; from += config.size()) {
      position = new Position(epoch, from / config.size());
      int to = Math.min(end, from + config.size());
      long begun = System.nanoTime();
      Batch assembled = assembler.assemble(order, from, to, epoch);
      nanosPerSample = (double) (System.nanoTime() - begun) / (to - from);
      if (!ready.put(assembled)) {
        return false;
      }
    }
    return true;
  }

  private DataException noBatch(int epoch, int samples) {
    String dropped = config.dropLast() ? ", partial ones dropped" : "";
    return DataException.permanent(
        "%s: epoch %s has no batch: %s samples for batches of %s%s; use smaller batches"
            .formatted(owner, epoch, samples, config.size(), dropped));
  }

  private String at() {
    Position now = position;
    return "batch %s of epoch %s".formatted(now.batch, now.epoch);
  }

  private String whereabouts() {
    StackTraceElement[] stack = thread.getStackTrace();
    return stack.length == 0 ? "no method: it has ended" : stack[0].toString();
  }
}
