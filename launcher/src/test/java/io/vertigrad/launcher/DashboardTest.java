package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.codecs.Addresses;
import io.vertigrad.dashboard.MetricsVerticle;
import io.vertigrad.dashboard.ReplayVerticle;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.WebElement;

/** Tests the page in a real browser; screenshots stay in {@code target/screenshots}. */
@Tag("slow")
final class DashboardTest {

  private static final String HOSTILE = "<img src=x onerror=\"window.hacked=1\"><b>'&amp;";

  private static final int[] BLUE = {0, 114, 178};
  private static final int[] ORANGE = {217, 138, 0};
  private static final int[] INK = {27, 30, 35};

  /** Least contrast of a text, as WCAG 2 requires it (level AA). */
  private static final double READABLE = 4.5;

  /**
   * Number of points that a page has drawn after a while; a page that is opened later has them at
   * once.
   */
  private static final int HISTORY = 25;

  @TempDir private Path folder;
  private static Browser browser;
  private Vertx vertx;
  private RunProcess run;

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
  void endEverything() throws Exception {
    if (run != null) {
      run.close();
    }
    vertx.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  @Test
  void shouldShowCurvesThatMoveAKilledWorkersRankAndAKilledEvaluatorRed() throws Exception {
    train("--processes=all", "--set", "cluster.restarts=0");
    browser.await("both workers", () -> points() > 10 && has("worker 0", "up"));
    int before = points();
    browser.await("curves that move", () -> points() > before + 5);

    process("worker").destroyForcibly();
    browser.await("its end", () -> browser.text("#events").contains("left: its process"));
    browser.await("its rank elsewhere", () -> has("worker 0", "up") && has("worker 1", "up"));

    process("evaluator").destroyForcibly();

    browser.await("a lost evaluator", () -> browser.has(".node[data-condition=lost]"));
    assertEquals(
        "rgb(200, 64, 26)",
        browser.run(
            "return getComputedStyle("
                + "document.querySelector('.node[data-condition=lost] .body')).fill"));
    browser.await("words about it", () -> browser.text("#verdict").contains("Lost: evaluator"));
    browser.screenshot("killed-evaluator", 1280);
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldShowTheHistoryAndStopWithTheToken() throws Exception {
    train();
    browser.await("a while", () -> points() > HISTORY);
    browser.open(run.url() + "#token=wrong");
    browser.navigateAgain();
    browser.await("its first drawing", () -> points() > 0);
    assertTrue(points() > HISTORY, "it begins with " + points() + " points");
    browser.await("bytes on both edges", () -> edgesWithBytes() == 2);
    browser.screenshot("live", 1280);
    assertEquals(List.of(), browser.violations());
    browser.dark(true);
    browser.screenshot("live-dark", 1280);
    assertEquals(List.of(), browser.violations());
    browser.dark(false);
    browser.screenshot("live-narrow", 400);
    assertEquals(List.of(), browser.violations());
    browser.size(1280, 900);

    browser.click("[data-action=checkpoint]");
    browser.await("a no", () -> browser.text("#control").contains("wrong token"));
    browser.open(run.url() + "#token=" + run.token());
    browser.navigateAgain();
    browser.await("the run", () -> points() > 0);
    browser.click("[data-action=checkpoint]");
    browser.await("a checkpoint", () -> browser.text("#events").contains("checkpoint of shard 0"));
    browser.click("[data-action=pause]");
    browser.await("a pause", () -> browser.text("#phase").equals("paused"));
    browser.await("words about it", () -> browser.text("#verdict").contains("Paused"));
    browser.screenshot("paused", 1280);
    assertEquals(List.of(), browser.violations());
    int paused = points();
    browser.click("[data-action=resume]");
    browser.await("its words", () -> browser.text("#events").contains("resumed after a pause"));
    browser.await("curves that move again", () -> points() > paused + 3);
    loseConnection();
    browser.click("[data-action=stop]");
    browser.acceptQuestion();

    assertEquals(1, run.exit(), run.output());
    assertTrue(run.output().contains("asked for on the dashboard"), run.output());
    browser.await("its end", () -> browser.text("#line").equals("stopped"));
    String again = "To see it again: ./vertigrad replay " + folder.resolve("run");
    assertTrue(browser.text("#verdict").contains(again), browser.text("#verdict"));
  }

  /** Closes the page's connection; what is clicked now is sent when the page has reconnected. */
  private void loseConnection() {
    browser.run(
        "const send = WebSocket.prototype.send; WebSocket.prototype.send = function (...data) {"
            + " window.socket = this; return send.apply(this, data); };");
    browser.await(
        "a message", () -> Boolean.TRUE.equals(browser.run("return Boolean(window.socket)")));
    browser.run("window.socket.close()");
    browser.await("its loss", () -> browser.text("#line").equals("connection lost, trying again"));
  }

  @Test
  void shouldReportHowARunEndedWhenItsServerIsGone() throws Exception {
    MetricsVerticle source = new MetricsVerticle("", "runs/one day's work");
    browser.open(page(source));
    browser.await("the line", () -> browser.text("#line").equals("live"));
    browser.run(
        "window.retries = 0; const wait = window.setTimeout; window.setTimeout = (f, millis) => {"
            + "window.retries += millis === 1000; return wait(f, millis); };");
    RunStory.withGaps().forEach(new EventPublisher(vertx, new Addresses("story"))::publish);
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    JsonObject summary = new JsonObject().put("samples", 15_552).put("seconds", 80.05);
    summary.put("samplesPerSecond", 194.5).put("accuracy", 79.485).put("loss", 1.00005);
    JsonObject updates = new JsonObject().put("sent", 1_240).put("applied", 1_237).put("lost", 3);
    updates.put("problems", new JsonArray().add("server 0: 3 of 1,240 are lost"));
    summary.put("updates", updates);
    Await.result(source.conclude(Optional.of(summary.put("testSamples", 2_000))), 20, "the end");
    String result =
        "Finished: 15,552 samples in 80.1 s: 195 samples/s. Accuracy 79.49 % (2,000 test samples),"
            + " loss 1.0001.";
    browser.await("its result", () -> browser.text("#verdict").startsWith(result));
    String ledger = browser.text("#updates");
    assertTrue(ledger.matches("(?s).*sent\\s+1,240.*lost\\s+3.*3 of 1,240 are lost.*"), ledger);
    assertFalse(ledger.contains("duplicate"), "what servers count is not shown besides: " + ledger);

    vertx.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);

    browser.await("how it ended", () -> browser.text("#line").equals("finished"));
    assertEquals(0L, browser.run("return window.retries"));
    assertEquals(
        result + " To see it again: ./vertigrad replay 'runs/one day'\\''s work'",
        browser.text("#verdict"));
  }

  @Test
  void shouldSayThatItLoadsUntilTheFirstMessage() throws Exception {
    String url = page(new NoSource());
    browser.open(url);

    browser.await("the line", () -> browser.text("#line").equals("loading"));
    browser.screenshot("loading", 1280);
    assertEquals("loading", browser.text("#phase"));
    assertTrue(browser.text("#verdict").startsWith("Loading: "), browser.text("#verdict"));
    assertEquals(
        "hidden",
        browser.run("return getComputedStyle(document.querySelector('#figures dd')).visibility"));

    JobConfig job = JobConfig.read("story", new JsonObject().put("job", "story"));
    Await.result(
        vertx.deployVerticle(
            new MetricsVerticle("", "run"), new DeploymentOptions().setConfig(job.json())),
        20,
        "the source");
    browser.await("the line", () -> browser.text("#line").equals("live"));
    browser.await("the phase", () -> browser.text("#phase").equals("waiting"));
    assertFalse(browser.has("body.loading"));
  }

  @Test
  void shouldNameAxisMarksAndStartAtZero() throws Exception {
    browser.open(replay(RunStory.ofTrouble(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    browser.screenshot("trouble", 1280);
    assertEquals(List.of(), browser.violations());

    assertEquals("0", browser.run("return document.querySelector('#accuracy').dataset.first"));
    assertEquals(
        List.of("left", "silent, or training waits", "checkpoint", "joined"),
        browser.run(
            "return [...document.querySelectorAll('#loss .marks li')].map(e => e.innerText)"));
    String events = browser.text("#events");
    assertTrue(events.contains("worker 0 left: failed: rank 0, cause out of memory"), events);
    assertTrue(events.contains("shard 0 refused step 5 of worker 0: holds NaN"), events);
    assertTrue(browser.text("#updates").contains("refused"), browser.text("#updates"));
  }

  /** Sends nothing. */
  private static final class NoSource extends VerticleBase {}

  @Test
  void shouldNotCallARunFinishedWithoutSayingThatItGuesses() throws Exception {
    browser.open(replay(guesses()));
    browser.await(
        "the end", () -> browser.text("#phase").equals("finished, no better than guessing"));

    assertTrue(
        browser.text("#verdict").startsWith("Finished, no better than guessing: "),
        browser.text("#verdict"));
    assertTrue(
        browser
            .text("#advice")
            .startsWith(
                "The model is no better than guessing: class 3 always has accuracy 57.00 % on the"
                    + " test set. Try another optimizer.learningRate"),
        browser.text("#advice"));
    assertReadable(browser.all("#phase").get(0), "flawed");
  }

  @Test
  void shouldNotCallARunFinishedWithoutSayingThatItDiverged() throws Exception {
    JsonObject losses = JsonObject.of("initialLoss", 2.3, "worstLoss", 20.0);
    browser.open(replay(guesses().put("diverged", losses)));
    browser.await("the end", () -> browser.text("#phase").equals("finished, diverged"));
    assertTrue(
        browser.text("#verdict").startsWith("Finished, diverged: "), browser.text("#verdict"));
    assertTrue(
        browser.text("#advice").contains("The training diverged: the loss rose from 2.300"),
        browser.text("#advice"));
  }

  private static JsonObject guesses() {
    JsonObject baseline = JsonObject.of("metric", "", "value", 57.0, "answer", "class 3 always");
    return JsonObject.of("state", "finished", "testSamples", 100, "accuracy", 57.0, "loss", 2.3)
        .put("baseline", baseline.put("beaten", false));
  }

  @Test
  void shouldDrawNoLineWhereNothingWasMeasured() throws Exception {
    browser.open(replay(RunStory.withGaps(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    browser.screenshot("gaps", 1280);

    for (String chart : List.of("#loss", "#rate")) {
      assertGaps(browser.gaps(chart, BLUE), 0.2);
      assertGaps(browser.gaps(chart, ORANGE), 0.2, 0.2);
    }
    assertGaps(browser.gaps("#accuracy", INK), 0.2);
    // On an axis of updates a pause takes no space, but the 20 of 81 updates that worker 1 missed
    // do.
    browser.run("document.querySelector('[name=axis][value=version]').click()");
    assertGaps(browser.gaps("#loss", BLUE));
    assertGaps(browser.gaps("#loss", ORANGE), 0.25);
    // The gaps are the same without smoothing, with the default, and with the strongest.
    browser.run("document.querySelector('[name=axis][value=time]').click()");
    for (String smoothing : List.of("0", "0.98")) {
      browser.run(
          "const s = document.querySelector('#smoothing'); s.value = arguments[0];"
              + "s.dispatchEvent(new Event('input'))",
          smoothing);
      assertGaps(browser.gaps("#loss", ORANGE), 0.2, 0.2);
    }
  }

  @Test
  void shouldDrawNoLineOverAGapWhenThePageIsOpenedLate() throws Exception {
    browser.open(page(new Snapshot()));
    browser.await("the history", () -> points() == 80);

    assertGaps(browser.gaps("#loss", BLUE), 0.2);
    assertEquals("running", browser.text("#phase"));
    assertTrue(browser.text("#config").contains("cat, dog"), browser.text("#config"));
    assertTrue(browser.has("header #replay"), "the form of a replay is in no landmark");
  }

  @Test
  void shouldContinueTheCountersOfAWorkerAndDropTheVitalsOfItsDeadProcess() throws Exception {
    browser.open(replay(RunStory.withGaps(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    // Worker 0 made 81 steps; worker 1 made 51 before it died and 11 after it joined again.
    assertEquals("81", browser.text("#staleness .histogram:nth-child(1) .value"));
    assertEquals("62", browser.text("#staleness .histogram:nth-child(2) .value"));

    List<Long> counts = gradientsFrameByFrame();
    assertEquals(counts.stream().sorted().toList(), counts, "it never falls");

    slide("56");
    browser.await("a dead worker", () -> has("worker 1", "lost"));
    assertEquals("", browser.text("#split .split:nth-child(2) .parts"));
    List<String> cells =
        browser.all("#nodes tr[data-lost] td").stream().map(e -> e.getText()).toList();
    assertEquals(List.of("a pid 3", "worker 1 (lost)", "–", "–", "–", "–", "–", "–"), cells);
    assertTrue(browser.text("#nodes tbody").contains("1.5 of 2"), "worker 0 lives");
  }

  @Test
  void shouldWriteEveryKindOfEventSoThatItCanBeRead() throws Exception {
    List<TrainingEvent> events = RunStory.ofEveryKind();
    browser.open(replay(events, 0));
    browser.await("the end", () -> browser.all("#events li").size() == events.size());

    assertTrue(
        browser
            .text("#events")
            .contains("ending at version 1,234: accuracy 90.13 % reached stop.accuracy, 90.0"),
        browser.text("#events"));
    for (boolean dark : new boolean[] {false, true}) {
      browser.dark(dark);
      for (WebElement text : browser.all("#events li span, #events li time, #verdict")) {
        assertReadable(text, text.getText());
      }
      for (String phase :
          List.of("waiting", "running", "paused", "finished", "failed", "stopped", "interrupted")) {
        browser.run("document.querySelector('#phase').dataset.phase = arguments[0]", phase);
        assertReadable(browser.all("#phase").get(0), phase);
      }
      for (String line : List.of("connecting", "connected", "lost", "replay", "finished")) {
        browser.run("document.querySelector('#line').dataset.state = arguments[0]", line);
        assertReadable(browser.all("#line").get(0), line);
      }
    }
  }

  private void assertReadable(WebElement text, String what) {
    double contrast = browser.contrast(text);
    assertTrue(contrast >= READABLE, "%s: %.2f to 1".formatted(what, contrast));
  }

  private static void assertGaps(List<Double> found, double... expected) {
    assertEquals(expected.length, found.size(), found::toString);
    for (int i = 0; i < expected.length; i++) {
      assertEquals(expected[i], found.get(i), 0.04, found::toString);
    }
  }

  /** Returns how many gradients the page shows as applied, at every third frame of a replay. */
  private static List<Long> gradientsFrameByFrame() {
    Object counts =
        browser.run(
            """
            const slider = document.querySelector('#frame');
            const drawn = () => new Promise((done) =>
                requestAnimationFrame(() => requestAnimationFrame(done)));
            return (async () => {
              const counts = [];
              for (let frame = 0; frame <= slider.max; frame += 3) {
                slider.value = frame;
                slider.dispatchEvent(new Event('input'));
                await drawn();
                counts.push([...document.querySelectorAll('#staleness .histogram .value')]
                    .reduce((sum, value) => sum + Number(value.textContent), 0));
              }
              return counts;
            })();
            """);
    return ((List<?>) counts).stream().map(count -> ((Number) count).longValue()).toList();
  }

  /**
   * Sends the snapshot that a page opened late receives: one worker, averages of several reports,
   * and a pause.
   */
  private static final class Snapshot extends VerticleBase {

    @Override
    public Future<?> start() {
      JsonObject history = new JsonObject();
      for (String column :
          List.of(
              "timeMillis", "version", "loss", "samplesPerSecond", "samples", "bytes", "segment")) {
        history.put(column, new JsonArray());
      }
      for (int second = 1; second <= 100; second++) {
        if (second <= 40 || second > 60) {
          history.getJsonArray("timeMillis").add(1_000L * second);
          history.getJsonArray("version").add(second);
          history.getJsonArray("loss").add(3 + 1.0 / second);
          history.getJsonArray("samplesPerSecond").add(100);
          history.getJsonArray("samples").add(100 * second);
          history.getJsonArray("bytes").add(1_000 * second);
          history.getJsonArray("segment").add(second <= 40 ? 0 : 1);
        }
      }
      JsonObject worker = new JsonObject().put("role", "worker").put("rank", 0);
      JsonObject state = new JsonObject().put("phase", "running").put("startedMillis", 0);
      JsonObject run = new JsonObject().put("config", new JsonObject()).put("workers", 1);
      JsonObject snapshot =
          new JsonObject()
              .put("schema", 1)
              .put("kind", "snapshot")
              .put("job", "story")
              .put("number", 9)
              .put("timeMillis", 100_000)
              .put("state", state.put("version", 100))
              .put("classes", JsonArray.of("cat", "dog"))
              .put("members", JsonArray.of(worker.put("condition", "up")))
              .put("tests", new JsonArray())
              .put("events", new JsonArray())
              .put("run", run.put("servers", 1))
              .put("history", new JsonObject().put("worker 0", history))
              .put("nodes", new JsonObject());
      return vertx
          .eventBus()
          .consumer(new Addresses("story").metricsRequests(), asked -> asked.reply(snapshot))
          .completion();
    }
  }

  @Test
  void shouldShowWhatWasFoundAndWhichKeysToTry() throws Exception {
    browser.open(replay(RunStory.ofOverfitting(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));

    assertEquals(1, browser.all("#advice li").size(), browser.text("#advice"));
    String advice = browser.text("#advice [data-rule=overfits]");
    assertTrue(
        advice.matches(
            "Training and test drift apart: the test loss was 0.420 about update 4\\d and is 0.980"
                + " now, while the training loss fell. Try optimizer.weightDecay or stop.loss 0.420,"
                + " which ends a run about there."),
        advice);
    assertEquals("optimizer.weightDecay", browser.text("#advice code"));
    for (boolean dark : new boolean[] {true, false}) {
      browser.dark(dark);
      browser.all("#advice li, #advice code").forEach(text -> assertReadable(text, text.getText()));
    }
    browser.screenshot("advice", 1280);

    slide("20");
    browser.await("no advice yet", () -> !browser.has("#advice:not([hidden])"));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldReplayAFinishedRunWithTheSlider() throws Exception {
    List<TrainingEvent> events = RunStory.of("a pid 1", "silent for 10000 ms");
    browser.open(replay(events, 0));

    browser.await("the end", () -> browser.text("#accuracy .legend").contains("99.00 %"));
    slide("0");
    browser.await("the beginning", () -> browser.text("#phase").equals("waiting"));
    slide("32");
    browser.await("the middle", () -> browser.text(".figures").contains("30 /"));
    // A thousand bytes a second up, two thousand down.
    browser.await("its only edge", () -> browser.text(".topology .flow").equals("3.0 kB/s"));
    String middle = browser.text("#frame-time");
    browser.click("#play");
    browser.await("time that goes on", () -> !browser.text("#frame-time").equals(middle));

    browser.screenshot("replay", 1280);
    assertEquals(List.of(), browser.violations());
    assertEquals("replay", browser.text("#line"));
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldShowHostileTextAsText() throws Exception {
    browser.open(replay(RunStory.of(HOSTILE, HOSTILE), 0));
    browser.await("the end", () -> browser.text("#accuracy .legend").contains("99.00 %"));

    assertTrue(browser.text("#events").contains("left: " + HOSTILE), browser.text("#events"));
    assertTrue(browser.text("#nodes").contains(HOSTILE), browser.text("#nodes"));
    assertEquals(0L, browser.run("return document.querySelectorAll('img, main b').length"));
    assertNull(browser.run("return window.hacked"));
  }

  @Test
  void shouldFitASmallScreenAndWorkWithTheKeyboard() throws Exception {
    browser.size(400, 800);
    browser.open(
        replay(RunStory.of("a-node-with-a-rather-long-name.example.org pid 12345", "x"), 0));
    browser.await("the end", () -> browser.text("#accuracy .legend").contains("99.00 %"));

    assertTrue(
        (Boolean) browser.run("return document.documentElement.scrollWidth <= 400"),
        () -> "it is " + browser.run("return document.documentElement.scrollWidth") + " px wide");
    assertEquals(
        List.of("play", "frame", "time", "smoothing", "events", "config"),
        browser.run(
            "return [...document.querySelectorAll('button, input, [tabindex]')]"
                + ".filter(e => !e.closest('[hidden], .chart'))"
                + ".filter(e => e.name !== 'axis' || e.checked)"
                + ".map(e => e.id || e.value)"));
  }

  @Test
  void shouldReportALostConnectionAndReconnect() throws Exception {
    int port = FreePort.find();
    browser.open(replay(RunStory.of("a pid 1", "x"), port));
    browser.await("the page", () -> browser.text("#line").equals("replay"));

    vertx.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    browser.await("words about it", () -> browser.text("#line").contains("connection lost"));
    vertx = Vertx.vertx();
    replay(RunStory.of("a pid 1", "x"), port);

    browser.await("the line", () -> browser.text("#line").equals("replay"));
  }

  @Test
  void shouldSaySoonThatNothingArrivesAlthoughNobodyHasClosedTheConnection() throws Exception {
    train();
    String pid = "" + process("worker").pid();
    browser.run(
        """
        window.said = [];
        new MutationObserver(() => window.said.push([performance.now(), line.textContent]))
            .observe(line, { childList: true, characterData: true, subtree: true });
        """);
    assertEquals(0, new ProcessBuilder("kill", "-STOP", pid).start().waitFor());
    double stopped = ((Number) browser.run("return performance.now()")).doubleValue();
    try {
      browser.await("words about it", () -> browser.text("#line").contains("connection lost"));
      double said = ((Number) browser.run("return window.said[0][0]")).doubleValue();
      assertTrue(said - stopped < 3_500, "after %.0f ms".formatted(said - stopped));
    } finally {
      assertEquals(0, new ProcessBuilder("kill", "-CONT", pid).start().waitFor());
    }
    browser.await("the line", () -> browser.text("#line").equals("live"));
  }

  @Test
  void shouldZoomHideLinesAndDownloadWhatIsDrawn() throws Exception {
    browser.open(replay(RunStory.withGaps(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));

    browser.drag("#loss .u-over", 0.25, 0.5);
    browser.await("a part", () -> !zoom().isEmpty());
    String[] shown = zoom().split(" ");
    double end = Double.parseDouble(shown[1]) * 2;
    assertEquals(0.25, Double.parseDouble(shown[0]) / end, 0.03, zoom());
    browser.doubleClick("#loss .u-over");
    browser.await("everything", () -> zoom().isEmpty());
    browser.keys("#loss [role=application]", "+");
    browser.await("a part", () -> !zoom().isEmpty());
    browser.click("#loss [data-tool=whole]");
    browser.await("everything", () -> zoom().isEmpty());

    browser.click("#loss [data-tool=log]");
    assertEquals("true", browser.attribute("#loss [data-tool=log]", "aria-pressed"));
    assertGaps(browser.gaps("#loss", ORANGE), 0.2, 0.2);
    browser.screenshot("log", 1280);
    browser.click("#loss [data-tool=log]");

    browser.run(
        """
        window.blobs = [];
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { window.blobs.push(blob); return make(blob); };
        """);
    browser.click("#loss .legend li:nth-child(1) button");
    assertEquals("false", browser.attribute("#loss .legend li button", "aria-pressed"));
    browser.click("#loss [data-tool=csv]");
    browser.await("a file", () -> Long.valueOf(1).equals(browser.run("return blobs.length")));
    String csv = (String) browser.run("return blobs[0].text()");
    assertEquals("seconds,worker 1,test", csv.lines().findFirst().orElse(""));
    assertTrue(csv.lines().count() > 60, csv);
    browser.click("#loss [data-tool=png]");
    browser.await("a picture", () -> Long.valueOf(2).equals(browser.run("return blobs.length")));
    assertEquals("image/png", browser.run("return blobs[1].type"));

    browser.keys("#loss [role=application]", "+");
    for (String axis : List.of("samples", "version", "time")) {
      browser.run("document.querySelector('[name=axis][value=%s]').click()".formatted(axis));
      assertTrue(points() > 60, axis);
      assertEquals("", zoom(), axis);
      assertFalse(browser.has("#loss [data-tool=whole]:not([hidden])"), axis);
    }
    assertTrue(browser.has("#nodes-cores canvas"), "the processors of the nodes over time");
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldDownloadEachUpdateOnceWhenStepsWereRepeated() throws Exception {
    browser.open(replay(RunStory.ofResume(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    browser.run("document.querySelector('[name=axis][value=version]').click()");
    browser.run(
        """
        window.blobs = [];
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { window.blobs.push(blob); return make(blob); };
        """);

    browser.click("#loss [data-tool=csv]");

    browser.await("a file", () -> Long.valueOf(1).equals(browser.run("return blobs.length")));
    List<String> rows = ((String) browser.run("return blobs[0].text()")).lines().toList();
    assertEquals("updates,worker 0,test", rows.get(0));
    assertEquals(
        IntStream.rangeClosed(1, 60).mapToObj(String::valueOf).toList(),
        rows.stream().skip(1).map(row -> row.substring(0, row.indexOf(','))).toList());
  }

  @Test
  void shouldDrawAChartForEachScalarAndALineForEachSource() throws Exception {
    browser.open(replay(RunStory.withScalars(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    browser.screenshot("scalars", 1280);

    assertEquals(
        List.of("cut.share", "norm"),
        browser.run(
            "return [...document.querySelectorAll('#scalars .chart')].map(e => e.dataset.scalar)"));
    String norm = "#scalars [data-scalar=norm]";
    assertEquals(
        List.of("worker 0", "worker 1"),
        browser.run(
            "return [...document.querySelectorAll(arguments[0] + ' .legend:not(.marks) li')]"
                + ".map(e => e.innerText.match(/worker \\d/)[0])",
            norm));
    assertTrue(browser.text("#scalars .note").contains("12 not finite, which leave gaps"));
    assertGaps(browser.gaps(norm, BLUE), 0.07, 0.2);
    browser.run("document.querySelector('[name=axis][value=samples]').click()");
    assertEquals(List.of(), browser.complaints());

    slide("0");
    browser.await("no scalars", () -> browser.all("#scalars[hidden]").size() == 1);
  }

  @Test
  void shouldShowTheSamplesOfEachWorkerWhenTheyHaveTheirOwn() throws Exception {
    browser.open(replay(RunStory.withScalars(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    assertEquals(1, browser.all("#own-panel[hidden]").size());

    browser.open(replay(RunStory.withOwnSamples(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    browser.screenshot("own-samples", 1280);

    assertEquals(List.of("Worker", "Samples", "cat", "dog"), texts("#own th"));
    assertEquals(
        List.of("worker 0", "1,480", "1,480", "", "worker 1", "500", "100", "400"),
        texts("#own td"));
    assertTrue(
        browser.text("#events").contains("worker 1 has 500 samples of its own, of 2 of 2 labels"),
        browser.text("#events"));
    assertEquals(List.of(), browser.complaints());
  }

  private static List<String> texts(String selector) {
    return browser.all(selector).stream().map(WebElement::getText).toList();
  }

  @Test
  void shouldNameTheLiarFirstWhenItsUpdatesPointTheOtherWay() throws Exception {
    browser.open(replay(RunStory.withLiar(), 0));
    browser.await("the end", () -> browser.text("#phase").equals("finished"));
    String sentence =
        "Worker 3's updates point the other way (cosine -0.31): wrong labels, a wrong sign or"
            + " broken memory?";
    assertTrue(
        browser.text("#verdict").startsWith(sentence + " Finished: "), browser.text("#verdict"));

    assertEquals(
        List.of("worker 3", "1.75", "-0.31", "50 %", sentence),
        browser.all("#updates-by-worker tr[data-outlier] td").stream()
            .map(WebElement::getText)
            .toList());
    assertEquals(4, browser.all("#updates-by-worker tbody tr").size());
    assertEquals(
        List.of("update.cosine", "update.distance"),
        browser.run(
            "return [...document.querySelectorAll('#updates-by-worker .chart')]"
                + ".map(e => e.dataset.scalar)"));
    assertTrue(browser.has("#scalars[hidden]"), "no scalar of anything else was reported");
    for (boolean dark : new boolean[] {true, false}) {
      browser.dark(dark);
      browser.screenshot(dark ? "liar-dark" : "liar", 1280);
      assertEquals(List.of(), browser.violations());
    }

    slide("3");
    browser.await("no liar yet", () -> !browser.text("#verdict").contains("Worker 3"));
    assertEquals(List.of(), browser.complaints());
  }

  private String zoom() {
    String zoom = browser.attribute("#loss", "data-zoom");
    return zoom == null ? "" : zoom;
  }

  /** Starts a run that is long enough for every test, with its page open. */
  private void train(String... more) throws IOException {
    List<String> options = new ArrayList<>(List.of("--steps", "1000000"));
    options.addAll(List.of("--set", "data.train=2000", "--set", "data.test=500"));
    Pace.of(folder).settings(1).forEach(setting -> options.addAll(List.of("--set", setting)));
    options.addAll(List.of("--set", "exchange.suspectMillis=1000"));
    options.addAll(List.of(more));
    run = RunProcess.train(folder.resolve("run"), options.toArray(String[]::new));
    browser.await("the address", () -> !run.url().isEmpty());
    browser.open(run.url());
    browser.await("the line", () -> browser.text("#line").equals("live"));
  }

  /** Waits for a member's process and returns it, as the page names it. */
  private ProcessHandle process(String role) {
    Pattern line = Pattern.compile(role + "( \\d)? joined from \\S+ pid (\\d+)");
    browser.await("its process", () -> line.matcher(browser.text("#events")).find());
    Matcher joined = line.matcher(browser.text("#events"));
    assertTrue(joined.find(), browser.text("#events"));
    return ProcessHandle.of(Long.parseLong(joined.group(2))).orElseThrow();
  }

  private int points() {
    Object points = browser.run("return document.querySelector('#loss').dataset.points");
    return points == null ? 0 : Integer.parseInt(points.toString());
  }

  private long edgesWithBytes() {
    return (Long)
        browser.run(
            "return [...document.querySelectorAll('line[data-edge]')]"
                + ".filter(edge => edge.dataset.bytes > 0).length");
  }

  @Test
  @EnabledIfSystemProperty(named = Browser.PICTURES, matches = ".+")
  void shouldShowThreeProcessesOnThePictureOfTheReadme() throws Exception {
    String[] options = {"--processes", "--steps", "2000", "--set", "workers.count=3"};
    run = RunProcess.train(folder.resolve("run"), options);
    browser.await("the address", () -> !run.url().isEmpty());
    browser.open(run.url());

    browser.await(
        "most of the run", () -> browser.text("#figures").matches("(?s).*1,[3-7]\\d\\d / 2,000.*"));
    browser.picture("dashboard", 1280);
    assertEquals("running", browser.text("#phase"));
  }

  @Test
  void shouldShowARunOnAPageOfAnotherServer() throws Exception {
    int port =
        Await.result(
                vertx
                    .createHttpServer()
                    .requestHandler(
                        request -> request.response().sendFile("../examples/team-page/index.html"))
                    .listen(0, "127.0.0.1"),
                20,
                "the other server")
            .actualPort();
    String team = "http://127.0.0.1:%d/?dashboard=".formatted(port);
    train("--set", "dashboard.origins=[\"http://127.0.0.1:%d\"]".formatted(port));
    String dashboard = run.url().replaceFirst("/(#.*)?$", "");

    browser.open(team + dashboard);

    browser.await("the run", () -> browser.text("#run").matches("paced-sync: running, update .*"));
    browser.await("its loss", () -> browser.text("#loss").matches("[0-9.]+"));
    assertEquals(List.of(), browser.complaints());
    browser.open(team.replace("127.0.0.1", "localhost") + dashboard);
    browser.await("a refusal", () -> browser.text("#run").contains("is it in dashboard.origins?"));
    browser.complaints();
  }

  private boolean has(String member, String condition) {
    return browser.has(".node[data-member='%s'][data-condition='%s']".formatted(member, condition));
  }

  /** Serves the replay of a run with this summary. */
  private String replay(JsonObject summary) throws IOException {
    Files.writeString(folder.resolve("summary.json"), summary.encode());
    return replay(RunStory.withGaps(), 0);
  }

  private String replay(List<TrainingEvent> events, int port) throws IOException {
    Path file = folder.resolve("story.jsonl");
    RunStory.write(file, events);
    return page(new ReplayVerticle(file), port);
  }

  private String page(Deployable source) {
    return page(source, 0);
  }

  private String page(Deployable source, int port) {
    JsonObject job = new JsonObject().put("job", "story");
    job.put("dashboard", new JsonObject().put("port", port));
    return Await.result(
        Dashboard.start(vertx, JobConfig.read("story", job), source), 20, "the page");
  }

  private void slide(String frame) {
    browser.run(
        "const slider = document.querySelector('#frame'); slider.value = arguments[0];"
            + "slider.dispatchEvent(new Event('input'))",
        frame);
  }
}
