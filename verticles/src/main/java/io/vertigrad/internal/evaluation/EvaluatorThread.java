package io.vertigrad.internal.evaluation;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.peer.ModelReader;
import io.vertigrad.internal.pipeline.AssembledStages;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.Set;
import java.util.function.Consumer;

/** The thread that builds an evaluator's model, scores with it and closes it. */
final class EvaluatorThread {

  private final Vertx vertx;
  private final JobConfig job;
  private final EvaluatorMember member;
  private final Consumer<TrainingEvent> events;
  private final ClassLoader loader = EvaluatorThread.class.getClassLoader();
  private final Promise<Void> ended = Promise.promise();

  EvaluatorThread(
      Vertx vertx, JobConfig job, EvaluatorMember member, Consumer<TrainingEvent> events) {
    this.vertx = vertx;
    this.job = job;
    this.member = member;
    this.events = events;
  }

  /** Starts the thread. The future completes on that thread after it was told to stop. */
  Future<Void> start() {
    Thread thread = new Thread(this::run, "evaluator of " + job.addresses().job());
    thread.setDaemon(true);
    thread.setPriority(Thread.MIN_PRIORITY);
    thread.setContextClassLoader(loader);
    thread.start();
    return ended.future();
  }

  private void publish(Evaluated tested) {
    member.timeline().publish();
    events.accept(tested);
  }

  private void run() {
    try {
      evaluate();
      ended.complete();
    } catch (Throwable e) {
      ended.fail(e);
    }
  }

  private void evaluate() throws InterruptedException {
    StrategyTraits traits = StrategyProviders.configure(job.strategy(), loader).traits();
    EvaluationPlan plan = EvaluationPlan.of(job, traits);
    EvaluatorStatus status = plan.blocking() ? member.status() : EvaluatorStatus.OFF;
    Dataset test = DatasetProvider.open(job.data(), Split.TEST, loader);
    if (test.size() == 0) {
      throw job.settings()
          .refuse(
              "evaluator.count",
              "is %s, but the data set '%s' has no test set, expected 0: its samples are tested while they are trained on"
                  .formatted(job.evaluator().count(), job.data().name()));
    }
    member.show(job.fingerprints(Set.of(Split.TEST), loader));
    ModelConfig config = job.modelOn(test).on(job.workers().device());
    try (Model model = JobModel.of(job, job.data().fitted(test.fitted()), config)) {
      Evaluation evaluation =
          new Evaluation(
              model,
              config.name(),
              test,
              job.evaluator().samples(),
              job.seed(),
              job.evaluator().topK(),
              plan.blocking(),
              status::tested,
              member.timeline().track());
      ModelReader reader =
          AssembledStages.reader(
              PartitionClient.of(vertx, job.addresses(), job.exchange(), System::nanoTime),
              job,
              traits,
              config,
              model,
              events,
              () -> evaluation.part(0));
      EvaluationLoop loop =
          new EvaluationLoop(
              reader.source(), evaluation, plan, status, this::publish, reader.wake());
      if (member.join(model.layout(), reader.membership(), loop)) {
        loop.run();
      }
    }
  }
}
