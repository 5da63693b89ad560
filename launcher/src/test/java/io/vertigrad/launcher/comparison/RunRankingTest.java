package io.vertigrad.launcher.comparison;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class RunRankingTest {

  @Test
  void shouldRankRunsOnTheSameDataByTheirMetric() {
    List<JsonObject> ranked =
        RunRanking.ranked(
            List.of(
                run("a", 90, true),
                run("b", 95, true),
                run("c", 90, true),
                run("d", 80, true),
                run("part", 99, false),
                run("older", 70, true).put("wholeTestSet", null),
                run("other data", 97, true).put("dataHash", "bb"),
                run("untested", 0, true).put("accuracy", null)));

    assertEquals(Arrays.asList(2, 1, 2, 4, null, 5, 1, null), ranks(ranked));
    assertEquals("digits aa ", ranked.get(4).getString("comparable"));
    assertEquals("digits bb ", ranked.get(6).getString("comparable"));
    assertEquals(null, ranked.get(7).getString("comparable"));
  }

  @Test
  void shouldRankTheLowerErrorFirst() {
    List<JsonObject> ranked =
        RunRanking.ranked(List.of(error("a", 3), error("b", 1), error("c", 2)));

    assertEquals(List.of(3, 1, 2), ranks(ranked));
  }

  @Test
  void shouldLeaveTheRowsAsTheyAre() {
    JsonObject row = run("a", 90, true);

    RunRanking.ranked(List.of(row));

    assertEquals(run("a", 90, true), row);
  }

  @Test
  void shouldNameTheOnlySettingThatDiffersFromTheNearestRun() {
    JsonObject best = with(run("best", 95, true), "optimizer.learningRate", 0.1);
    JsonObject near = with(run("near", 80, true), "optimizer.learningRate", 1e-4).put("label", "x");
    JsonObject farther = with(run("second", 90, true), "optimizer.learningRate", 0.03);
    farther.getJsonObject("settings").put("workers.count", 4);

    assertEquals(
        "Best accuracy: 95.00 % on 2,000 samples by best; only optimizer.learningRate differs from x"
            + " (0.1, there 0.0001 and 80.00 %).",
        verdict(best, near, farther));
    assertEquals("Best accuracy: 95.00 % on 2,000 samples by best.", verdict(best, farther));
  }

  @Test
  void shouldTakeAnotherStrategyForOneDifference() {
    JsonObject sync = with(run("a", 95, true), "strategy.name", "sync");
    sync.getJsonObject("settings").put("strategy.quorum", 0);
    JsonObject async = with(run("b", 90, true), "strategy.name", "async");
    async.getJsonObject("settings").put("strategy.bound", 3);

    assertEquals(
        "Best accuracy: 95.00 % on 2,000 samples by a; only strategy.name differs from b (sync,"
            + " there async and 90.00 %).",
        verdict(sync, async));
  }

  @Test
  void shouldCallNoneTheBestWhenNoneOrOneHasAWholeTest() {
    assertEquals(
        "None was tested on all test samples, so none is called the best.",
        verdict(run("a", 95, false), run("b", 90, false)));
    assertEquals(
        "Only b was tested on all test samples: accuracy 90.00 % on 2,000 samples.",
        verdict(run("a", 95, false), run("b", 90, true)));
    assertEquals(
        "All 2 runs have the same accuracy: 90.00 %.",
        verdict(run("a", 90, true), run("b", 90, true)));
    assertEquals(
        "Best accuracy: 90.00 % on 2,000 samples by a (also b).",
        verdict(run("a", 90, true), run("b", 90, true), run("c", 80, true)));
  }

  @Test
  void shouldSayNothingOfRunsOnOtherData() {
    JsonObject other = run("b", 90, true).put("dataHash", "bb");

    assertEquals(Optional.empty(), RunRanking.verdict(List.of(run("a", 95, true), other)));
  }

  private static String verdict(JsonObject... rows) {
    return RunRanking.verdict(List.of(rows)).orElseThrow();
  }

  private static List<Integer> ranks(List<JsonObject> rows) {
    return rows.stream().map(row -> row.getInteger("rank")).toList();
  }

  private static JsonObject run(String name, double accuracy, boolean whole) {
    return new JsonObject()
        .put("name", name)
        .put("data", "digits")
        .put("dataHash", "aa")
        .put("accuracy", accuracy)
        .put("testSamples", whole ? 2_000 : 500)
        .put("wholeTestSet", whole)
        .put("settings", new JsonObject());
  }

  private static JsonObject error(String name, double value) {
    return run(name, 0, true).put("metric", "rmse").put("metricValue", value);
  }

  private static JsonObject with(JsonObject run, String key, Object value) {
    run.getJsonObject("settings").put(key, value).put("steps", 150);
    return run;
  }
}
