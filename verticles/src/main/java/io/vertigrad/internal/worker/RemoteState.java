package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.worker.ParameterExchange.Ending;
import io.vertigrad.internal.worker.ParameterExchange.Status;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The state of a worker's strategy in another JVM, as each of its answers reports it.
 *
 * @param ending how the last request ended
 * @param applied whether the last gradient was applied
 * @param leftOut why it was not applied
 * @param finalOffered whether readers can get the last version of a job that ends early
 * @param status what the worker can do next
 * @param epoch epoch of the newest membership that the strategy has received
 * @param version version of the replica
 * @param samples samples applied by all workers
 * @param traffic bytes to and from other workers
 * @param events events to publish
 * @param saveMillis how long the last checkpoint took
 * @param failure why the worker cannot continue
 */
record RemoteState(
    Ending ending,
    boolean applied,
    Optional<String> leftOut,
    boolean finalOffered,
    Status status,
    int epoch,
    long version,
    long samples,
    TrafficCounters traffic,
    List<TrainingEvent> events,
    long saveMillis,
    Optional<String> failure) {

  /** The state of a strategy that has not received a request yet. */
  static final RemoteState NONE =
      new RemoteState(
          Ending.COMPLETE,
          false,
          Optional.empty(),
          false,
          Status.WAITING,
          0,
          0,
          0,
          new TrafficCounters(),
          List.of(),
          0,
          Optional.empty());

  JsonObject toJson() {
    JsonObject json =
        new JsonObject()
            .put("ending", ending.name())
            .put("applied", applied)
            .put("shown", finalOffered)
            .put("ready", status == Status.READY)
            .put("changed", status == Status.NEEDS_FETCH)
            .put("epoch", epoch)
            .put("version", version)
            .put("samples", samples)
            .put("sent", write(traffic.sentTo()))
            .put("received", write(traffic.receivedFrom()))
            .put("saved", traffic.bytesSaved())
            .put("news", new JsonArray(events.stream().map(TrainingEvent::toJson).toList()))
            .put("saveMillis", saveMillis);
    leftOut.ifPresent(why -> json.put("leftOut", why));
    failure.ifPresent(why -> json.put("failure", why));
    return json;
  }

  static RemoteState read(JsonObject json) {
    return new RemoteState(
        Ending.valueOf(json.getString("ending")),
        json.getBoolean("applied"),
        Optional.ofNullable(json.getString("leftOut")),
        json.getBoolean("shown"),
        status(json),
        json.getInteger("epoch"),
        json.getLong("version"),
        json.getLong("samples"),
        TrafficCounters.of(
            counts(json.getJsonObject("sent")),
            counts(json.getJsonObject("received")),
            json.getLong("saved")),
        json.getJsonArray("news").stream()
            .map(event -> TrainingEvent.fromJson((JsonObject) event))
            .collect(Collectors.toList()),
        json.getLong("saveMillis"),
        Optional.ofNullable(json.getString("failure")));
  }

  private static Status status(JsonObject json) {
    if (json.getBoolean("changed")) {
      return Status.NEEDS_FETCH;
    }
    return json.getBoolean("ready") ? Status.READY : Status.WAITING;
  }

  private static JsonObject write(Map<Integer, Long> counts) {
    JsonObject json = new JsonObject();
    counts.forEach((partner, bytes) -> json.put(Integer.toString(partner), bytes));
    return json;
  }

  private static Map<Integer, Long> counts(JsonObject json) {
    Map<Integer, Long> counts = new TreeMap<>();
    json.forEach(
        count ->
            counts.put(Integer.valueOf(count.getKey()), ((Number) count.getValue()).longValue()));
    return counts;
  }

  static JsonObject write(Pause pause) {
    JsonObject json =
        new JsonObject()
            .put("number", pause.number())
            .put("holdFrom", pause.holdFrom())
            .put("testing", pause.testing())
            .put("ends", pause.ends())
            .put("saveAt", pause.saveAt());
    return pause.testAt() == EvaluationPlan.NONE ? json : json.put("testAt", pause.testAt());
  }

  static Pause pause(JsonObject json) {
    return new Pause(
        json.getLong("number"),
        json.getLong("holdFrom"),
        json.getLong("testAt", EvaluationPlan.NONE),
        json.getBoolean("testing"),
        json.getBoolean("ends"),
        json.getLong("saveAt"));
  }
}
