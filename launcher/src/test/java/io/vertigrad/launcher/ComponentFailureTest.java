package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.dl4j.ModelFactory;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Tests jobs whose own data set or network throws. */
@Tag("slow")
final class ComponentFailureTest {

  private static final int TRAINING_SAMPLES = 160;
  private static final int TEST_SAMPLES = 40;
  private static final int TESTED_PART = 20;
  private static final String DATA = OwnData.class.getName();
  private static final String SAMPLES = OwnSamples.class.getName();
  private static final String NET = OwnNet.class.getName();
  private static final String OWN = ComponentFailureTest.class.getName();
  private static final long LIMIT_SECONDS = 240;

  private static final String RULE = OwnStrategy.class.getName();

  @TempDir private Path folder;
  private final int port = FreePort.forCluster();
  private JsonObject strategy;
  private final List<Process> nodes = new ArrayList<>();

  @AfterEach
  void nobodyIsLeftBehind() {
    nodes.forEach(Process::destroyForcibly);
    ProcessHandle.current().children().forEach(ProcessHandle::destroyForcibly);
  }

  @ParameterizedTest
  @CsvSource({
    "sample, ''",
    "sample, --processes",
    "pass, ''",
    "pass, --processes",
    "test, ''",
    "test, --processes",
  })
  void shouldEndTheJobOnceWithTheClassThatHasThrown(String fails, String option)
      throws IOException {
    CommandRun run = train("run", fails, option);

    assertEquals(1, run.exit(), run.out() + run.err());
    String why =
        switch (fails) {
          case "sample" ->
              "worker \\d: data set %s failed at sample 77: java.lang.IllegalStateException: sample 77 is broken, at %1$s.read\\(.*"
                  .formatted(Pattern.quote(SAMPLES));
          case "pass" ->
              "worker \\d: model \"%s\" failed at step 5: java.lang.AssertionError: pass 5 is broken, at %s.*"
                  .formatted(Pattern.quote(NET), Pattern.quote(NET));
          default ->
              "evaluator 0: data set %s failed at sample \\d+: java.lang.IllegalStateException: a test is broken, at %1$s.read\\(.*"
                  .formatted(Pattern.quote(SAMPLES));
        };
    assertTrue(
        run.err().matches("vertigrad: (job \"own\": )?" + why + "; log: \\S+/run.log\n"),
        run.err());
    // The first test may fail before all have joined.
    long joined = fails.equals("test") ? Math.max(4, count("memberJoined")) : count("memberJoined");
    assertEquals(4, joined, "a server, two workers and an evaluator, once each");
    assertEquals(0, count("processRestarted"));
    if (option.isEmpty()) {
      String log = Files.readString(folder.resolve("run/run.log"));
      assertTrue(log.contains(" is broken\n\tat " + OWN), "the log has the stack trace");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'', '.*data set SAMPLES failed at sample 77: .*'",
    "sync, '.*server 0: strategy \"RULE\" failed at .* this rule is broken, at RULE.*'",
    "allreduce, '.*worker \\d: strategy \"RULE\" failed at .* this rule is broken, at RULE.*'",
  })
  void shouldEndTheJobOnceWhenAllMembersAreNodes(String rule, String why) throws Exception {
    if (!rule.isEmpty()) {
      Path broken = Files.createFile(folder.resolve("broken"));
      strategy = JsonObject.of("name", RULE, "flag", broken.toString()).put("of", rule);
    }
    String fails = rule.isEmpty() ? "sample" : "";
    CompletableFuture<CommandRun> started =
        CompletableFuture.supplyAsync(
            () -> train("run", fails, "--workers-here=0", "--servers-here=0"));
    Awaitility.await()
        .atMost(LIMIT_SECONDS, TimeUnit.SECONDS)
        .until(() -> started.isDone() || Files.exists(folder.resolve("run/secret")));
    List<String> roles = new ArrayList<>(List.of("worker", "worker"));
    if (!rule.equals("allreduce")) {
      roles.add("server");
    }
    for (String role : roles) {
      nodes.add(node(role, "127.0.0.1:" + (port + 100)));
    }

    CommandRun run = started.get(LIMIT_SECONDS, TimeUnit.SECONDS);

    assertEquals(1, run.exit(), run.out());
    String expected =
        why.replace("SAMPLES", Pattern.quote(SAMPLES)).replace("RULE", Pattern.quote(RULE));
    assertTrue(run.err().lines().anyMatch(line -> line.matches(expected)), run.err());
    assertEquals(roles.size() + 1, count("memberJoined"), "each once, and an evaluator");
    for (Process node : nodes) {
      assertTrue(node.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "the nodes end");
    }
  }

  private Process node(String role, String address) throws IOException {
    List<String> words = List.of("node", "--role", role, "--job", address, "--wait", "200");
    List<String> command = JavaCommand.of("512m", words.toArray(String[]::new));
    command.addAll(List.of("--secret", folder.resolve("run/secret").toString()));
    return new ProcessBuilder(command)
        .directory(Files.createDirectory(folder.resolve("node-" + nodes.size())).toFile())
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("node-" + nodes.size() + ".log").toFile())
        .start();
  }

  @ParameterizedTest
  @CsvSource({
    "sync, --processes",
    "async, ''",
    "ssp, ''",
    "allreduce, ''",
    "stages, ''",
  })
  void shouldEndWithTheSameBitsWhenAMendedRuleGoesOn(String of, String option) throws IOException {
    Path broken = folder.resolve("broken");
    strategy = JsonObject.of("name", RULE, "flag", broken.toString()).put("of", of);
    CommandRun whole = train("whole", "");
    assertEquals(0, whole.exit(), whole.err());
    Files.createFile(broken);

    CommandRun failed = train("run", "", option);
    Files.delete(broken);
    CommandRun resumed =
        CommandRun.of("resume", folder.resolve("run").toString(), "--no-dashboard");

    assertEquals(1, failed.exit(), failed.out());
    String member =
        of.equals("stages") ? "stage \\d" : of.equals("allreduce") ? "worker \\d" : "server 0";
    String why =
        "%s: strategy \"%s\" failed at .*: java.lang.IllegalStateException: this rule is broken, at %s.*"
            .formatted(member, Pattern.quote(RULE), Pattern.quote(RULE));
    assertTrue(
        failed.err().matches("vertigrad: (job \"own\": )?" + why + "; log: \\S+/run.log\n"),
        failed.err());
    assertEquals(0, resumed.exit(), resumed.err());
    assertTrue(
        resumed.out().lines().anyMatch(line -> line.matches("it had failed: " + why)),
        resumed.out());
    assertEquals(0, count("processRestarted"));
    JsonObject expected = summary("whole");
    JsonObject found = summary("run");
    assertTrue(found.getLong("resumedAtVersion") > 0, found::encode);
    assertEquals(expected.getLong("version"), found.getLong("version"));
    if (!of.equals("async") && !of.equals("ssp")) {
      assertEquals(expected.getString("parametersHash"), found.getString("parametersHash"));
    }
  }

  @Test
  void shouldReplaceTheWorkerWhenTheMachineHasFailed() throws IOException {
    OwnSamples.FAILURES.set(1);

    CommandRun run = train("run", "disk", "");

    assertEquals(0, run.exit(), run.err());
    assertEquals(5, count("memberJoined"), "and the worker that replaces the failed one");
  }

  @ParameterizedTest
  @CsvSource({"open, ''", "open, --processes", "network, ''", "network, --processes"})
  void shouldEndBeforeTheStartWhenNothingCanBeCreated(String fails, String option)
      throws IOException {
    CommandRun run = train("run", fails, option);

    assertEquals(2, run.exit(), run.out());
    String component = fails.equals("open") ? "data set \"" + DATA : "model \"" + NET;
    String why = component + "\" failed at its creation: java.lang.IllegalStateException: broken";
    assertTrue(run.err().contains(why), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
    assertEquals(0, count("processRestarted"));
  }

  private CommandRun train(String name, String fails, String... options) {
    List<String> words = new ArrayList<>(List.of("train", job(fails).toString()));
    words.addAll(List.of("--no-dashboard", "--run-dir", folder.resolve(name).toString()));
    List.of(options).stream().filter(option -> !option.isEmpty()).forEach(words::add);
    return CommandRun.of(words.toArray(String[]::new));
  }

  private Path job(String fails) {
    JsonObject json =
        new JsonObject()
            .put("job", "own")
            .put("seed", 1)
            .put("steps", 40)
            .put("model", JsonObject.of("name", NET, "fails", fails))
            .put("data", JsonObject.of("name", DATA, "fails", fails))
            .put("workers", JsonObject.of("count", 2, "batch", 8))
            .put("servers", JsonObject.of("count", 1))
            .put("evaluator", JsonObject.of("every", 10, "samples", TESTED_PART))
            .put("checkpoint", JsonObject.of("every", 5))
            .put("cluster", JsonObject.of("port", port));
    if (strategy != null) {
      boolean stages = strategy.getString("of").equals("stages");
      json.put("strategy", strategy);
      json.put("model", stages ? JsonObject.of("name", "mlp") : json.getJsonObject("model"));
      if (stages) {
        json.put("pipeline", JsonObject.of("stages", 2));
      }
    }
    try {
      return Files.writeString(folder.resolve("job.json"), json.encode());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private JsonObject summary(String name) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(name).resolve("summary.json")));
  }

  private long count(String type) throws IOException {
    Path events = folder.resolve("run/events.jsonl");
    return Files.exists(events)
        ? Files.readString(events).lines().filter(line -> line.contains("\"" + type + "\"")).count()
        : 0;
  }

  /** Opens samples that fail as the option {@code fails} says. */
  public static final class OwnData implements DatasetProvider {

    @Override
    public String name() {
      return "own";
    }

    @Override
    public Dataset open(DataConfig config, Split split) {
      String fails = config.settings().string("fails", "");
      if (fails.equals("open")) {
        throw new IllegalStateException("broken");
      }
      return new OwnSamples(split == Split.TRAIN ? TRAINING_SAMPLES : TEST_SAMPLES, split, fails);
    }

    /** Without it, all samples would be read before the start. */
    @Override
    public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
      return Optional.empty();
    }
  }

  private record OwnSamples(int size, DatasetProvider.Split split, String fails)
      implements Dataset {

    static final AtomicInteger FAILURES = new AtomicInteger();

    @Override
    public List<Integer> shape() {
      return List.of(4);
    }

    @Override
    public int classes() {
      return 2;
    }

    @Override
    public int label(int index) {
      return index % 2;
    }

    @Override
    public void read(int index, float[] features, int offset) {
      boolean test = split == DatasetProvider.Split.TEST;
      if (!test && index == 77 && fails.equals("sample")) {
        throw new IllegalStateException("sample 77 is broken");
      }
      if (!test && index == 77 && fails.equals("disk") && FAILURES.getAndDecrement() > 0) {
        throw new UncheckedIOException(new IOException("Stale file handle"));
      }
      if (test && fails.equals("test")) {
        throw new IllegalStateException("a test is broken");
      }
      for (int i = 0; i < 4; i++) {
        features[offset + i] = index % 2 == i % 2 ? 1 : index / (float) size;
      }
    }
  }

  /** A strategy of Vertigrad whose rule throws in its 21st step, as long as there is a file. */
  public static final class OwnStrategy implements StrategyProvider {

    @Override
    public String name() {
      return "own-strategy";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      String named = settings.string("of", "sync");
      String of = named.equals("stages") ? "allreduce" : named;
      Path flag = Path.of(settings.string("flag", ""));
      settings.refuseUnknown();
      StrategyFactory inner =
          StrategyProviders.named(of, OwnStrategy.class.getClassLoader())
              .configure(Settings.of("own", new JsonObject()));
      return inner.traits().besideServers()
          ? StrategyFactory.besideServers(
              inner.traits(),
              context -> throwing(ServerStrategy.class, inner.create(context), flag))
          : StrategyFactory.besideWorkers(
              inner.traits(), context -> throwing(PeerStrategy.class, inner.create(context), flag));
    }

    private static <T> T throwing(Class<T> type, T rule, Path flag) {
      AtomicInteger steps = new AtomicInteger();
      InvocationHandler handler =
          (proxy, method, arguments) -> {
            boolean step = method.getName().matches("exchange|complete");
            if (step && steps.getAndIncrement() == 20 && Files.exists(flag)) {
              throw new IllegalStateException("this rule is broken");
            }
            try {
              return method.invoke(rule, arguments);
            } catch (InvocationTargetException thrown) {
              throw thrown.getCause();
            }
          };
      return type.cast(
          Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
  }

  /** Builds a network that fails as the option {@code fails} says. */
  public static final class OwnNet implements ModelFactory {

    @Override
    public String name() {
      return "own-net";
    }

    @Override
    public Set<String> options() {
      return Set.of("fails");
    }

    @Override
    public NeuralNetwork network(ModelConfig config) {
      String fails = Settings.of("model", new JsonObject(config.options())).string("fails", "");
      if (fails.equals("network")) {
        throw new IllegalStateException("broken");
      }
      MultiLayerConfiguration layers =
          new NeuralNetConfiguration.Builder()
              .seed(config.seed())
              .list()
              .layer(new DenseLayer.Builder().nIn(4).nOut(8).activation(Activation.TANH).build())
              .layer(
                  new OutputLayer.Builder(LossFunction.MCXENT)
                      .nIn(8)
                      .nOut(2)
                      .activation(Activation.SOFTMAX)
                      .build())
              .build();
      MultiLayerNetwork network = new MultiLayerNetwork(layers);
      network.setListeners(
          new BaseTrainingListener() {
            private int passes;

            @Override
            public void onForwardPass(Model model, List<INDArray> activations) {
              if (fails.equals("pass") && passes++ == 5) {
                throw new AssertionError("pass 5 is broken");
              }
            }
          });
      network.init();
      return network;
    }
  }
}
