package io.vertigrad.internal.evaluation;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.ParameterHash;
import io.vertigrad.internal.timeline.SpanRecorder;
import java.util.function.IntConsumer;
import java.util.function.LongFunction;

/**
 * Scores a model on a test set, or on a part of it: one that stays the same throughout a run, or
 * the first of the test set shuffled anew for each version.
 *
 * <p>Belongs to the model's thread.
 */
public final class Evaluation {

  private static final int BATCH = 128;

  private final Model model;
  private final LongFunction<SequentialBatches> part;
  private final SequentialBatches whole;
  private final SpanRecorder track;
  private final int topK;
  private final IntConsumer through;

  /**
   * @param samples how many samples of the shuffled test set make the part; all when it has fewer
   * @param seed of the shuffle
   */
  public Evaluation(Model model, Dataset test, int samples, long seed) {
    this(model, test, samples, seed, 0, false, count -> {}, SpanRecorder.OFF);
  }

  /**
   * The same, noting each test on a track.
   *
   * @param topK how many of the most probable classes count beside the first; 0 to count none
   * @param anew true to shuffle for each version
   * @param through is told how many samples went through, batch by batch
   */
  Evaluation(
      Model model,
      Dataset test,
      int samples,
      long seed,
      int topK,
      boolean anew,
      IntConsumer through,
      SpanRecorder track) {
    this.model = model;
    this.track = track;
    this.topK = topK;
    this.through = through;
    SequentialBatches same = SequentialBatches.subset(test, BATCH, samples, seed);
    this.part =
        anew ? version -> SequentialBatches.subset(test, BATCH, samples, seed, version) : v -> same;
    this.whole = SequentialBatches.all(test, BATCH);
  }

  /** How many of the most probable classes count; 0 for no such count. */
  int topK() {
    return topK;
  }

  /** Tests the parameters that the model holds as version 0. */
  Evaluated initial() {
    return Evaluated.of(0, part(0), topK, false, ParameterHash.of(model));
  }

  /** Scores on the part that is for this version. */
  public Score part(long version) {
    return score(part.apply(version));
  }

  /** Scores on the whole test set. */
  public Score whole() {
    return score(whole);
  }

  private Score score(SequentialBatches batches) {
    long begun = track.now();
    Score score = Score.NONE;
    for (Batch batch : batches) {
      score = score.plus(model.score(batch, topK));
      through.accept(batch.count());
    }
    track.span(batches == whole ? "test all" : "test", begun, track.now(), -1);
    return score;
  }
}
