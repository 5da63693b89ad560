package io.vertigrad.internal.evaluation;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.ParameterReader.ParameterHash;
import io.vertigrad.internal.timeline.SpanRecorder;
import java.util.function.IntConsumer;
import java.util.function.LongFunction;

/**
 * Scores a model on a test set or a part of it. The part is either the same throughout a run, or
 * the first samples of the test set in a new order for each version.
 *
 * <p>Belongs to the model's thread.
 */
public final class Evaluation {

  private static final int BATCH = 128;

  private final Model model;
  private final String name;
  private final LongFunction<SequentialBatches> part;
  private final SequentialBatches whole;
  private final SpanRecorder timeline;
  private final int topK;
  private final IntConsumer onSamples;

  /**
   * Creates an evaluation that records each test on a timeline.
   *
   * @param name the model's name in the job file
   * @param samples number of samples of the shuffled test set in the part; all if it has fewer
   * @param seed seed of the shuffle
   * @param topK number of the most probable classes for the top-K count; 0 for no such count
   * @param reshuffle true to shuffle for each version
   * @param onSamples receives the number of samples of each tested batch
   */
  public Evaluation(
      Model model,
      String name,
      Dataset test,
      int samples,
      long seed,
      int topK,
      boolean reshuffle,
      IntConsumer onSamples,
      SpanRecorder timeline) {
    this.model = model;
    this.name = name;
    this.timeline = timeline;
    this.topK = topK;
    this.onSamples = onSamples;
    SequentialBatches same = SequentialBatches.subset(test, BATCH, samples, seed);
    this.part =
        reshuffle
            ? version -> SequentialBatches.subset(test, BATCH, samples, seed, version)
            : v -> same;
    this.whole = SequentialBatches.all(test, BATCH);
  }

  /** Returns the number of most probable classes for the top-K count; 0 for no such count. */
  int topK() {
    return topK;
  }

  /** Tests the parameters that the model holds, as version 0. */
  Evaluated initial() {
    return Evaluated.of(0, part(0), topK, false, ParameterHash.of(model));
  }

  /** Scores the model on this version's part of the test set. */
  public Score part(long version) {
    return score(part.apply(version));
  }

  /** Scores the model on the whole test set. */
  public Score whole() {
    return score(whole);
  }

  private Score score(SequentialBatches batches) {
    long begun = timeline.now();
    Score score = Score.NONE;
    for (Batch batch : batches) {
      try {
        score = score.plus(model.score(batch, topK));
      } catch (RuntimeException | Error thrown) {
        throw JobModel.failure(name, "a test", thrown);
      }
      onSamples.accept(batch.count());
    }
    timeline.span(batches == whole ? "test all" : "test", begun, timeline.now(), -1);
    return score;
  }
}
