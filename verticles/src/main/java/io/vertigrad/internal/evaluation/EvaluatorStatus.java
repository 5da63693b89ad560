package io.vertigrad.internal.evaluation;

import io.vertx.core.json.JsonObject;
import java.util.function.Consumer;

/**
 * What an evaluator tells the coordinator of its tests where training waits for them; belongs to
 * the model's thread.
 */
final class EvaluatorStatus {

  /** Tells nobody. */
  static final EvaluatorStatus OFF = new EvaluatorStatus(status -> {}, status -> {});

  private final Consumer<JsonObject> report;
  private final Consumer<JsonObject> reportNow;
  private long testing;
  private long evaluated;
  private long samples;

  /**
   * A status that begins before the first test.
   *
   * @param report takes it along with the next heartbeat
   * @param reportNow tells it at once
   */
  EvaluatorStatus(Consumer<JsonObject> report, Consumer<JsonObject> reportNow) {
    this.report = report;
    this.reportNow = reportNow;
  }

  /** The parameters of this version are there, and their test begins. */
  void testing(long version) {
    testing = version;
    reportNow.accept(json());
  }

  /** So many more samples went through. */
  void tested(int more) {
    samples += more;
    report.accept(json());
  }

  /** This version has been tested, and told of. */
  void evaluated(long version) {
    evaluated = version;
    reportNow.accept(json());
  }

  private JsonObject json() {
    return new JsonObject()
        .put("testing", testing)
        .put("evaluated", evaluated)
        .put("tested", samples);
  }
}
