package io.vertigrad.benchmarks.scaling;

import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.Augmentation;
import io.vertigrad.compute.data.BatchConfig;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.PrefetchingBatchSource;
import io.vertigrad.compute.data.ShuffledSampler;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.TreeMap;

/**
 * Trains with a single worker: batch, gradient, optimizer step, with Vertigrad's model, data and
 * optimizer and without any exchange.
 */
final class LocalLoop {

  private final JobConfig job;
  private final Model model;
  private final BatchSource batches;
  private final float[] parameters;
  private final float[] gradient;
  private final UpdateRule rule;
  private long updates;

  private LocalLoop(JobConfig job) {
    this.job = job;
    Dataset data = DatasetProvider.open(job.data(), Split.TRAIN, getClass().getClassLoader());
    Engine engine = Engine.named(job.engine());
    this.model =
        engine.model(
            new ModelConfig(
                job.model().name(),
                options(job),
                data.shape(),
                data.classes(),
                job.seed(),
                job.workers().threads()));
    this.batches =
        PrefetchingBatchSource.start(
            "the local loop",
            data,
            new ShuffledSampler(data.size(), 0, job.seed()),
            BatchConfig.of(job.workers().batch(), job.workers().dropLast(), job.seed()),
            Augmentation.none());
    this.gradient = new float[model.layout().trainable()];
    this.parameters = new float[gradient.length];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    this.rule = engine.updateRule(job.optimizer(), gradient.length);
  }

  public static void main(String[] arguments) throws IOException {
    LocalLoop[] loop = new LocalLoop[1];
    ChildLoop.run(
        question -> {
          if (loop[0] == null) {
            loop[0] = new LocalLoop(JobConfig.read("benchmark", question.getJsonObject("job")));
          }
          return loop[0].measure(question.getInteger("steps"));
        });
  }

  private static Map<String, Object> options(JobConfig job) {
    Map<String, Object> options = new TreeMap<>(job.model().settings().toJson().getMap());
    options.remove("name");
    return options;
  }

  private JsonObject measure(int steps) {
    long samples = 0;
    long start = System.nanoTime();
    for (int step = 0; step < steps; step++) {
      samples += step();
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    return new JsonObject().put("samplesPerSecond", samples / seconds);
  }

  private int step() {
    var batch = batches.next();
    model.gradient(batch);
    model.readGradient(0, FloatBuffer.wrap(gradient));
    rule.toStep(gradient, job.optimizer().learningRate(), updates++);
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] -= gradient[i];
    }
    model.writeParameters(0, FloatBuffer.wrap(parameters));
    return batch.count();
  }
}
