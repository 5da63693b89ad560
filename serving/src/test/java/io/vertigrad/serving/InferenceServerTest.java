package io.vertigrad.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Asks a model of digits and a model of a CSV file by the Open Inference Protocol. */
@Tag("slow")
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class InferenceServerTest {

  private static final String LENGTH = "Inference-Header-Content-Length";

  private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  private final HttpClient client = HttpClient.newHttpClient();
  private JsonObject digitsJob;
  private String digits;
  private String table;
  private String letters;

  @BeforeAll
  void trainAndServe(@TempDir Path folder) throws Exception {
    digits = served("digits", new JsonObject().put("name", "digits").put("train", 512), folder);
    List<String> lines = new ArrayList<>(List.of("demand,day,price"));
    for (int i = 0; i < 200; i++) {
      lines.add("%d.5,%s,%s".formatted(i % 7, i % 2 == 0 ? "mo" : "tu", i % 7 > 3 ? "up" : "down"));
    }
    Path csv = Files.write(folder.resolve("prices.csv"), lines);
    table =
        served(
            "prices",
            new JsonObject()
                .put("name", "csv")
                .put("directory", csv.toString())
                .put("label", "price")
                .put("categories", new JsonArray().add("day")),
            folder);
    Path text = Files.writeString(folder.resolve("letters.txt"), "abcdefgh".repeat(100));
    letters =
        served(
            "letters",
            JsonObject.of("name", "text", "directory", text.toString(), "length", 4),
            folder);
  }

  @AfterAll
  void closeVertx() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldDescribeServerModelAndHealth() throws Exception {
    JsonObject server = json("GET", root() + "/v2", 200);
    assertEquals("vertigrad", server.getString("name"));
    assertTrue(server.getString("version").matches("\\d+\\.\\d+\\.\\d+.*"), server::encode);
    assertTrue(json("GET", root() + "/v2/health/live", 200).getBoolean("live"));
    assertTrue(json("GET", root() + "/v2/health/ready", 200).getBoolean("ready"));
    assertTrue(json("GET", digits + "/ready", 200).getBoolean("ready"));
    JsonObject model = json("GET", digits, 200);
    assertEquals("digits", model.getString("name"));
    assertEquals(
        new JsonArray("[{\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[-1,1,28,28]}]"),
        model.getJsonArray("inputs"));
    assertEquals(
        new JsonArray(
            "[{\"name\":\"output\",\"datatype\":\"FP32\",\"shape\":[-1,10]},"
                + "{\"name\":\"class\",\"datatype\":\"BYTES\",\"shape\":[-1]}]"),
        model.getJsonArray("outputs"));
    String version = model.getJsonArray("versions").getString(0);
    assertEquals(model, json("GET", digits + "/versions/" + version, 200));
    assertEquals(
        new JsonArray(
            "[{\"name\":\"demand\",\"datatype\":\"FP32\",\"shape\":[-1]},"
                + "{\"name\":\"day\",\"datatype\":\"BYTES\",\"shape\":[-1]}]"),
        json("GET", table, 200).getJsonArray("inputs"));
  }

  @Test
  void shouldAnswerTheSameInJsonAndInBinary() throws Exception {
    float[] values = new float[2 * 784];
    for (int i = 0; i < values.length; i++) {
      values[i] = i % 13 / 13f;
    }
    JsonArray data = new JsonArray();
    Buffer binary = Buffer.buffer();
    for (float value : values) {
      data.add(value);
      binary.appendIntLE(Float.floatToIntBits(value));
    }
    JsonObject tensor =
        new JsonObject()
            .put("name", "input")
            .put("datatype", "FP32")
            .put("shape", JsonArray.of(2, 1, 28, 28));
    JsonObject inJson =
        new JsonObject()
            .put("id", "17")
            .put("inputs", JsonArray.of(tensor.copy().put("data", data)));
    JsonObject head =
        new JsonObject()
            .put("parameters", new JsonObject().put("binary_data_output", true))
            .put(
                "inputs",
                JsonArray.of(
                    tensor
                        .copy()
                        .put(
                            "parameters",
                            new JsonObject().put("binary_data_size", binary.length()))));

    JsonObject answer = post(digits, inJson, 200);
    HttpResponse<byte[]> bytes = binary(digits + "/infer", head, binary);

    assertEquals("17", answer.getString("id"));
    assertEquals("digits", answer.getString("model_name"));
    JsonObject output = answer.getJsonArray("outputs").getJsonObject(0);
    assertEquals(JsonArray.of(2, 10), output.getJsonArray("shape"));
    int length = Integer.parseInt(bytes.headers().firstValue(LENGTH).orElseThrow());
    Buffer all = Buffer.buffer(bytes.body());
    JsonArray outputs = new JsonObject(all.getString(0, length)).getJsonArray("outputs");
    assertEquals(
        80, outputs.getJsonObject(0).getJsonObject("parameters").getInteger("binary_data_size"));
    for (int i = 0; i < 20; i++) {
      assertEquals(
          output.getJsonArray("data").getFloat(i),
          Float.intBitsToFloat(all.getIntLE(length + 4 * i)),
          1e-6);
    }
    JsonArray classes = answer.getJsonArray("outputs").getJsonObject(1).getJsonArray("data");
    int at = length + 80;
    for (int i = 0; i < 2; i++) {
      int size = all.getIntLE(at);
      assertEquals(classes.getString(i), all.getString(at + 4, at + 4 + size));
      at += 4 + size;
    }
    assertEquals(all.length(), at);
  }

  @Test
  void shouldTakeRawBinaryDataWhenTheHeaderHasNoLength() throws Exception {
    HttpResponse<byte[]> answer =
        client.send(
            HttpRequest.newBuilder(URI.create(digits + "/infer"))
                .header(LENGTH, "0")
                .POST(BodyPublishers.ofByteArray(new byte[784 * 4]))
                .build(),
            BodyHandlers.ofByteArray());

    assertEquals(200, answer.statusCode(), () -> new String(answer.body()));
    assertTrue(answer.headers().firstValue(LENGTH).isPresent());
  }

  @Test
  void shouldAnswerTheSameForBytesAndForTheirPicture() throws Exception {
    BufferedImage image = new BufferedImage(28, 28, BufferedImage.TYPE_BYTE_GRAY);
    JsonArray data = new JsonArray();
    for (int i = 0; i < 784; i++) {
      int grey = i * 7 % 256;
      image.getRaster().setSample(i % 28, i / 28, 0, grey);
      data.add(grey);
    }
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    ImageIO.write(image, "png", png);

    HttpResponse<String> ofPicture =
        client.send(
            HttpRequest.newBuilder(URI.create(digits + "/infer"))
                .header("Content-Type", "image/png")
                .POST(BodyPublishers.ofByteArray(png.toByteArray()))
                .build(),
            BodyHandlers.ofString());
    JsonObject ofBytes = post(digits, request("UINT8", JsonArray.of(1, 1, 28, 28), data), 200);

    assertEquals(200, ofPicture.statusCode(), ofPicture::body);
    assertEquals(
        ofBytes.getJsonArray("outputs"), new JsonObject(ofPicture.body()).getJsonArray("outputs"));
  }

  @Test
  void shouldAcceptATensorPerFieldOrOneOfRows() throws Exception {
    JsonObject named =
        new JsonObject(
            "{\"inputs\":["
                + "{\"name\":\"demand\",\"datatype\":\"FP64\",\"shape\":[2],\"data\":[0.5,6.5]},"
                + "{\"name\":\"day\",\"datatype\":\"BYTES\",\"shape\":[2],\"data\":[\"mo\",\"tu\"]}"
                + "]}");
    JsonObject rows = request("BYTES", JsonArray.of(2, 2), JsonArray.of("0.5", "mo", "6.5", "tu"));

    JsonObject ofNamed = post(table, named, 200);
    JsonObject ofRows = post(table, rows, 200);

    assertEquals(ofNamed.getJsonArray("outputs"), ofRows.getJsonArray("outputs"));
    assertEquals(
        JsonArray.of("down", "up"),
        ofNamed.getJsonArray("outputs").getJsonObject(1).getJsonArray("data"));
    JsonObject onBus =
        get(vertx
                .eventBus()
                .<JsonObject>request(
                    "vertigrad.prices.predict",
                    new JsonObject("{\"sample\":{\"demand\":0.5,\"day\":\"mo\"}}")))
            .body();
    assertEquals(JsonArray.of("down"), onBus.getJsonArray("classes"));
  }

  @Test
  void shouldReportAnInvalidSampleOnTheBus() {
    String name = "a".repeat(1_000);
    Map<String, String> wrong = new LinkedHashMap<>();
    wrong.put(
        "{\"demand\":1,\"dya\":\"mo\"}",
        "sample: field \"day\": is missing, expected a word of the training");
    wrong.put(
        "{\"demand\":1,\"day\":\"mo\",\"x\":1}",
        "sample: field \"x\": is unknown, expected the columns of the training: demand, day");
    wrong.put(
        "{\"demand\":\"NaN\",\"day\":\"mo\"}", "sample: field \"demand\": is \"NaN\", expected");
    wrong.put("{\"demand\":1e400,\"day\":\"mo\"}", "sample: field \"demand\": is \"");
    wrong.put("{\"demand\":[1],\"day\":\"mo\"}", "sample: field \"demand\": is \"[1]\", expected");
    wrong.put("{\"demand\":1,\"day\":\"%s\"}".formatted(name), "sample: field \"day\": is \"aaa");
    wrong.put("{\"demand\":1,\"day\":\"mo\",\"%s\":1}".formatted(name), "sample: field \"aaa");
    wrong.put("[1]", "sample: has 1 values, expected 2 values, one for each field");
    wrong.put("[[1],\"mo\"]", "sample: field \"demand\": is \"[1]\", expected a number");
    wrong.put("7", "sample: is 7, expected an object or an array");
    wrong.forEach(
        (sample, message) -> {
          ExecutionException failed =
              assertThrows(
                  ExecutionException.class,
                  () ->
                      get(
                          vertx
                              .eventBus()
                              .request(
                                  "vertigrad.prices.predict",
                                  new JsonObject("{\"sample\":" + sample + "}"))));
          String found = failed.getCause().getMessage();
          assertEquals(400, ((ReplyException) failed.getCause()).failureCode());
          assertTrue(found.startsWith(message), found);
          assertFalse(found.contains(name.substring(0, 201)), found);
        });
  }

  @Test
  void shouldSendOnlyTheOutputsThatAreAskedFor() throws Exception {
    JsonObject request =
        request("FP32", JsonArray.of(1, 1, 28, 28), zeros(784))
            .put("outputs", JsonArray.of(new JsonObject().put("name", "class")));

    JsonArray outputs = post(digits, request, 200).getJsonArray("outputs");

    assertEquals(1, outputs.size());
    assertEquals("class", outputs.getJsonObject(0).getString("name"));
  }

  @Test
  void shouldReportAnInvalidRequest() throws Exception {
    assertWrong(
        digits,
        request("FP32", JsonArray.of(1, 783), zeros(783)),
        "inputs[0].shape: is [1, 783], expected [-1, 1, 28, 28], where -1 is the number of samples");
    assertWrong(
        digits,
        request("FP32", JsonArray.of(1, 1, 28, 28), zeros(783)),
        "inputs[0].data: the array has 783 elements, expected 784, as its shape [1, 1, 28, 28] says");
    assertWrong(digits, new JsonObject(), "inputs: is null, expected an array of tensors");
    assertWrong(
        digits,
        new JsonObject(
            "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[1]}]}"),
        "inputs[0].name: is \"x\", expected \"input\"");
    assertWrong(
        digits,
        request("FP32", JsonArray.of(1, 1, 28, 28), zeros(784))
            .put("outputs", JsonArray.of(new JsonObject().put("name", "y"))),
        "outputs[0].name: is \"y\", expected one of [output, class]");
    assertWrong(
        table,
        request("BYTES", JsonArray.of(1, 2), JsonArray.of("0.5", "su")),
        "sample 0: field \"day\": is \"su\", expected one of the words of the training: mo, tu");
    assertWrong(
        table,
        new JsonObject(
            "{\"inputs\":[{\"name\":\"demnad\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[1]}]}"),
        "inputs[0].name: is \"demnad\", expected one of demand, day");
    HttpResponse<String> text =
        client.send(
            HttpRequest.newBuilder(URI.create(digits + "/infer"))
                .POST(BodyPublishers.ofString("{\"inputs\":"))
                .build(),
            BodyHandlers.ofString());
    assertEquals(400, text.statusCode());
    assertTrue(text.body().contains("body: is not a JSON object"), text::body);
  }

  @Test
  void shouldRefuseOtherPathsMethodsVersionsAndLargeBodies() throws Exception {
    JsonObject request = request("FP32", JsonArray.of(1, 1, 28, 28), zeros(784));

    assertTrue(json("GET", digits + "/versions/999999", 404).getString("error").contains("999999"));
    assertTrue(
        json("GET", root() + "/v2/models/other", 404).getString("error").contains("\"digits\""));
    assertEquals(
        "/v3: there is no such path, expected one below /v2/models/digits",
        json("GET", root() + "/v3", 404).getString("error"));
    assertEquals(405, send("GET", digits + "/infer").statusCode());
    assertEquals(405, send("POST", digits).statusCode());
    post(digits + "/versions/999999", request, 404);
    HttpResponse<String> large =
        client.send(
            HttpRequest.newBuilder(URI.create(digits + "/infer"))
                .POST(BodyPublishers.ofByteArray(new byte[200_000]))
                .build(),
            BodyHandlers.ofString());
    assertEquals(413, large.statusCode());
    post(digits, request, 200);
  }

  /** All members of this Vert.x share one event loop, which must never wait for a request. */
  @Test
  void shouldDelayNothingElseWhileLargeRequestsAreDecoded() throws Exception {
    String large = large();
    AtomicLong last = new AtomicLong(System.nanoTime());
    AtomicLong longest = new AtomicLong();
    long timer =
        vertx.setPeriodic(
            10,
            tick -> {
              long now = System.nanoTime();
              longest.accumulateAndGet(now - last.getAndSet(now), Math::max);
            });
    int samples = 5_000;
    String body =
        "{\"inputs\":[{\"name\":\"input\",\"datatype\":\"UINT8\",\"shape\":[%d,1,28,28],\"data\":[%s0]}]}"
            .formatted(samples, "0,".repeat(784 * samples - 1));
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      answers.add(client.sendAsync(inference(large, body), BodyHandlers.ofString()));
    }
    CompletableFuture<?> all =
        CompletableFuture.allOf(answers.toArray(new CompletableFuture<?>[0]));

    String small = request("FP32", JsonArray.of(1, 1, 28, 28), zeros(784)).encode();
    long slowest = 0;
    while (!all.isDone()) {
      long begun = System.nanoTime();
      assertEquals(200, client.send(inference(large, small), BodyHandlers.ofString()).statusCode());
      assertEquals(200, send("GET", large + "/ready").statusCode());
      slowest = Math.max(slowest, System.nanoTime() - begun);
    }

    vertx.cancelTimer(timer);
    assertTrue(longest.get() < 1e9, "the members' event loop waited for ns: " + longest);
    assertTrue(slowest < 5e9, "a small request took ns: " + slowest);
    List<Integer> statuses = answers.stream().map(answer -> answer.join().statusCode()).toList();
    assertTrue(statuses.contains(200), statuses::toString);
    assertTrue(List.of(200, 503).containsAll(statuses), statuses::toString);
  }

  private static HttpRequest inference(String model, String body) {
    return HttpRequest.newBuilder(URI.create(model + "/infer"))
        .POST(BodyPublishers.ofString(body))
        .build();
  }

  /** Serves the digits at another port, which takes bodies of 8 MiB. */
  private String large() throws Exception {
    JsonObject json = digitsJob.copy();
    json.getJsonObject("serving").put("maxBytes", 8 << 20);
    Predictors predictors = get(Predictors.deploy(vertx, JobConfig.read("large", json)));
    return predictors.url().orElseThrow();
  }

  /** Runs each row of the page's table of the protocol. */
  @TestFactory
  Stream<DynamicTest> shouldDoWhatThePageSaysOfTheProtocol() {
    return points().entrySet().stream()
        .map(point -> DynamicTest.dynamicTest(point.getKey(), point.getValue()));
  }

  @Test
  void shouldHaveATestForEachRowOfThePage() throws Exception {
    List<String> lines = Files.readAllLines(Path.of("..", "examples", "serve", "README.md"));
    List<String> rows =
        lines.subList(lines.indexOf("## Conformance"), lines.size()).stream()
            .filter(line -> line.startsWith("| ") && !line.startsWith("| ---"))
            .map(line -> line.substring(2, line.indexOf(" | ")))
            .toList();

    assertEquals(
        rows.subList(1, rows.size()), List.copyOf(points().keySet()), "first column of the table");
  }

  private Map<String, Executable> points() {
    Map<String, Executable> points = new LinkedHashMap<>();
    points.put(
        "server metadata",
        () -> {
          JsonObject server = ask("GET", root() + "/v2", "", 200);
          assertEquals("vertigrad", server.getString("name"));
          assertTrue(server.getString("version").matches("\\d+\\.\\d+\\.\\d+.*"), server::encode);
          assertEquals(JsonArray.of("binary_tensor_data"), server.getJsonArray("extensions"));
          assertEquals(server, ask("GET", root() + "/v2/", "", 200));
        });
    points.put(
        "server live",
        () ->
            assertEquals(
                JsonObject.of("live", true), ask("GET", root() + "/v2/health/live", "", 200)));
    points.put(
        "server ready",
        () ->
            assertEquals(
                JsonObject.of("live", true, "ready", true),
                ask("GET", root() + "/v2/health/ready", "", 200)));
    points.put(
        "model metadata",
        () -> {
          JsonObject model = ask("GET", digits, "", 200);
          assertEquals("digits", model.getString("name"));
          assertEquals(model, ask("GET", digits + "/", "", 200));
          assertEquals(1, model.getJsonArray("versions").size());
          assertEquals(
              JsonArray.of(tensor("input", "FP32", -1, 1, 28, 28)), model.getJsonArray("inputs"));
          assertEquals(
              JsonArray.of(tensor("output", "FP32", -1, 10), tensor("class", "BYTES", -1)),
              model.getJsonArray("outputs"));
        });
    points.put(
        "platform",
        () -> assertEquals("vertigrad_model", ask("GET", digits, "", 200).getString("platform")));
    points.put(
        "model ready",
        () ->
            assertEquals(
                JsonObject.of("name", "digits", "ready", true),
                ask("GET", digits + "/ready", "", 200)));
    points.put(
        "version in the path",
        () -> {
          String version = ask("GET", digits, "", 200).getJsonArray("versions").getString(0);
          String path = digits + "/versions/" + version;
          assertEquals(ask("GET", digits, "", 200), ask("GET", path, "", 200));
          assertTrue(ask("GET", path + "/ready", "", 200).getBoolean("ready"));
          assertEquals(
              version, ask("POST", path + "/infer", zeroDigit(), 200).getString("model_version"));
          for (String other : List.of("999999", "0x5", "-1", "")) {
            ask("GET", digits + "/versions/" + other, "", 404);
            ask("GET", digits + "/versions/" + other + "/ready", "", 404);
            ask("POST", digits + "/versions/" + other + "/infer", zeroDigit(), 404);
          }
        });
    points.put(
        "unknown path",
        () -> {
          String models = root() + "/v2/models/";
          for (String path :
              List.of(
                  root() + "/",
                  root() + "/v3",
                  root() + "/v2/models",
                  models + "other",
                  models + "other/infer",
                  root() + "/v2/repository/index",
                  digits + "/config",
                  digits + "/infer/more")) {
            for (String method : List.of("GET", "POST", "PUT", "OPTIONS")) {
              ask(method, path, "", 404);
            }
          }
        });
    points.put(
        "another method",
        () -> {
          for (String path : List.of(root() + "/v2", digits, digits + "/ready")) {
            assertEquals("GET, HEAD", header("POST", path, "Allow", 405));
          }
          assertEquals("POST", header("GET", digits + "/infer", "Allow", 405));
          assertEquals("POST", header("DELETE", digits + "/infer", "Allow", 405));
          assertEquals(200, send("HEAD", digits, new byte[0]).statusCode());
        });
    points.put(
        "error object",
        () -> {
          String name = "A".repeat(3_000);
          for (JsonObject error :
              List.of(
                  ask("GET", root() + "/" + name, "", 404),
                  ask("GET", root() + "/v2/models/" + name, "", 404),
                  ask("GET", digits + "/versions/" + name, "", 404),
                  ask(name, root() + "/v2", "", 405),
                  ask("POST", digits + "/infer", "{\"id\":" + name, 400),
                  ask("POST", digits + "/infer", "", 415, "Content-Type", name),
                  ask("POST", digits + "/infer", "", 415, "Content-Encoding", name),
                  ask("POST", digits + "/infer", "", 400, LENGTH, name))) {
            assertEquals(Set.of("error"), error.fieldNames());
            assertFalse(error.getString("error").contains(name.substring(0, 201)), error::encode);
          }
        });
    points.put(
        "`id`",
        () -> {
          assertEquals("a-1", infer(with("id", "\"a-1\""), 200).getString("id"));
          assertFalse(infer(with("id", "null"), 200).containsKey("id"));
          assertFalse(infer(zeroDigit(), 200).containsKey("id"));
          infer(with("id", "7"), 400);
          infer(with("id", '"' + "a".repeat(201) + '"'), 400);
        });
    points.put(
        "`parameters`",
        () -> {
          infer(with("parameters", "{\"a\":\"b\",\"c\":1,\"d\":true}"), 200);
          infer(with("parameters", "null"), 200);
          infer(with("parameters", "{\"a\":{}}"), 400);
          infer(with("parameters", "[]"), 400);
          infer(with("parameters", "{\"binary_data_output\":\"true\"}"), 400);
        });
    points.put(
        "`inputs`",
        () -> {
          String one = zeroDigit().substring(11, zeroDigit().length() - 2);
          infer("{\"inputs\":[]}", 400);
          infer("{\"inputs\":[%s,%s]}".formatted(one, one), 400);
          infer(zeroDigit().replace("\"input\"", "\"x\""), 400);
          String demand = column("demand", "FP32", "[1]", "[1]");
          String day = column("day", "BYTES", "[1]", "[\"mo\"]");
          inferTable(demand + "," + day, 200);
          inferTable(day + "," + demand, 200);
          inferTable(demand, 400);
          inferTable(demand + "," + demand, 400);
          inferTable(day + "," + column("price", "BYTES", "[1]", "[\"up\"]"), 400);
        });
    points.put(
        "`shape`",
        () -> {
          for (String shape :
              List.of(
                  "[1,784]",
                  "[1,1,784]",
                  "[1,28,28]",
                  "[1,28,28,1]",
                  "[1,1,28,28,1]",
                  "[28,28]",
                  "[0,1,28,28]",
                  "[-1,1,28,28]",
                  "[1.5,1,28,28]",
                  "[9223372036854775808,1,28,28]",
                  "[]",
                  "null")) {
            infer(digit("FP32", shape, zeros(784).encode()), 400);
          }
          inferTable(column("demand", "FP32", "[1,1]", "[1]"), 400);
        });
    points.put(
        "`datatype`",
        () -> {
          JsonArray outputs = infer(zeroDigit(), 200).getJsonArray("outputs");
          for (String type :
              List.of(
                  "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "BF16",
                  "FP32", "FP64")) {
            assertEquals(
                outputs,
                infer(digit(type, "[1,1,28,28]", zeros(784).encode()), 200).getValue("outputs"));
          }
          String flags = zeros(784).encode().replace("0", "false");
          assertEquals(
              outputs, infer(digit("BOOL", "[1,1,28,28]", flags), 200).getValue("outputs"));
          infer(digit("UINT8", "[1,1,28,28]", zeros(784).encode()), 200);
          infer(digit("BYTES", "[1,1,28,28]", zeros(784).encode()), 400);
          infer(digit("FP8", "[1,1,28,28]", zeros(784).encode()), 400);
          inferTable(
              column("demand", "INT64", "[1]", "[6]") + "," + column("day", "FP32", "[1]", "[1]"),
              400);
        });
    points.put(
        "`data`",
        () -> {
          String row = zeros(28).encode();
          String rows = "[[[" + (row + ",").repeat(27) + row + "]]]";
          infer(digit("UINT8", "[1,1,28,28]", rows), 200);
          infer(digit("UINT8", "[1,1,28,28]", rows.replaceFirst("0", "255")), 200);
          infer(digit("UINT8", "[1,1,28,28]", rows.substring(1, rows.length() - 1)), 400);
          for (String element : List.of("256", "-1", "1.5", "true", "null", "\"0\"", "[0]", "{}")) {
            infer(digit("UINT8", "[1,1,28,28]", rows.replaceFirst("0", element)), 400);
          }
          for (String element : List.of("1e400", "-1e39", "NaN", "Infinity", "\"NaN\"")) {
            infer(digit("FP32", "[1,1,28,28]", rows.replaceFirst("0", element)), 400);
          }
          infer(digit("UINT8", "[1,1,28,28]", zeros(783).encode()), 400);
          infer(digit("UINT8", "[1,1,28,28]", zeros(785).encode()), 400);
          assertEquals(
              400, binary(digits + "/infer", head("FP32"), floats(Float.NaN)).statusCode());
          assertEquals(
              400,
              binary(digits + "/infer", head("FP32"), floats(Float.NEGATIVE_INFINITY))
                  .statusCode());
        });
    points.put(
        "texts in `data`",
        () -> {
          String day = "," + column("day", "BYTES", "[1]", "[\"mo\"]");
          inferTable(column("demand", "BYTES", "[1]", "[\"3.5\"]") + day, 200);
          inferTable(column("demand", "BYTES", "[1]", "[\"x\"]") + day, 400);
          inferTable(column("demand", "BYTES", "[1]", "[\"NaN\"]") + day, 400);
          inferTable(column("demand", "FP32", "[1]", "[\"3.5\"]") + day, 400);
          inferTable(
              column("demand", "FP32", "[1]", "[3.5]") + "," + column("day", "BYTES", "[1]", "[7]"),
              400);
        });
    points.put(
        "`outputs`",
        () -> {
          String both = "[{\"name\":\"class\"},{\"name\":\"output\"}]";
          JsonArray outputs = infer(with("outputs", both), 200).getJsonArray("outputs");
          assertEquals("class", outputs.getJsonObject(0).getString("name"));
          assertEquals("output", outputs.getJsonObject(1).getString("name"));
          String one = "[{\"name\":\"class\"}]";
          assertEquals(1, infer(with("outputs", one), 200).getJsonArray("outputs").size());
          assertEquals(2, infer(zeroDigit(), 200).getJsonArray("outputs").size());
          infer(with("outputs", "[{\"name\":\"nope\"}]"), 400);
          infer(with("outputs", "[{\"name\":\"class\"},{\"name\":\"class\"}]"), 400);
        });
    points.put(
        "inference response",
        () -> {
          JsonObject answer = infer(with("id", "\"x\""), 200);
          assertEquals(
              Set.of("model_name", "model_version", "id", "parameters", "outputs"),
              answer.fieldNames());
          assertEquals("digits", answer.getString("model_name"));
          assertTrue(answer.getJsonObject("parameters").getLong("age_millis") >= 0);
          JsonObject output = answer.getJsonArray("outputs").getJsonObject(0);
          assertEquals(Set.of("name", "datatype", "shape", "data"), output.fieldNames());
          assertEquals(JsonArray.of(1, 10), output.getJsonArray("shape"));
          assertEquals(10, output.getJsonArray("data").size());
        });
    points.put(
        "failed inference",
        () -> {
          Random signs = new Random(1);
          Buffer large = Buffer.buffer();
          for (int i = 0; i < 30 * 784; i++) {
            large.appendFloatLE(signs.nextBoolean() ? Float.MAX_VALUE : -Float.MAX_VALUE);
          }
          HttpResponse<byte[]> answer = raw(digits, large);
          String error = new String(answer.body(), StandardCharsets.UTF_8);
          assertEquals(500, answer.statusCode(), error);
          assertTrue(error.contains("output: sample "), error);
        });
    points.put(
        "`binary_data_size`",
        () -> {
          assertEquals(200, binary(digits + "/infer", head("FP32"), floats(0)).statusCode());
          assertEquals(400, binary(digits + "/infer", head("FP64"), floats(0)).statusCode());
          assertEquals(400, binary(digits + "/infer", head("UINT8"), floats(0)).statusCode());
          assertEquals(
              400,
              binary(digits + "/infer", head("FP32"), floats(0).appendByte((byte) 0)).statusCode());
          assertEquals(400, binary(digits + "/infer", head("FP32"), Buffer.buffer()).statusCode());
        });
    points.put(
        "binary `BOOL`, `BYTES`",
        () -> {
          JsonObject flags = head("BOOL");
          flags
              .getJsonArray("inputs")
              .getJsonObject(0)
              .getJsonObject("parameters")
              .put("binary_data_size", 784);
          byte[] bytes = new byte[784];
          assertEquals(200, binary(digits + "/infer", flags, Buffer.buffer(bytes)).statusCode());
          bytes[3] = 2;
          assertEquals(400, binary(digits + "/infer", flags, Buffer.buffer(bytes)).statusCode());
          JsonObject day =
              new JsonObject(
                  "{\"inputs\":["
                      + column("demand", "FP32", "[1]", "[1]")
                      + ","
                      + "{\"name\":\"day\",\"datatype\":\"BYTES\",\"shape\":[1],"
                      + "\"parameters\":{\"binary_data_size\":6}}]}");
          Buffer text = Buffer.buffer().appendIntLE(2).appendString("mo");
          assertEquals(200, binary(table + "/infer", day, text).statusCode());
          assertEquals(400, binary(table + "/infer", day, text.setIntLE(0, 3)).statusCode());
        });
    points.put(
        "`binary_data`, `binary_data_output`",
        () -> {
          String outputs =
              "[{\"name\":\"output\"},{\"name\":\"class\",\"parameters\":{\"binary_data\":false}}]";
          String request =
              with("outputs", outputs)
                  .replaceFirst("\\{", "{\"parameters\":{\"binary_data_output\":true},");
          HttpResponse<byte[]> answer = send("POST", digits + "/infer", request.getBytes());
          assertEquals(200, answer.statusCode());
          assertEquals(
              "application/octet-stream", answer.headers().firstValue("Content-Type").orElse(""));
          int length = Integer.parseInt(answer.headers().firstValue(LENGTH).orElseThrow());
          assertEquals(length + 40, answer.body().length);
          JsonArray found =
              new JsonObject(Buffer.buffer(answer.body()).getBuffer(0, length))
                  .getJsonArray("outputs");
          assertEquals(
              JsonObject.of("binary_data_size", 40),
              found.getJsonObject(0).getJsonObject("parameters"));
          assertEquals(1, found.getJsonObject(1).getJsonArray("data").size());
        });
    points.put(
        "raw binary request",
        () -> {
          assertEquals(200, raw(digits, floats(0)).statusCode());
          assertTrue(raw(digits, floats(0)).headers().firstValue(LENGTH).isPresent());
          assertEquals(400, raw(digits, Buffer.buffer(new byte[4])).statusCode());
          assertEquals(400, raw(table, Buffer.buffer(new byte[4])).statusCode());
        });
    points.put(
        "`Content-Type`",
        () -> {
          for (String type :
              List.of(
                  "application/json",
                  "application/json;charset=UTF-8",
                  "application/octet-stream")) {
            ask("POST", digits + "/infer", zeroDigit(), 200, "Content-Type", type);
          }
          for (String type :
              List.of(
                  "text/plain",
                  "application/x-www-form-urlencoded",
                  "multipart/form-data",
                  "image/tiff",
                  "application/json; charset=utf-16")) {
            ask("POST", digits + "/infer", zeroDigit(), 415, "Content-Type", type);
          }
        });
    points.put(
        "`Content-Encoding`",
        () -> {
          byte[] body = compressed(zeroDigit());
          HttpResponse<byte[]> answer =
              send("POST", digits + "/infer", body, "Content-Encoding", "gzip");
          assertEquals(200, answer.statusCode());
          assertEquals(
              400,
              send("POST", digits + "/infer", zeroDigit().getBytes(), "Content-Encoding", "gzip")
                  .statusCode());
          assertEquals(
              413,
              send(
                      "POST",
                      digits + "/infer",
                      compressed(" ".repeat(100_001)),
                      "Content-Encoding",
                      "gzip")
                  .statusCode());
          for (String other : List.of("deflate", "br", "zstd", "gzip, gzip")) {
            String error =
                ask("POST", digits + "/infer", zeroDigit(), 415, "Content-Encoding", other)
                    .getString("error");
            assertTrue(error.startsWith("Content-Encoding: is \"" + other), error);
          }
          ask("POST", digits + "/infer", zeroDigit(), 200, "Content-Encoding", "identity");
        });
    points.put(
        "`Accept-Encoding`",
        () -> {
          HttpResponse<byte[]> answer =
              send("POST", digits + "/infer", zeroDigit().getBytes(), "Accept-Encoding", "gzip");
          assertEquals("gzip", answer.headers().firstValue("Content-Encoding").orElse(""));
          try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(answer.body()))) {
            JsonObject json = new JsonObject(Buffer.buffer(in.readAllBytes()));
            assertEquals(2, json.getJsonArray("outputs").size());
          }
          for (String other : List.of("br", "gzip;q=0")) {
            assertTrue(
                send("POST", digits + "/infer", zeroDigit().getBytes(), "Accept-Encoding", other)
                    .headers()
                    .firstValue("Content-Encoding")
                    .isEmpty());
          }
        });
    points.put(
        "JSON",
        () -> {
          infer("\uFEFF" + zeroDigit(), 200);
          infer(zeroDigit() + " \n", 200);
          infer(zeroDigit() + "{}", 400);
          infer(with("x", "[".repeat(40) + "]".repeat(40)), 400);
          infer(with("id", "\"a\",\"id\":\"b\""), 400);
          byte[] wide = zeroDigit().getBytes(StandardCharsets.UTF_16);
          assertEquals(400, send("POST", digits + "/infer", wide).statusCode());
        });
    points.put(
        "size",
        () -> {
          assertEquals(413, send("POST", digits + "/infer", new byte[100_001]).statusCode());
          String error = infer(digit("UINT8", "[128,1,28,28]", "[]"), 400).getString("error");
          assertEquals(
              "inputs[0].shape: has 128 samples, expected at most 127 of 784 inputs and 10 outputs (serving.maxBytes)",
              error);
          JsonArray many =
              infer(digit("UINT8", "[60,1,28,28]", zeros(60 * 784).encode()), 200)
                  .getJsonArray("outputs");
          assertEquals(600, many.getJsonObject(0).getJsonArray("data").size());
        });
    points.put(
        "`generate`",
        () -> {
          String body = "{\"text_input\":\"abcdefgh\",\"max_tokens\":5,\"temperature\":0}";
          JsonObject text = ask("POST", letters + "/generate", body, 200);
          assertEquals(Set.of("model_name", "model_version", "text_output"), text.fieldNames());
          assertEquals(5, text.getString("text_output").length());
          assertEquals(text, ask("POST", letters + "/versions/0/generate", body, 200));
          ask("POST", letters + "/versions/1/generate", body, 404);
          ask("POST", letters + "/generate", "{}", 400);
        });
    points.put(
        "`generate_stream`",
        () -> {
          String body =
              "{\"text_input\":\"abcdefgh\",\"parameters\":{\"max_tokens\":2,\"top_k\":1}}";
          String text = ask("POST", letters + "/generate", body, 200).getString("text_output");
          HttpResponse<byte[]> stream =
              send("POST", letters + "/generate_stream", body.getBytes(StandardCharsets.UTF_8));
          String event =
              "data: {\"model_name\":\"letters\",\"model_version\":\"0\",\"text_output\":\"%s\",\"done\":%s}\n\n";
          assertEquals(
              event.formatted(text.charAt(0), false) + event.formatted(text.charAt(1), true),
              new String(stream.body(), StandardCharsets.UTF_8));
          assertEquals(
              "text/event-stream; charset=utf-8",
              stream.headers().firstValue("Content-Type").orElse(""));
        });
    points.put("model repository", this::manage);
    points.put(
        "other extensions",
        () -> {
          for (String path : List.of("/config", "/stats", "/generate", "/trace/setting")) {
            ask("GET", digits + path, "", 404);
            ask("POST", digits + path, "{}", 404);
          }
          String classification = "{\"classification\":3}";
          infer(
              with(
                  "outputs", "[{\"name\":\"output\",\"parameters\":%s}]".formatted(classification)),
              400);
          infer(
              "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,1,28,28],\"datatype\":\"FP32\",\"parameters\":{\"shared_memory_region\":\"a\"}}]}",
              400);
        });
    return points;
  }

  private void manage() throws Exception {
    JobConfig job = JobConfig.read("digits", digitsJob);
    ModelServer.Candidate file =
        new ModelServer.Candidate(
            "digits", "digits.zip", job, job.serving().file().orElseThrow(), Optional.empty());
    ModelServer.Source source =
        new ModelServer.Source() {
          @Override
          public String text() {
            return file.origin();
          }

          @Override
          public boolean isFolder() {
            return false;
          }

          @Override
          public List<ModelServer.Candidate> find() {
            return List.of(file);
          }
        };
    String[] token = {"Authorization", "Bearer 0123456789abcdef"};
    ModelServer server =
        get(
            ModelServer.open(
                vertx,
                job.serving().http(),
                List.of(source),
                Optional.of("admin 0123456789abcdef"),
                line -> {}));
    try {
      String calls = server.address() + "/v2/repository/";
      String load = calls + "models/digits/load";
      ask("POST", load, "{\"parameters\":{\"config\":\"{}\"}}", 400, token);
      ask(
          "POST",
          calls + "models/digits/unload",
          "{\"parameters\":{\"unload_dependents\":false}}",
          200,
          token);
      ask("GET", server.address() + "/v2/models/digits", "", 503, token);
      ask("POST", load, "", 200, token);
      byte[] index = send("POST", calls + "index", new byte[0], token).body();
      assertEquals(
          "READY", new JsonArray(Buffer.buffer(index)).getJsonObject(0).getString("state"));
    } finally {
      get(server.close());
    }
  }

  private static JsonObject tensor(String name, String type, Integer... shape) {
    return JsonObject.of("name", name, "datatype", type, "shape", JsonArray.of((Object[]) shape));
  }

  private static String digit(String type, String shape, String data) {
    return "{\"inputs\":[" + column("input", type, shape, data) + "]}";
  }

  private static String zeroDigit() {
    return digit("FP32", "[1,1,28,28]", zeros(784).encode());
  }

  /** Returns a request for a digit with one key more. */
  private static String with(String key, String value) {
    return "{\"%s\":%s,%s".formatted(key, value, zeroDigit().substring(1));
  }

  private static String column(String name, String type, String shape, String data) {
    return "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":%s,\"data\":%s}"
        .formatted(name, type, shape, data);
  }

  private static Buffer floats(float value) {
    Buffer floats = Buffer.buffer();
    for (int i = 0; i < 784; i++) {
      floats.appendFloatLE(value);
    }
    return floats;
  }

  private static JsonObject head(String type) {
    JsonObject input = tensor("input", type, 1, 1, 28, 28);
    input.put("parameters", JsonObject.of("binary_data_size", 784 * 4));
    return JsonObject.of("inputs", JsonArray.of(input));
  }

  private static byte[] compressed(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  private HttpResponse<byte[]> raw(String model, Buffer data) throws Exception {
    return send("POST", model + "/infer", data.getBytes(), LENGTH, "0");
  }

  private JsonObject infer(String body, int status) throws Exception {
    return ask("POST", digits + "/infer", body, status);
  }

  private void inferTable(String tensors, int status) throws Exception {
    ask("POST", table + "/infer", "{\"inputs\":[" + tensors + "]}", status);
  }

  private String header(String method, String url, String name, int status) throws Exception {
    HttpResponse<byte[]> answer = send(method, url, new byte[0]);
    assertEquals(status, answer.statusCode());
    return answer.headers().firstValue(name).orElse("");
  }

  private JsonObject ask(String method, String url, String body, int status, String... headers)
      throws Exception {
    HttpResponse<byte[]> answer = send(method, url, body.getBytes(StandardCharsets.UTF_8), headers);
    String text = new String(answer.body(), StandardCharsets.UTF_8);
    assertEquals(status, answer.statusCode(), () -> method + " " + url + " " + text);
    return new JsonObject(text);
  }

  private HttpResponse<byte[]> send(String method, String url, byte[] body, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url)).method(method, BodyPublishers.ofByteArray(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.send(request.build(), BodyHandlers.ofByteArray());
  }

  @Test
  void shouldRefuseAHostThatEveryoneReachesWithoutACertificate() {
    JsonObject job =
        new JsonObject()
            .put("job", "open")
            .put("serving", new JsonObject().put("host", "0.0.0.0").put("port", 0));

    Exception refused =
        assertThrows(
            Exception.class,
            () ->
                get(
                    vertx.deployVerticle(
                        new PredictorVerticle(), new DeploymentOptions().setConfig(job))));

    assertTrue(
        refused.getMessage().contains("serving.host 0.0.0.0 can be reached from other machines"),
        refused::getMessage);
  }

  private String served(String name, JsonObject data, Path folder) throws Exception {
    JsonObject json =
        new JsonObject()
            .put("job", name)
            .put("data", data)
            .put("model", new JsonObject().put("name", "mlp").put("hidden", 16))
            .put("optimizer", new JsonObject().put("learningRate", 0.1))
            .put("workers", new JsonObject().put("count", 1).put("batch", 32))
            .put("steps", name.equals("digits") ? 5 : 150);
    RunningJob running = get(TrainingJob.of(json).deploy(vertx));
    get(running.result());
    Path file = folder.resolve(name + ".zip");
    get(running.saveModel(file));
    json.put(
        "serving",
        new JsonObject().put("file", file.toString()).put("port", 0).put("maxBytes", 100_000));
    digitsJob = name.equals("digits") ? json : digitsJob;
    Predictors predictors = get(Predictors.deploy(vertx, JobConfig.read(name, json)));
    return predictors.url().orElseThrow();
  }

  private String root() {
    return digits.substring(0, digits.indexOf("/v2/"));
  }

  private static JsonObject request(String type, JsonArray shape, JsonArray data) {
    return new JsonObject()
        .put(
            "inputs",
            JsonArray.of(
                new JsonObject()
                    .put("name", "input")
                    .put("datatype", type)
                    .put("shape", shape)
                    .put("data", data)));
  }

  private static JsonArray zeros(int count) {
    JsonArray zeros = new JsonArray();
    for (int i = 0; i < count; i++) {
      zeros.add(0);
    }
    return zeros;
  }

  private void assertWrong(String model, JsonObject request, String message) throws Exception {
    assertEquals(message, post(model, request, 400).getString("error"));
  }

  private JsonObject post(String model, JsonObject request, int status) throws Exception {
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(URI.create(model + "/infer"))
                .POST(BodyPublishers.ofString(request.encode()))
                .build(),
            BodyHandlers.ofString());
    assertEquals(status, answer.statusCode(), answer::body);
    return new JsonObject(answer.body());
  }

  private HttpResponse<byte[]> binary(String url, JsonObject head, Buffer data)
      throws IOException, InterruptedException {
    byte[] json = head.encode().getBytes();
    return client.send(
        HttpRequest.newBuilder(URI.create(url))
            .header(LENGTH, Integer.toString(json.length))
            .POST(BodyPublishers.ofByteArray(Buffer.buffer(json).appendBuffer(data).getBytes()))
            .build(),
        BodyHandlers.ofByteArray());
  }

  private HttpResponse<String> send(String method, String url) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create(url)).method(method, BodyPublishers.noBody()).build(),
        BodyHandlers.ofString());
  }

  private JsonObject json(String method, String url, int status) throws Exception {
    HttpResponse<String> answer = send(method, url);
    assertEquals(status, answer.statusCode(), answer::body);
    return new JsonObject(answer.body());
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(90, TimeUnit.SECONDS);
  }
}
