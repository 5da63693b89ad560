package io.vertigrad.testkit.chaos;

import io.vertigrad.job.TrainingLength;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * A job to disturb.
 *
 * @param name the plan's name
 * @param digits the job file on generated digits
 * @param mnist the job file on MNIST
 * @param changes changes of either job file, by section
 * @param members the members that a kill may hit, besides the coordinator and everything
 * @param stepsPerSecond approximate steps a second on two idle cores, on digits
 * @param isRepeatable whether every run ends in the same parameters
 */
public record ChaosPlan(
    String name,
    String digits,
    String mnist,
    JsonObject changes,
    List<String> members,
    int stepsPerSecond,
    boolean isRepeatable) {

  private static final List<String> WORKERS = List.of("worker 0", "worker 1");
  private static final List<String> ONE_SERVER = List.of("worker 0", "worker 1", "server 0");
  private static final List<String> TWO_SERVERS =
      List.of("worker 0", "worker 1", "server 0", "server 1");

  /** Returns one plan for each kind of job. */
  public static List<ChaosPlan> all() {
    return List.of(
        of("sync", "sync", "{}", ONE_SERVER, 250, true),
        of("sync-2-servers", "sync", TWO, TWO_SERVERS, 250, true),
        of("sync-standby", "sync", "{\"coordinator\": {\"standby\": true}}", ONE_SERVER, 250, true),
        of("allreduce", "ring", "{\"strategy\": {\"name\": \"allreduce\"}}", WORKERS, 250, true),
        of("ring", "ring", "{}", WORKERS, 250, true),
        of("local", "ring", "{\"strategy\": {\"name\": \"local\"}}", WORKERS, 350, true),
        of("diloco", "ring", DILOCO, WORKERS, 350, true),
        of("diloco-server", "sync", DILOCO_SERVER, ONE_SERVER, 350, true),
        of("diloco-quorum", "sync", DILOCO_QUORUM, ONE_SERVER, 350, false),
        of("pipeline", "pipeline", "{}", WORKERS, 150, true),
        of("async", "async", "{}", ONE_SERVER, 200, false),
        of("async-2-servers", "async", TWO, TWO_SERVERS, 200, false),
        of("ssp", "ssp", "{}", ONE_SERVER, 200, false));
  }

  /** Two servers, with partitions small enough that each server has some of the model. */
  private static final String TWO =
      "{\"servers\": {\"count\": 2}, \"exchange\": {\"partitionElements\": 400}}";

  private static final String DILOCO =
      "{\"strategy\": {\"name\": \"diloco\", \"syncEvery\": 20, \"fragments\": 2,"
          + " \"fragmentSyncDelay\": 7}, \"exchange\": {\"compression\": \"int8\"}}";

  /** The momentum makes the inner optimizer's state count. */
  private static final String DILOCO_SERVER =
      "{\"strategy\": {\"name\": \"diloco\", \"syncEvery\": 20, \"servers\": true},"
          + " \"optimizer\": {\"name\": \"sgd\", \"learningRate\": 0.02, \"momentum\": 0.9},"
          + " \"exchange\": {\"compression\": \"int8\"}}";

  private static final String DILOCO_QUORUM =
      "{\"strategy\": {\"name\": \"diloco\", \"syncEvery\": 20, \"servers\": true, \"quorum\": 1}}";

  /** A killed process is always started again, and the model is tested only at the end. */
  private static final JsonObject HARNESS =
      new JsonObject()
          .put("cluster", new JsonObject().put("restarts", 1_000))
          .put("checkpoint", new JsonObject().put("seconds", 2).put("every", 0))
          .put("evaluator", new JsonObject().put("count", 0).put("every", 10))
          .put("dashboard", new JsonObject().put("enabled", false));

  private static final JsonObject SHORT =
      new JsonObject()
          .put("exchange", new JsonObject().put("suspectMillis", 600).put("evictMillis", 2_000))
          .put("checkpoint", new JsonObject().put("seconds", 600));

  /** Returns every possible victim once. */
  public List<String> victims() {
    List<String> victims = new ArrayList<>(members);
    victims.add(Disturbance.COORDINATOR);
    victims.add(Disturbance.EVERYTHING);
    return victims;
  }

  /** Returns whether the number of updates depends on who is in time. */
  boolean hasQuorum() {
    return changes.getJsonObject("strategy", new JsonObject()).getInteger("quorum", 0) > 0;
  }

  boolean hasStandby() {
    return changes.getJsonObject("coordinator", new JsonObject()).getBoolean("standby", false);
  }

  /**
   * Returns the job.
   *
   * @param file content of the job file
   * @param steps steps of each worker
   * @param port port of the cluster
   */
  JsonObject job(JsonObject file, int steps, int port) {
    JsonObject job = file.copy();
    if (changes.containsKey("strategy")) {
      job.remove("strategy");
    }
    TrainingLength.keys().forEach(job::remove);
    List.of("stop", "evaluator").forEach(job::remove);
    job.mergeIn(changes, true).mergeIn(HARNESS, true);
    job.getJsonObject("cluster").put("port", port);
    return job.put("job", "chaos-" + name).put("steps", steps);
  }

  /**
   * Returns a job of a few seconds that evicts silent members soon and writes no checkpoint in that
   * time.
   *
   * @param file content of the job file
   * @param port port of the cluster
   */
  JsonObject shortJob(JsonObject file, int port) {
    return job(file, 2 * stepsPerSecond, port).mergeIn(SHORT, true);
  }

  private static ChaosPlan of(
      String name,
      String file,
      String changes,
      List<String> members,
      int stepsPerSecond,
      boolean isRepeatable) {
    boolean mlp = file.equals("ssp");
    return new ChaosPlan(
        name,
        "digits-" + file + ".json",
        "mnist-" + (mlp ? "async" : file) + ".json",
        mlp
            ? new JsonObject(changes).put("strategy", new JsonObject().put("name", "ssp"))
            : new JsonObject(changes),
        members,
        stepsPerSecond,
        isRepeatable);
  }
}
