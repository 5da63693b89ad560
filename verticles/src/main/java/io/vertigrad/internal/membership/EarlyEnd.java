package io.vertigrad.internal.membership;

import io.vertx.core.json.JsonObject;

/**
 * Why a job ends before its last step.
 *
 * @param reason which of {@code accuracy}, {@code loss} and {@code minutes} was reached
 * @param threshold what the job file asks for
 * @param value what was found
 * @param version of the parameters that it was found at
 */
record EarlyEnd(String reason, double threshold, double value, long version) {

  /** The same four keys. */
  JsonObject toJson() {
    return new JsonObject()
        .put("reason", reason)
        .put("threshold", threshold)
        .put("value", value)
        .put("version", version);
  }
}
