package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.launcher.comparison.Comparison;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the page of a comparison in a real browser; screenshots stay in {@code target/screenshots}.
 */
@Tag("slow")
final class ComparePageTest {

  private static final String HOSTILE = "<img src=x onerror=\"window.hacked=1\"><b>'&amp;";

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
  void shouldDrawNoLineWhereNothingWasMeasured() throws Exception {
    List<Path> runs =
        List.of(
            RunStory.folder(folder, "gaps", RunStory.withGaps()),
            RunStory.folder(folder, "whole", RunStory.of("a pid 1", "finished")));
    browser.open(page(runs));
    browser.await("the page", () -> browser.has("body[data-ready]"));
    browser.run("document.querySelector('[name=axis][value=time]').click()");

    for (String chart : List.of("#training", "#loss", "#accuracy")) {
      List<Double> gaps = browser.gaps(chart, 0, 114, 178);
      assertEquals(1, gaps.size(), chart + gaps);
      assertEquals(0.2, gaps.get(0), 0.04, chart);
      assertEquals(List.of(), browser.gaps(chart, 217, 138, 0), chart);
    }
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldDrawRunsOverEachOtherAndShowNamesAsText() throws Exception {
    browser.open(compare("first", HOSTILE));
    browser.await("the page", () -> browser.has("body[data-ready]"));

    assertEquals("Comparison", browser.text("h1"));
    assertTrue(browser.text("#accuracy .legend").contains("99.00 %"), browser.text("#accuracy"));
    assertTrue(browser.text("#accuracy .legend").contains("79.00 %"), browser.text("#accuracy"));
    assertTrue(browser.text("#training .legend").contains(HOSTILE), browser.text("#training"));
    assertTrue(browser.text("#table thead").contains(HOSTILE), browser.text("#table"));
    assertTrue(browser.text("#table tbody").contains("accuracy, % after"), browser.text("#table"));
    assertEquals(60L, points("accuracy"));
    assertEquals(0L, browser.run("return document.querySelectorAll('img, main b').length"));
    assertNull(browser.run("return window.hacked"));
    look();
    browser.run("document.querySelector('[name=axis][value=samples]').click()");
    assertEquals(60L, points("accuracy"));
    browser.run("document.querySelector('[name=axis][value=time]').click()");
    assertEquals(60L, points("accuracy"));
    browser.click("#runs input");
    assertEquals(40L, points("accuracy"), "of the shorter run alone");
    assertEquals(List.of(), browser.complaints());
  }

  /**
   * Checks the page on a small screen and by keyboard, under the same rules as the page of a run.
   */
  private void look() throws IOException {
    browser.screenshot("compare", 1280);
    browser.dark(true);
    browser.screenshot("compare-dark", 1280);
    browser.dark(false);
    browser.screenshot("compare-narrow", 400);
    assertTrue(
        (Boolean) browser.run("return document.documentElement.scrollWidth <= 400"),
        () -> "it is " + browser.run("return document.documentElement.scrollWidth") + " px wide");
    browser.size(1280, 900);
    assertEquals(
        List.of("checkbox", "checkbox", "radio", "radio", "radio", "range", "table"),
        browser.run(
            "return [...document.querySelectorAll('button, input, [tabindex]')]"
                + ".filter(e => !e.closest('.chart')).map(e => e.type || e.id)"));
    assertEquals(
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        browser.run(
            "const asked = new XMLHttpRequest(); asked.open('GET', 'comparison', false);"
                + "asked.send(); return asked.getResponseHeader('Content-Security-Policy')"));
  }

  private Object points(String chart) {
    return browser.run(
        "return Number(document.getElementById(arguments[0]).dataset.points)", chart);
  }

  /** Returns the page of two runs with the same events; the second run ends after two thirds. */
  private String compare(String one, String other) throws IOException {
    List<TrainingEvent> events = RunStory.of("a pid 1", "finished");
    List<Path> runs =
        List.of(
            RunStory.folder(folder, one, events),
            RunStory.folder(folder, other, events.subList(0, 83)));
    return page(runs);
  }

  private String page(List<Path> runs) {
    return Await.result(Comparison.of(runs).serve(vertx, 0), 20, "the page");
  }
}
