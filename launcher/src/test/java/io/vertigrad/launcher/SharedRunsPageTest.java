package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.dashboard.MetricsVerticle;
import io.vertigrad.http.AccessToken;
import io.vertigrad.job.DashboardConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLock;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the page of many runs for several people: behind a proxy, and who may change what. */
@Tag("slow")
@Timeout(180)
final class SharedRunsPageTest {

  private static final AccessToken TOKEN = AccessToken.fresh();
  private static final Path GUIDE = Path.of("..", "docs", "guide", "runs.md");

  /** The configuration of the guide, a block that is indented by four blanks. */
  private static final Pattern LOCATION =
      Pattern.compile(
          "^    location /vertigrad/ \\{$.*?^    }$", Pattern.MULTILINE | Pattern.DOTALL);

  /** A browser takes every name below localhost for this machine; the server does not. */
  private static final String NAME = "runs.localhost";

  @TempDir private Path folder;
  @TempDir private Path proxyFolder;
  private static Browser browser;
  private final HttpClient client = HttpClient.newHttpClient();
  private Vertx vertx;
  private Process nginx;

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
  void begin() throws IOException {
    browser.forget();
    vertx = Vertx.vertx();
    for (String name : List.of("first", "second one")) {
      Path run = RunStory.folder(folder, name, RunStory.of("a pid 1", "finished"));
      Files.writeString(run.resolve("job.json"), "{\"job\": \"story\"}");
    }
  }

  @AfterEach
  void end() throws InterruptedException {
    if (nginx != null) {
      nginx.destroy();
      assertTrue(nginx.waitFor(20, TimeUnit.SECONDS), "nginx ends");
    }
    Await.result(vertx.close(), 20, "closing");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldWorkBehindNginxThatKeepsOrRemovesThePath(boolean removes) throws Exception {
    RunsPage page = serve(removes ? "" : "/vertigrad");
    String base = proxied(URI.create(page.url()).getPort(), removes);

    browser.open(base);
    ready();
    assertEquals("2 runs, 0 running", browser.text("#line"));
    browser.await("curves", () -> browser.has("#accuracy canvas"));
    assertFalse(browser.all("#delete").get(0).isEnabled(), "without the token");

    browser.open(base + "#token=" + TOKEN.text());
    browser.await("the token", () -> browser.run("return sessionStorage.length").equals(1L));
    ready();
    assertEquals(base, browser.run("return location.href"), "the token is out of the address");
    details("second one");
    browser.keys("#note", "behind a proxy");
    browser.click("#save");
    browser.await(
        "the note",
        () -> browser.text("#list tr[data-run='second one']").contains("behind a proxy"));
    assertEquals(List.of(), browser.complaints());

    assertEquals(
        "run/second%20one/", browser.attribute("#list tr[data-run='second one'] th a", "href"));
    browser.open(base + "run/second%20one/");
    browser.await("the replay", () -> browser.text("#accuracy .legend").contains("99.00 %"));
    assertEquals("replay", browser.text("#line"));
    assertEquals("story", browser.text("#job"));
    assertEquals(List.of(), browser.complaints());

    HttpResponse<String> refused =
        post(base, "notes", JsonObject.of("run", "first", "token", "wrong", "note", "x"));
    assertEquals(403, refused.statusCode(), refused.body());
    assertFalse(Files.exists(folder.resolve("first/notes.json")));
    HttpResponse<String> csv =
        client.send(
            HttpRequest.newBuilder(local(base, "runs.csv")).build(), BodyHandlers.ofString());
    assertTrue(csv.body().startsWith("run,state,begun,"), csv.body());
  }

  @Test
  void shouldShowAndControlALiveRunThroughNginx() throws Exception {
    Path live = Files.createDirectory(folder.resolve("live"));
    Files.writeString(live.resolve("job.json"), "{\"job\": \"lives\"}");
    JobConfig job =
        JobConfig.read(
            "test", JsonObject.of("job", "lives").put("dashboard", JsonObject.of("port", 0)));
    String inner =
        Await.result(Dashboard.start(vertx, job, new MetricsVerticle("5ec2e7")), 20, "the page");
    RunLock lock = RunLock.take(new RunDirectory(live));
    try (lock) {
      lock.show(inner);
      RunsPage page = serve("/vertigrad");
      String base = proxied(URI.create(page.url()).getPort(), false);

      browser.open(base + "run/live/#token=5ec2e7");

      browser.await("the run", () -> browser.text("#line").equals("live"));
      assertEquals("lives", browser.text("#job"));
      assertEquals(base + "run/live/", browser.run("return location.href"));
      assertTrue(browser.all("#control").get(0).isDisplayed());
      long seen = Long.parseLong(browser.attribute("#verdict", "data-number"));
      browser.await(
          "deltas", () -> Long.parseLong(browser.attribute("#verdict", "data-number")) > seen + 2);
      assertEquals(List.of(), browser.complaints());
    }
  }

  @Test
  void shouldKeepTheTokenInTheTabAndOutOfEveryAddress() throws Exception {
    RunsPage page = serve("");
    String base = page.url();

    browser.open(base + "#sort=rising+name&token=" + TOKEN.text());
    ready();
    browser.click("#list th[data-key=name] button");
    browser.keys("#filter", "first");
    assertFalse(
        String.valueOf(browser.run("return location.href")).contains("token"),
        "sorted and filtered");
    assertTrue(String.valueOf(browser.run("return location.href")).contains("filter=first"));
    assertEquals(
        List.of(),
        browser.run(
            "return [...document.querySelectorAll('a')].filter((a) => a.href.includes('token'))"));
    browser.navigateAgain();
    ready();
    details("first");
    assertTrue(browser.all("#save").get(0).isEnabled(), "a reload keeps the token");

    browser.open(base + "#token=");
    browser.await("no token", () -> browser.run("return sessionStorage.length").equals(0L));
    ready();
    details("first");
    assertFalse(browser.all("#save").get(0).isEnabled(), "an empty token removes it");
    assertEquals(List.of(), browser.complaints());
  }

  @Test
  void shouldArchiveAndDeleteRuns() throws Exception {
    RunsPage page = serve("");
    browser.open(page.url() + "#token=" + TOKEN.text());
    ready();

    details("first");
    browser.click("#archive");
    browser.await("one run", () -> !browser.has("#list tr[data-run=first]"));
    assertEquals(
        true,
        new JsonObject(Files.readString(folder.resolve("first/notes.json"))).getValue("archived"));
    assertEquals("archived (1)", browser.text("#archived-label"));
    assertFalse(csv("runs.csv").contains("first"));
    assertTrue(csv("runs.csv?archived=true").contains("first"));
    browser.click("#archived");
    assertEquals("runs.csv?archived=true", browser.attribute("#csv", "href"));
    assertTrue(browser.text("#list tr[data-run=first] th").contains("archived"));
    browser.screenshot("runs-archived", 1400);
    assertEquals(List.of(), browser.violations());
    details("first");
    assertEquals("Unarchive", browser.text("#archive"));
    browser.click("#archive");
    browser.await(
        "no badge", () -> !browser.text("#list tr[data-run=first] th").contains("archived"));

    Files.writeString(folder.resolve("first/notes.json"), "{\"kept\": true}");
    browser.await("a badge", () -> browser.text("#list tr[data-run=first] th").contains("kept"));
    details("first");
    assertFalse(browser.all("#delete").get(0).isEnabled(), "it is kept");
    browser.click("#close");

    details("second one");
    Files.writeString(folder.resolve("second one/notes.json"), "{\"kept\": true}");
    browser.run("window.asked = []; window.confirm = (text) => window.asked.push(text) > 1");
    browser.click("#delete");
    assertEquals(1L, browser.run("return window.asked.length"));
    assertEquals("", browser.text("#details-answer"), "the reader has said no");
    browser.click("#delete");
    browser.await("why", () -> browser.text("#details-answer").startsWith("Not done: "));
    assertTrue(browser.text("#details-answer").contains("is kept"));
    browser.screenshot("runs-delete", 1400);
    browser.complaints();
    Files.delete(folder.resolve("second one/notes.json"));
    browser.click("#delete");
    browser.await("no run", () -> !browser.has("#list tr[data-run='second one']"));
    assertFalse(Files.exists(folder.resolve("second one")));
    assertEquals(List.of(), browser.complaints());
  }

  private RunsPage serve(String basePath) {
    DashboardConfig where = new DashboardConfig(true, "127.0.0.1", 0, List.of(NAME), List.of());
    return Await.result(RunsPage.start(vertx, folder, where, basePath, TOKEN), 20, "the page");
  }

  /**
   * Starts nginx with the configuration of the guide.
   *
   * @param removes whether nginx removes the path before it asks
   * @return the page's address
   */
  private String proxied(int port, boolean removes) throws IOException {
    Optional<Path> program =
        Stream.concat(Stream.of(System.getenv("PATH").split(":")), Stream.of("/usr/sbin"))
            .map(path -> Path.of(path, "nginx"))
            .filter(Files::isExecutable)
            .findFirst();
    Assumptions.assumeTrue(program.isPresent(), "skipped: no nginx; install nginx-light to run it");
    Matcher location = LOCATION.matcher(Files.readString(GUIDE));
    assertTrue(location.find(), GUIDE + " has the configuration");
    String upstream = "http://127.0.0.1:" + port + (removes ? "/" : "");
    assertTrue(location.group().contains("proxy_pass http://127.0.0.1:8360;"), location.group());
    int listened = FreePort.find();
    Path config = proxyFolder.resolve("nginx.conf");
    Files.writeString(
        config,
        """
        daemon off; pid nginx.pid; error_log stderr;
        events { worker_connections 64; }
        http {
          access_log off;
          client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
          uwsgi_temp_path uwsgi; scgi_temp_path scgi;
          server {
            listen 127.0.0.1:%s;
            %s
          }
        }
        """
            .formatted(listened, location.group().replace("http://127.0.0.1:8360", upstream)));
    nginx =
        new ProcessBuilder(
                program.get().toString(), "-p", proxyFolder.toString(), "-c", config.toString())
            .redirectErrorStream(true)
            .redirectOutput(proxyFolder.resolve("log").toFile())
            .start();
    Awaitility.await("nginx")
        .atMost(20, TimeUnit.SECONDS)
        .until(() -> answers(listened) || !nginx.isAlive());
    assertTrue(nginx.isAlive(), () -> logged());
    return "http://%s:%s/vertigrad/".formatted(NAME, listened);
  }

  private String logged() {
    try {
      return Files.readString(proxyFolder.resolve("log"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static boolean answers(int port) {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      return socket.isConnected();
    } catch (IOException closed) {
      return false;
    }
  }

  private static URI local(String base, String path) {
    return URI.create(base.replace(NAME, "127.0.0.1")).resolve(path);
  }

  private HttpResponse<String> post(String base, String path, JsonObject body) throws Exception {
    return client.send(
        HttpRequest.newBuilder(local(base, path))
            .POST(BodyPublishers.ofString(body.encode()))
            .build(),
        BodyHandlers.ofString());
  }

  private static String csv(String path) {
    return String.valueOf(
        browser.run("return fetch(arguments[0]).then((answer) => answer.text())", path));
  }

  private static void details(String run) {
    browser.click("#list tr[data-run='%s'] button.more".formatted(run));
  }

  private static void ready() {
    browser.await("the page", () -> browser.has("body[data-ready]"));
  }
}
