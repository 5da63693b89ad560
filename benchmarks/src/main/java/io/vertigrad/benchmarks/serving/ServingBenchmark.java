package io.vertigrad.benchmarks.serving;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.JobConfig;
import io.vertigrad.serving.Predictions;
import io.vertigrad.serving.Predictors;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Measures predictors in one JVM, together with the clients that ask them: the latency of single
 * samples while two workers train, predictions per second of 16 clients beside the same model in a
 * bare loop, and what is left of them when ten times as many are asked for.
 */
public final class ServingBenchmark implements Benchmark {

  private static final int INPUTS = 784;
  private static final int PICTURE = 3 * 32 * 32;
  private static final int CLASSES = 10;
  private static final int CLIENTS = 16;
  private static final int REPETITIONS = 5;
  private static final double MILLIS = 1e6;
  private static final List<String> CASES = List.of("while training", "16 clients", "overload");

  private final String only;

  /** Creates the benchmark with the cases whose name contains a text. */
  public ServingBenchmark(String only) {
    this.only = only;
  }

  @Override
  public String name() {
    return "serving";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<String> chosen = Cases.named(only, CASES, name -> name);
    Path folder = Files.createTempDirectory("vertigrad-serving");
    if (chosen.contains("while training")) {
      whileTraining(report, 1, quick);
      whileTraining(report, 0, quick);
    }
    if (chosen.contains("16 clients")) {
      clients(report, folder, quick);
    }
    if (chosen.contains("overload")) {
      overload(report, folder, quick);
    }
    report.remark("One JVM holds the predictor, its clients and the workers.");
  }

  private static JsonObject job(String model, long steps) {
    return new JsonObject()
        .put("job", "served")
        .put("steps", steps)
        .put("data", new JsonObject().put("name", "digits"))
        .put("model", new JsonObject().put("name", model))
        .put("workers", new JsonObject().put("count", 2).put("batch", 64))
        .put("dashboard", new JsonObject().put("enabled", false));
  }

  private static void whileTraining(BenchmarkReport report, int evaluators, boolean quick)
      throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      JsonObject json = job("mlp", 10_000_000);
      json.put("evaluator", new JsonObject().put("count", evaluators));
      JobConfig job = JobConfig.read("benchmark", json);
      RunningJob running = get(TrainingJob.of(job).deploy(vertx));
      get(Predictors.deploy(vertx, running.config()));
      Predictions predictions = Predictions.of(vertx, "served");
      float[] sample = new float[INPUTS];
      awaitAnswer(() -> predictions.predict(sample));
      JsonArray values = new JsonArray();
      for (int i = 0; i < INPUTS; i++) {
        values.add(0.5);
      }
      JsonObject question = new JsonObject().put("sample", values);
      String meanwhile =
          evaluators == 0 ? ", two workers train" : ", two workers and an evaluator train";
      latencies(report, quick, "frame" + meanwhile, () -> predictions.predict(sample));
      latencies(
          report,
          quick,
          "JSON" + meanwhile,
          () -> vertx.eventBus().request("vertigrad.served.predict", question));
      get(running.stop());
    } finally {
      get(vertx.close());
    }
  }

  /** One client asks one question after the other, a hundred a second. */
  private static void latencies(
      BenchmarkReport report, boolean quick, String name, Supplier<Future<?>> question)
      throws Exception {
    double[] p50 = new double[quick ? 2 : REPETITIONS];
    double[] p99 = new double[p50.length];
    for (int i = -1; i < p50.length; i++) {
      double[] millis = new double[quick ? 100 : 200];
      for (int k = 0; k < millis.length; k++) {
        long begun = System.nanoTime();
        // As a verticle sees it: until the handler of the answer runs.
        long end = get(question.get().map(answer -> System.nanoTime()));
        millis[k] = (end - begun) / MILLIS;
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
      Arrays.sort(millis);
      if (i >= 0) {
        p50[i] = millis[millis.length / 2];
        p99[i] = millis[millis.length * 99 / 100];
      }
    }
    report.add(BenchmarkRow.of(name + ", p50", "ms", new Repetitions(p50)).withAim("1 ms"));
    report.add(BenchmarkRow.of(name + ", p99", "ms", new Repetitions(p99)).withAim("8 ms"));
  }

  private static void clients(BenchmarkReport report, Path folder, boolean quick) throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      Path file = trained(vertx, folder, job("mlp", 20));
      double[] one = new double[quick ? 2 : REPETITIONS];
      double[] sixteen = new double[one.length];
      double[] bus = new double[one.length];
      double[] http = new double[one.length];
      double seconds = quick ? 1 : 2;
      JsonObject json = job("mlp", 10);
      json.put("serving", new JsonObject().put("file", file.toString()).put("port", 0));
      Predictors predictors = get(Predictors.deploy(vertx, JobConfig.read("benchmark", json)));
      URI url = URI.create(predictors.url().orElseThrow() + "/infer");
      Predictions predictions = Predictions.of(vertx, "served");
      float[] sample = new float[INPUTS];
      HttpClient client =
          vertx.createHttpClient(
              new HttpClientOptions(), new PoolOptions().setHttp1MaxSize(CLIENTS));
      Buffer body = binaryRequest();
      JobConfig job = JobConfig.read("benchmark", json);
      ModelConfig config =
          job.modelOn(
              DatasetProvider.open(
                  job.data(), Split.TEST, ServingBenchmark.class.getClassLoader()));
      try (Model model = Engine.named(job.engine()).model(config)) {
        for (int i = -1; i < one.length; i++) {
          double bare = bare(model, 1, seconds);
          double batched = bare(model, CLIENTS, seconds);
          double overBus = closedLoop(seconds, () -> predictions.predict(sample));
          double overHttp = closedLoop(seconds, () -> ask(client, url, body));
          if (i >= 0) {
            one[i] = bare;
            sixteen[i] = batched;
            bus[i] = overBus;
            http[i] = overHttp;
          }
        }
      }
      BenchmarkRow limit =
          BenchmarkRow.of("bare loop, one sample each", "1/s", new Repetitions(one));
      report.add(limit);
      report.add(
          BenchmarkRow.of("bus, frame, 16 clients", "1/s", new Repetitions(bus))
              .over(limit)
              .withAim("0.5"));
      report.add(
          BenchmarkRow.of("HTTP, binary, 16 clients", "1/s", new Repetitions(http))
              .over(limit)
              .withAim("0.5"));
      report.add(
          BenchmarkRow.of("bare loop, 16 samples each", "1/s", new Repetitions(sixteen))
              .over(limit));
    } finally {
      get(vertx.close());
    }
  }

  /**
   * Sends ten times as many requests as it can answer, to a model that takes long: so the senders,
   * in the same JVM, are not what is overloaded.
   */
  private static void overload(BenchmarkReport report, Path folder, boolean quick)
      throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      JsonObject json = job("resnet20", 1);
      json.put("data", new JsonObject().put("name", "shapes").put("train", 64).put("test", 64));
      json.getJsonObject("workers").put("batch", 8);
      Path file = trained(vertx, folder, json);
      json.put("serving", new JsonObject().put("file", file.toString()));
      get(Predictors.deploy(vertx, JobConfig.read("benchmark", json)));
      Predictions predictions = Predictions.of(vertx, "served");
      float[] sample = new float[PICTURE];
      double seconds = quick ? 3 : 5;
      closedLoop(seconds, () -> predictions.predict(sample));
      ConcurrentLinkedQueue<Double> normal = new ConcurrentLinkedQueue<>();
      double capacity =
          closedLoop(seconds, () -> timed(predictions, sample, normal, new AtomicLong()));
      ConcurrentLinkedQueue<Double> loaded = new ConcurrentLinkedQueue<>();
      AtomicLong refused = new AtomicLong();
      AtomicLong ended = new AtomicLong();
      long heapBefore = heap();
      long begun = System.nanoTime();
      long end = begun + TimeUnit.SECONDS.toNanos(quick ? 5 : 30);
      long sent = 0;
      while (System.nanoTime() < end) {
        double due = (System.nanoTime() - begun) / 1e9 * 10 * capacity;
        for (; sent < due; sent++) {
          timed(predictions, sample, loaded, refused).onComplete(any -> ended.incrementAndGet());
        }
        LockSupport.parkNanos(200_000);
      }
      long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (ended.get() < sent && System.nanoTime() < limit) {
        LockSupport.parkNanos(1_000_000);
      }
      long heapAfter = heap();
      if (ended.get() != sent) {
        report.fail("%s of %s requests had no answer".formatted(sent - ended.get(), sent));
      }
      BenchmarkRow usual =
          BenchmarkRow.of("16 clients, p99", "ms", new Repetitions(new double[] {p99(normal)}));
      report.add(usual);
      report.add(
          BenchmarkRow.of(
                  "ten times as many, p99 of the answered",
                  "ms",
                  new Repetitions(new double[] {p99(loaded)}))
              .over(usual)
              .withAim("5"));
      report.remark(
          "Overload: %s requests, %s answered, %s refused, %s without either; heap in use %s MB before, %s MB after."
              .formatted(
                  sent,
                  loaded.size(),
                  refused.get(),
                  sent - ended.get(),
                  heapBefore >> 20,
                  heapAfter >> 20));
    } finally {
      get(vertx.close());
    }
  }

  private static Future<?> timed(
      Predictions predictions,
      float[] sample,
      ConcurrentLinkedQueue<Double> latencies,
      AtomicLong refused) {
    long begun = System.nanoTime();
    return predictions
        .predict(sample)
        .onSuccess(found -> latencies.add((System.nanoTime() - begun) / MILLIS))
        .onFailure(
            why -> {
              if (why instanceof ReplyException reply
                  && reply.failureCode() == Predictions.OVERLOADED) {
                refused.incrementAndGet();
              }
            });
  }

  private static double p99(ConcurrentLinkedQueue<Double> latencies) {
    double[] sorted = latencies.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return sorted.length == 0 ? Double.NaN : sorted[sorted.length * 99 / 100];
  }

  private static long heap() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** Trains a model for a few steps, and returns its file. */
  private static Path trained(Vertx vertx, Path folder, JsonObject job) throws Exception {
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    get(running.result());
    Path file = folder.resolve(job.getJsonObject("model").getString("name") + ".zip");
    get(running.saveModel(file));
    return file;
  }

  private static double bare(Model model, int count, double seconds) {
    Batch batch =
        new Batch(
            count, new float[count * INPUTS], new int[count], new float[0], List.of(1, 28, 28), 0);
    long begun = System.nanoTime();
    long passes = 0;
    while (System.nanoTime() - begun < seconds * 1e9) {
      model.probabilities(batch, CLASSES);
      passes++;
    }
    return passes * count / ((System.nanoTime() - begun) / 1e9);
  }

  /** Each of 16 clients asks again as soon as it is answered; returns answers per second. */
  private static double closedLoop(double seconds, Supplier<Future<?>> question) throws Exception {
    AtomicLong answers = new AtomicLong();
    long begun = System.nanoTime();
    long end = begun + (long) (seconds * 1e9);
    List<Future<Void>> clients = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      Promise<Void> ended = Promise.promise();
      clients.add(ended.future());
      again(question, answers, end, ended);
    }
    get(Future.all(clients));
    return answers.get() / ((System.nanoTime() - begun) / 1e9);
  }

  private static void again(
      Supplier<Future<?>> question, AtomicLong answers, long end, Promise<Void> ended) {
    question
        .get()
        .onFailure(ended::tryFail)
        .onSuccess(
            answer -> {
              answers.incrementAndGet();
              if (System.nanoTime() < end) {
                again(question, answers, end, ended);
              } else {
                ended.tryComplete();
              }
            });
  }

  private static Buffer binaryRequest() {
    JsonObject tensor =
        new JsonObject()
            .put("name", "input")
            .put("datatype", "FP32")
            .put("shape", JsonArray.of(1, 1, 28, 28))
            .put("parameters", new JsonObject().put("binary_data_size", INPUTS * Float.BYTES));
    return new JsonObject()
        .put("parameters", new JsonObject().put("binary_data_output", true))
        .put("inputs", JsonArray.of(tensor))
        .toBuffer();
  }

  private static Future<?> ask(HttpClient client, URI url, Buffer head) {
    Buffer body = Buffer.buffer().appendBuffer(head).appendBytes(new byte[INPUTS * Float.BYTES]);
    return client
        .request(HttpMethod.POST, url.getPort(), url.getHost(), url.getPath())
        .compose(
            request -> {
              request.putHeader("Inference-Header-Content-Length", Integer.toString(head.length()));
              // Nested: a body that is asked for after it has arrived never comes.
              return request
                  .send(body)
                  .compose(
                      response ->
                          response.statusCode() == 200
                              ? response.body()
                              : Future.failedFuture("status " + response.statusCode()));
            });
  }

  private static void awaitAnswer(Supplier<Future<?>> question) throws Exception {
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (true) {
      try {
        get(question.get());
        return;
      } catch (Exception notYet) {
        if (System.nanoTime() > limit) {
          throw notYet;
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      }
    }
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(120, TimeUnit.SECONDS);
  }
}
