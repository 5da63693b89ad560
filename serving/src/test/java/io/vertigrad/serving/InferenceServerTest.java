package io.vertigrad.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Asks a model of digits and a model of a CSV file by the Open Inference Protocol. */
@Tag("slow")
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class InferenceServerTest {

  private static final String LENGTH = "Inference-Header-Content-Length";

  private final Vertx vertx = Vertx.vertx();
  private final HttpClient client = HttpClient.newHttpClient();
  private String digits;
  private String table;

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
  void shouldAnswerForBytesAsForThePictureOfThem() throws Exception {
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
  void shouldTakeATensorForEachFieldOrARowOfThem() throws Exception {
    JsonObject named =
        new JsonObject(
            "{\"inputs\":["
                + "{\"name\":\"demand\",\"datatype\":\"FP64\",\"shape\":[2],\"data\":[0.5,6.5]},"
                + "{\"name\":\"day\",\"datatype\":\"BYTES\",\"shape\":[2,1],\"data\":[\"mo\",\"tu\"]}"
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
  void shouldSendOnlyTheOutputsThatAreAskedFor() throws Exception {
    JsonObject request =
        request("FP32", JsonArray.of(1, 784), zeros(784))
            .put("outputs", JsonArray.of(new JsonObject().put("name", "class")));

    JsonArray outputs = post(digits, request, 200).getJsonArray("outputs");

    assertEquals(1, outputs.size());
    assertEquals("class", outputs.getJsonObject(0).getString("name"));
  }

  @Test
  void shouldSayWhatIsWrongWithARequest() throws Exception {
    assertWrong(
        digits,
        request("FP32", JsonArray.of(1, 783), zeros(783)),
        "inputs[0].shape: is [1, 783], expected the number of samples, then [1, 28, 28]");
    assertWrong(
        digits,
        request("FP32", JsonArray.of(1, 784), zeros(783)),
        "inputs[0]: has 783 elements, expected 784, as its shape [1, 784] says");
    assertWrong(digits, new JsonObject(), "inputs: is null, expected an array of tensors");
    assertWrong(
        digits,
        new JsonObject(
            "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[1]}]}"),
        "inputs: has [x], expected one named \"input\"");
    assertWrong(
        digits,
        request("FP32", JsonArray.of(1, 784), zeros(784))
            .put("outputs", JsonArray.of(new JsonObject().put("name", "y"))),
        "outputs[0].name: is \"y\", expected one of [output, class]");
    assertWrong(
        table,
        request("BYTES", JsonArray.of(1, 2), JsonArray.of("0.5", "su")),
        "inputs[0], sample 0: field \"day\": is \"su\", expected one of the words of the training: mo, tu");
    assertWrong(
        table,
        new JsonObject(
            "{\"inputs\":[{\"name\":\"demnad\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[1]}]}"),
        "sample 0: field \"demand\": is missing, expected a number");
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
    JsonObject request = request("FP32", JsonArray.of(1, 784), zeros(784));

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
