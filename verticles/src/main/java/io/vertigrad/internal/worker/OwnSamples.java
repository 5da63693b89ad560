package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.BatchConfig;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.compute.data.DataPartition;
import io.vertigrad.compute.data.DataSubset;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.PrefetchingBatchSource;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.data.ShuffledSampler;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.internal.worker.BatchGradients.BatchOpener;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.function.ObjDoubleConsumer;
import java.util.stream.IntStream;

/**
 * The samples of a worker that shares an epoch with nobody: its rank's part of the data set, or all
 * that its node has. Where the job has tests, the parameters that the worker receives are tested on
 * these, too. Belongs to the model's thread.
 */
final class OwnSamples implements BatchOpener {

  private final JobConfig job;
  private final Dataset data;
  private final Model model;
  private final EvaluationPlan tests;
  private final EventPublisher events;
  private final ObjDoubleConsumer<String> scalars;
  private final Optional<List<int[]>> parts;

  /**
   * Divides the data, if the job has a partition.
   *
   * @param data all samples of this node
   * @param tests versions at which the model is tested
   * @param scalars receives the results of the tests
   * @throws io.vertigrad.compute.data.DataException if the data cannot be divided so
   * @throws IllegalArgumentException if a worker's samples are fewer than one batch, and such a
   *     batch is left out
   */
  OwnSamples(
      JobConfig job,
      Dataset data,
      Model model,
      EvaluationPlan tests,
      EventPublisher events,
      ObjDoubleConsumer<String> scalars) {
    this.job = job;
    this.data = data;
    this.model = model;
    this.tests = tests;
    this.events = events;
    this.scalars = scalars;
    int workers = job.workers().count();
    parts = job.workers().partition().map(how -> how.divide(data, workers, job.seed()));
    for (int rank = 0; rank < parts.map(List::size).orElse(1); rank++) {
      try {
        job.workers().requireBatch(size(rank), 1);
      } catch (IllegalArgumentException none) {
        String whose = parts.isPresent() ? "worker " + rank : "the worker of this node";
        throw new IllegalArgumentException(whose + ": " + none.getMessage(), none);
      }
    }
  }

  /** Returns the samples of the worker with this rank. */
  Dataset of(int rank) {
    return parts.<Dataset>map(all -> new DataSubset(data, all.get(rank))).orElse(data);
  }

  /** Returns the number of samples of that worker. */
  int size(int rank) {
    return parts.map(all -> all.get(rank).length).orElseGet(data::size);
  }

  @Override
  public BatchSource open(int rank, long firstBatch) {
    Thread.currentThread().setName("worker %s of %s".formatted(rank, job.addresses().job()));
    Dataset own = of(rank);
    return PrefetchingBatchSource.start(
        "worker " + rank,
        own,
        new ShuffledSampler(own.size(), rank, job.seed()),
        BatchConfig.of(job.workers().batch(), job.workers().dropLast(), job.seed() + rank),
        Augmentations.of(job.data(), own),
        firstBatch);
  }

  @Override
  public LongConsumer begin(int rank) {
    Dataset own = of(rank);
    events.publish(
        new SamplesCounted(
            System.currentTimeMillis(),
            rank,
            own.size(),
            DataPartition.countsOfClasses(own)
                .filter(counts -> counts.length <= SamplesCounted.MOST_LABELS)
                .map(counts -> IntStream.of(counts).boxed().toList())
                .orElse(List.of())));
    if (job.evaluator().count() == 0) {
      return BatchOpener.super.begin(rank);
    }
    SequentialBatches some =
        SequentialBatches.subset(
            own, job.workers().batch(), job.evaluator().samples(), job.seed(), rank);
    long[] due = {tests.next(0)};
    return version -> {
      if (version >= due[0]) {
        due[0] = tests.next(version);
        test(some);
      }
    };
  }

  private void test(SequentialBatches samples) {
    Score score = Score.NONE;
    for (Batch batch : samples) {
      score = score.plus(model.score(batch, 0));
    }
    Metric metric = score.metric();
    scalars.accept(SamplesCounted.LOSS, score.loss());
    scalars.accept(
        metric == Metric.ACCURACY ? SamplesCounted.ACCURACY : "own." + metric.key(),
        score.metricValue());
  }
}
