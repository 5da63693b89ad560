package io.vertigrad.launcher.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JobFileTest {

  private static Vertx vertx;

  @TempDir private Path folder;

  @BeforeAll
  static void start() {
    vertx = Vertx.vertx();
  }

  @AfterAll
  static void stop() {
    vertx.close();
  }

  @Test
  void shouldLeaveTheSchemaOutWhenAFileNamesOneForEditors() throws Exception {
    Path file = Files.writeString(folder.resolve("job.json"), "{\"$schema\": \"x\", \"seed\": 5}");

    assertEquals(JsonObject.of("seed", 5), await(JobFile.read(vertx, file.toString())).json());
  }

  @Test
  void shouldFetchAJobFileFromItsUrl() throws Exception {
    HttpServer server =
        await(
            vertx
                .createHttpServer()
                .requestHandler(
                    request -> {
                      switch (request.path()) {
                        case "/job.json" -> request.response().end("{\"seed\": 5}");
                        case "/job.yaml" -> request.response().end("seed: 5");
                        case "/away.json" ->
                            request
                                .response()
                                .setStatusCode(302)
                                .putHeader("location", "/job.json")
                                .end();
                        case "/path.json" ->
                            request
                                .response()
                                .end(
                                    "{\"data\": {\"directory\": \"/theirs\"}, \"cluster\":"
                                        + " {\"host\": \"auto\"}}");
                        case "/model.json" ->
                            request
                                .response()
                                .end(
                                    "{\"model\": {\"name\": \"runs/theirs\", \"parameters\":"
                                        + " \"p.st\"}}");
                        case "/large.json" -> request.response().end(" ".repeat(20_000_000));
                        default -> request.response().setStatusCode(404).end();
                      }
                    })
                .listen(0, "127.0.0.1"));
    String url = "http://127.0.0.1:" + server.actualPort();
    try {
      assertEquals(5, await(JobFile.read(vertx, url + "/job.json?x=1")).json().getInteger("seed"));
      assertEquals(5, await(JobFile.read(vertx, url + "/job.yaml")).json().getInteger("seed"));
      assertEquals(5, await(JobFile.read(vertx, url + "/away.json")).json().getInteger("seed"));
      assertEquals(
          5,
          await(JobFile.read(vertx, url.replace("http", "HTTP") + "/job.json"))
              .json()
              .getInteger("seed"));
      assertEquals(
          url
              + "/path.json: data.directory is /theirs, a path of the machine that wrote it;"
              + " leave it out there, or give this machine's with --set"
              + " data.directory=...",
          refusal(new JobRequest(url + "/path.json").read(vertx)));
      assertEquals(
          Optional.of(Path.of("/ours")),
          await(
                  new JobRequest(url + "/path.json")
                      .option("--data", "data.directory", "/ours")
                      .read(vertx))
              .data()
              .directory());
      assertTrue(
          refusal(new JobRequest(url + "/model.json").read(vertx))
              .contains(
                  "/model.json: model.name is runs/theirs, a path of the machine that wrote"));
      assertTrue(
          refusal(new JobRequest(url + "/model.json").set("model.name=mlp").read(vertx))
              .contains(": model.parameters is p.st, a path of the machine that wrote it"));
      assertEquals(
          "mlp",
          await(new JobRequest(url + "/model.json").set("model={\"name\":\"mlp\"}").read(vertx))
              .model()
              .name());
      assertEquals(
          url + "/none.json: cannot be read: HTTP status 404",
          refusal(JobFile.read(vertx, url + "/none.json")));
      assertTrue(
          refusal(JobFile.read(vertx, url + "/large.json")).contains("cannot be read: more than"));
      assertTrue(
          refusal(JobFile.read(vertx, url + "/job")).contains("is not named like a job file"));
    } finally {
      await(server.close());
    }
  }

  @Test
  void shouldSayWhyAUrlCannotBeReached() throws Exception {
    int closed;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      closed = free.getLocalPort();
    }
    String nothing = "http://[::1]:%s/job.json".formatted(closed);
    String unknown = "https://no-such-host.invalid/job.json";

    assertEquals(
        nothing + ": cannot be read: nothing answers there", refusal(JobFile.read(vertx, nothing)));
    assertEquals(
        unknown + ": cannot be read: this machine does not know the host's name",
        refusal(JobFile.read(vertx, unknown)));
  }

  /** The authority of --tls counts besides those that Java knows. */
  @Test
  @Tag("slow")
  void shouldTrustTheAuthorityOfTheJobWhenTheUrlIsOfHttps() throws Exception {
    String make =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj"
            + " /CN=localhost -addext subjectAltName=DNS:localhost -keyout node.key -out node.pem";
    Process openssl = new ProcessBuilder(make.split(" ")).directory(folder.toFile()).start();
    assertEquals(0, openssl.waitFor());
    Path authority = Files.copy(folder.resolve("node.pem"), folder.resolve("authority.pem"));
    PemKeyCertOptions own =
        new PemKeyCertOptions()
            .setCertPath(authority.toString())
            .setKeyPath(folder.resolve("node.key").toString());
    HttpServer server =
        await(
            vertx
                .createHttpServer(new HttpServerOptions().setSsl(true).setKeyCertOptions(own))
                .requestHandler(request -> request.response().end("{\"seed\": 5}"))
                .listen(0, "127.0.0.1"));
    String url = "https://localhost:%s/job.json".formatted(server.actualPort());
    try {
      JobRequest request = new JobRequest(url).option("--tls", "cluster.tls", folder.toString());

      assertEquals(5, await(request.read(vertx)).seed());
      String why = refusal(new JobRequest(url).read(vertx));
      assertTrue(
          why.endsWith("expected a certificate of a known authority, or of the one in --tls DIR"),
          why);
    } finally {
      await(server.close());
    }
  }

  private static String refusal(Future<?> read) {
    return assertThrows(ExecutionException.class, () -> await(read)).getCause().getMessage();
  }

  @Test
  void shouldTakePathsFromVariablesOnlyWhereNothingElseNamesThem() throws Exception {
    Map<String, String> machine =
        Map.of("VERTIGRAD_DATA", "/machine", "VERTIGRAD_TLS", "/tls", "VERTIGRAD_SECRET", "/s");
    String named = write("a.json", "{\"data\": {\"directory\": \"/file\"}}");
    String unnamed = write("b.json", "{}");

    assertEquals("/file", data(new JobRequest(named).variables(machine)));
    assertEquals("/machine", data(new JobRequest(unnamed).variables(machine)));
    assertEquals(
        "/option",
        data(
            new JobRequest(unnamed)
                .option("--data", "data.directory", "/option")
                .variables(machine)));
    JobRequest request = new JobRequest(unnamed).variables(machine);
    assertEquals(Optional.of("/tls/node.key"), request.cluster().key());
    assertEquals(Optional.of("/s"), await(request.read(vertx)).cluster().secretFile());
    assertEquals(Optional.empty(), new JobRequest(unnamed).variables(Map.of()).cluster().key());
  }

  private static String data(JobRequest request) throws Exception {
    return await(request.read(vertx)).data().directory().orElseThrow().toString();
  }

  @ParameterizedTest
  @CsvSource({
    "digits-sync, data.name=shapes, shapes-sync",
    "digits-sync, strategy.name=async, digits-async",
    "digits-sync, data.name=org.example.Spirals, Spirals-sync",
    "digits-sync, data.name=digits, digits-sync",
    "digits-sync, optimizer.learningRate=0.1, digits-sync",
    "mine, data.name=shapes, mine",
  })
  void shouldRenameTheJobWhenTheCommandLineChangesWhatItTrains(
      String file, String set, String called) throws Exception {
    String job =
        "{\"job\": \"%s\", \"data\": {\"name\": \"digits\"}, \"strategy\": {\"name\": \"sync\"}}";
    JobRequest request = new JobRequest(write("a.json", job.formatted(file))).set(set);

    assertEquals(called, await(request.read(vertx)).addresses().job());
    assertEquals("chosen", await(request.set("job=chosen").read(vertx)).addresses().job());
  }

  @Test
  void shouldDropTheFilesOptionsOfAStrategyThatIsReplaced() throws Exception {
    String file = write("a.json", "{\"strategy\": {\"name\": \"sync\", \"reduction\": \"sum\"}}");

    JobConfig other = await(new JobRequest(file).set("strategy.name=allreduce").read(vertx));
    JobConfig same = await(new JobRequest(file).set("strategy.name=sync").read(vertx));

    assertEquals("allreduce", other.strategy().name());
    assertFalse(other.json().getJsonObject("strategy").containsKey("reduction"));
    assertEquals("sum", same.json().getJsonObject("strategy").getString("reduction"));
  }

  @Test
  void shouldReadTheSameJobWhenWrittenInJsonOrYaml() throws Exception {
    String json = write("a.json", "{\"job\": \"a\", \"workers\": {\"count\": 3}}");
    String yaml = write("a.yaml", "job: a\nworkers:\n  count: 3\n");

    assertEquals(await(JobFile.read(vertx, json)).json(), await(JobFile.read(vertx, yaml)).json());
  }

  @Test
  void shouldFindBuiltInJobWhenNoSuchFileExists() throws Exception {
    assertEquals(
        "digits-sync", await(JobFile.read(vertx, JobFile.DEFAULT)).json().getString("job"));
  }

  @Test
  void shouldApplyOptionsInOrderWhenJobIsRequested() throws Exception {
    JobConfig job =
        await(
            new JobRequest(null)
                .set("workers.count=3")
                .option("--workers", "workers.count", 4)
                .option("--steps", "steps", null)
                .read(vertx));

    assertEquals(4, job.workers().count());
    assertEquals("conf/digits-sync.json with --set workers.count=3 --workers 4", job.origin());
  }

  @Test
  void shouldPreferTheLengthOfTheCommandLine() throws Exception {
    String epochs = write("epochs.json", "{\"epochs\": 160}");
    String total = write("total.json", "{\"totalSteps\": 10000}");

    JobConfig steps = await(new JobRequest(epochs).option("--steps", "steps", 5L).read(vertx));
    JobConfig set = await(new JobRequest(total).set("steps=6").read(vertx));
    JobConfig passes = await(new JobRequest(total).option("--epochs", "epochs", 2).read(vertx));

    assertEquals(5, steps.steps());
    assertEquals(6, set.steps());
    assertEquals("2 epochs", passes.length().toString());
  }

  @Test
  void shouldRefuseTwoLengthsWhenTheCommandLineHasBoth() {
    JobRequest request =
        new JobRequest(null).option("--steps", "steps", 5L).option("--epochs", "epochs", 2);

    assertEquals(
        "conf/digits-sync.json with --steps 5 --epochs 2: epochs is given, and steps as well,"
            + " expected one of steps, totalSteps, epochs: remove the others",
        failure(request.read(vertx)));
  }

  @Test
  void shouldNameFileAndOptionsWhenValueIsOutOfRange() {
    JobRequest request = new JobRequest(null).option("--workers", "workers.count", 0);

    assertEquals(
        "conf/digits-sync.json with --workers 0: workers.count is 0, expected a whole number from 1"
            + " to 4096",
        failure(request.read(vertx)));
  }

  @Test
  void shouldLeaveOutOptionsThatHaveNothingToDoWithTheError() {
    JobRequest request =
        new JobRequest("conf/mnist-sync.json")
            .set("data.name=flowers: red")
            .set("strategy.bound=3")
            .option("--seed", "seed", 7)
            .option("--workers", "workers.count", 0)
            .option("--no-dashboard", "dashboard.enabled", false);
    String all =
        "conf/mnist-sync.json with --set data.name=flowers: red --set strategy.bound=3 --seed 7"
            + " --workers 0 --no-dashboard: ";

    assertEquals(
        "conf/mnist-sync.json with --workers 0: workers.count is 0, expected more",
        request.related(all + "workers.count is 0, expected more"));
    assertEquals(
        "conf/mnist-sync.json with --set strategy.bound=3: strategy.bond is not a known key",
        request.related(all + "strategy.bond is not a known key"));
    assertEquals(
        "conf/mnist-sync.json with --set data.name=flowers: red: model.loss does not fit 'flowers:"
            + " red'",
        request.related(all + "model.loss does not fit 'flowers: red'"));
    assertEquals(
        "conf/mnist-sync.json with --no-dashboard: dashboard.port is -1",
        request.related(all + "dashboard.port is -1"));
    assertEquals(
        "conf/mnist-sync.json: optimizer.learningRate is missing",
        request.related(all + "optimizer.learningRate is missing"));
    assertEquals(
        "conf/mnist-sync.json with --set data.name=flowers: red --set strategy.bound=3 --workers 0:"
            + " this JVM needs more heap",
        request.related(all + "this JVM needs more heap"));
    assertEquals("another error", request.related("another error"));
  }

  @Test
  void shouldNameLineAndColumnWhenJsonIsBroken() throws IOException {
    String file = write("broken.json", "{\n  \"job\": \"a\",\n  \"steps\" 5\n}\n");

    assertEquals(
        file
            + ": line 3, column 11: not valid JSON: Unexpected character ('5' (code 53)): was"
            + " expecting a colon to separate field name and value",
        failure(JobFile.read(vertx, file)));
  }

  @Test
  void shouldNameLineAndColumnWhenYamlIsBroken() throws IOException {
    String file = write("broken.yaml", "job: a\nworkers: [1, 2\nsteps: 5\n");

    String message = failure(JobFile.read(vertx, file));

    assertTrue(message.startsWith(file + ": line 3, column 6: not valid YAML: "), message);
  }

  @Test
  void shouldReadDigitsWithColonsAsText() throws Exception {
    String file = write("a.yaml", "job: 190:20:30\na: 1:30.5\nb: -1:5\nc: 30\nd: \"1:2\"\n");

    JsonObject read = await(JobFile.read(vertx, file)).json();

    assertEquals(
        new JsonObject()
            .put("job", "190:20:30")
            .put("a", "1:30.5")
            .put("b", "-1:5")
            .put("c", 30)
            .put("d", "1:2"),
        read);
  }

  @Test
  void shouldKeepAliasesApartWhenOneOfTheirObjectsIsChanged() throws Exception {
    String file = write("a.yaml", "a: &x {b: [1.5]}\nc: *x\nd: {<<: *x, e: 2001-12-14}\n");

    JsonObject read = await(JobFile.read(vertx, file)).json();
    read.getJsonObject("a").getJsonArray("b").add(2);

    assertEquals(
        new JsonObject(
            "{\"a\":{\"b\":[1.5,2]},\"c\":{\"b\":[1.5]},\"d\":{\"b\":[1.5],\"e\":\"2001-12-14\"}}"),
        read);
  }

  @Test
  @Tag("slow")
  void shouldRefuseALongValueInAShortMessageAndInTime() throws Exception {
    for (int length : new int[] {250_000, 3 << 20}) {
      for (String value :
          List.of(
              "1".repeat(length),
              "0x" + "f".repeat(length),
              "1" + "_0".repeat(length / 2),
              "1" + ":1".repeat(length / 2),
              "1." + "0".repeat(length),
              "*" + "a".repeat(length),
              "!" + "a".repeat(length) + " b",
              "\"" + "a".repeat(length) + "\"",
              "a".repeat(length),
              "a b ".repeat(length / 4))) {
        String file = write("long.yaml", "job: " + value + "\n");
        String message = failure(new JobRequest(file).read(vertx));
        String about = value.substring(0, 3) + " of " + length + ": " + message.length();
        assertTrue(message.length() < 600, about);
      }
    }
  }

  @Test
  void shouldExpectAnObjectWhenFileHoldsSomethingElse() throws IOException {
    String file = write("list.json", "[1, 2]");

    String message = failure(JobFile.read(vertx, file));

    assertTrue(message.startsWith(file + ": expected one object, "), message);
  }

  @Test
  void shouldSuggestTheDefaultWhenThereIsNoSuchFile() {
    assertEquals(
        "conf/nope.json: there is no such job file in %s, nor a built-in one of that name; try"
                .formatted(Path.of("").toAbsolutePath())
            + " conf/digits-sync.json",
        failure(JobFile.read(vertx, "conf/nope.json")));
  }

  @Test
  void shouldExpectAJobFilesNameWhenTheEndingIsUnknown() {
    assertEquals(
        "job.xml: is not named like a job file, expected a name that ends in .json, .yaml or .yml",
        failure(JobFile.read(vertx, "job.xml")));
  }

  @Test
  void shouldExpectAFileWhenAFolderIsNamed() throws IOException {
    Path named = Files.createDirectory(folder.resolve("folder.json"));

    assertEquals(
        named + ": is a folder, expected a job file, such as conf/digits-sync.json",
        failure(JobFile.read(vertx, named.toString())));
  }

  private String write(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  private static String failure(Future<?> future) {
    return assertThrows(ExecutionException.class, () -> await(future)).getCause().getMessage();
  }
}
