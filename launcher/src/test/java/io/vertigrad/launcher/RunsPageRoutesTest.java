package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.http.AccessToken;
import io.vertigrad.job.DashboardConfig;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLock;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests which page the list of runs opens for a run. */
@Tag("slow")
@Timeout(120)
final class RunsPageRoutesTest {

  @TempDir private Path folder;
  private final Vertx vertx = Vertx.vertx();
  private final HttpClient client = HttpClient.newHttpClient();
  private RunsPage list;
  private String url;

  @BeforeEach
  void start() throws IOException {
    run("one");
    DashboardConfig where =
        new DashboardConfig(true, "127.0.0.1", 0, List.of("team.example"), List.of());
    list =
        Await.result(
            RunsPage.start(vertx, folder, where, "/base", AccessToken.fresh()), 20, "the page");
    url = list.url();
  }

  @AfterEach
  void close() {
    Await.result(vertx.close(), 20, "closing");
  }

  @Test
  void shouldReplayARunOnceUntilItChanges() throws Exception {
    String first = page("one");

    assertEquals("{\"job\":\"story\"}", get(URI.create(url).resolve("run/one/job")).body());
    assertEquals(first, page("one"));
    Files.writeString(
        folder.resolve("one/events.jsonl"),
        new JobPaused(1_700_000_070_000L).toJson().encode() + "\n",
        StandardOpenOption.APPEND);
    assertEquals(first, found("one", false), "what a loaded page asks for is of the same replay");
    assertNotEquals(first, page("one"));
  }

  @Test
  void shouldKeepTheLastEightReplays() throws Exception {
    List<String> pages = new ArrayList<>(List.of(page("one")));
    for (int i = 2; i <= 9; i++) {
      run("run-" + i);
      pages.add(page("run-" + i));
    }

    assertEquals(200, get(URI.create(pages.get(8))).statusCode());
    assertEquals(200, get(URI.create(pages.get(1))).statusCode());
    HttpResponse<String> ended = get(URI.create(url).resolve("run/one/job"));
    assertEquals(409, ended.statusCode());
    assertTrue(ended.body().contains("its replay has ended; load the page again"), ended.body());
    assertNotEquals(pages.get(0), page("one"), "its replay had ended");
  }

  @Test
  void shouldOpenTheLivePageOfARunThatGoesOn() throws Exception {
    RunLock lock = RunLock.take(new RunDirectory(folder.resolve("one")));
    try (lock) {
      lock.show("http://127.0.0.1:9/");

      assertEquals("http://127.0.0.1:9/", page("one"));
      HttpResponse<String> silent = get(URI.create(url).resolve("run/one/"));
      assertEquals(502, silent.statusCode());
      assertTrue(
          silent.body().contains("the page of one does not answer at http://127.0.0.1:9/"),
          silent.body());
    }
  }

  @Test
  void shouldSayWhyARunCannotBeShown() throws Exception {
    Files.writeString(folder.resolve("one/job.json"), "{\"wrkers\": 1}");

    HttpResponse<String> damaged = get(URI.create(url).resolve("run/one/"));
    HttpResponse<String> unknown = get(URI.create(url).resolve("run/none/"));

    assertEquals(409, damaged.statusCode(), damaged.body());
    String why = new JsonObject(damaged.body()).getString("refused");
    assertTrue(why.startsWith("one cannot be shown: "), why);
    assertTrue(why.contains("wrkers is not a known key"), why);
    assertEquals(404, unknown.statusCode(), unknown.body());
    assertEquals("there is no run none", new JsonObject(unknown.body()).getString("refused"));
  }

  @Test
  void shouldRefuseDamagedEventsAtOnceWhenTheirPageIsOpened() throws Exception {
    Path events = folder.resolve("one/events.jsonl");
    try (FileChannel hole = FileChannel.open(events, StandardOpenOption.WRITE)) {
      hole.write(ByteBuffer.wrap(new byte[1]), 900L << 20);
    }
    assertTrue(refused("one").contains("has more than 4194304 bytes"), refused("one"));
    Files.delete(events);
    Files.createSymbolicLink(events, Path.of("/dev/zero"));
    assertTrue(refused("one").endsWith("events.jsonl is a link, which is not followed"));
    Files.delete(events);
    assertEquals(0, new ProcessBuilder("mkfifo", events.toString()).start().waitFor());
    assertTrue(refused("one").endsWith("events.jsonl is no regular file"), refused("one"));
    run("two");
    Path job = folder.resolve("two/job.json");
    Files.move(job, folder.resolve("job.json"));
    Files.createSymbolicLink(job, folder.resolve("job.json"));
    assertTrue(refused("two").endsWith("job.json is a link, which is not followed"));
    run("three");
    try (FileChannel large =
        FileChannel.open(folder.resolve("three/events.jsonl"), StandardOpenOption.WRITE)) {
      large.write(ByteBuffer.wrap(new byte[1]), 1L << 30);
    }
    assertTrue(refused("three").contains("events.jsonl has 1,073,741,825 bytes"));

    run("four");
    assertEquals(200, get(URI.create(page("four"))).statusCode());
  }

  private String refused(String name) throws Exception {
    HttpResponse<String> answer = get(URI.create(url).resolve("run/" + name + "/"));
    assertEquals(409, answer.statusCode(), answer.body());
    return new JsonObject(answer.body()).getString("refused");
  }

  @Test
  void shouldEndTheReadingOfARunWhenItsReaderIsGone() throws Exception {
    String event = new JobPaused(1_700_000_070_000L).toJson().encode() + "\n";
    Path events = folder.resolve("one/events.jsonl");
    String some = event.repeat(10_000);
    for (int i = 0; i < 500; i++) {
      Files.writeString(events, some, StandardOpenOption.APPEND);
    }
    try (Socket reader = new Socket("127.0.0.1", URI.create(url).getPort())) {
      reader
          .getOutputStream()
          .write("GET /run/one/ HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes());
      Awaitility.await().until(() -> reads() > 0);
    }

    Awaitility.await().atMost(20, TimeUnit.SECONDS).until(() -> reads() == 0);
  }

  /** Returns how many threads read the events of a run. */
  private static long reads() {
    return Thread.getAllStackTraces().values().stream()
        .filter(
            stack ->
                Arrays.stream(stack)
                    .anyMatch(frame -> frame.getClassName().endsWith(".RunRecording")))
        .count();
  }

  /** Returns where the server of a run's page listens, as for a browser that loads the page. */
  private String page(String name) {
    return found(name, true);
  }

  private String found(String name, boolean fresh) {
    return Await.result(
        list.page(name, fresh, Promise.<Void>promise().future()), 60, "the page of " + name);
  }

  private HttpResponse<String> get(URI address) throws Exception {
    return client.send(HttpRequest.newBuilder(address).build(), BodyHandlers.ofString());
  }

  private void run(String name) throws IOException {
    Path run = RunStory.folder(folder, name, RunStory.of("a pid 1", "finished"));
    Files.writeString(run.resolve("job.json"), "{\"job\": \"story\"}");
  }
}
