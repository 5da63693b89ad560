package io.vertigrad.launcher.run;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** What is known of workers that exchange without a server, folded from events. */
public final class ReplicasProgress {

  private final Map<String, PeerExchange> exchanges = new TreeMap<>();
  private ReplicasAveraged averaged;

  /** Takes in the next event; others than its own change nothing. */
  void apply(TrainingEvent event) {
    if (event instanceof PeerExchange exchange) {
      exchanges.put(exchange.rank() + "." + exchange.incarnation(), exchange);
    } else if (event instanceof ReplicasAveraged newest) {
      averaged = newest;
    }
  }

  /** True when workers have exchanged without a server. */
  public boolean present() {
    return !exchanges.isEmpty();
  }

  /** The newest average. */
  public Optional<ReplicasAveraged> averaged() {
    return Optional.ofNullable(averaged);
  }

  /** Mean over the workers of the seconds they waited for each other. */
  public double secondsWaited() {
    return exchanges.isEmpty() ? 0 : sum(PeerExchange::secondsWaited) / exchanges.size();
  }

  /** Share of all exchanges that went on beside gradients, 0 to 1. */
  public double hiddenShare() {
    double all = sum(PeerExchange::secondsExchanging);
    return all == 0 ? 0 : 1 - sum(PeerExchange::secondsWaited) / all;
  }

  /** For {@code summary.json}. */
  JsonObject toJson() {
    JsonObject json = new JsonObject();
    averaged()
        .map(ReplicasAveraged::localAccuracy)
        .filter(accuracy -> !accuracy.isNaN())
        .ifPresent(accuracy -> json.put("localAccuracy", accuracy));
    return json.put("spectralGap", last(PeerExchange::spectralGap))
        .put("consensusDistance", averaged == null ? 0 : averaged.consensusDistance())
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
