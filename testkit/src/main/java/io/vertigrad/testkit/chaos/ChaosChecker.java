package io.vertigrad.testkit.chaos;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Compares a disturbed run with an undisturbed one of the same job. */
final class ChaosChecker {

  private static final List<String> OUTCOMES =
      List.of("applied", "late", "tooStale", "refused", "lost");

  private ChaosChecker() {}

  /**
   * Lists every trace that the disturbances left.
   *
   * @param plan whether both runs must end in the same parameters, and apply as many updates
   * @return one sentence each, with what was found and expected; empty when there is none
   */
  static List<String> violations(ChaosPlan plan, RunEnd undisturbed, RunEnd disturbed) {
    List<String> found = new ArrayList<>();
    check("undisturbed: ", undisturbed, found);
    check("disturbed: ", disturbed, found);
    if (!found.isEmpty()) {
      return found;
    }
    compare("version", undisturbed.summary(), disturbed.summary(), found);
    if (!plan.hasQuorum()) {
      compare(
          "applied",
          undisturbed.summary().getJsonObject("updates"),
          disturbed.summary().getJsonObject("updates"),
          found);
    }
    healthy(disturbed, found);
    if (plan.isRepeatable() && !undisturbed.hash().equals(disturbed.hash())) {
      found.add(
          "parametersHash: found %s, expected %s as in the undisturbed run"
              .formatted(disturbed.hash(), undisturbed.hash()));
    }
    return found;
  }

  /**
   * Checks evictions in a run whose processes were stopped and never killed: only a stopped member
   * may be evicted for its silence.
   */
  private static void healthy(RunEnd disturbed, List<String> found) {
    List<Disturbance> done = disturbed.strikes().stream().map(RunEnd.Strike::disturbance).toList();
    if (done.stream().anyMatch(Disturbance::isKill)) {
      return;
    }
    disturbed.events().stream()
        .filter(event -> event.getString("type").equals("memberLeft"))
        .filter(event -> event.getString("reason", "").startsWith("silent for"))
        .filter(event -> disturbed.strikes().stream().noneMatch(one -> one.silenced(event)))
        .forEach(
            event ->
                found.add(
                    "found %s %s evicted (%s), expected only who was stopped: %s"
                        .formatted(
                            event.getString("role"),
                            event.getInteger("rank"),
                            event.getString("reason"),
                            done)));
  }

  /**
   * Lists every cut during which no step was taken for longer than a limit.
   *
   * @param limitMillis longest allowed time without a step
   */
  static List<String> stalls(RunEnd cut, long limitMillis) {
    return cut.strikes().stream()
        .filter(strike -> !(1e3 * cut.gap(strike) <= limitMillis))
        .map(
            strike ->
                String.format(
                    Locale.ROOT,
                    "found no step for %.1f s after '%s', expected %.1f s at most",
                    cut.gap(strike),
                    strike.disturbance(),
                    limitMillis / 1e3))
        .toList();
  }

  private static void check(String which, RunEnd run, List<String> found) {
    if (run.exit() != 0) {
      found.add("%sfound exit code %s, expected 0".formatted(which, run.exit()));
    }
    String state = run.summary().getString("state", "nothing");
    if (!state.equals("finished")) {
      found.add("%sfound state '%s', expected 'finished'".formatted(which, state));
    }
    if (run.hash().isEmpty()) {
      found.add(which + "found no parametersHash, expected one");
    }
    ledger(which, run.summary().getJsonObject("updates", new JsonObject()), found);
    run.leftBehind().forEach(process -> found.add(which + "outlives its run: " + process));
  }

  /** Computes the sums again, so that it finds a ledger that wrongly claims to balance. */
  private static void ledger(String which, JsonObject updates, List<String> found) {
    if (!updates.containsKey("balanced")) {
      found.add("%sfound no ledger of updates, expected one: %s".formatted(which, updates));
      return;
    }
    long outcomes = OUTCOMES.stream().mapToLong(key -> updates.getLong(key, 0L)).sum();
    if (updates.getLong("sent", 0L) != outcomes || !updates.getBoolean("balanced")) {
      found.add(
          "%sfound updates that do not balance: %s, %s"
              .formatted(which, updates, updates.getJsonArray("problems", new JsonArray())));
    }
    if (updates.getLong("lost", 0L) != 0) {
      found.add("%sfound %s lost updates, expected 0".formatted(which, updates.getLong("lost")));
    }
    if (updates.getLong("applied", 0L) == 0) {
      found.add(which + "found no applied update, expected some");
    }
  }

  private static void compare(
      String key, JsonObject undisturbed, JsonObject disturbed, List<String> found) {
    if (!undisturbed.getLong(key).equals(disturbed.getLong(key))) {
      found.add(
          "%s: found %s, expected %s as in the undisturbed run"
              .formatted(key, disturbed.getLong(key), undisturbed.getLong(key)));
    }
  }
}
