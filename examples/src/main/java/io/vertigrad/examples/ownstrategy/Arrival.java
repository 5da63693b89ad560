package io.vertigrad.examples.ownstrategy;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertx.core.Promise;

/** A gradient that waits for its round to close, and the answer its worker waits for. */
record Arrival(GradientPartition update, long sinceNanos, Promise<Frame> answer) {

  Arrival(GradientPartition update, long sinceNanos) {
    this(update, sinceNanos, Promise.promise());
  }

  ExchangeId id() {
    return update.id();
  }

  void refuse(Reason reason, String message) {
    answer.complete(new Refusal(id(), reason, message));
  }
}
