package io.vertigrad.launcher.run;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** Collects from events the state of workers that exchange without a server. */
public final class ReplicasProgress {

  private final Map<String, PeerExchange> exchanges = new TreeMap<>();
  private ReplicasAveraged averaged;

  /** Processes the next event; ignores other kinds of events. */
  void apply(TrainingEvent event) {
    if (event instanceof PeerExchange exchange) {
      exchanges.put(exchange.rank() + "." + exchange.incarnation(), exchange);
    } else if (event instanceof ReplicasAveraged newest) {
      averaged = newest;
    }
  }

  /** Returns true when workers have exchanged without a server. */
  public boolean present() {
    return !exchanges.isEmpty();
  }

  /** Returns the newest average. */
  public Optional<ReplicasAveraged> averaged() {
    return Optional.ofNullable(averaged);
  }

  /** Returns the seconds that workers waited for each other, averaged over the workers. */
  public double secondsWaited() {
    return exchanges.isEmpty() ? 0 : sum(PeerExchange::secondsWaited) / exchanges.size();
  }

  /** Returns the share of the exchange time that overlapped with computing gradients, 0 to 1. */
  public double hiddenShare() {
    double all = sum(PeerExchange::secondsExchanging);
    return all == 0 ? 0 : 1 - sum(PeerExchange::secondsWaited) / all;
  }

  /** Returns the values for {@code summary.json}. */
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
