package io.vertigrad.launcher.tracking;

import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;

/**
 * Sends the requests to an MLflow server that a run needs; each blocks for a few seconds at most.
 */
final class MlflowApi {

  private static final Duration CONNECT = Duration.ofSeconds(2);
  private static final Duration ANSWER = Duration.ofSeconds(4);
  private static final int CLIENT_ERROR = 400;
  private static final int TIMEOUT = 408;
  private static final int TOO_MANY = 429;
  private static final int SERVER_ERROR = 500;
  private static final int SHOWN = 200;

  private final URI server;
  private final Optional<String> authorization;
  private final HttpClient client = HttpClient.newBuilder().connectTimeout(CONNECT).build();

  /** Reports that the server answered and refused the request; asking again changes nothing. */
  static final class RefusedException extends IOException {

    private static final long serialVersionUID = 1L;

    private final transient String code;

    RefusedException(String message, String code) {
      super(message);
      this.code = code;
    }
  }

  /**
   * Creates the requests to one server.
   *
   * @param server its address, as MLflow's tracking URI
   * @param environment may hold {@code MLFLOW_TRACKING_TOKEN}, or {@code MLFLOW_TRACKING_USERNAME}
   *     and {@code MLFLOW_TRACKING_PASSWORD}, as for MLflow's own clients
   */
  MlflowApi(URI server, Map<String, String> environment) {
    String text = server.toString();
    this.server = URI.create(text.endsWith("/") ? text.substring(0, text.length() - 1) : text);
    String token = environment.get("MLFLOW_TRACKING_TOKEN");
    String user = environment.get("MLFLOW_TRACKING_USERNAME");
    if (token != null) {
      authorization = Optional.of("Bearer " + token);
    } else if (user != null) {
      String both = user + ":" + environment.getOrDefault("MLFLOW_TRACKING_PASSWORD", "");
      authorization =
          Optional.of(
              "Basic " + Base64.getEncoder().encodeToString(both.getBytes(StandardCharsets.UTF_8)));
    } else {
      authorization = Optional.empty();
    }
  }

  /** Returns the id of an experiment; creates the experiment if none has that name. */
  String experiment(String name) throws IOException, InterruptedException {
    String query = URLEncoder.encode(name, StandardCharsets.UTF_8);
    try {
      JsonObject found =
          send(request("experiments/get-by-name?experiment_name=" + query).GET().build());
      return text(found.getJsonObject("experiment", new JsonObject()), "experiment_id");
    } catch (RefusedException e) {
      if (!"RESOURCE_DOES_NOT_EXIST".equals(e.code)) {
        throw e;
      }
    }
    return text(post("experiments/create", new JsonObject().put("name", name)), "experiment_id");
  }

  /** Creates a run and returns its id. */
  String createRun(String experiment, String name, long nowMillis)
      throws IOException, InterruptedException {
    JsonObject made =
        post(
            "runs/create",
            new JsonObject()
                .put("experiment_id", experiment)
                .put("run_name", name)
                .put("start_time", nowMillis));
    JsonObject run = made.getJsonObject("run", new JsonObject());
    return text(run.getJsonObject("info", new JsonObject()), "run_id");
  }

  /** Adds metrics or parameters to a run. */
  void logBatch(String run, JsonObject what) throws IOException, InterruptedException {
    post("runs/log-batch", what.put("run_id", run));
  }

  /** Updates a run's status; {@code endMillis} is 0 while the run continues. */
  void update(String run, String status, long endMillis) throws IOException, InterruptedException {
    JsonObject body = new JsonObject().put("run_id", run).put("status", status);
    post("runs/update", endMillis > 0 ? body.put("end_time", endMillis) : body);
  }

  private JsonObject post(String path, JsonObject body) throws IOException, InterruptedException {
    return send(
        request(path)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body.encode()))
            .build());
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(server + "/api/2.0/mlflow/" + path)).timeout(ANSWER);
    authorization.ifPresent(value -> request.header("Authorization", value));
    return request;
  }

  private JsonObject send(HttpRequest request) throws IOException, InterruptedException {
    HttpResponse<String> response;
    try {
      response = client.send(request, BodyHandlers.ofString());
    } catch (IOException e) {
      throw new IOException(
          "%s does not answer (%s)"
              .formatted(
                  server, e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage()),
          e);
    }
    int status = response.statusCode();
    if (status / 100 == 2) {
      return json(response.body());
    }
    String message =
        "%s answers %s to %s: %s"
            .formatted(server, status, request.uri().getPath(), shown(response.body()));
    boolean passing = status == TIMEOUT || status == TOO_MANY || status >= SERVER_ERROR;
    if (status >= CLIENT_ERROR && !passing) {
      throw new RefusedException(message, code(response.body()));
    }
    throw new IOException(message);
  }

  private JsonObject json(String body) throws IOException {
    try {
      return new JsonObject(body.isBlank() ? "{}" : body);
    } catch (DecodeException e) {
      throw new RefusedException(
          "%s answers no JSON, expected an MLflow server: %s".formatted(server, shown(body)), "");
    }
  }

  private static String code(String body) {
    try {
      return new JsonObject(body).getString("error_code", "");
    } catch (DecodeException | ClassCastException e) {
      return "";
    }
  }

  private String text(JsonObject from, String key) throws IOException {
    Object found = from.getValue(key);
    if (found == null) {
      throw new RefusedException(
          "%s answers without %s, expected an MLflow server".formatted(server, key), "");
    }
    return found.toString();
  }

  private static String shown(String body) {
    String line = body.strip().replaceAll("\\s+", " ");
    return line.length() > SHOWN ? line.substring(0, SHOWN) + "..." : line;
  }
}
