package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.cluster.PortProbe;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.metrics.ReplayVerticle;
import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page, in a real browser; screenshots stay in {@code target/screenshots}. */
@Tag("slow")
final class DashboardTest {

  private static final String HOSTILE = "<img src=x onerror=\"window.hacked=1\"><b>'&amp;";

  /** Points that a page has drawn after a while; one that comes late has them at once. */
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
  void shouldShowCurvesThatMoveAndTurnAKilledWorkerRed() throws Exception {
    train("--processes", "--set", "cluster.restarts=0");
    browser.await("both workers", () -> points() > 10 && has("worker 0", "up"));
    int before = points();
    browser.await("curves that move", () -> points() > before + 5);

    worker().destroyForcibly();

    browser.await("a lost worker", () -> browser.has(".node[data-condition=lost]"));
    assertEquals(
        "rgb(200, 64, 26)",
        browser.run(
            "return getComputedStyle("
                + "document.querySelector('.node[data-condition=lost] .body')).fill"));
    browser.await("its end", () -> browser.text("#events").contains("left: its process"));
    browser.await("words about it", () -> browser.text("#verdict").contains("Lost: worker"));
    browser.screenshot("killed-worker", 1280);
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldShowALatecomerTheHistoryAndStopForWhoeverHasTheToken() throws Exception {
    train();
    browser.await("a while", () -> points() > HISTORY);
    browser.open(run.url() + "#token=wrong");
    browser.navigateAgain();
    browser.await("its first drawing", () -> points() > 0);
    assertTrue(points() > HISTORY, "it begins with " + points() + " points");
    browser.await("bytes on both edges", () -> edgesWithBytes() == 2);
    browser.screenshot("live", 1280);
    browser.dark(true);
    browser.screenshot("live-dark", 1280);
    browser.dark(false);
    browser.screenshot("live-narrow", 400);
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
    int paused = points();
    browser.click("[data-action=resume]");
    browser.await("its words", () -> browser.text("#events").contains("resumed after a pause"));
    browser.await("curves that move again", () -> points() > paused + 3);
    browser.click("[data-action=stop]");
    browser.acceptQuestion();

    assertEquals(1, run.exit(), run.output());
    assertTrue(run.output().contains("asked for on the dashboard"), run.output());
    browser.await("its end", () -> browser.text("#line").contains("connection lost"));
  }

  @Test
  void shouldSlideThroughARunThatIsOver() throws Exception {
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
                + ".filter(e => !e.closest('[hidden]') && e.value !== 'version')"
                + ".map(e => e.id || e.value)"));
  }

  @Test
  void shouldSayThatTheConnectionIsLostAndComeBack() throws Exception {
    int port = PortProbe.free();
    browser.open(replay(RunStory.of("a pid 1", "x"), port));
    browser.await("the page", () -> browser.text("#line").equals("replay"));

    vertx.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    browser.await("words about it", () -> browser.text("#line").contains("connection lost"));
    vertx = Vertx.vertx();
    replay(RunStory.of("a pid 1", "x"), port);

    browser.await("the line", () -> browser.text("#line").equals("replay"));
  }

  /** A run long enough for everything, its page open. */
  private void train(String... more) throws IOException {
    List<String> options = new ArrayList<>(List.of("--steps", "1000000"));
    options.addAll(List.of("--set", "data.train=2000", "--set", "data.test=500"));
    options.addAll(List.of("--set", "exchange.suspectMillis=1000"));
    options.addAll(List.of(more));
    run = RunProcess.train(folder.resolve("run"), options.toArray(String[]::new));
    browser.await("the address", () -> !run.url().isEmpty());
    browser.open(run.url());
    browser.await("the line", () -> browser.text("#line").equals("live"));
  }

  /** The process of a worker, as the page names it. */
  private ProcessHandle worker() {
    Matcher joined =
        Pattern.compile("worker \\d joined from \\S+ pid (\\d+)").matcher(browser.text("#events"));
    assertTrue(joined.find(), browser.text("#events"));
    return ProcessHandle.of(Long.parseLong(joined.group(1))).orElseThrow();
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

  private boolean has(String member, String condition) {
    return browser.has(".node[data-member='%s'][data-condition='%s']".formatted(member, condition));
  }

  private String replay(List<TrainingEvent> events, int port) throws IOException {
    Path file = folder.resolve("story.jsonl");
    RunStory.write(file, events);
    JsonObject job = new JsonObject().put("job", "story");
    job.put("dashboard", new JsonObject().put("port", port));
    return Await.result(
        Dashboard.start(vertx, JobConfig.read("story", job), new ReplayVerticle(file)),
        20,
        "the replay");
  }

  private void slide(String frame) {
    browser.run(
        "const slider = document.querySelector('#frame'); slider.value = arguments[0];"
            + "slider.dispatchEvent(new Event('input'))",
        frame);
  }
}
