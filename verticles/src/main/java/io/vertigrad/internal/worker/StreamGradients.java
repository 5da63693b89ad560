package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.StreamBatches;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.DataAwaited;
import io.vertigrad.events.TrainingEvent.DataWarning;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.BatchGradients.BatchNumber;
import io.vertigrad.internal.worker.ParameterExchange.Overlap;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;

/**
 * Computes the gradients of a whole model from a stream: each batch is tested before it is trained
 * on. While the stream is silent the worker takes no step.
 */
final class StreamGradients implements GradientSource {

  private static final long WAIT_MILLIS = 50;
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Model model;
  private final int outputs;
  private final Incarnation self;
  private final LongFunction<StreamBatches> opener;
  private final LongFunction<Optional<StreamTests>> recorded;
  private final BatchNumber batchNumber;
  private final LongSupplier nanoClock;
  private final SpanRecorder timeline;
  private final Consumer<TrainingEvent> publisher;
  private volatile StreamBatches batches;
  private long next;
  private boolean empty;
  private boolean silenceReported;
  private long silentSinceNanos;
  private long waitedNanos;
  private volatile boolean awaiting;
  private volatile StreamTests lastTests;

  /**
   * Creates the gradient source of one incarnation.
   *
   * @param outputs number of outputs of the model
   * @param opener opens this rank's batches from a step on
   * @param recorded returns the tests before a step that earlier incarnations have recorded
   * @param publisher receives what the user must know about the stream
   */
  StreamGradients(
      Model model,
      int outputs,
      Incarnation self,
      LongFunction<StreamBatches> opener,
      LongFunction<Optional<StreamTests>> recorded,
      BatchNumber batchNumber,
      LongSupplier nanoClock,
      SpanRecorder timeline,
      Consumer<TrainingEvent> publisher) {
    this.model = model;
    this.outputs = outputs;
    this.self = self;
    this.opener = opener;
    this.recorded = recorded;
    this.batchNumber = batchNumber;
    this.nanoClock = nanoClock;
    this.timeline = timeline;
    this.publisher = publisher;
  }

  @Override
  public boolean await(long version, long step, boolean required) {
    open(number(version, step));
    empty = false;
    long start = nanoClock.getAsLong();
    boolean ready = batches.await(awaiting || required ? WAIT_MILLIS : 1);
    warn();
    if (ready) {
      awaiting = false;
      silenceReported = false;
      waitedNanos += nanoClock.getAsLong() - start;
      return true;
    }
    if (!awaiting) {
      awaiting = true;
      silentSinceNanos = start;
    }
    waitedNanos += nanoClock.getAsLong() - start;
    if (!silenceReported
        && !batches.ended()
        && nanoClock.getAsLong() - silentSinceNanos > SILENCE_NANOS) {
      silenceReported = true;
      publisher.accept(
          new DataAwaited(System.currentTimeMillis(), self.identity().rank(), batches.source()));
    }
    empty = required;
    return required;
  }

  @Override
  public Computed compute(long version, long step, Optional<Overlap> overlap) {
    if (empty) {
      batches.skip();
      next++;
      return nothing();
    }
    Batch batch = batches.take();
    next = number(version, step) + 1;
    if (batch.count() == 0) {
      batches.tested(new float[0]);
      return nothing();
    }
    long begun = nanoClock.getAsLong();
    double loss =
        overlap.isPresent() ? testedGradient(batch, overlap.get()) : testedGradient(batch);
    long computed = nanoClock.getAsLong();
    timeline.span("compute", begun, computed, step);
    long waited = waitedNanos;
    waitedNanos = 0;
    return new Computed(
        0,
        batch.count(),
        batch.count(),
        loss,
        GradientSource.share(model.correct(), model.answers()),
        waited,
        computed - begun,
        0);
  }

  private void warn() {
    for (String message : batches.warnings()) {
      publisher.accept(
          new DataWarning(System.currentTimeMillis(), self.identity().rank(), message));
    }
  }

  /** Computes the gradient of no samples, which changes nothing. */
  private Computed nothing() {
    model.gradient(new Batch(0, new float[0], new int[0], new float[0], List.of(), 0));
    return new Computed(0, 1, 0, 0, -1, 0, 0, 0);
  }

  /** Tests the model on the batch before its gradient is sent, which is while it is computed. */
  private double testedGradient(Batch batch, Overlap overlap) {
    batches.tested(model.probabilities(batch, outputs));
    overlap.begin(batch.count());
    return model.gradient(batch, overlap);
  }

  /** Tests the model by the forward pass of the gradient, if that is as good as another one. */
  private double testedGradient(Batch batch) {
    double loss = model.gradient(batch);
    batches.tested(model.gradientOutputs().orElseGet(() -> model.probabilities(batch, outputs)));
    return loss;
  }

  @Override
  public void answered(boolean applied) {
    if (!empty) {
      batches.answered(applied);
    }
  }

  /** Reads the tests of earlier incarnations if this one has opened no batch. */
  @Override
  public void ended(long version, long step) {
    if (batches == null && lastTests == null) {
      lastTests = recorded.apply(number(version, step)).orElse(StreamTests.NONE);
    }
  }

  @Override
  public boolean awaitsData() {
    return awaiting;
  }

  @Override
  public List<TrainingEvent> events() {
    StreamBatches open = batches;
    StreamTests newest = open == null ? lastTests : open.tests();
    return newest == null || newest == StreamTests.NONE
        ? List.of()
        : List.of(
            new StreamTested(
                System.currentTimeMillis(),
                self.identity().rank(),
                self.identity().incarnation(),
                newest));
  }

  @Override
  public void close() {
    if (batches != null) {
      lastTests = batches.tests();
      batches.close();
      batches = null;
    }
  }

  private long number(long version, long step) {
    return batchNumber == BatchNumber.VERSION ? version : step;
  }

  private void open(long step) {
    if (batches == null || next != step) {
      close();
      batches = opener.apply(step);
      next = step;
    }
  }
}
