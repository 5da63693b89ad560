package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.dashboard.RunFigures.Host;
import io.vertigrad.dashboard.RunFigures.Worker;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntToDoubleFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests each rule with a run that it applies to, and with similar ones that it does not. */
final class AdviceRuleTest {

  private static final Path SOURCE =
      Path.of("src/main/java/io/vertigrad/dashboard/AdviceRule.java");
  private static final Path KEYS = Path.of("../conf/README.md");
  private static final Path PAGE = Path.of("../docs/guide/advice.md");
  private static final Pattern KEY = Pattern.compile("`([a-z]+\\.[A-Za-z]+(?:\\.[A-Za-z]+)?)`");

  private final Figures run = new Figures();

  @ParameterizedTest
  @EnumSource(
      value = AdviceRule.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"FALLS"})
  void shouldSayNothingOfAHealthyRun(AdviceRule rule) {
    assertEquals(Optional.empty(), rule.judge(run.build()));
    run.ended = true;
    assertEquals(Optional.empty(), rule.judge(run.build()));
  }

  @Test
  void shouldAdviseALowerRateWhenTheLossRisesAboveItsFirstValues() {
    run.losses(20, i -> i < 10 ? 2 : 8);

    assertAdvice(
        AdviceRule.DIVERGES,
        "The training diverges: the training loss is 8.00, and was 2.00 at first.",
        "Lower `optimizer.learningRate` (0.01), to a tenth.");
  }

  @Test
  void shouldNotTakeSomeHighLossesForDivergence() {
    run.losses(20, i -> i % 3 == 0 ? 8 : 2);
    assertSilent(AdviceRule.DIVERGES);
    run.losses(20, i -> i < 10 ? 2 : 2.9);
    assertSilent(AdviceRule.DIVERGES);
  }

  @Test
  void shouldCompareTheLossWithThatOfTheInitialParameters() {
    run.losses(20, i -> i < 10 ? 2 : 4);
    run.test(0, 3.9);

    assertSilent(AdviceRule.DIVERGES);
  }

  @Test
  void shouldCallOnlyACertainRiseDivergenceWhereParametersWereTrainedBefore() {
    run.losses(40, i -> i < 5 || i > 20 && i < 30 ? 0.01 : 0.02);
    run.with("run.resumes", 1);
    assertSilent(AdviceRule.DIVERGES);

    run.losses(40, i -> 0.01 + 0.01 * i);
    assertTrue(AdviceRule.DIVERGES.judge(run.build()).isPresent());
  }

  @Test
  void shouldNotCompareTheLossesOfDifferentEventsOfAStream() {
    run.losses(20, i -> i < 10 ? 2 : 8);
    run.with("data.name", "stream");

    assertSilent(AdviceRule.DIVERGES);
  }

  @Test
  void shouldReportALossThatIsNotFinite() {
    run.lossIsFinite = false;

    assertAdvice(
        AdviceRule.DIVERGES,
        "The training diverges: the loss is not a finite number.",
        "Lower `optimizer.learningRate` (0.01), to a tenth.");
  }

  @Test
  void shouldReportRefusedUpdatesUnlessTheLossHasFallen() {
    run.refused = 12;
    assertSilent(AdviceRule.DIVERGES);

    run.losses(20, i -> 2.5);
    assertEquals(
        "The training diverges: 12 updates were refused, and the training loss is 2.50.",
        found(AdviceRule.DIVERGES));
    run.refused = 4;
    assertSilent(AdviceRule.DIVERGES);
  }

  @Test
  void shouldAdviseToDivideTheRateWhereGradientsAreNotAveraged() {
    run.lossIsFinite = false;
    run.ended = true;
    run.with("strategy", new JsonObject().put("name", "async"));

    assertAdvice(
        AdviceRule.DIVERGES,
        "The training diverged: the loss is not a finite number.",
        "Divide `optimizer.learningRate` (0.01) by `workers.count`.");
  }

  @Test
  void shouldDecideAsTheSummaryAtTheEnd() {
    run.ended = true;
    run.losses(20, i -> i < 10 ? 2 : 8);
    run.summary = new JsonObject().put("testSamples", 100).put("loss", 2.33);
    assertSilent(AdviceRule.DIVERGES);

    run.losses(20, i -> 2);
    run.summary.put("diverged", JsonObject.of("initialLoss", 2.3535, "worstLoss", 20.72));
    assertAdvice(
        AdviceRule.DIVERGES,
        "The training diverged: the loss rose from 2.354 before the first step to 20.72.",
        "Lower `optimizer.learningRate` (0.01), to a tenth.");
  }

  @Test
  void shouldReportAModelThatIsNoBetterThanAConstantAnswer() {
    run.ended = true;
    run.losses(60, i -> i == 0 ? 90 : 2.301 + 0.01 * scatter(i));
    run.summary =
        new JsonObject()
            .put("state", "finished")
            .put("testSamples", 100)
            .put(
                "baseline",
                JsonObject.of(
                    "metric", "rmse", "value", 173_000.0, "answer", "the mean of price always"))
            .put("loss", 1.1);
    run.summary.getJsonObject("baseline").put("beaten", false);
    run.with("data.name", "csv");

    assertAdvice(
        AdviceRule.GUESSES,
        "The model is no better than guessing: the mean of price always has RMSE 173,000 on the"
            + " test set.",
        "Try another `optimizer.learningRate` (0.01), a tenth or ten times as much, or train longer;"
            + " check that the label is the right column.");
    run.with("data.name", "digits");
    assertSilent(AdviceRule.LEARNS_NOTHING);
    run.summary.getJsonObject("baseline").put("beaten", true);
    assertSilent(AdviceRule.GUESSES);
    assertTrue(AdviceRule.LEARNS_NOTHING.judge(run.build()).isPresent());
    run.summary.getJsonObject("baseline").put("beaten", false);
    run.summary.put("diverged", new JsonObject());
    assertSilent(AdviceRule.GUESSES);
  }

  @Test
  void shouldReportAModelThatOnlyGuesses() {
    // The first losses of mnist-horovod.json are far higher: its inputs are not normalised.
    run.losses(60, i -> i == 0 ? 90 : 2.301 + 0.01 * scatter(i));
    run.with("data.normalization", "raw");

    assertAdvice(
        AdviceRule.LEARNS_NOTHING,
        "The model learns nothing: the training loss stays at 2.30, that of guessing.",
        "Try another `optimizer.learningRate` (0.01), a tenth, or `data.normalization`"
            + " `standard`.");
    run.with("data.name", "no such data");
    assertSilent(AdviceRule.LEARNS_NOTHING);
  }

  @Test
  void shouldReportALossThatStaysWhereItWas() {
    run.losses(60, i -> 5 + 0.01 * scatter(i));
    run.with("data.name", "csv");
    assertSilent(AdviceRule.LEARNS_NOTHING);

    run.test(0, 5);
    assertAdvice(
        AdviceRule.LEARNS_NOTHING,
        "The model learns nothing: the training loss stays at 5.00, that of the initial"
            + " parameters.",
        "Try another `optimizer.learningRate` (0.01), a tenth or ten times as much.");
    run.with("run.resumes", 1);
    assertSilent(AdviceRule.LEARNS_NOTHING);
  }

  @Test
  void shouldNotSayThatAModelLearnsNothingWhoseLossIsLowOrFalls() {
    run.losses(60, i -> i == 0 ? 2.3 : 1.5 + 0.01 * scatter(i));
    assertSilent(AdviceRule.LEARNS_NOTHING);
    run.losses(60, i -> 2.9 - 0.01 * i);
    assertSilent(AdviceRule.LEARNS_NOTHING);
    run.losses(20, i -> 2.3);
    assertSilent(AdviceRule.LEARNS_NOTHING);
  }

  @Test
  void shouldReportThatTrainingAndTestDriftApart() {
    run.losses(60, i -> Math.exp(-i / 30.0));
    tests(30, i -> i < 15 ? 1 - 0.04 * i : 0.4 + 0.02 * (i - 15));

    assertAdvice(
        AdviceRule.OVERFITS,
        "Training and test drift apart: the test loss was 0.432 about update 340 and is 0.640 now,"
            + " while the training loss falls.",
        "Try `optimizer.weightDecay` or `stop.loss` 0.432, which ends a run about there.");
  }

  @Test
  void shouldNotAdviseWeightDecayToARunThatHasIt() {
    run.losses(60, i -> Math.exp(-i / 30.0));
    tests(30, i -> i < 15 ? 1 - 0.04 * i : 0.4 + 0.02 * (i - 15));
    run.with("optimizer.l2", 1e-4);

    String remedy = AdviceRule.OVERFITS.judge(run.build()).orElseThrow().remedy();

    assertEquals("Try `stop.loss` 0.432, which ends a run about there.", remedy);
  }

  @Test
  void shouldNotReportDriftWhileTheTestLossFallsOrTheTrainingLossDoesNot() {
    run.losses(60, i -> Math.exp(-i / 30.0));
    tests(30, i -> 1 - 0.01 * i);
    assertSilent(AdviceRule.OVERFITS);
    tests(30, i -> 1 + 0.03 * scatter(i));
    assertSilent(AdviceRule.OVERFITS);
    tests(9, i -> 1 + 0.2 * i);
    assertSilent(AdviceRule.OVERFITS);
    tests(30, i -> 1 + 0.5 * scatter(i));
    assertSilent(AdviceRule.OVERFITS);

    run.losses(60, i -> 1 + 0.01 * scatter(i));
    tests(30, i -> i < 15 ? 1 - 0.04 * i : 0.4 + 0.02 * (i - 15));
    assertSilent(AdviceRule.OVERFITS);
  }

  @Test
  void shouldAdviseSmallerBatchesForOneSlowWorker() {
    run.workers(worker(0, 1), worker(1, 1.1), worker(2, 3), worker(3, 0.9));

    assertAdvice(
        AdviceRule.SLOW_WORKER,
        "Worker 2 takes 3.0 times as long for a sample as the others, which wait for it.",
        "Try `workers.balance` `speed`.");
    run.seconds = 9;
    assertSilent(AdviceRule.SLOW_WORKER);
  }

  @Test
  void shouldAdviseAQuorumForOneSlowWorkerOfDiLoCo() {
    run.workers(worker(0, 1), worker(1, 1), worker(2, 1), worker(3, 10));
    run.with("strategy", new JsonObject().put("name", "diloco"));

    assertEquals(
        "Try `strategy.servers` `true` with `strategy.quorum` 3.",
        AdviceRule.SLOW_WORKER.judge(run.build()).orElseThrow().remedy());
    run.with("strategy.servers", true);
    assertEquals(
        "Try `strategy.quorum` 3.",
        AdviceRule.SLOW_WORKER.judge(run.build()).orElseThrow().remedy());
    run.with("strategy.quorum", 3);
    assertSilent(AdviceRule.SLOW_WORKER);
  }

  @Test
  void shouldNotAdviseAQuorumOfOneOrWithFragments() {
    run.workers(worker(0, 1), worker(1, 10));
    run.with("strategy", new JsonObject().put("name", "diloco"));
    assertSilent(AdviceRule.SLOW_WORKER);

    run.workers(worker(0, 1), worker(1, 1), worker(2, 10));
    run.with("strategy.fragments", 2);
    assertSilent(AdviceRule.SLOW_WORKER);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "workers.balance speed",
        "strategy.name async",
        "strategy.name dpsgd",
        "strategy.reduction sum",
        "workers.sampler none",
        "pipeline.stages 2",
        "data.name stream"
      })
  void shouldNotAdviseSmallerBatchesWhereTheyAreSetRefusedOrUseless(String setting) {
    run.workers(worker(0, 1), worker(1, 3));
    run.with(setting.split(" ")[0], setting.split(" ")[1]);

    assertSilent(AdviceRule.SLOW_WORKER);
  }

  @Test
  void shouldNotCallAWorkerSlowThatIsNearlyAsFast() {
    run.workers(worker(0, 1), worker(1, 1.8));

    assertSilent(AdviceRule.SLOW_WORKER);
  }

  @Test
  void shouldReportMoreWorkersThanProcessors() {
    run.workers(worker(0, 1), worker(1, 1), worker(2, 1), worker(3, 1));
    run.hosts = Map.of("a", new Host(2, 1.9));

    assertAdvice(
        AdviceRule.TOO_MANY_WORKERS,
        "4 workers share the 2 processors of a, which are busy.",
        "Try `workers.count` 2.");
    run.hosts = Map.of("a", new Host(2, 0.9));
    assertSilent(AdviceRule.TOO_MANY_WORKERS);
    run.hosts = Map.of("a", new Host(4, 3.9));
    assertSilent(AdviceRule.TOO_MANY_WORKERS);
    run.hosts = Map.of("a", new Host(2, 1.9));
    run.with("workers.device", "cuda");
    assertSilent(AdviceRule.TOO_MANY_WORKERS);
  }

  @Test
  void shouldCountThreadsOfWorkersAndTheWorkersOfEachHost() {
    run.hosts = Map.of("a", new Host(2, 1.9), "b", new Host(8, 8));
    run.with("workers.threads", 2);

    assertAdvice(
        AdviceRule.TOO_MANY_WORKERS,
        "2 workers share the 2 processors of a, which are busy.",
        "Try fewer workers there (`workers.count`).");
  }

  @Test
  void shouldNotAdviseLargerBatchesOfAStreamForTheRateAlone() {
    run.workers(exchanging(0, 0.8), exchanging(1, 0.7));
    run.with("data.name", "stream");

    assertAdvice(
        AdviceRule.EXCHANGES,
        "Every worker exchanges at least 70 % of the time.",
        "If events come faster than that, try a larger `workers.batch`; the model then learns more"
            + " slowly.");
  }

  @Test
  void shouldAdviseMoreWorkForEachExchange() {
    run.workers(exchanging(0, 0.8), exchanging(1, 0.7));

    assertAdvice(
        AdviceRule.EXCHANGES,
        "Every worker exchanges at least 70 % of the time.",
        "Try a larger `workers.batch`, with `optimizer.learningRate` in proportion, or a smaller"
            + " `workers.count`.");
  }

  @Test
  void shouldNotBlameTheExchangeWhenWorkersWaitForASlowOne() {
    run.workers(exchanging(0, 0.8), exchanging(1, 0.8), exchanging(2, 0.1));
    assertSilent(AdviceRule.EXCHANGES);
    run.workers(exchanging(0, 0.4));
    assertSilent(AdviceRule.EXCHANGES);
    run.workers(exchanging(0, 0.8));
    run.with("evaluator.blocking", true);
    assertSilent(AdviceRule.EXCHANGES);
    run.with("evaluator.blocking", false);
    run.seconds = 9;
    assertSilent(AdviceRule.EXCHANGES);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sync|Try `exchange.compression` `int8`, or `strategy.name` `diloco`",
        "allreduce|Try `exchange.compression` `int8`, or `strategy.name` `diloco`",
        "dpsgd|Try `strategy.name` `diloco`",
        "local|Try a larger `strategy.every`, or `strategy.name` `diloco`",
        "diloco|Try `exchange.compression` `int4`, or a larger `strategy.syncEvery`"
      })
  void shouldAdviseLessToSendBetweenHosts(String row) {
    run.workers(exchanging(0, 0.8), exchanging(1, 0.7));
    run.hosts = Map.of("a", new Host(2, 1), "b", new Host(2, 1));
    run.parameters = 407_050;
    run.with("strategy", new JsonObject().put("name", row.split("\\|")[0]));

    String remedy = AdviceRule.EXCHANGES.judge(run.build()).orElseThrow().remedy();

    assertTrue(remedy.startsWith(row.split("\\|")[1]), remedy);
    run.with("exchange.compression", "int8");
    remedy = AdviceRule.EXCHANGES.judge(run.build()).orElseThrow().remedy();
    assertTrue(!remedy.contains("compression"), remedy);
  }

  @Test
  void shouldNotAdviseCompressionForASmallModelOrAnUnmeasuredStrategy() {
    run.workers(exchanging(0, 0.8), exchanging(1, 0.7));
    run.hosts = Map.of("a", new Host(2, 1), "b", new Host(2, 1));
    assertTrue(
        AdviceRule.EXCHANGES.judge(run.build()).orElseThrow().remedy().contains("workers.batch"));

    run.parameters = 407_050;
    run.with("strategy", new JsonObject().put("name", "gossip"));
    assertSilent(AdviceRule.EXCHANGES);
  }

  @Test
  void shouldReportStaleGradients() {
    run.workers(stale(0, 7), stale(1, 7));
    run.with("strategy", new JsonObject().put("name", "async"));
    assertSilent(AdviceRule.STALE);

    run.losses(60, i -> 1 + 0.01 * scatter(i));
    assertAdvice(
        AdviceRule.STALE,
        "Gradients are 7.0 updates old on average.",
        "If `optimizer.learningRate` (0.01) is not divided by the number of workers, divide it.");
    run.with("strategy.damping", "inverse");
    assertSilent(AdviceRule.STALE);
  }

  @Test
  void shouldNotReportTheStalenessOfFewWorkersOrOfSsp() {
    run.losses(60, i -> 1 + 0.01 * scatter(i));
    run.workers(stale(0, 3), stale(1, 3));
    run.with("strategy", new JsonObject().put("name", "async"));
    assertSilent(AdviceRule.STALE);
    run.workers(stale(0, 7), stale(1, 7));
    run.with("strategy", new JsonObject().put("name", "ssp"));
    assertSilent(AdviceRule.STALE);
  }

  @Test
  void shouldReportALossThatDoesNotFallAnyMore() {
    run.losses(60, i -> 0.5 + 2 * Math.exp(-i / 4.0) + 0.002 * scatter(i));

    assertAdvice(
        AdviceRule.LEVEL,
        "The training loss does not fall over the last 230 updates: 0.500 on average.",
        "Try a rate that falls: `optimizer.schedule.name` `cosine`, or `step`.");
    assertSilent(AdviceRule.FALLS);
    run.with("optimizer.schedule.name", "cosine");
    assertEquals("", AdviceRule.LEVEL.judge(run.build()).orElseThrow().remedy());
    run.with("data.name", "stream");
    assertSilent(AdviceRule.LEVEL);
  }

  @Test
  void shouldReportALossThatRises() {
    run.losses(60, i -> i < 30 ? 2 - 0.05 * i : 0.5 + 0.01 * (i - 30));

    assertEquals(
        "The training loss rises: by 34 % over the last 230 updates.", found(AdviceRule.LEVEL));

    run.losses(60, i -> i < 30 ? 2 - 0.05 * i : 0.5 + 0.05 * (i - 30));
    assertEquals(
        "Lower `optimizer.learningRate` (0.01), to a tenth.",
        AdviceRule.LEVEL.judge(run.build()).orElseThrow().remedy());
  }

  @Test
  void shouldNotCallALossLevelThatScattersWidely() {
    run.losses(60, i -> 0.5 + 0.4 * scatter(i));

    assertSilent(AdviceRule.LEVEL);
  }

  @Test
  void shouldReportALossThatFalls() {
    assertAdvice(
        AdviceRule.FALLS, "The training loss falls: by 45 % over the last 230 updates.", "");
    run.losses(29, i -> 2 - 0.05 * i);
    assertSilent(AdviceRule.FALLS);
  }

  @Test
  void shouldAdviseMoreStepsWhenTheLossesFellUntilTheEnd() {
    String found = "The training loss still fell at the end: by 45 % over the last 230 updates.";
    run.ended = true;
    assertAdvice(AdviceRule.FALLS, found, "");
    tests(30, i -> 1 + 0.01 * scatter(i));
    assertAdvice(AdviceRule.FALLS, found, "");

    tests(30, i -> 1 - 0.01 * i);
    assertAdvice(AdviceRule.FALLS, found, "Train longer: more `steps` or `epochs`.");
    run.with("optimizer.schedule.name", "cosine");
    assertAdvice(AdviceRule.FALLS, found, "");
    run.cutShort = true;
    assertSilent(AdviceRule.FALLS);
  }

  @Test
  void shouldNotAdviseMoreStepsToAModelThatOverfits() {
    tests(30, i -> i < 15 ? 1 - 0.04 * i : 0.4 + 0.02 * (i - 15));
    run.ended = true;

    assertTrue(AdviceRule.OVERFITS.judge(run.build()).isPresent());
    assertSilent(AdviceRule.FALLS);
  }

  @Test
  void shouldNameOnlyDocumentedKeys() throws IOException {
    String documented = Files.readString(KEYS);
    Set<String> unknown =
        KEY.matcher(Files.readString(SOURCE))
            .results()
            .map(key -> key.group(1))
            .filter(key -> !documented.contains("| `" + key + "` |"))
            .collect(Collectors.toCollection(TreeSet::new));

    assertEquals(Set.of(), unknown);
    assertTrue(documented.contains("| `optimizer.learningRate` |"));
  }

  @Test
  void shouldDocumentEveryRuleWithItsSource() throws IOException {
    String page = Files.readString(PAGE);
    List<String> rows =
        Pattern.compile("(?m)^\\| `(\\w+)` \\|.*(?:\\]\\(|\\b(?:19|20)\\d\\d\\b).*\\|$")
            .matcher(page)
            .results()
            .map(row -> row.group(1))
            .toList();

    assertEquals(Set.of(), missing(rows));
  }

  private static Set<String> missing(List<String> rows) {
    Set<String> missing = new TreeSet<>();
    for (AdviceRule rule : AdviceRule.values()) {
      missing.add(rule.key());
    }
    rows.forEach(missing::remove);
    return missing;
  }

  private void tests(int number, IntToDoubleFunction loss) {
    run.tests.clear();
    IntStream.range(0, number).forEach(i -> run.test(20 * i + 20, loss.applyAsDouble(i)));
  }

  private void assertAdvice(AdviceRule rule, String found, String remedy) {
    assertEquals(Optional.of(new Advice(found, remedy)), rule.judge(run.build()));
  }

  private void assertSilent(AdviceRule rule) {
    assertEquals(Optional.empty(), rule.judge(run.build()));
  }

  private String found(AdviceRule rule) {
    return rule.judge(run.build()).orElseThrow().found();
  }

  /** Returns numbers between -1 and 1 that follow no line. */
  private static double scatter(int i) {
    return Math.sin(37.0 * i);
  }

  /** Returns a worker that computes most of the time and needs so many seconds for a sample. */
  private static Worker worker(int rank, double secondsPerSample) {
    return new Worker(rank, "a", 100, 90 * secondsPerSample, 1, 10 * secondsPerSample, 10, 0);
  }

  private static Worker exchanging(int rank, double share) {
    return new Worker(rank, "a", 100, 1 - share, share, 0, 10, 0);
  }

  private static Worker stale(int rank, int age) {
    return new Worker(rank, "a", 100, 1, 0, 0, 10, 10L * age);
  }

  /** Figures of two workers whose loss falls; a test changes some. */
  private static final class Figures {

    private final JsonObject config = RunDescription.of(RunStory.job(), false).config().json();
    private final List<RunFigures.Test> tests = new ArrayList<>();
    private JsonObject summary = new JsonObject();
    private boolean ended;
    private boolean cutShort;
    private long parameters = 1_960;
    private double seconds = 60;
    private double[] losses = {};
    private boolean lossIsFinite = true;
    private long refused;
    private List<Worker> workers = List.of(worker(0, 1), worker(1, 1.2));
    private Map<String, Host> hosts = Map.of("a", new Host(2, 1.9));

    Figures() {
      losses(60, i -> 0.3 + 2 * Math.exp(-i / 20.0));
    }

    /** Sets so many points, ten updates apart. */
    void losses(int points, IntToDoubleFunction loss) {
      losses = IntStream.range(0, points).mapToDouble(loss).toArray();
    }

    void test(long version, double loss) {
      tests.add(new RunFigures.Test(version, loss));
    }

    void workers(Worker... all) {
      workers = List.of(all);
    }

    void with(String path, Object value) {
      String[] keys = path.split("\\.");
      JsonObject section = config;
      for (int i = 0; i < keys.length - 1; i++) {
        if (!(section.getValue(keys[i]) instanceof JsonObject)) {
          section.put(keys[i], new JsonObject());
        }
        section = section.getJsonObject(keys[i]);
      }
      section.put(keys[keys.length - 1], value);
    }

    private DataConfig data() {
      String name = config.getJsonObject("data").getString("name");
      return new DataConfig(name, Optional.empty(), Optional.empty(), Map.of());
    }

    RunFigures build() {
      double[] versions = IntStream.range(0, losses.length).mapToDouble(i -> 10.0 * i).toArray();
      return new RunFigures(
          config,
          DatasetProvider.classes(data(), AdviceRuleTest.class.getClassLoader()),
          summary,
          ended,
          cutShort,
          parameters,
          seconds,
          versions,
          losses,
          lossIsFinite,
          refused,
          tests,
          workers,
          hosts);
    }
  }
}
