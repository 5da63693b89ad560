package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.RecordJson;
import io.vertigrad.internal.RecordJson.Form;
import io.vertigrad.internal.RecordJson.Key;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.membership.ControlCodec;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.worker.ParameterExchange.Ending;
import io.vertigrad.internal.worker.ParameterExchange.Status;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The messages between a {@link RemoteExchange} and its {@link RemoteWorker}, besides frames. Each
 * is a record; its components are the keys.
 */
final class ReplicaMessages {

  private static final RecordJson JSON =
      RecordJson.strict(
          ReplicaMessages::omits,
          new Form<>(Ending.class, String.class, "an ending", Ending::name, Ending::valueOf),
          ControlCodec.MEMBERSHIP,
          new Form<>(
              TrainingEvent.class,
              JsonObject.class,
              "events",
              TrainingEvent::toJson,
              TrainingEvent::fromJson));

  private ReplicaMessages() {}

  /** The incarnation that begins a session, and the state that its replica must match. */
  record Opening(int rank, int incarnation, long firstVersion, String run, long layout) {}

  /**
   * The part of every request that says how the job stands.
   *
   * @param now the worker's clock in nanoseconds, which stops in a pause
   */
  record JobState(long now, Pause pause, Membership membership) {}

  /**
   * A gradient whose frames have been sent.
   *
   * @param loss as text, because it may not be finite
   */
  record GradientSent(long step, int samples, String loss) {}

  /**
   * The state of the replica, with which the strategy answers.
   *
   * @param ending how the request ended
   * @param applied whether the last gradient was applied
   * @param finalOffered whether readers can get the last version of a job that ends early
   * @param ready whether a step may begin
   * @param changed whether parameters must be fetched first
   * @param epoch epoch of the newest membership that the strategy has received
   * @param version version of the replica
   * @param samples samples applied by all workers
   * @param sent bytes to each other worker
   * @param received bytes from each other worker
   * @param saved bytes that compression saved
   * @param events events to publish
   * @param saveMillis how long the last checkpoint took
   * @param leftOut why the last gradient was not applied
   * @param failure why the worker cannot continue
   */
  record Progress(
      Ending ending,
      boolean applied,
      @Key("shown") boolean finalOffered,
      boolean ready,
      boolean changed,
      int epoch,
      long version,
      long samples,
      Map<Integer, Long> sent,
      Map<Integer, Long> received,
      long saved,
      @Key("news") List<TrainingEvent> events,
      long saveMillis,
      Optional<String> leftOut,
      Optional<String> failure) {

    /** The state before the first request. */
    static final Progress NONE =
        new Progress(
            Ending.COMPLETE,
            false,
            false,
            false,
            false,
            0,
            0,
            0,
            Map.of(),
            Map.of(),
            0,
            List.of(),
            0,
            Optional.empty(),
            Optional.empty());

    Status status() {
      return changed ? Status.NEEDS_FETCH : ready ? Status.READY : Status.WAITING;
    }

    TrafficCounters traffic() {
      return TrafficCounters.of(sent, received, saved);
    }
  }

  static JsonObject write(Record message) {
    return JSON.write(message);
  }

  static <T extends Record> T read(Class<T> type, JsonObject json) {
    return JSON.read(type, json, "a strategy's " + type.getSimpleName());
  }

  private static boolean omits(Record part, String key, Object value) {
    return part instanceof Pause && key.equals("testAt") && value.equals(EvaluationPlan.NONE);
  }
}
