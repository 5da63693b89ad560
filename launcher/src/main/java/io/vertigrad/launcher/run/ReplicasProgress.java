package io.vertigrad.launcher.run;

import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.run.RunView;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** The state of workers that exchange without a server, and the cost of their exchange. */
final class ReplicasProgress {

  private final Map<String, PeerExchange> exchanges = new TreeMap<>();
  private final RunView view;

  ReplicasProgress(RunView view) {
    this.view = view;
  }

  /** Processes the next report of an exchange. */
  void apply(PeerExchange exchange) {
    exchanges.put(exchange.rank() + "." + exchange.incarnation(), exchange);
  }

  /** Returns true when workers have exchanged without a server. */
  boolean present() {
    return !exchanges.isEmpty();
  }

  /** Returns how far the workers were apart when they were averaged last; 0 before. */
  double consensusDistance() {
    return view.averaged().map(ReplicasAveraged::consensusDistance).orElse(0.0);
  }

  /** Returns the seconds that workers waited for each other, averaged over the workers. */
  double secondsWaited() {
    return exchanges.isEmpty() ? 0 : sum(PeerExchange::secondsWaited) / exchanges.size();
  }

  /** Returns the share of the exchange time that overlapped with computing gradients, 0 to 1. */
  double hiddenShare() {
    double all = sum(PeerExchange::secondsExchanging);
    return all == 0 ? 0 : 1 - sum(PeerExchange::secondsWaited) / all;
  }

  /** Returns the values for {@code summary.json}. */
  JsonObject toJson() {
    JsonObject json = new JsonObject();
    view.averaged()
        .map(ReplicasAveraged::localAccuracy)
        .filter(accuracy -> !accuracy.isNaN())
        .ifPresent(accuracy -> json.put("localAccuracy", accuracy));
    return json.put("spectralGap", last(PeerExchange::spectralGap))
        .put("consensusDistance", consensusDistance())
        .put("secondsSynchronising", secondsWaited())
        .put("hiddenShare", hiddenShare())
        .put("skipped", (long) sum(PeerExchange::skipped));
  }

  private double last(ToDoubleFunction<PeerExchange> value) {
    return exchanges.values().stream().mapToDouble(value).max().orElse(0);
  }

  private double sum(ToDoubleFunction<PeerExchange> value) {
    return exchanges.values().stream().mapToDouble(value).sum();
  }
}
