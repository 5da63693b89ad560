package io.vertigrad.launcher.comparison;

import io.vertigrad.dashboard.ComparisonVerticle;
import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * Serves the page that shows the curves of several runs in the same charts, with the table below.
 */
final class ComparisonPage {

  private static final String HOST = "127.0.0.1";

  private ComparisonPage() {}

  /** Starts the page; completes with its address. */
  static Future<String> start(
      Vertx vertx, int port, List<FinishedRun> runs, ComparisonTable table) {
    ComparisonVerticle page =
        new ComparisonVerticle(new DashboardConfig(true, HOST, port, List.of()), json(runs, table));
    return vertx.deployVerticle(page).map(deployed -> page.url());
  }

  private static JsonObject json(List<FinishedRun> runs, ComparisonTable table) {
    JsonArray curves = new JsonArray();
    for (FinishedRun run : runs) {
      curves.add(
          run.curves()
              .toJson()
              .put("name", run.name())
              .put("state", run.state())
              .put("counted", run.counted().orElse("versions"))
              .put("samplesPerVersion", run.samplesPerVersion()));
    }
    return new JsonObject()
        .put("runs", curves)
        .put(
            "table",
            new JsonObject()
                .put("heading", new JsonArray(table.heading()))
                .put("summaries", rows(table.summaries()))
                .put("accuracies", rows(table.accuracies())));
  }

  private static JsonArray rows(List<List<String>> rows) {
    JsonArray json = new JsonArray();
    rows.forEach(row -> json.add(new JsonArray(row)));
    return json;
  }
}
