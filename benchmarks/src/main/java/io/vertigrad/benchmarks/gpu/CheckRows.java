package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.gpu.CheckRow.Figure;
import io.vertigrad.benchmarks.gpu.CheckRow.Group;
import io.vertigrad.benchmarks.gpu.CheckRow.Measurement;
import io.vertigrad.benchmarks.gpu.CheckRow.Unit;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The list of all rows. */
final class CheckRows {

  /** Turns the tensor cores' short floating-point numbers off. */
  private static final Map<String, String> NO_TF32 = Map.of("NVIDIA_TF32_OVERRIDE", "0");

  private static final List<String> CUDA_CALLS =
      List.of("toDevice", "toHost", "onDevice", "synchronise", "launch", "memset");

  /** The tests of the engine that compute on a GPU where there is one. */
  private static final List<String> TESTS =
      List.of("GpuTest", "GpuTransfersTest", "TransfersTest", "TensorRuleTest", "TensorLossesTest");

  /** Models whose rows have the highest throughput never reach this step. */
  private static final int ENDLESS = 100_000_000;

  private static final int SECONDS_TO_START = 60;
  private static final int MOST_CONTEXT_MEBIBYTES = 1_000;

  private final GpuCheckOptions options;
  private final Peers peers;
  private final List<CheckRow> rows = new ArrayList<>();

  private CheckRows(GpuCheckOptions options, Peers peers) {
    this.options = options;
    this.peers = peers;
  }

  /** Returns all rows, in the order in which they are measured. */
  static List<CheckRow> all(GpuCheckOptions options, Peers peers) {
    CheckRows list = new CheckRows(options, peers);
    list.addCorrectness();
    list.addSteps();
    list.addJobs();
    list.addFaults();
    list.addMemory();
    return List.copyOf(list.rows);
  }

  private void addCorrectness() {
    addGradients(new CheckedModel("convnet", 0, 32), 5e-6, 2e-4);
    addGradients(new CheckedModel("mlp", 0, 32), 5e-6, 2e-4);
    addGradients(new CheckedModel("resnet20", 0, quick(32, 4)), 2e-3, 1e-1);
    addGradients(new CheckedModel(transformer().toString(), 0, quick(32, 4)), 1e-3, 2e-2);
    addTests();
    addAccuracy("digits-sync", Optional.empty(), 0.5);
    addAccuracy("mnist-sync", missingData("mnist"), 0.5);
    addAccuracy("mnist-ddp", missingData("mnist"), 0.5);
    addAccuracy("mnist-ring", missingData("mnist"), 0.5);
    rows.add(
        CheckRow.of(
            Group.CORRECTNESS,
            "digits-sync, twice in one JVM and once in processes",
            Unit.DIFFERENT,
            Aim.valueAtMost(0),
            4 * SECONDS_TO_START,
            this::differentHashes));
  }

  private void addGradients(CheckedModel model, double exact, double rounded) {
    for (boolean tf32 : new boolean[] {false, true}) {
      rows.add(
          CheckRow.of(
                  Group.CORRECTNESS,
                  "gradient beside the processor, %s b%s, TF32 %s"
                      .formatted(name(model), model.batch(), tf32 ? "on" : "off"),
                  Unit.RELATIVE,
                  Aim.valueAtMost(tf32 ? rounded : exact),
                  2 * SECONDS_TO_START,
                  sitting -> distance(sitting, model, tf32 ? Map.of() : NO_TF32))
              .missing(missingModule(model)));
    }
  }

  private Figure distance(Sitting sitting, CheckedModel model, Map<String, String> environment)
      throws IOException, InterruptedException {
    JsonObject found =
        sitting.java(
            "gradient-" + name(model),
            GradientDistance.class,
            environment,
            model.toString(),
            options.device().toString());
    double repeated = found.getDouble("repeated");
    return new Figure(
        found.getDouble("distance"),
        repeated == 0 ? "the same bits twice" : "%s twice".formatted(Aim.number(repeated)));
  }

  /** Adds the engine's own tests of a GPU, which {@code pack} brings with JUnit. */
  private void addTests() {
    Path console = options.check().resolve("tests/junit-console.jar");
    Path classes = options.check().resolve("tests/classes");
    Optional<String> missing =
        options.rehearsal()
            ? Optional.of("they need a GPU")
            : Files.exists(console) ? Optional.empty() : Optional.of("not packed");
    rows.add(
        CheckRow.of(
                Group.CORRECTNESS,
                "the engine's tests",
                Unit.SECONDS,
                Aim.NONE,
                3 * SECONDS_TO_START,
                sitting -> {
                  String path =
                      String.join(
                          File.pathSeparator,
                          console.toString(),
                          classes.toString(),
                          System.getProperty("java.class.path"));
                  return new Figure(sitting.test(TESTS, path));
                })
            .missing(missing));
  }

  private void addAccuracy(String job, Optional<String> missing, double points) {
    rows.add(
        CheckRow.of(
                Group.CORRECTNESS,
                job + ", accuracy beside the processor's",
                Unit.POINTS,
                Aim.valueAtMost(points),
                4 * SECONDS_TO_START,
                sitting -> {
                  double there = accuracy(sitting, job, options.device().toString());
                  double here = accuracy(sitting, job, "cpu");
                  return new Figure(
                      Math.abs(there - here),
                      String.format(Locale.ROOT, "%.2f and %.2f %%", there, here));
                })
            .missing(missing));
  }

  private double accuracy(Sitting sitting, String job, String device)
      throws IOException, InterruptedException {
    String label = "%s-%s".formatted(job, device.replace(':', '-'));
    return Sitting.summary(sitting.train(label, known(job, device), Map.of()))
        .getDouble("accuracy");
  }

  private Figure differentHashes(Sitting sitting) throws IOException, InterruptedException {
    Set<String> hashes = new LinkedHashSet<>();
    for (String placement : List.of("first", "second", "processes")) {
      List<String> words = known("digits-sync", options.device().toString());
      if (placement.equals("processes")) {
        words.add("--processes");
      }
      Path run = sitting.train("hash-" + placement, words, Map.of());
      hashes.add(Sitting.summary(run).getString("parametersHash"));
    }
    return new Figure(hashes.size() - 1, String.join(", ", hashes));
  }

  /** Returns the words that train one of the jobs in {@code conf}. */
  private List<String> known(String job, String device) {
    List<String> words =
        new ArrayList<>(
            List.of(
                options.home().resolve("conf/%s.json".formatted(job)).toString(),
                "--set",
                "engine=" + Sitting.ENGINE,
                "--set",
                "workers.device=" + device));
    if (options.quick()) {
      words.addAll(List.of("--set", "steps=20", "--set", "evaluator.samples=100"));
    }
    if (job.startsWith("mnist")) {
      words.addAll(List.of("--data", data("mnist").orElseThrow().toString()));
    }
    return words;
  }

  private void addSteps() {
    for (CheckedModel model :
        List.of(
            new CheckedModel("convnet", 0, 128),
            new CheckedModel("convnet", 0, quick(1_024, 32)),
            new CheckedModel("mlp", 512, 128),
            new CheckedModel("mlp", 512, quick(1_024, 32)),
            new CheckedModel("resnet20", 0, quick(128, 4)),
            new CheckedModel("resnet20", 0, quick(1_024, 8)))) {
      addStep(model, "server");
    }
    for (CheckedModel model :
        List.of(
            new CheckedModel("mlp", quick(31_500, 256), 128),
            new CheckedModel("resnet20", 0, quick(128, 4)))) {
      addStep(model, "resident");
    }
    addCalls(new CheckedModel("mlp", 512, quick(1_024, 32)));
    addCalls(new CheckedModel("resnet20", 0, quick(128, 4)));
  }

  private void addStep(CheckedModel model, String mode) {
    CheckRow row =
        CheckRow.of(
            Group.STEPS,
            "step of %s b%s, %s"
                .formatted(
                    name(model),
                    model.batch(),
                    mode.equals("server")
                        ? "as a worker of sync"
                        : "parameters stay on the device"),
            Unit.MILLIS_PER_STEP,
            Aim.NONE,
            SECONDS_TO_START,
            sitting -> {
              JsonObject found =
                  sitting.java(
                      "step-" + name(model),
                      StepTimer.class,
                      Map.of(),
                      model.toString(),
                      options.device().toString(),
                      mode,
                      Double.toString(options.quick() ? 0.5 : 6));
              return new Figure(
                  found.getDouble("millisPerStep"),
                  String.format(
                      Locale.ROOT,
                      "write %.2f, gradient %.2f, read %.2f, SGD %.2f ms",
                      found.getDouble("write"),
                      found.getDouble("gradient"),
                      found.getDouble("read"),
                      found.getDouble("optimizer")));
            });
    rows.add(peers.beside(row, "step-" + name(model), peerWords(model, mode, "sgd")));
  }

  /** Adds the number of CUDA calls in a step: the difference of a long and a short process. */
  private void addCalls(CheckedModel model) {
    Path counter = options.check().resolve("calls.so");
    Optional<String> missing =
        options.rehearsal()
            ? Optional.of("there are no CUDA calls without a GPU")
            : Files.exists(counter) ? Optional.empty() : Optional.of("pack found no C compiler");
    int few = 100;
    int more = 100;
    rows.add(
        CheckRow.of(
                Group.STEPS,
                "CUDA calls in a step of %s b%s".formatted(name(model), model.batch()),
                Unit.CALLS_PER_STEP,
                Aim.NONE,
                2 * SECONDS_TO_START,
                sitting -> {
                  JsonObject shorter = calls(sitting, counter, model, few);
                  JsonObject longer = calls(sitting, counter, model, few + more);
                  return callsPerStep(shorter, longer, more);
                })
            .missing(missing));
  }

  private JsonObject calls(Sitting sitting, Path counter, CheckedModel model, int steps)
      throws IOException, InterruptedException {
    Path file = options.out().resolve("calls.json");
    Files.deleteIfExists(file);
    sitting.java(
        "calls-" + name(model),
        StepTimer.class,
        Map.of("LD_PRELOAD", counter.toString(), "VERTIGRAD_CUDA_CALLS", file.toString()),
        model.toString(),
        options.device().toString(),
        "server",
        "0",
        Integer.toString(steps));
    return new JsonObject(Files.readString(file));
  }

  /** Returns all calls in a step, with each kind in the remark. */
  static Figure callsPerStep(JsonObject shorter, JsonObject longer, int steps) {
    double all = 0;
    List<String> kinds = new ArrayList<>();
    for (String kind : CUDA_CALLS) {
      double calls = (longer.getLong(kind) - shorter.getLong(kind)) / (double) steps;
      all += calls;
      kinds.add(String.format(Locale.ROOT, "%s %.1f", kind, calls));
    }
    double bytes = (longer.getLong("bytes") - shorter.getLong("bytes")) / (double) steps;
    kinds.add(String.format(Locale.ROOT, "%.2f MB copied", bytes / 1e6));
    return new Figure(all, String.join(", ", kinds));
  }

  private void addJobs() {
    CheckedModel large = new CheckedModel("mlp", quick(31_500, 256), 128);
    String steps = ", diloco H = 100";
    addJob("mlp25m b128" + steps, large, "diloco", "float32", "resident", 0.9);
    CheckedModel text = new CheckedModel(transformer().toString(), 0, quick(64, 8));
    String name = "transformer b" + text.batch() + steps;
    for (String precision : List.of("float32", "bfloat16")) {
      addJob(name + ", " + precision, text, "diloco", precision, "resident", 0.9);
    }
    for (int batch : new int[] {quick(128, 4), quick(1_024, 8)}) {
      CheckedModel images = new CheckedModel("resnet20", 0, batch);
      addJob("resnet20 b%s, local".formatted(batch), images, "local", "float32", "host", 1.0);
    }
    CheckedModel small = new CheckedModel("mlp", 512, quick(1_024, 128));
    addJob("mlp b%s, sync".formatted(small.batch()), small, "sync", "float32", "server", 0.9);
  }

  private void addJob(
      String name,
      CheckedModel model,
      String strategy,
      String precision,
      String mode,
      double ratio) {
    String label = name.replaceAll("[^a-z0-9]+", "-");
    JsonObject job = job(label, model, strategy);
    if (!precision.equals("float32")) {
      job.getJsonObject("model").put("precision", precision);
    }
    CheckRow row =
        CheckRow.of(
                Group.JOBS,
                name + ", one worker",
                Unit.SAMPLES_PER_SECOND,
                Aim.ratioAtLeast(ratio),
                2 * SECONDS_TO_START,
                sitting ->
                    options.quick()
                        ? JobRate.measure(sitting, label, job, 1, 4)
                        : JobRate.measure(sitting, label, job, 6, 12))
            .missing(missingModule(model));
    List<String> words =
        new ArrayList<>(peerWords(model, mode, model.isTransformer() ? "adam" : "sgd"));
    words.addAll(List.of("--precision", precision));
    rows.add(peers.beside(row, label, words));
  }

  private JsonObject job(String name, CheckedModel model, String strategy) {
    JsonObject network = new JsonObject().put("name", model.name());
    if (model.hidden() > 0) {
      network.put("hidden", model.hidden());
    }
    JsonObject rule =
        model.isTransformer()
            ? new JsonObject().put("name", "adam").put("learningRate", 0.003)
            : new JsonObject().put("name", "sgd").put("learningRate", 0.01);
    return new JsonObject()
        .put("job", name)
        .put("engine", Sitting.ENGINE)
        .put("steps", ENDLESS)
        .put("data", samples(model))
        .put("model", network)
        .put("optimizer", rule)
        .put("strategy", new JsonObject().put("name", strategy))
        .put(
            "workers",
            new JsonObject()
                .put("count", 1)
                .put("batch", model.batch())
                .put("device", options.device().toString()))
        .put("evaluator", new JsonObject().put("count", 0).put("every", ENDLESS))
        .put("checkpoint", new JsonObject().put("seconds", 0));
  }

  /** Returns a section {@code data}, with a small test set: the last test is on the processor. */
  private JsonObject samples(CheckedModel model) {
    JsonObject data = new JsonObject();
    if (model.isTransformer()) {
      data.put("name", "text")
          .put("directory", options.home().resolve("docs/guide").toString())
          .put("length", 32)
          .put("predict", "each");
    } else if (model.name().equals("resnet20")) {
      data("cifar10")
          .ifPresentOrElse(
              folder -> data.put("name", "cifar10").put("directory", folder.toString()),
              () -> data.put("name", "shapes").put("train", quick(10_000, 256)));
    } else {
      data("mnist")
          .ifPresentOrElse(
              folder -> data.put("name", "mnist").put("directory", folder.toString()),
              () -> data.put("name", "digits").put("train", quick(12_000, 1_024)));
    }
    return data.put("test", 100);
  }

  private List<String> peerWords(CheckedModel model, String mode, String optimizer) {
    return List.of(
        "--model",
        model.name(),
        "--hidden",
        Integer.toString(model.hidden()),
        "--batch",
        Integer.toString(model.batch()),
        "--mode",
        mode,
        "--optimizer",
        optimizer);
  }

  private void addFaults() {
    JsonObject job = faultJob();
    addFault("a killed worker, back after", Aim.valueAtMost(30), Faults.killedWorker(job));
    addFault(
        "a killed coordinator, its members gone after",
        Aim.valueAtMost(Faults.ORPHAN_SECONDS + 15),
        Faults.killedCoordinator(job));
    addFault(
        "a GPU that is not there, refused after",
        Aim.valueAtMost(SECONDS_TO_START),
        Faults.refused(job, "cuda:99", Map.of()));
    addFault(
        "no visible GPU, refused after",
        Aim.valueAtMost(SECONDS_TO_START),
        Faults.refused(job, "cuda", Map.of("CUDA_VISIBLE_DEVICES", "")));
    rows.add(
        CheckRow.of(
                Group.FAULTS,
                "a batch too large for the card, refused after",
                Unit.SECONDS,
                Aim.valueAtMost(2 * SECONDS_TO_START),
                3 * SECONDS_TO_START,
                Faults.outOfMemory(outOfMemoryJob()))
            .missing(noGpu()));
  }

  private void addFault(String name, Aim aim, Measurement measurement) {
    rows.add(CheckRow.of(Group.FAULTS, name, Unit.SECONDS, aim, 4 * SECONDS_TO_START, measurement));
  }

  /** Returns a job that takes some ten seconds, and whose hash repeats. */
  private JsonObject faultJob() {
    return new JsonObject()
        .put("job", "fault")
        .put("engine", Sitting.ENGINE)
        .put("seed", 1)
        .put("steps", options.rehearsal() ? quick(3_000, 1_200) : 8_000)
        .put("data", new JsonObject().put("name", "digits").put("test", 200))
        .put("model", new JsonObject().put("name", "convnet"))
        .put("optimizer", new JsonObject().put("name", "sgd").put("learningRate", 0.01))
        .put("strategy", new JsonObject().put("name", "sync"))
        .put(
            "workers",
            new JsonObject()
                .put("count", 2)
                .put("batch", quick(64, 16))
                .put("device", options.device().toString()))
        .put("evaluator", new JsonObject().put("every", 100_000));
  }

  private JsonObject outOfMemoryJob() {
    JsonObject job = job("out-of-memory", new CheckedModel("resnet20", 0, 60_000), "local");
    return job.put("steps", 2)
        .put("data", new JsonObject().put("name", "digits").put("train", 60_000));
  }

  private void addMemory() {
    JsonObject job = faultJob();
    rows.add(
        CheckRow.of(
                Group.MEMORY,
                "a worker's process on the card",
                Unit.MEBIBYTES,
                Aim.NONE,
                3 * SECONDS_TO_START,
                Faults.memoryOfProcesses(job))
            .missing(noGpu()));
    JsonObject images = job("memory", new CheckedModel("resnet20", 0, 1_024), "local");
    images.put("steps", 10);
    rows.add(
        CheckRow.of(
                Group.MEMORY,
                "what a job leaves on the card while its JVM lives",
                Unit.MEBIBYTES,
                Aim.valueAtMost(MOST_CONTEXT_MEBIBYTES),
                4 * SECONDS_TO_START,
                sitting -> leftBehind(sitting, images))
            .missing(noGpu()));
  }

  private Figure leftBehind(Sitting sitting, JsonObject job)
      throws IOException, InterruptedException {
    Path file = options.out().resolve("jobs/memory.json");
    Files.createDirectories(file.getParent());
    Files.writeString(file, job.encodePrettily());
    JsonObject used = sitting.java("memory", JobsInOneJvm.class, Map.of(), file.toString(), "3");
    JsonArray after = used.getJsonArray("after");
    if (!used.containsKey("before") || after.isEmpty()) {
      throw new IllegalStateException("nvidia-smi does not report the memory in use");
    }
    double before = used.getDouble("before");
    return new Figure(
        after.getDouble(after.size() - 1) - before,
        String.format(
            Locale.ROOT,
            "before %.0f, after each of three jobs %s, vertx closed %.0f",
            before,
            after,
            used.getDouble("closed", Double.NaN)));
  }

  private Optional<String> noGpu() {
    return options.rehearsal() ? Optional.of("only a GPU has memory of its own") : Optional.empty();
  }

  private Optional<String> missingModule(CheckedModel model) {
    return model.isTransformer() && !Files.exists(transformer())
        ? Optional.of(
            "no %s: examples/pytorch/characters.py writes it, which needs PyTorch"
                .formatted(transformer().getFileName()))
        : Optional.empty();
  }

  private Optional<String> missingData(String name) {
    return data(name).isPresent()
        ? Optional.empty()
        : Optional.of("no --data DIR with a folder " + name);
  }

  private Optional<Path> data(String name) {
    return options.data().map(folder -> folder.resolve(name)).filter(Files::isDirectory);
  }

  private Path transformer() {
    return options.module();
  }

  private int quick(int usual, int small) {
    return options.quick() ? small : usual;
  }

  private static String name(CheckedModel model) {
    return model.isTransformer() ? "transformer" : model.name();
  }
}
