package io.vertigrad.serving.internal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertigrad.job.ServingConfig;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertigrad.training.NewestParameters.Version;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers requests with the newest parameters. Two threads have a set of parameters each: one
 * answers while the other loads newer ones, then they exchange their parts. So a swap delays no
 * request by more than the forward pass before it. A model from a file needs one thread.
 *
 * <p>Any thread may use it.
 */
public final class Predictor {

  private static final Logger LOG = LoggerFactory.getLogger(Predictor.class);
  private static final long JOIN_MILLIS = 10_000;

  /** How often a part that waits looks whether the job has finished. */
  private static final long LOOK_MILLIS = 200;

  private final ServingConfig config;
  private final String job;
  private final RequestQueue queue;
  private final VersionGuard guard;
  private final PredictorCounters counters;
  private final Consumer<TrainingEvent> events;
  private final List<Part> parts = new ArrayList<>();
  private final CompletableFuture<SampleFormat> opened = new CompletableFuture<>();
  private final CompletableFuture<Void> ready = new CompletableFuture<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** The part that loads parameters next. */
  private Part loading;

  /** When parameters are loaded next; those of a finished job are loaded at once. */
  private long dueNanos = System.nanoTime();

  /** Texts that are being continued. */
  private final AtomicInteger texts = new AtomicInteger();

  private volatile Served served = Served.NONE;
  private volatile boolean closing;

  /** The parameters that answer now. */
  private record Served(Part part, Version version, long loadedMillis) {

    static final Served NONE = new Served(null, new Version(-1, -1), 0);
  }

  private Predictor(ServingConfig config, String job, String id, Consumer<TrainingEvent> events) {
    this.config = config;
    this.job = job;
    this.events = events;
    this.queue = new RequestQueue(config.queue(), config.maxBatch(), config.maxWaitMicros());
    this.guard = new VersionGuard(config.guard(), id);
    this.counters = new PredictorCounters(id);
  }

  /**
   * Starts the threads of a predictor that follows a job.
   *
   * @param id of this predictor in events
   * @param events receives refused versions
   */
  static Predictor following(
      ServingConfig config,
      String job,
      String id,
      Consumer<TrainingEvent> events,
      ServedModel.Opening model) {
    Predictor predictor = new Predictor(config, job, id, events);
    predictor.start(model, model);
    return predictor;
  }

  /** Starts the thread of a predictor that holds a model. */
  static Predictor holding(
      ServingConfig config,
      String job,
      String id,
      Consumer<TrainingEvent> events,
      ServedModel.Opening model) {
    Predictor predictor = new Predictor(config, job, id, events);
    predictor.start(model);
    return predictor;
  }

  private void start(ServedModel.Opening... openings) {
    for (int i = 0; i < openings.length; i++) {
      parts.add(new Part(openings[i], i));
    }
    loading = parts.get(0);
    parts.forEach(Part::start);
  }

  /** Completes when the model is built; fails with the reason why it cannot be. */
  CompletableFuture<SampleFormat> opened() {
    return opened;
  }

  /** Completes when there are parameters to answer with. */
  CompletableFuture<Void> ready() {
    return ready;
  }

  boolean isReady() {
    return version() >= 0 && !closing;
  }

  /** Returns the version that answers now; -1 for none. */
  long version() {
    return served.version().lowest();
  }

  /** Returns the job's name, which is the model's name. */
  String job() {
    return job;
  }

  /** Returns the form of samples and outputs; only once {@link #opened} has completed. */
  SampleFormat format() {
    return opened.join();
  }

  ServingConfig config() {
    return config;
  }

  /** Passes a test of the evaluator to the guard. */
  void onTest(Evaluated test) {
    guard.onTest(test);
  }

  /** Returns a number that changes with every count. */
  long changes() {
    return counters.changes();
  }

  PredictorProgress progress() {
    Served now = served;
    return counters.progress(now.version().lowest(), ageMillis(now), queue.samples());
  }

  /** Counts a request that was refused before it reached this predictor. */
  Refusal refused(Refusal why) {
    counters.refused(why.code());
    return why;
  }

  /**
   * Predicts samples.
   *
   * @param inputs the samples' inputs, sample after sample
   * @param version the only version that may answer; empty for any
   * @param admitted whether they go on with a request that has been answered in part
   * @param answer called once, on this thread or one of this predictor, with the answer or with the
   *     reason why there is none
   */
  void predict(
      float[] inputs,
      OptionalLong version,
      boolean admitted,
      BiConsumer<PredictionAnswer, Refusal> answer) {
    int count = inputs.length / format().inputs();
    PredictionRequest request =
        new PredictionRequest(count, inputs, version, admitted, System.nanoTime(), answer);
    if (!isReady()) {
      request.fail(refused(notReady()));
    } else if (!queue.offer(request)) {
      request.fail(refused(closing ? notReady() : overloaded()));
    }
  }

  /**
   * Refuses a request before it is read, if it would have no place in the queue.
   *
   * @throws Refusal if the queue is full
   */
  void requireRoom() {
    if (queue.isFull()) {
      throw overloaded();
    }
  }

  /**
   * Begins a text, unless as many are continued as samples may wait. {@link #endText} ends it.
   *
   * @throws Refusal if there are too many
   */
  void beginText() {
    if (texts.incrementAndGet() > config.queue()) {
      texts.decrementAndGet();
      throw new Refusal(
          Code.OVERLOADED,
          "%s texts are continued already (serving.queue); try again later"
              .formatted(config.queue()));
    }
  }

  void endText() {
    texts.decrementAndGet();
  }

  private Refusal overloaded() {
    return new Refusal(
        Code.OVERLOADED,
        "%s samples wait already (serving.queue); try again later".formatted(config.queue()));
  }

  private Refusal notReady() {
    return new Refusal(
        Code.NOT_READY,
        closing
            ? "the predictor is being stopped"
            : "there are no parameters of job \"%s\" yet".formatted(job));
  }

  /** Refuses what waits, ends the threads and closes the models. Blocks. */
  void close() {
    closing = true;
    queue.close().forEach(request -> request.fail(notReady()));
    signal();
    parts.forEach(Part::wake);
    parts.forEach(Part::join);
  }

  private static long ageMillis(Served now) {
    return now.part() == null ? 0 : Math.max(0, System.currentTimeMillis() - now.loadedMillis());
  }

  private void signal() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits until something may have changed, for at most this time. */
  private void pause(long millis) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (!closing) {
        changed.await(millis, TimeUnit.MILLISECONDS);
      }
    } finally {
      lock.unlock();
    }
  }

  /** A thread and its set of parameters. */
  private final class Part implements Runnable {

    private final ServedModel.Opening opening;
    private final Thread thread;
    private volatile ServedModel model;

    /** What this part serves while it has the turn. */
    private Served own = Served.NONE;

    /** The last version whose outputs were not all finite; it is logged once. */
    private long warned = Long.MIN_VALUE;

    Part(ServedModel.Opening opening, int number) {
      this.opening = opening;
      this.thread = new Thread(this, "predictor %s of %s".formatted(number, job));
      thread.setDaemon(true);
      thread.setContextClassLoader(Predictor.class.getClassLoader());
    }

    void start() {
      thread.start();
    }

    void wake() {
      ServedModel known = model;
      if (known != null) {
        known.wake();
      }
    }

    void join() {
      try {
        thread.join(JOIN_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void run() {
      try (ServedModel open = opening.open()) {
        model = open;
        opened.complete(open.format());
        while (!closing) {
          work();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (Throwable e) {
        if (!opened.completeExceptionally(e)) {
          LOG.error("{} ended; it answers no more or loads nothing newer", thread.getName(), e);
        }
      }
    }

    private void work() throws InterruptedException {
      if (served.part() == this) {
        answer(queue.take(this));
      } else if (isLoading()) {
        load();
      } else {
        pause(config.refreshMillis());
      }
    }

    private boolean isLoading() {
      lock.lock();
      try {
        return loading == this;
      } finally {
        lock.unlock();
      }
    }

    /** Loads newer parameters, and takes over from the other part. */
    private void load() throws InterruptedException {
      awaitDue();
      long before = served.version().lowest();
      Optional<Version> loaded = model.load(before, () -> closing);
      boolean serves = loaded.isPresent() && guard.allows();
      boolean hasParameters = serves || before >= 0;
      long millis = Math.min(hasParameters ? Long.MAX_VALUE : LOOK_MILLIS, config.refreshMillis());
      dueNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
      if (serves) {
        takeOver(loaded.get());
      }
      model.done();
      if (!serves) {
        loaded.flatMap(refused -> guard.refusal(refused.lowest(), before)).ifPresent(events);
      }
    }

    private void takeOver(Version version) {
      own = new Served(this, version, model.loadedMillis());
      lock.lock();
      try {
        served = own;
        loading = parts.get((parts.indexOf(this) + 1) % parts.size());
        changed.signalAll();
      } finally {
        lock.unlock();
      }
      queue.turn(this);
      counters.swapped();
      ready.complete(null);
    }

    /** Waits until parameters are due, or the job has finished. */
    private void awaitDue() throws InterruptedException {
      for (long left = dueNanos - System.nanoTime(); left > 0 && !closing && !model.isAwaited(); ) {
        pause(Math.max(1, Math.min(LOOK_MILLIS, TimeUnit.NANOSECONDS.toMillis(left))));
        left = dueNanos - System.nanoTime();
      }
    }

    private void answer(List<PredictionRequest> batch) {
      if (batch.isEmpty()) {
        return;
      }
      try {
        computeWanted(batch);
      } finally {
        queue.done();
      }
    }

    private void computeWanted(List<PredictionRequest> batch) {
      List<PredictionRequest> wanted = new ArrayList<>(batch);
      wanted.removeIf(this::refuseOtherVersion);
      compute(wanted);
    }

    private boolean refuseOtherVersion(PredictionRequest request) {
      long version = own.version().lowest();
      if (request.version().isEmpty() || request.version().getAsLong() == version) {
        return false;
      }
      deliver(
          request,
          null,
          new Refusal(
              Code.UNKNOWN,
              "model \"%s\": version %s is not served, expected %s, or none"
                  .formatted(job, request.version().getAsLong(), version)));
      return true;
    }

    private void compute(List<PredictionRequest> batch) {
      int count = batch.stream().mapToInt(PredictionRequest::count).sum();
      if (count == 0) {
        return;
      }
      float[] outputs;
      try {
        outputs = outputs(count, inputs(batch, count));
      } catch (RuntimeException | Error e) {
        LOG.error("a forward pass failed", e);
        Refusal why = new Refusal(Code.FAILED, "the forward pass failed: " + e.getMessage());
        batch.forEach(request -> deliver(request, null, why));
        return;
      }
      int each = outputs.length / count;
      int first = 0;
      for (PredictionRequest request : batch) {
        float[] part =
            count == request.count()
                ? outputs
                : Arrays.copyOfRange(outputs, first * each, (first + request.count()) * each);
        first += request.count();
        Optional<Refusal> wrong = notFinite(part, each);
        if (wrong.isPresent()) {
          deliver(request, null, wrong.get());
          continue;
        }
        counters.answered(request.count(), System.nanoTime() - request.arrivedNanos());
        deliver(
            request,
            new PredictionAnswer(
                part, own.version().lowest(), own.version().highest(), ageMillis(own)),
            null);
      }
    }

    /** Returns why outputs are no answer: a number that is not finite has no class and no value. */
    private Optional<Refusal> notFinite(float[] outputs, int each) {
      for (int i = 0; i < outputs.length; i++) {
        if (!Float.isFinite(outputs[i])) {
          long version = own.version().lowest();
          String message =
              "output: sample %s has %s at %s, expected finite numbers: version %s of model \"%s\" has diverged, or the sample's inputs are too large"
                  .formatted(i / each, outputs[i], i % each, version, job);
          if (version != warned) {
            warned = version;
            LOG.warn("{}", message);
          }
          return Optional.of(new Refusal(Code.FAILED, message));
        }
      }
      return Optional.empty();
    }

    private void deliver(PredictionRequest request, PredictionAnswer answer, Refusal why) {
      try {
        request.answer().accept(answer, why);
      } catch (RuntimeException e) {
        LOG.error("an answer could not be delivered", e);
      }
    }

    private float[] inputs(List<PredictionRequest> batch, int count) {
      if (batch.size() == 1) {
        return batch.get(0).inputs();
      }
      float[] inputs = new float[count * model.format().inputs()];
      int at = 0;
      for (PredictionRequest request : batch) {
        System.arraycopy(request.inputs(), 0, inputs, at, request.inputs().length);
        at += request.inputs().length;
      }
      return inputs;
    }

    /**
     * Computes a request of more than {@code maxBatch} samples in several passes, and small ones
     * that wait in between.
     */
    private float[] outputs(int count, float[] inputs) {
      int most = config.maxBatch();
      if (count <= most) {
        counters.passed();
        return model.outputs(count, inputs);
      }
      int size = model.format().inputs();
      int each = model.format().outputs();
      float[] outputs = new float[count * each];
      for (int first = 0; first < count; first += most) {
        if (first > 0) {
          computeWanted(queue.takeSmall());
        }
        int some = Math.min(most, count - first);
        counters.passed();
        float[] part =
            model.outputs(some, Arrays.copyOfRange(inputs, first * size, (first + some) * size));
        System.arraycopy(part, 0, outputs, first * each, part.length);
      }
      return outputs;
    }
  }
}
