package io.vertigrad.sweep;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What a sweep does, decided before its first trial: it is the first line of the sweep's journal.
 *
 * @param name of the sweep and of its folder
 * @param trials the trials, from number 1 on
 * @param rungs how often a trial is tested; 1 when every trial is trained to its end
 * @param factor the budget of a rung is this much larger than that of the one below
 * @param order what the best result is
 */
public record SweepPlan(
    String name, List<Trial> trials, int rungs, int factor, TrialResult.Order order) {

  /**
   * One combination of settings.
   *
   * @param number from 1
   * @param settings values by key of the job file
   * @param most steps of the whole trial
   * @param job the job file with these settings
   */
  public record Trial(int number, Map<String, Object> settings, long most, JsonObject job) {}

  /**
   * Creates a plan.
   *
   * @param name of the sweep and of its folder
   * @param trials at least one
   * @param rungs from 1
   * @param factor from 2
   * @param order what the best result is
   */
  public SweepPlan {
    trials = List.copyOf(trials);
    if (trials.isEmpty() || rungs < 1 || factor < 2) {
      throw new IllegalArgumentException(
          "%s trials, %s rungs, factor %s: expected at least 1, 1 and 2"
              .formatted(trials.size(), rungs, factor));
    }
  }

  /**
   * Returns the trial of a number.
   *
   * @param number from 1
   * @return the trial
   */
  public Trial trial(int number) {
    return trials.get(number - 1);
  }

  /**
   * Returns up to which step a trial is trained for a rung.
   *
   * @param trial the trial
   * @param rung from 0
   * @return its whole length at the last rung, below that {@code factor} times less for each
   */
  public long steps(Trial trial, int rung) {
    double share = Math.pow(factor, rung - (rungs - 1));
    return Math.max(1, Math.round(trial.most() * share));
  }

  JsonObject toJson() {
    JsonArray all = new JsonArray();
    for (Trial trial : trials) {
      JsonObject settings = new JsonObject();
      trial.settings().forEach(settings::put);
      all.add(JsonObject.of("settings", settings, "most", trial.most(), "job", trial.job()));
    }
    return JsonObject.of(
        "name",
        name,
        "rungs",
        rungs,
        "factor",
        factor,
        "order",
        order.name().toLowerCase(Locale.ROOT),
        "trials",
        all);
  }

  static SweepPlan fromJson(JsonObject json) {
    List<Trial> trials = new ArrayList<>();
    for (Object each : json.getJsonArray("trials")) {
      JsonObject trial = (JsonObject) each;
      Map<String, Object> settings = new LinkedHashMap<>();
      trial.getJsonObject("settings").forEach(one -> settings.put(one.getKey(), one.getValue()));
      trials.add(
          new Trial(
              trials.size() + 1, settings, trial.getLong("most"), trial.getJsonObject("job")));
    }
    return new SweepPlan(
        json.getString("name"),
        trials,
        json.getInteger("rungs"),
        json.getInteger("factor"),
        TrialResult.Order.valueOf(json.getString("order").toUpperCase(Locale.ROOT)));
  }
}
