package io.vertigrad.launcher;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.Assumptions;
import org.openqa.selenium.By;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/** A headless Chromium that shows a dashboard. */
final class Browser implements AutoCloseable {

  private static final Duration LIMIT = Duration.ofSeconds(150);

  /** Property that names the folder of the docs' pictures, to take them anew. */
  static final String PICTURES = "vertigrad.pictures";

  private static final Path SCREENSHOTS = Path.of("target", "screenshots");

  private final ChromeDriver driver;

  private Browser(ChromeDriver driver) {
    this.driver = driver;
  }

  /** Starts a browser, or skips the test with a reason. */
  static Browser start() {
    Optional<Path> chromium = onThePath("chromium");
    Optional<Path> driver = onThePath("chromedriver");
    Assumptions.assumeTrue(
        chromium.isPresent() && driver.isPresent(),
        "skipped: no browser; install chromium and chromium-driver to run it");
    ChromeOptions options = new ChromeOptions();
    options.setBinary(chromium.get().toFile());
    options.addArguments(
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage");
    LoggingPreferences logged = new LoggingPreferences();
    logged.enable(LogType.BROWSER, Level.ALL);
    options.setCapability(ChromeOptions.LOGGING_PREFS, logged);
    ChromeDriverService service =
        new ChromeDriverService.Builder()
            .usingDriverExecutable(driver.get().toFile())
            .usingAnyFreePort()
            .build();
    Browser browser = new Browser(new ChromeDriver(service, options));
    browser.size(1280, 900);
    return browser;
  }

  /** Resets the browser to its state at the start: empty page, light colours, same size. */
  void forget() {
    open("about:blank");
    dark(false);
    size(1280, 900);
    complaints();
  }

  void open(String url) {
    driver.get(url);
  }

  /** Loads the page again, because a changed fragment alone does not. */
  void navigateAgain() {
    driver.navigate().refresh();
  }

  /** Returns the text of an element, empty when there is none. */
  String text(String selector) {
    List<WebElement> found = driver.findElements(By.cssSelector(selector));
    return found.isEmpty() ? "" : found.get(0).getText();
  }

  boolean has(String selector) {
    return !driver.findElements(By.cssSelector(selector)).isEmpty();
  }

  /** Clicks an element once it stands still. */
  void click(String selector) {
    WebElement element = driver.findElement(By.cssSelector(selector));
    await(selector + " that stands still", () -> place(element).equals(placeAfterAFrame(element)));
    element.click();
  }

  private Object place(WebElement element) {
    return run(
        "const r = arguments[0].getBoundingClientRect(); return [r.x, r.y].join();", element);
  }

  private Object placeAfterAFrame(WebElement element) {
    run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));");
    return place(element);
  }

  String attribute(String selector, String name) {
    return driver.findElement(By.cssSelector(selector)).getDomAttribute(name);
  }

  void keys(String selector, String keys) {
    driver.findElement(By.cssSelector(selector)).sendKeys(keys);
  }

  void doubleClick(String selector) {
    new Actions(driver).doubleClick(driver.findElement(By.cssSelector(selector))).perform();
  }

  /** Drags along an element, between two shares of its width. */
  void drag(String selector, double from, double to) {
    WebElement element = driver.findElement(By.cssSelector(selector));
    int width = element.getSize().getWidth();
    new Actions(driver)
        .moveToElement(element, (int) Math.round((from - 0.5) * width), 0)
        .clickAndHold()
        .moveByOffset((int) Math.round((to - from) * width), 0)
        .release()
        .perform();
  }

  Object run(String script, Object... arguments) {
    return driver.executeScript(script, arguments);
  }

  void await(String what, Callable<Boolean> condition) {
    try {
      Awaitility.await(what).atMost(LIMIT).ignoreExceptions().until(condition);
    } catch (ConditionTimeoutException e) {
      String shown =
          "the page still shows '%s', '%s', '%s', '%s'"
              .formatted(text("#line"), text("#phase"), text("#verdict"), text("#control"));
      throw new AssertionError(what + " did not come: " + shown, e);
    }
  }

  /**
   * Returns the gaps of a line in a chart between its first and its last pixel. Each gap is a share
   * of the line's length; gaps below 3 % are left out.
   *
   * @param chart selector of the element that contains the canvas
   * @param rgb colour of the line
   */
  List<Double> gaps(String chart, int... rgb) {
    Object found =
        run(
            """
            const canvas = document.querySelector(arguments[0] + ' canvas');
            const [r, g, b] = arguments[1];
            const { width, height } = canvas;
            const copy = Object.assign(document.createElement('canvas'), { width, height });
            const context = copy.getContext('2d', { willReadFrequently: true });
            context.drawImage(canvas, 0, 0);
            const pixels = context.getImageData(0, 0, width, height).data;
            const drawn = [];
            for (let x = 0; x < width; x++) {
              for (let y = 0; y < height; y++) {
                const i = 4 * (y * width + x);
                const far = Math.abs(pixels[i] - r) + Math.abs(pixels[i + 1] - g)
                    + Math.abs(pixels[i + 2] - b);
                if (far < 60 && pixels[i + 3] > 120) {
                  drawn.push(x);
                  break;
                }
              }
            }
            const length = drawn.at(-1) - drawn[0];
            return drawn.slice(1).map((x, i) => (x - drawn[i]) / length).filter(gap => gap > 0.03);
            """,
            chart,
            IntStream.of(rgb).boxed().toList());
    return ((List<?>) found).stream().map(gap -> ((Number) gap).doubleValue()).toList();
  }

  /** Returns the contrast between a text and its background, as WCAG 2 defines it: from 1 to 21. */
  double contrast(WebElement text) {
    return ((Number)
            run(
                """
                const channels = (color) => color.match(/[\\d.]+/g).map(Number);
                const light = (color) => {
                  const [r, g, b] = channels(color).slice(0, 3).map((c) => c / 255)
                      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
                  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                };
                let behind = arguments[0];
                let ground;
                do {
                  ground = getComputedStyle(behind).backgroundColor;
                  behind = behind.parentElement;
                } while (channels(ground)[3] === 0);
                const [low, high] = [light(getComputedStyle(arguments[0]).color), light(ground)]
                    .sort((a, b) => a - b);
                return (high + 0.05) / (low + 0.05);
                """,
                text))
        .doubleValue();
  }

  List<WebElement> all(String selector) {
    return driver.findElements(By.cssSelector(selector));
  }

  void acceptQuestion() {
    driver.switchTo().alert().accept();
  }

  void size(int width, int height) {
    command(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
  }

  void dark(boolean dark) {
    Map<String, String> scheme =
        Map.of("name", "prefers-color-scheme", "value", dark ? "dark" : "light");
    command("Emulation.setEmulatedMedia", Map.of("features", List.of(scheme)));
  }

  /** Saves a screenshot as {@code target/screenshots/<name>.png}. */
  void screenshot(String name, int width) throws IOException {
    size(width, 900);
    Number height = (Number) run("return document.documentElement.scrollHeight");
    size(width, height.intValue());
    Files.createDirectories(SCREENSHOTS);
    Files.write(SCREENSHOTS.resolve(name + ".png"), driver.getScreenshotAs(OutputType.BYTES));
  }

  /**
   * Saves a screenshot, and with {@code -Dvertigrad.pictures=DIR} also as {@code DIR/<name>.png}, a
   * picture of the docs.
   */
  void picture(String name, int width) throws IOException {
    screenshot(name, width);
    String folder = System.getProperty(PICTURES, "");
    if (!folder.isEmpty()) {
      Files.copy(
          SCREENSHOTS.resolve(name + ".png"),
          Path.of(folder, name + ".png"),
          StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /**
   * Returns the serious and critical faults of the page that axe-core finds: rules of WCAG 2.1, A
   * and AA, and its best practices, each with the element.
   */
  List<String> violations() throws IOException {
    try (InputStream axe = Browser.class.getResourceAsStream("/axe.min.js")) {
      run(new String(axe.readAllBytes(), StandardCharsets.UTF_8));
    }
    List<?> found =
        (List<?>)
            run(
                """
                return axe.run(document, { resultTypes: ['violations'] }).then((result) =>
                    result.violations.filter((rule) => ['serious', 'critical'].includes(rule.impact))
                        .flatMap((rule) => rule.nodes.map((node) => `${rule.help}: ${node.html}`)));
                """);
    return found.stream().map(String::valueOf).toList();
  }

  /** Returns the warnings and errors on the page's console since the last call. */
  List<String> complaints() {
    return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
        .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
        .map(LogEntry::getMessage)
        // When SockJS replaces a slow WebSocket by another transport, the browser logs this
        // message.
        .filter(message -> !message.contains("closed before the connection is established"))
        .toList();
  }

  @Override
  public void close() {
    driver.quit();
  }

  private void command(String name, Map<String, Object> parameters) {
    driver.executeCdpCommand(name, parameters);
  }

  private static Optional<Path> onThePath(String program) {
    return Stream.of(System.getenv("PATH").split(":"))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }
}
