package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.http.AccessToken;
import io.vertigrad.job.DashboardConfig;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLock;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the page of many runs in a real browser; screenshots stay in {@code target/screenshots}.
 */
@Tag("slow")
final class RunsPageTest {

  private static final String HOSTILE = "<img src=x onerror=\"window.hacked=1\"><b>'&amp;";
  private static final AccessToken TOKEN = AccessToken.fresh();
  private static final String CHECKED = "return document.querySelectorAll('#list :checked').length";
  private static final String TOP =
      "return Math.round(document.querySelector('[data-run=run-8]').getBoundingClientRect().top)";
  private static final long BEGUN = 1_764_000_000_000L;
  private static final long HOUR = 3_600_000;

  @TempDir private Path folder;
  private static Browser browser;
  private Vertx vertx;

  @BeforeAll
  static void startBrowser() {
    browser = Browser.start();
  }

  @AfterAll
  static void closeBrowser() {
    if (browser != null) {
      browser.close();
    }
  }

  @BeforeEach
  void begin() {
    browser.forget();
    vertx = Vertx.vertx();
  }

  @AfterEach
  void end() {
    Await.result(vertx.close(), 20, "closing");
  }

  @Test
  void shouldNameTheBestOfTenRunsAndInWhatItDiffersWithoutAClick() throws Exception {
    tenRuns();
    open(serve(0));

    assertEquals(
        "Best accuracy: 98.40 % by run-7; only optimizer.learningRate differs from run-9 (0.1,"
            + " there 0.03 and 88.00 %).",
        browser.text("#verdict"));
    assertEquals(List.of("run-7"), texts("#list tr:has(.wins) th a"));
    assertEquals("best 98.40 %", browser.text("#list .wins"));
    assertEquals(
        List.of("optimizer.learningRate", "workers.batch"),
        texts("#list th[data-key^='settings.']"));
    assertEquals("run-10", texts("#list tbody th a").get(0), "the newest first");
    assertEquals(8L, browser.run(CHECKED));
    assertTrue(browser.text("#side-verdict").contains("by run-7"), browser.text("#side-verdict"));
    assertEquals(List.of("0.01", "0.1"), sideBySide("optimizer.learningRate", "run-6", "run-7"));
    assertEquals(List.of("82.00 %", "best 98.40 %"), sideBySide("accuracy", "run-6", "run-7"));
    look("runs");
    assertEquals(List.of(), browser.complaints());
  }

  /**
   * Trains what a newcomer would: rates, strategies, workers, two rates that diverge, a run that is
   * interrupted and one that is killed.
   */
  @Test
  void shouldNameAndDrawTheBestOfThirteenRunsOfANewcomerWithoutAClick() throws Exception {
    RunProcess killed = endless("run-01-killed");
    RunProcess interrupted = endless("run-02-interrupted");
    try {
      browser.await("tests", () -> tests("run-01-killed") > 2 && tests("run-02-interrupted") > 2);
      interrupted.terminate();
      assertEquals(143, interrupted.exit(), interrupted.output());
    } finally {
      interrupted.close();
      killed.close();
    }
    assertTrue(killed.exit() > 0, killed.output());
    train("run-03", "optimizer.learningRate=0.01");
    train("run-04", "optimizer.learningRate=0.1");
    train("run-05", "optimizer.learningRate=0.001");
    train("run-06", "optimizer.learningRate=0.03");
    train("run-07", "strategy.name=async");
    train("run-08", "strategy.name=dpsgd", "strategy.topology=ring");
    train("run-09", "strategy.name=allreduce");
    train("run-10", "workers.count=4");
    train("run-11", "optimizer.learningRate=5");
    train("run-12", "optimizer.learningRate=1.5", "optimizer.name=sgd");
    train("run-13", "workers.batch=32");
    String best = bestByItsSummary();

    browser.size(1400, 900);
    open(serve(0));

    String verdict = browser.text("#verdict");
    assertTrue(
        verdict.matches(
            "Best accuracy: [0-9.]+ % on 2,000 samples by "
                + best
                + "; only [a-zA-Z.]+ differs from run-\\d+ \\(.+, there .+ and [0-9.]+ %\\)\\."),
        verdict);
    assertTrue(verdict.length() < 160, verdict);
    assertEquals(List.of(best), texts("#list tr:has(.wins) th a"));
    assertTrue(browser.has("#list tr[data-run=" + best + "] :checked"), "the best is drawn");
    String nearest = verdict.replaceFirst(".*differs from ([^ ]+) .*", "$1");
    assertTrue(browser.has("#list tr[data-run=" + nearest + "] :checked"), "and the nearest run");
    assertEquals(8L, browser.run(CHECKED));
    for (String wrong : List.of("run-11", "run-12")) {
      assertTrue(
          browser.text("#list [data-run=" + wrong + "]").matches("(?s).*(diverged|failed).*"));
      assertFalse(browser.has("#list tr[data-run=" + wrong + "] :checked"), wrong);
    }
    assertEquals(
        "broke off", browser.text("#list [data-run=run-01-killed] [data-key=state]"), "killed");
    assertEquals(
        "interrupted", browser.text("#list [data-run=run-02-interrupted] [data-key=state]"));
    assertTrue(
        (Boolean)
            browser.run(
                "return [...document.querySelectorAll('#list .problem')]"
                    + ".every(e => e.offsetHeight < 24) && list.scrollWidth <= list.clientWidth"),
        "reasons have one line, and the columns fit");
    List<String> legends = texts("#accuracy .legend li span:nth-child(2)");
    assertEquals(8, Set.copyOf(legends).size(), legends.toString());
    assertTrue(legends.stream().noneMatch(legend -> legend.contains("run-")), legends.toString());
    assertEquals(figure(best), browser.text("#accuracy .legend li:first-child .value"));
    look("runs-thirteen", 1400);

    compareSays(best, nearest);
    theScaleLeavesOutWhatDiverged();
    assertEquals(List.of(), browser.complaints());
  }

  /** Checks two runs, and compares the page's sentence on them with that of {@code compare}. */
  private void compareSays(String... names) {
    browser.click("#none");
    List.of(names).forEach(name -> browser.click("#list tr[data-run=" + name + "] input"));
    String[] folders =
        Stream.of(names).map(name -> folder.resolve(name).toString()).toArray(String[]::new);

    CommandRun compare =
        CommandRun.of(
            Stream.concat(Stream.of("compare"), Stream.of(folders)).toArray(String[]::new));

    assertEquals(0, compare.exit(), compare.err());
    List<String> lines = compare.out().lines().toList();
    String side = browser.text("#side-verdict");
    assertTrue(side.startsWith("Best accuracy of those checked: "), side);
    assertEquals(side.replace(" of those checked", ""), lines.get(lines.size() - 1));
  }

  private void theScaleLeavesOutWhatDiverged() {
    browser.click("#all");
    browser.await("a note", () -> browser.text("#drawn").contains("until you choose all values: "));
    assertTrue(highest("#loss") < 5, () -> "the scale ends at " + highest("#loss"));
    browser.click("#outliers");
    browser.await("all values", () -> highest("#loss") > 5);
    assertFalse(browser.text("#drawn").contains("until you choose all values"));
  }

  private static double highest(String chart) {
    return Double.parseDouble(browser.attribute(chart, "data-limits").split(" ")[1]);
  }

  private void train(String name, String... settings) {
    List<String> words = new ArrayList<>(List.of("train", "conf/digits-sync.json", "--quiet"));
    words.addAll(List.of("--run-dir", folder.resolve(name).toString(), "--no-dashboard"));
    words.addAll(List.of("--steps", "150"));
    List.of(settings).forEach(setting -> words.addAll(List.of("--set", setting)));
    CommandRun.of(words.toArray(String[]::new));
    assertTrue(Files.exists(folder.resolve(name).resolve("events.jsonl")), name);
  }

  /** Starts a run in a process of its own that learns too slowly to become the best. */
  private RunProcess endless(String name) throws IOException {
    return RunProcess.train(
        folder.resolve(name),
        "--no-dashboard",
        "--steps",
        "100000",
        "--set",
        "optimizer.learningRate=0.0001",
        "--set",
        "stop.minutes=5");
  }

  private long tests(String name) throws IOException {
    Path events = folder.resolve(name).resolve("events.jsonl");
    return Files.exists(events)
        ? Files.readString(events).lines().filter(line -> line.contains("\"evaluated\"")).count()
        : 0;
  }

  private String bestByItsSummary() throws IOException {
    String best = "";
    double highest = 0;
    for (String name : List.of(folder.toFile().list())) {
      double accuracy = accuracy(name);
      best = accuracy > highest ? name : best;
      highest = Math.max(accuracy, highest);
    }
    return best;
  }

  private double accuracy(String name) throws IOException {
    Path summary = folder.resolve(name).resolve("summary.json");
    return Files.exists(summary)
        ? new JsonObject(Files.readString(summary)).getDouble("accuracy")
        : 0;
  }

  private String figure(String name) throws IOException {
    return String.format(Locale.ROOT, "%.2f %%", accuracy(name));
  }

  @Test
  void shouldShareCursorAndZoomAndShowNoValueBeyondTheEndOfARun() throws Exception {
    run(1, 0.1, 32, 90, 20);
    Path longer = run(2, 0.01, 32, 90, 20);
    JsonObject summary = new JsonObject(Files.readString(longer.resolve("summary.json")));
    Files.writeString(
        longer.resolve("summary.json"), summary.put("samples", 10 * 60 * 128).encode());
    open(serve(0));
    assertEquals(
        List.of("training samples", "training samples", "training samples"),
        browser.run(
            "return ['training', 'loss', 'accuracy'].map(id => document.getElementById(id)"
                + ".dataset.along)"));

    hover("#accuracy", 0.9);

    browser.await("the cursor", () -> !browser.text("#accuracy .at").isEmpty());
    assertEquals(browser.text("#accuracy .at"), browser.text("#loss .at"));
    assertEquals("–", value("#accuracy", "learningRate 0.1"), "it has ended");
    assertTrue(value("#accuracy", "learningRate 0.01").endsWith(" %"));
    assertEquals("–", value("#loss", "learningRate 0.1"));
    hover("#accuracy", 0.07);
    browser.await("a value", () -> !value("#loss", "learningRate 0.1").equals("–"));

    browser.drag("#training .u-over", 0.25, 0.5);
    browser.await("the zoom", () -> !browser.attribute("#training", "data-zoom").isEmpty());
    String zoom = browser.attribute("#training", "data-zoom");
    assertEquals(zoom, browser.attribute("#accuracy", "data-zoom"));
    browser.run("document.querySelector('#loss').scrollIntoView({ block: 'center' })");
    browser.click("#loss [data-tool=whole]");
    browser.await("everything", () -> browser.attribute("#training", "data-zoom").isEmpty());
    assertEquals(List.of(), browser.complaints());
  }

  private static void hover(String chart, double share) {
    browser.run(
        "const over = document.querySelector(arguments[0] + ' .u-over');"
            + "over.scrollIntoView({ block: 'center' });"
            + "const r = over.getBoundingClientRect();"
            + "const at = { clientX: r.x + arguments[1] * r.width, clientY: r.y + 50 };"
            + "for (const type of ['mouseenter', 'mousemove'])"
            + "  over.dispatchEvent(new MouseEvent(type, { ...at, bubbles: true, movementX: 1 }));",
        chart,
        share);
  }

  private static String value(String chart, String legend) {
    return (String)
        browser.run(
            "return [...document.querySelectorAll(arguments[0] + ' .legend button')]"
                + ".find(e => e.children[1].textContent === arguments[1]).children[2].textContent",
            chart,
            legend);
  }

  @Test
  void shouldSortFilterAndGroup() throws Exception {
    tenRuns();
    open(serve(0));

    browser.click("#list th[data-key=accuracy] button");
    assertEquals("descending", browser.attribute("#list th[data-key=accuracy]", "aria-sort"));
    assertEquals("run-7", texts("#list tbody th a").get(0));
    browser.click("#list th[data-key=accuracy] button");
    assertEquals("ascending", browser.attribute("#list th[data-key=accuracy]", "aria-sort"));
    assertEquals("run-7", texts("#list tbody th a").get(9));

    browser.keys("#filter", "learningRate>=0.03 batch=128");
    assertEquals(List.of("run-9", "run-7"), texts("#list tbody th a"));
    assertEquals("2 of 10 runs.", browser.text("#filter-note"));
    assertEquals(
        "Best accuracy: 98.40 % by run-7; only optimizer.learningRate differs from run-9 (0.1,"
            + " there 0.03 and 88.00 %).",
        browser.text("#verdict"));
    clear("#filter");
    browser.keys("#filter", "lerningRate=1");
    assertEquals("0 of 10 runs. No run has lerningRate.", browser.text("#filter-note"));
    assertEquals("No run matches the filter.", browser.text("#verdict"));
    clear("#filter");

    choose("#group", "settings.workers.batch");
    assertEquals(
        List.of(
            "workers.batch: 128 · 5 runs · accuracy at best 98.40 %, mean 82.88 %",
            "workers.batch: 32 · 5 runs · accuracy at best 90.00 %, mean 82.00 %"),
        texts("#list .group"));
    browser.click("#all");
    browser.await("both groups", () -> browser.text("#training .more").equals("and 2 more"));
    browser.screenshot("runs-grouped", 1280);
    assertEquals(
        2L,
        browser.run(
            "return new Set([...document.querySelectorAll('#list .check .swatch')]"
                + ".map(e => e.style.background)).size"));

    browser.navigateAgain();
    ready();
    assertEquals(2, texts("#list .group").size(), "the address keeps what was chosen");
    assertEquals(10L, browser.run(CHECKED));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldCompareOnlyRunsThatWereTestedOnTheSameData() throws Exception {
    double[] accuracies = {70, 80, 90, 95};
    for (int i = 1; i <= 4; i++) {
      Path made = run(i, i / 100.0, 32, accuracies[i - 1]);
      JsonObject hash = JsonObject.of("hash", i <= 2 ? "aa" : "bb");
      JsonObject resolved = JsonObject.of("fingerprints", JsonObject.of("testData", hash));
      Files.writeString(
          made.resolve("job.json"), job(i / 100.0, 32).put("resolved", resolved).encode());
    }
    open(serve(0));

    String verdict = browser.text("#verdict");
    assertTrue(
        verdict.contains("Best accuracy on digits (2 runs on the same files): 80.00 % by run-2; "),
        verdict);
    assertTrue(
        verdict.contains("Best accuracy on digits (2 runs on the same files): 95.00 % by run-4; "),
        verdict);
    assertEquals(List.of("run-4", "run-2"), texts("#list tr:has(.wins) th a"));
    assertEquals(
        List.of("data: digits bb", "data: digits aa"),
        texts("#list .group").stream().map(title -> title.split(" · ")[0]).toList(),
        "runs on other data are in other groups");
    choose("#group", "");
    assertEquals(List.of(), texts("#list .group"));
    assertEquals(List.of(), browser.complaints());

    JsonObject alone = JsonObject.of("fingerprints", JsonObject.of("testData", "none"));
    alone.put("fingerprints", JsonObject.of("testData", JsonObject.of("hash", "cc")));
    Files.writeString(
        run(5, 0.05, 32, 99).resolve("job.json"), job(0.05, 32).put("resolved", alone).encode());
    browser.await("the run", () -> browser.has("#list tr[data-run=run-5]"));
    assertFalse(browser.text("#verdict").contains("run-5"), browser.text("#verdict"));
  }

  @Test
  void shouldTellRunsOfOneNameApart() throws Exception {
    for (int i = 1; i <= 2; i++) {
      Files.writeString(
          run(i, 0.1 / i, 32, 90 + i).resolve("notes.json"),
          new JsonObject().put("label", "same").encode());
    }
    open(serve(0));

    assertTrue(
        browser.text("#verdict").contains("by \"same\"; only optimizer.learningRate differs from"),
        browser.text("#verdict"));
    List<String> legends = texts("#accuracy .legend li span:nth-child(2)");
    assertEquals(2, Set.copyOf(legends).size(), legends.toString());
    List<String> heads = texts("#side th[scope=col]");
    assertEquals(2, Set.copyOf(heads).size(), heads.toString());
  }

  @Test
  void shouldCallNoRunTheBestThatWasTestedOnAPartOfTheSamples() throws Exception {
    tested(run(1, 0.1, 32, 90), 2_000, true);
    tested(run(2, 0.01, 32, 80), 2_000, true);
    tested(run(3, 0.03, 32, 99), 500, false);
    open(serve(0));

    assertEquals(
        "Best accuracy: 90.00 % on 2,000 samples by run-1; only optimizer.learningRate differs from"
            + " run-2 (0.1, there 0.01 and 80.00 %).",
        browser.text("#verdict"));
    assertEquals(
        List.of("500 of 2,000", "2,000", "2,000"), texts("#list td[data-key=testSamples]"));
    assertEquals("500 of 2,000", browser.text("#list [data-key=testSamples].doubtful"));
    browser.click("#list tr[data-run=run-2] input");
    assertEquals(
        "Only run-1 of those checked was tested on all test samples: accuracy 90.00 % on 2,000"
            + " samples.",
        browser.text("#side-verdict"));
    browser.click("#list tr[data-run=run-1] input");
    tested(run(4, 0.03, 32, 98), 500, false);
    browser.await("the run", () -> browser.has("#list tr[data-run=run-4]"));
    browser.click("#list tr[data-run=run-4] input");
    assertEquals(
        "None of those checked was tested on all test samples, so none is called the best.",
        browser.text("#side-verdict"));
    assertEquals(List.of(), browser.complaints());
  }

  private static void tested(Path run, int samples, boolean whole) throws IOException {
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    summary.put("testSamples", samples).put("wholeTestSet", whole);
    Files.writeString(run.resolve("summary.json"), summary.encode());
  }

  @Test
  void shouldDrawEachTrialBesideItsSettingsWhenRunsBelongToASweep() throws Exception {
    double[] rates = {0.001, 0.01, 0.1};
    for (int i = 1; i <= 12; i++) {
      double rate = rates[i % 3];
      int batch = 16 << (i % 4);
      int steps = i % 3 == 0 ? 300 : i % 2 == 0 ? 100 : 33;
      Path trial = run(i, rate, batch, i == 7 ? 98.4 : 70 + 2 * i);
      JsonObject settings =
          new JsonObject().put("optimizer.learningRate", rate).put("workers.batch", batch);
      JsonObject sweep =
          new JsonObject()
              .put("sweep", i == 12 ? "alone" : "digits")
              .put("trial", i)
              .put("settings", settings)
              .put("steps", steps)
              .put("most", 300);
      Files.writeString(trial.resolve("sweep.json"), sweep.encode());
    }
    run(13, 0.5, 8, 50);
    open(serve(0));

    choose("#sweep", "digits");
    assertEquals("Sweep digits", browser.text("#sweep-title"));
    assertEquals(
        "11 trials, 3 with all steps, 43 % of the steps without early stopping. Best accuracy:"
            + " 98.40 % by trial 7, optimizer.learningRate 0.01, workers.batch 128.",
        browser.text("#sweep-verdict"));
    assertEquals(
        11L, browser.run("return document.querySelectorAll('#sweep-lines .trial').length"));
    assertEquals("run-7", browser.attribute("#sweep-points .best", "data-run"));
    assertEquals(
        "trial 7: accuracy 98.40 %, after 33 of 300 steps, optimizer.learningRate 0.01,"
            + " workers.batch 128",
        browser.run("return document.querySelector('#sweep-points .best title').textContent"));
    assertEquals(List.of("0.001", "0.01", "0.1"), texts("#sweep-points > svg > text"));
    look("sweep");

    choose("#sweep-setting", "steps");
    assertEquals(
        List.of("33", "100", "300"), texts("#sweep-points > svg > text"), "another setting");
    browser.click("#list tr[data-run=run-13] button.more");
    browser.click("#close");
    browser.run(
        "document.querySelector('#sweep-points .best').dispatchEvent(new MouseEvent('click'))");
    assertEquals("run-7", browser.text("#details-title"));
    browser.run("window.confirm = (text) => { window.asked = text; }");
    browser.click("#delete");
    assertTrue(
        browser.run("return window.asked").toString().startsWith("Delete run-7,"),
        "not the run whose details were open before");
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldGiveEachRunItsOwnUnitWhenMetricsDiffer() throws Exception {
    run(1, 0.1, 32, 90);
    Path events = run(2, 0.1, 32, 90).resolve("events.jsonl");
    String rmse = ",\"metric\":\"rmse\",\"metricValue\":12000.0}";
    Files.writeString(
        events,
        Files.readString(events)
            .lines()
            .map(line -> line.contains("evaluated") ? line.replaceFirst("}$", rmse) : line)
            .collect(Collectors.joining("\n", "", "\n")));
    open(serve(0));

    browser.await("the curves", () -> texts("#accuracy .legend .value").size() == 2);
    assertEquals(Set.of("12,000", "89.39 %"), Set.copyOf(texts("#accuracy .legend .value")));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldSayWhichRunsGuessOrDiverged() throws Exception {
    Path guesses = run(1, 0.1, 32, 57);
    Path diverged = run(2, 10, 32, 9);
    JsonObject summary = new JsonObject(Files.readString(guesses.resolve("summary.json")));
    summary.put("baseline", JsonObject.of("metric", "", "value", 57.0, "beaten", false));
    Files.writeString(guesses.resolve("summary.json"), summary.encode());
    summary.put("diverged", new JsonObject());
    Files.writeString(diverged.resolve("summary.json"), summary.encode());
    open(serve(0));

    assertEquals(
        List.of("finished, diverged", "finished, no better than guessing"),
        texts("#list tbody [data-key=state]"));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldOrderSettingsByRunsThatDifferAndLeaveOutThoseOfOtherStrategies() throws Exception {
    open(serve(0));

    Object keys =
        browser.run(
            """
            return import('./modules/runs-columns.js').then(({ differences }) => differences([
              { settings: { 'strategy.name': 'sync', 'strategy.quorum': 0, 'optimizer.name': 'sgd' } },
              { settings: { 'strategy.name': 'ssp', 'strategy.bound': 3, 'optimizer.name': 'sgd',
                  'optimizer.momentum': 0.9, steps: 5 } },
              { settings: { 'strategy.name': 'sync', 'optimizer.name': 'sgd', steps: 7 } },
              { settings: {} }]));
            """);

    assertEquals(List.of("strategy.name", "steps", "optimizer.momentum"), keys);
  }

  @Test
  void shouldDashTheLinesWhoseColourRepeats() throws Exception {
    tenRuns();
    open(serve(0));
    browser.click("#none");
    browser.await(
        "no line", () -> browser.text("#training .empty").startsWith("No run is checked"));
    browser.click("#all");
    browser.await("lines", () -> browser.has("#training canvas"));

    assertEquals(
        10L,
        browser.run(
            "return new Set([...document.querySelectorAll('#list .check .swatch')]"
                + ".map(e => e.style.background)).size"));
    assertEquals(
        2L,
        browser.run(
            "return [...document.querySelectorAll('#list .check .swatch')]"
                + ".filter(e => e.style.background.includes('gradient')).length"));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldDrawNoLineWhereNothingWasMeasured() throws Exception {
    List<TrainingEvent> events = RunStory.withGaps();
    for (int i = 1; i <= 5; i++) {
      long now = events.get(0).timeMillis() + 10_000L * i;
      events.add(10 * i, new ScalarReported(now, "worker 0", "norm", 8 * i, i / 8.0, i, 0));
    }
    RunStory.folder(folder, "gaps", events);
    open(serve(0));
    browser.run("document.querySelector('[name=axis][value=time]').click()");

    for (String chart : List.of("#training", "#loss", "#accuracy")) {
      List<Double> gaps = browser.gaps(chart, 0, 114, 178);
      assertEquals(1, gaps.size(), chart + gaps);
      assertEquals(0.2, gaps.get(0), 0.04, chart);
    }
    assertEquals("norm", browser.text("#scalars [data-scalar=norm] h3"));
    assertTrue(browser.text("#scalars .legend").contains("0.6250"), browser.text("#scalars"));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldShowNamesAndNotesAsText() throws Exception {
    List<TrainingEvent> events = RunStory.of("a pid 1", "finished");
    RunStory.folder(folder, "first", events);
    RunStory.folder(folder, HOSTILE, events.subList(0, 83));
    note(HOSTILE, new JsonObject().put("note", HOSTILE).put("tags", List.of(HOSTILE)));
    open(serve(0));

    assertTrue(texts("#list tbody th a").contains(HOSTILE), browser.text("#list"));
    assertTrue(browser.text("#list td[data-key=note]").contains(HOSTILE), browser.text("#list"));
    assertTrue(browser.text("#training .legend").contains(HOSTILE), browser.text("#training"));
    assertTrue(browser.text("#side thead").contains(HOSTILE), browser.text("#side"));
    assertTrue(
        (Boolean) browser.run("return document.querySelector('#list tbody th').clientWidth > 200"));
    assertEquals(60L, points("accuracy"));
    assertEquals(0L, browser.run("return document.querySelectorAll('img, main b').length"));
    assertNull(browser.run("return window.hacked"));
    for (String axis : List.of("time", "samples")) {
      browser.run("document.querySelector('[name=axis][value=" + axis + "]').click()");
      assertEquals(60L, points("accuracy"), axis);
    }
    browser.click("#list tr[data-run=first] input");
    assertEquals(40L, points("accuracy"), "of the shorter run alone");
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldKeepTagsAndNotesInTheFolderWithTheToken() throws Exception {
    tenRuns();
    String url = serve(0);
    open(url.substring(0, url.indexOf('#')));
    browser.click("#list tr[data-run=run-3] button");
    assertTrue(browser.text("#details-answer").contains("#token="), browser.text("#details"));
    assertFalse(browser.all("#save").get(0).isEnabled());

    browser.open("about:blank");
    open(url);
    browser.click("#list tr[data-run=run-3] button");
    assertEquals("run-3", browser.text("#details-title"));
    browser.keys("#tags", "seed 1, " + "x".repeat(41));
    browser.click("#save");
    browser.await("why", () -> browser.text("#details-answer").startsWith("Not saved: "));
    clear("#tags");
    browser.keys("#label", "the baseline");
    browser.keys("#tags", "baseline, seed 1");
    browser.keys("#note", "the first one that learned");
    browser.click("#kept");
    browser.screenshot("runs-details", 1280);
    assertEquals(List.of(), browser.violations());
    browser.size(1280, 900);
    browser.complaints();
    browser.click("#save");
    browser.await("the end", () -> !browser.has("#details[open]"));

    assertEquals("baseline, seed 1", browser.text("#list tr[data-run=run-3] [data-key=tags]"));
    assertTrue(browser.text("#list tr[data-run=run-3] th").contains("kept"));
    assertTrue(
        (Boolean) browser.run("return document.activeElement.ariaLabel === 'details of run-3'"),
        "the focus is where it was");
    JsonObject kept =
        new JsonObject(Files.readString(folder.resolve("run-3").resolve("notes.json")));
    assertEquals("the first one that learned", kept.getString("note"));
    assertEquals("the baseline", kept.getString("label"));
    assertEquals("the baseline", browser.text("#list tr[data-run=run-3] th a"));
    assertEquals("run-3", browser.text("#list tr[data-run=run-3] .folder"));
    assertTrue(browser.text("#training .legend").contains("the baseline"), "its line has its name");
    assertTrue(browser.text("#side thead").contains("the baseline"), browser.text("#side"));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldShowRunsThatBeginLaterAndKeepWhatTheReaderDoes() throws Exception {
    tenRuns();
    open(serve(0));
    browser.click("#list tr[data-run=run-2] input");
    browser.run("document.querySelector('#list tr[data-run=run-2] button').focus()");
    browser.run("list.style.maxHeight = '150px'; list.scrollTop = 60");
    long top = (long) browser.run(TOP);

    run(11, 0.2, 64, 97);

    browser.await("the run", () -> browser.has("#list tr[data-run=run-11]"));
    browser.await("its place", () -> texts("#list tbody th a").get(0).equals("run-11"));
    assertEquals("details of run-2", browser.run("return document.activeElement.ariaLabel"));
    assertEquals(top, (long) browser.run(TOP), 1.0, "what was in view stays there");
    assertEquals(9L, browser.run(CHECKED));

    Path live = Files.createDirectory(folder.resolve("live"));
    try (RunLock lock = RunLock.take(new RunDirectory(live))) {
      lock.show("http://127.0.0.1:1/");
      Files.writeString(live.resolve("job.json"), job(0.2, 64).encode());
      List<TrainingEvent> events = learning(BEGUN + 12 * HOUR, 97, 40);
      RunStory.write(live.resolve("events.jsonl"), events.subList(0, 21));
      browser.await("the run", () -> browser.has("#list tr[data-run=live] :checked"));
      assertEquals(10L, browser.run(CHECKED), "a run that begins joins");
      browser.await("its curve", () -> browser.text("#accuracy .legend").contains("69.21 %"));
      RunStory.write(live.resolve("events.jsonl"), events.subList(0, 61));
      browser.await("more of it", () -> browser.text("#accuracy .legend").contains("94.72 %"));
      assertTrue(browser.text("#list [data-run=live] [data-key=state]").startsWith("running"));
      assertEquals("12 runs, 1 running", browser.text("#line"));
    }
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldSayWithinThreeSecondsThatNothingAnswers() throws Exception {
    tenRuns();
    int port = FreePort.find();
    open(serve(port));
    assertEquals("10 runs, 0 running", browser.text("#line"));
    browser.run(
        """
        window.said = [];
        new MutationObserver(() => window.said.push([performance.now(), line.textContent]))
            .observe(line, { childList: true, characterData: true, subtree: true });
        """);

    Await.result(vertx.close(), 20, "closing");
    // From now on the port takes connections, and nothing answers.
    try (ServerSocket silent = new ServerSocket(port, 50, InetAddress.getLoopbackAddress())) {
      assertFalse(silent.isClosed());
      double closed = ((Number) browser.run("return performance.now()")).doubleValue();
      browser.await("words", () -> browser.text("#line").startsWith("no answer from vertigrad ui"));
      double said = ((Number) browser.run("return window.said[0][0]")).doubleValue();
      assertTrue(said - closed < 3_000, "after %.0f ms".formatted(said - closed));
    }
    assertTrue(browser.text("#line").endsWith("; is it still running?"), browser.text("#line"));
    assertEquals(10, texts("#list tbody th a").size(), "what was received stays");
    browser.screenshot("runs-silent", 1280);

    vertx = Vertx.vertx();
    serve(port);
    browser.await("the list", () -> browser.text("#line").equals("10 runs, 0 running"));
  }

  @Test
  void shouldSayWhatToDoInAnEmptyFolder() throws Exception {
    open(serve(0));

    assertTrue(browser.text("#verdict").contains("./vertigrad train"), browser.text("#verdict"));
    assertFalse(browser.all("#list").get(0).isDisplayed());
    browser.screenshot("runs-empty", 1280);
    assertEquals(List.of(), browser.violations());
    run(1, 0.1, 32, 90);
    browser.await("the run", () -> browser.has("#list tr[data-run=run-1]"));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldOverlayAHundredRunsOfTenThousandEvents() throws Exception {
    Path first = run(1, 0.1, 32, 90, 5_000);
    JsonObject summary = new JsonObject(Files.readString(first.resolve("summary.json")));
    for (int i = 2; i <= 100; i++) {
      Path next = Files.createDirectory(folder.resolve("run-" + i));
      Files.createLink(next.resolve("events.jsonl"), first.resolve("events.jsonl"));
      // The runs have points at different numbers of samples.
      Files.writeString(next.resolve("summary.json"), summary.put("samples", 640_000 + i).encode());
      Files.writeString(next.resolve("job.json"), job(i / 1_000.0, 32).encode());
    }
    open(serve(0));
    assertEquals("100 runs, 0 running", browser.text("#line"));

    browser.run(
        """
        const more = document.querySelector('#accuracy .more');
        const begun = performance.now();
        window.taken = null;
        new MutationObserver(() => {
          if (more.textContent === 'and 92 more' && !window.taken) {
            requestAnimationFrame(() => {
              const all = performance.getEntriesByType('resource');
              const curves = all.filter((entry) => entry.name.includes('curves'));
              const received = Math.max(...curves.map((entry) => entry.responseEnd));
              const drawn = performance.now();
              window.taken = [drawn - begun, drawn - received];
            });
          }
        }).observe(more, { childList: true, characterData: true, subtree: true });
        document.querySelector('#all').click();
        """);

    browser.await("all lines", () -> browser.run("return window.taken") != null);
    List<?> taken = (List<?>) browser.run("return window.taken.map(Math.round)");
    System.out.printf("100 runs overlaid after %s ms, %s of them by the page%n", taken.toArray());
    assertTrue(browser.text("#drawn").startsWith("Many points: "), browser.text("#drawn"));
    browser.screenshot("runs-hundred", 1280);
    assertEquals(List.of(), browser.complaints());
  }

  /** Checks the page in the dark, on a small screen and by its order of focus. */
  private void look(String name) throws IOException {
    look(name, 1280);
  }

  private void look(String name, int width) throws IOException {
    assertEquals(List.of(), browser.violations());
    // The docs show no folder of this test; a hidden page asks for no list that has it.
    browser.run(
        "Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
            + "document.querySelector('#folder').textContent = 'in runs'");
    browser.picture(name, width);
    browser.run("delete document.hidden");
    browser.dark(true);
    browser.screenshot(name + "-dark", width);
    assertEquals(List.of(), browser.violations());
    browser.dark(false);
    browser.screenshot(name + "-narrow", 400);
    assertEquals(List.of(), browser.violations());
    assertTrue(
        (Boolean) browser.run("return document.documentElement.scrollWidth <= 400"),
        () -> "it is " + browser.run("return document.documentElement.scrollWidth") + " px wide");
    browser.size(width, 900);
    assertEquals(
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        browser.run(
            "const asked = new XMLHttpRequest(); asked.open('GET', 'runs', false);"
                + "asked.send(); return asked.getResponseHeader('Content-Security-Policy')"));
  }

  /** Makes ten runs with five learning rates and two batches; number 7 is the best one. */
  private void tenRuns() throws IOException {
    double[] rates = {0.001, 0.003, 0.01, 0.1, 0.03};
    for (int i = 1; i <= 10; i++) {
      int batch = i % 2 == 0 ? 32 : 128;
      run(i, rates[(i - 1) / 2], batch, i == 7 ? 98.4 : 70 + 2 * i);
    }
  }

  private Path run(int number, double rate, int batch, double accuracy) throws IOException {
    return run(number, rate, batch, accuracy, 20);
  }

  private Path run(int number, double rate, int batch, double accuracy, int steps)
      throws IOException {
    long begun = BEGUN + number * HOUR;
    List<TrainingEvent> events = learning(begun, accuracy, steps);
    Path made = RunStory.folder(folder, "run-" + number, events);
    JsonObject summary =
        new JsonObject(Files.readString(made.resolve("summary.json")))
            .put("state", "finished")
            .put("accuracy", accuracy)
            .put("loss", 2.3 * (1 - accuracy / 100))
            .put("seconds", (double) steps);
    Files.writeString(made.resolve("summary.json"), summary.encode());
    Files.writeString(made.resolve("job.json"), job(rate, batch).encode());
    return made;
  }

  private static List<TrainingEvent> learning(long begun, double accuracy, int steps) {
    List<TrainingEvent> events = new ArrayList<>();
    events.add(new JobStarted(begun, "sync", 1, 1, 1_960, steps, steps));
    for (int step = 1; step <= steps; step++) {
      long now = begun + 1_000L * step;
      double part = 1 - Math.exp(-5.0 * step / steps);
      double loss = 2.3 * (1 - part * accuracy / 100);
      events.add(RunStory.report(now, 0, 0, step, step, loss + 0.1 * Math.sin(step)));
      events.add(new Evaluated(now, step, 500, loss, accuracy * part, false, "00"));
    }
    events.add(new JobFinished(begun + 1_000L * steps, steps, 64L * steps));
    return events;
  }

  private static JsonObject job(double rate, int batch) {
    return new JsonObject()
        .put("strategy", new JsonObject().put("name", "sync"))
        .put("model", new JsonObject().put("name", "mlp"))
        .put("data", new JsonObject().put("name", "digits"))
        .put("workers", new JsonObject().put("count", 1).put("batch", batch))
        .put("optimizer", new JsonObject().put("name", "sgd").put("learningRate", rate));
  }

  private void note(String run, JsonObject notes) throws IOException {
    Files.writeString(folder.resolve(run).resolve("notes.json"), notes.encode());
  }

  private void open(String url) {
    browser.open(url);
    ready();
  }

  private static void ready() {
    browser.await("the page", () -> browser.has("body[data-ready]"));
  }

  private static List<String> texts(String selector) {
    return browser.all(selector).stream().map(found -> found.getText()).toList();
  }

  private static void clear(String selector) {
    browser.run(
        "const field = document.querySelector(arguments[0]); field.value = '';"
            + "field.dispatchEvent(new Event('input'))",
        selector);
  }

  private static void choose(String selector, String value) {
    browser.run(
        "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
            + "field.dispatchEvent(new Event('change'))",
        selector,
        value);
  }

  /** Returns the cells of a row of the table that compares runs. */
  private static List<?> sideBySide(String label, String... runs) {
    return (List<?>)
        browser.run(
            "const row = [...document.querySelectorAll('#side tbody tr')]"
                + ".find(e => e.firstChild.textContent === arguments[0]);"
                + "return arguments[1].map(name => row.querySelector(`[data-name=${name}]`)"
                + ".textContent)",
            label,
            List.of(runs));
  }

  private Object points(String chart) {
    return browser.run(
        "return Number(document.getElementById(arguments[0]).dataset.points)", chart);
  }

  /** Serves the page of the folder; returns its address with the token. */
  private String serve(int port) {
    DashboardConfig where = new DashboardConfig(true, "127.0.0.1", port, List.of(), List.of());
    RunsPage page = Await.result(RunsPage.start(vertx, folder, where, "", TOKEN), 20, "the page");
    return page.url() + "#token=" + TOKEN.text();
  }
}
