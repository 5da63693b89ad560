package io.vertigrad.launcher;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;
import org.openqa.selenium.By;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/** A headless Chromium that looks at a dashboard. */
final class Browser implements AutoCloseable {

  private static final Duration LIMIT = Duration.ofSeconds(150);
  private static final Path SCREENSHOTS = Path.of("target", "screenshots");

  private final ChromeDriver driver;

  private Browser(ChromeDriver driver) {
    this.driver = driver;
  }

  /** Starts one, or skips the test and says why. */
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

  /** Becomes what it was when it started: empty, light, of the same size. */
  void forget() {
    open("about:blank");
    dark(false);
    size(1280, 900);
    complaints();
  }

  void open(String url) {
    driver.get(url);
  }

  /** Loads the page once more: another fragment alone would not. */
  void navigateAgain() {
    driver.navigate().refresh();
  }

  /** The text of an element, empty where there is none. */
  String text(String selector) {
    List<WebElement> found = driver.findElements(By.cssSelector(selector));
    return found.isEmpty() ? "" : found.get(0).getText();
  }

  boolean has(String selector) {
    return !driver.findElements(By.cssSelector(selector)).isEmpty();
  }

  void click(String selector) {
    driver.findElement(By.cssSelector(selector)).click();
  }

  Object run(String script, Object... arguments) {
    return driver.executeScript(script, arguments);
  }

  void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(LIMIT).ignoreExceptions().until(condition);
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

  /** Keeps what it shows as {@code target/screenshots/<name>.png}. */
  void screenshot(String name, int width) throws IOException {
    size(width, 900);
    Number height = (Number) run("return document.documentElement.scrollHeight");
    size(width, height.intValue());
    Files.createDirectories(SCREENSHOTS);
    Files.write(SCREENSHOTS.resolve(name + ".png"), driver.getScreenshotAs(OutputType.BYTES));
  }

  /** What the page complained about on its console since the call before. */
  List<String> complaints() {
    return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
        .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
        .map(LogEntry::getMessage)
        // SockJS gives a slow WebSocket up for another transport, and the browser says so.
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
