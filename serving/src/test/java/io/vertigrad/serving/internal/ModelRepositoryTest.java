package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.serving.internal.ModelSource.Candidate;
import io.vertigrad.serving.internal.ModelSource.TestResult;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Serves files whose first word is what their models answer with; "damaged" cannot be opened. */
@Timeout(30)
class ModelRepositoryTest {

  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final Instant START = Instant.parse("2026-11-30T09:34:55Z");

  @TempDir private Path folder;

  private final List<Candidate> runs = new CopyOnWriteArrayList<>();
  private final List<String> notices = new CopyOnWriteArrayList<>();
  private final Map<Long, AtomicBoolean> closed = new ConcurrentHashMap<>();
  private final Semaphore passes = new Semaphore(1_000);
  private ModelRepository models;

  @AfterEach
  void close() {
    passes.release(1_000);
    models.close();
  }

  @Test
  void shouldAnswerWithTheLowestLossAndSayWhyWhenAFolderHasSeveralRuns() throws IOException {
    runs.add(run("digits", "a", 0.5, 0));
    runs.add(run("digits", "b", 0.2, 10));
    runs.add(run("digits", "c", 0.3, 20));
    runs.add(run("prices", "d", 7, 30));
    open(true);

    JsonObject about = describe("digits");

    assertEquals("b", about.getString("run"));
    assertEquals(
        "test loss 0.2000 on 100 samples, the lowest of 3 models", about.getString("reason"));
    assertEquals(0.2, about.getDouble("test_loss"));
    assertEquals(20261130093505L, version("digits"));
    assertEquals("d", describe("prices").getString("run"));
  }

  @Test
  void shouldNotCompareLossesWhenTestsHadOtherSamples() throws IOException {
    runs.add(run("digits", "a", 0.1, 0));
    runs.add(
        candidate("digits", "b", Optional.of(new TestResult(0.9, 500, "all")), write("b", 10)));
    runs.add(candidate("digits", "c", Optional.empty(), write("c", 20)));
    open(true);

    JsonObject about = describe("digits");

    assertEquals("b", about.getString("run"));
    assertEquals(
        "test loss 0.9000 on 500 samples; not compared: 2 with another test or none",
        about.getString("reason"));
  }

  @Test
  void shouldReplaceAModelWhenARunHasABetterOneAndFinishRequestsWithTheOldOne() throws Exception {
    runs.add(run("digits", "a", 0.5, 0));
    open(true);
    long before = version("digits");
    passes.drainPermits();
    ModelRepository.Lease old = models.lease("digits", OptionalLong.empty());
    List<Long> answers = new CopyOnWriteArrayList<>();
    ask(old, answers);

    runs.add(run("digits", "b", 0.4, 10));
    await(() -> version("digits") != before);

    ModelRepository.Lease fresh = models.lease("digits", OptionalLong.empty());
    assertEquals("b", fresh.description().getString("run"));
    assertFalse(closed.get(before).get(), "a request still uses it");
    passes.release(1_000);
    await(() -> answers.equals(List.of(before)));
    ask(old, answers);
    await(() -> answers.equals(List.of(before, before)));
    old.release();
    await(() -> closed.get(before).get());
    ask(fresh, answers);
    await(() -> answers.size() == 3);
    assertEquals(version("digits"), answers.get(2));
    fresh.release();
    assertTrue(
        notices
            .get(1)
            .endsWith(
                "instead of 20261130093455: test loss 0.4000 on 100 samples, the lowest of 2"
                    + " models"),
        notices.toString());
  }

  @Test
  void shouldKeepTheVersionWhenItsRunIsWrittenAgainWithAHigherLoss() throws Exception {
    runs.add(run("digits", "a", 0.5, 0));
    open(false);
    long before = version("digits");

    // As a run does: its source offers nothing between the model and the summary.
    runs.clear();
    runs.add(run("digits", "a", 0.6, 10));
    await(() -> notices.size() == 2);

    assertEquals(before, version("digits"));
    assertTrue(
        notices.get(1).contains("version 0 goes on answering: a was written anew"), notices.get(1));
    models.load("digits").join();
    assertEquals(before + 1, version("digits"));
    assertEquals(0.6, describe("digits").getDouble("test_loss"));
  }

  @Test
  void shouldFallBackOnlyWhenTheBestRunIsDeletedAndNotWhileItIsSaved() throws Exception {
    runs.add(run("digits", "a", 0.5, 0));
    Candidate best = run("digits", "b", 0.2, 10);
    runs.add(best);
    AtomicLong looks = new AtomicLong();
    start(
        new ModelSource(
            "runs",
            true,
            () -> {
              looks.incrementAndGet();
              return List.copyOf(runs);
            }));

    runs.remove(best);
    long before = looks.get();
    await(() -> looks.get() > before + 4);
    assertEquals("b", describe("digits").getString("run"));

    Files.delete(best.file());
    await(() -> describe("digits").getString("run").equals("a"));
  }

  @Test
  void shouldPassOverARunWhenItsModelIsDamaged() throws Exception {
    runs.add(run("digits", "a", 0.5, 0));
    open(true);
    long before = version("digits");

    runs.add(candidate("digits", "b", test(0.1), write("damaged", 10)));
    await(() -> notices.size() == 2);

    assertEquals(before, version("digits"));
    assertEquals(
        "digits: b cannot be loaded, what was loaded before goes on answering: no model in it",
        notices.get(1));
    assertTrue(
        models.index(false).getJsonObject(0).getString("reason").endsWith("newer: no model in it"),
        models.index(false)::encode);
    runs.add(run("digits", "c", 0.4, 20));
    await(() -> version("digits") != before);
    assertEquals("c", describe("digits").getString("run"));
  }

  @Test
  void shouldReportEverySourceWhenSomeCannotBeLoadedAtTheStart() throws IOException {
    Candidate damaged = candidate("one", "a", Optional.empty(), write("damaged", 0));
    models =
        ModelRepository.of(
            List.of(
                new ModelSource("a", false, () -> List.of(damaged)),
                new ModelSource("empty", true, List::of),
                new ModelSource(
                    "gone",
                    false,
                    () -> {
                      throw new IllegalArgumentException("gone: there is no such run");
                    })),
            notices::add,
            this::opened,
            10);

    CompletionException failed =
        assertThrows(CompletionException.class, () -> models.open().join());

    assertEquals(
        List.of(
            "no model in it",
            "empty: has no model that can be served, expected a run that is over",
            "gone: there is no such run"),
        failed.getCause().getMessage().lines().toList());
  }

  @Test
  void shouldAnswerWithEachVersionWhenSeveralRunsHaveOneName() throws IOException {
    Candidate one = run("digits", "a", 0.5, 0);
    Candidate other = run("digits", "b", 0.7, 10);
    start(
        new ModelSource("a", false, () -> List.of(one)),
        new ModelSource("b", false, () -> List.of(other)));

    assertEquals(20261130093455L, version("digits"));
    ModelRepository.Lease second = models.lease("digits", OptionalLong.of(20261130093505L));
    assertEquals("b", second.description().getString("run"));
    assertEquals(List.of(20261130093455L, 20261130093505L), second.versions());
    Refusal unknown = assertThrows(Refusal.class, () -> models.lease("digits", OptionalLong.of(7)));
    assertEquals(Code.UNKNOWN, unknown.code());
    assertEquals(
        "model \"digits\": version 7 is not served, expected 20261130093455 or 20261130093505, or"
            + " none",
        unknown.getMessage());
  }

  @Test
  void shouldNameTheModelsWhenOneIsUnknownAndLoadOnlyWhatItWasStartedWith() throws Exception {
    runs.add(run("digits", "a", 0.5, 0));
    runs.add(run("prices", "b", 0.5, 0));
    open(true);

    for (String name : List.of("x", "../a", "/etc/passwd", "")) {
      Refusal unknown = assertThrows(Refusal.class, () -> models.lease(name, OptionalLong.empty()));
      assertEquals(
          "model \"%s\" is not served here, expected one of \"digits\", \"prices\"".formatted(name),
          unknown.getMessage());
      CompletionException load =
          assertThrows(CompletionException.class, () -> models.load(name).join());
      assertEquals(unknown.getMessage(), load.getCause().getMessage());
    }
  }

  @Test
  void shouldUnloadAndLoadAModelWhenACallAsksForIt() throws Exception {
    runs.add(run("digits", "a", 0.5, 0));
    open(true);
    long version = version("digits");

    models.unload("digits").join();

    Refusal refused =
        assertThrows(Refusal.class, () -> models.lease("digits", OptionalLong.empty()));
    assertEquals(Code.NOT_READY, refused.code());
    assertEquals("UNAVAILABLE", models.index(false).getJsonObject(0).getString("state"));
    assertTrue(models.index(true).isEmpty());
    await(() -> closed.get(version).get());
    models.load("digits").join();
    assertEquals(version, version("digits"));
    assertTrue(models.isReady());
    assertEquals("READY", models.index(true).getJsonObject(0).getString("state"));
  }

  @Test
  void shouldSayWhyWhenACallCannotLoadAModel() throws Exception {
    runs.add(run("digits", "a", 0.5, 0));
    open(false);
    models.unload("digits").join();
    runs.set(0, candidate("digits", "a", Optional.empty(), write("damaged", 10)));

    CompletionException failed =
        assertThrows(CompletionException.class, () -> models.load("digits").join());

    assertEquals(
        "model \"digits\" cannot be loaded: no model in it", failed.getCause().getMessage());
    assertEquals(Code.INVALID, ((Refusal) failed.getCause()).code());
  }

  private void open(boolean isFolder) {
    start(new ModelSource("runs", isFolder, () -> List.copyOf(runs)));
  }

  private void start(ModelSource... sources) {
    models = ModelRepository.of(List.of(sources), notices::add, this::opened, 10);
    models.open().join();
  }

  private ServedModel opened(Candidate candidate, long version) {
    if (candidate.file().getFileName().toString().equals("damaged")) {
      throw new IllegalArgumentException("no model in it");
    }
    AtomicBoolean gone = new AtomicBoolean();
    closed.put(version, gone);
    return new FakeModel(new AtomicLong(version), passes) {
      @Override
      public void close() {
        gone.set(true);
      }
    };
  }

  private Candidate run(String name, String origin, double loss, int seconds) throws IOException {
    return candidate(name, origin, test(loss), write(name + origin, seconds));
  }

  private static Optional<TestResult> test(double loss) {
    return Optional.of(new TestResult(loss, 100, "all"));
  }

  private static Candidate candidate(
      String name, String origin, Optional<TestResult> test, Path file) {
    return new Candidate(
        name, origin, JobConfig.read("test", new JsonObject().put("job", name)), file, test);
  }

  private Path write(String name, int seconds) throws IOException {
    Path file = Files.writeString(folder.resolve(name), "model");
    return Files.setLastModifiedTime(file, FileTime.from(START.plusSeconds(seconds)));
  }

  private JsonObject describe(String name) {
    ModelRepository.Lease lease = models.lease(name, OptionalLong.empty());
    lease.release();
    return lease.description();
  }

  private long version(String name) {
    ModelRepository.Lease lease = models.lease(name, OptionalLong.empty());
    lease.release();
    return lease.predictor().version();
  }

  private static void ask(ModelRepository.Lease lease, List<Long> answers) {
    lease
        .predictor()
        .predict(
            new float[1],
            OptionalLong.empty(),
            false,
            (answer, why) -> answers.add(why == null ? answer.version() : -1));
  }

  private static void await(Callable<Boolean> reached) {
    Awaitility.await().atMost(LIMIT).pollInterval(Duration.ofMillis(5)).until(reached);
  }
}
