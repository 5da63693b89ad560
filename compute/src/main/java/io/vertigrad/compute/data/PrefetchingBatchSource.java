package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import java.util.concurrent.TimeoutException;

/**
 * Assembles training batches ahead of time on its own daemon thread.
 *
 * <p>The order of batches is the sampler's, whatever the timing. An error while assembling stops
 * the thread and is thrown by {@link #next()} after the batches before it. {@code next} is for one
 * thread; {@code close} may come from any.
 */
public final class PrefetchingBatchSource implements BatchSource {

  private static final long CLOSE_MILLIS = 2_000;

  private final String owner;
  private final Sampler sampler;
  private final BatchConfig config;
  private final BatchAssembler assembler;
  private final Handoff<Batch> ready;
  private final Thread thread;
  private volatile Position position = new Position(0, 0);

  /** Where the prefetching thread is, for messages. */
  private record Position(int epoch, int batch) {}

  private PrefetchingBatchSource(
      String owner, Sampler sampler, BatchConfig config, BatchAssembler assembler) {
    this.owner = owner;
    this.sampler = sampler;
    this.config = config;
    this.assembler = assembler;
    this.ready = new Handoff<>(config.ahead());
    this.thread = new Thread(this::run, "batches of " + owner);
    this.thread.setDaemon(true);
  }

  /**
   * Starts prefetching; {@code owner} names the worker in errors and the thread.
   *
   * @param owner the worker
   * @param dataset whose samples are read
   * @param sampler which samples, in which order
   * @param config size of a batch, seed, how many are kept ready
   * @param augmentation is applied to each sample
   * @return a source to be closed
   */
  public static PrefetchingBatchSource start(
      String owner,
      Dataset dataset,
      Sampler sampler,
      BatchConfig config,
      Augmentation augmentation) {
    BatchAssembler assembler = new BatchAssembler(dataset, augmentation, config.seed());
    PrefetchingBatchSource source = new PrefetchingBatchSource(owner, sampler, config, assembler);
    source.thread.start();
    return source;
  }

  /**
   * The next batch.
   *
   * @throws DataException when assembling failed, or no batch came within the configured wait
   * @throws IllegalStateException after {@link #close()}
   */
  @Override
  public Batch next() {
    try {
      return ready.take(config.timeoutMillis());
    } catch (TimeoutException e) {
      throw new DataException(
          "%s: no batch within %d ms; thread \"%s\" is still at %s, in %s"
              .formatted(owner, config.timeoutMillis(), thread.getName(), at(), whereabouts()),
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DataException("%s: interrupted while waiting for %s".formatted(owner, at()), e);
    }
  }

  /** Stops the thread and waits briefly for it; batches that were ready are forgotten. */
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
      for (int epoch = 0; produce(epoch); epoch++) {}
    } catch (InterruptedException e) {
      ready.fail(new DataException("%s: the prefetching thread was interrupted".formatted(owner)));
    } catch (DataException e) {
      ready.fail(e);
    } catch (Throwable e) {
      ready.fail(new DataException("%s: %s failed: %s".formatted(owner, at(), e), e));
    }
  }

  private boolean produce(int epoch) throws InterruptedException {
    position = new Position(epoch, 0);
    int[] order = sampler.epoch(epoch);
    int end = config.dropLast() ? order.length - order.length % config.size() : order.length;
    if (end == 0) {
      throw noBatch(epoch, order.length);
    }
    for (int from = 0; from < end; from += config.size()) {
      position = new Position(epoch, from / config.size());
      int to = Math.min(end, from + config.size());
      if (!ready.put(assembler.assemble(order, from, to, epoch))) {
        return false;
      }
    }
    return true;
  }

  private DataException noBatch(int epoch, int samples) {
    String dropped = config.dropLast() ? ", partial ones dropped" : "";
    return new DataException(
        "%s: epoch %d has no batch: %d samples for batches of %d%s; use smaller batches"
            .formatted(owner, epoch, samples, config.size(), dropped));
  }

  private String at() {
    Position now = position;
    return "batch %d of epoch %d".formatted(now.batch, now.epoch);
  }

  private String whereabouts() {
    StackTraceElement[] stack = thread.getStackTrace();
    return stack.length == 0 ? "no method: it has ended" : stack[0].toString();
  }
}
