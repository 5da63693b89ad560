package io.vertigrad.run;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

/**
 * Accounts for every update of a run from its events, and checks the balance: {@code sent = applied
 * + late + tooStale + refused + lost} for each server and rank, and nothing lost.
 *
 * <p>The counts are known once the servers have reported them, at the end of a run.
 * Single-threaded.
 */
public final class UpdateLedger {

  private final Map<String, UpdatesCounted> counted = new TreeMap<>();
  private final Map<Integer, IncarnationReports<ServerProgress>> reports = new TreeMap<>();
  private int servers;
  private int workers;
  private long undoneSteps;

  /** Creates an empty ledger. */
  public UpdateLedger() {}

  /**
   * Processes the next event of the run.
   *
   * @param event any event; most do not change the ledger
   */
  public void apply(TrainingEvent event) {
    if (event instanceof UpdatesCounted counts) {
      counted.put("%08x.%08x".formatted(counts.shard(), counts.rank()), counts);
    } else if (event instanceof ServerProgress server) {
      reports
          .computeIfAbsent(server.shard(), shard -> new IncarnationReports<>(UpdateLedger::sum))
          .put(server.incarnation(), server);
    } else if (event instanceof JobStarted started) {
      servers = Math.max(servers, started.servers());
      workers = started.workers();
    } else if (event instanceof ShardRolledBack back && back.shard() == UpdatesCounted.NO_SERVER) {
      undoneSteps += (back.known() - back.version()) * workers;
    }
  }

  /**
   * Returns whether the servers have reported their counts; in a job without servers, whether the
   * coordinator has.
   *
   * @return false during a run, and after a run that broke off
   */
  public boolean isKnown() {
    return !counted.isEmpty();
  }

  /**
   * Returns the sum of a count over all servers and ranks.
   *
   * @param count such as {@code UpdatesCounted::lost}
   * @return the sum
   */
  public long sum(ToLongFunction<UpdatesCounted> count) {
    return counted.values().stream().mapToLong(count).sum();
  }

  /**
   * Returns how many applied updates were undone because a server went back to a checkpoint; they
   * were not part of the model until they were repeated. This is a lower bound, because a server
   * that dies does not report its last updates.
   *
   * @return without servers the steps of all workers that were undone
   */
  public long rolledBack() {
    return undoneSteps
        + Math.max(0, reported(ServerProgress::applied) - sum(UpdatesCounted::applied));
  }

  /**
   * Returns how often servers answered an update again that they had processed before.
   *
   * @return number of partition frames, as far as servers have reported them
   */
  public long duplicates() {
    return reported(ServerProgress::duplicate);
  }

  /**
   * Returns what does not balance.
   *
   * @return one sentence for each server and rank concerned; empty when everything balances, and
   *     when nothing is known
   */
  public List<String> problems() {
    List<String> problems = new ArrayList<>();
    if (!isKnown()) {
      return problems;
    }
    IntStream.range(0, servers)
        .filter(shard -> counted.values().stream().noneMatch(row -> row.shard() == shard))
        .forEach(
            shard -> problems.add("server %s did not say what became of updates".formatted(shard)));
    counted.values().forEach(row -> check(row, problems));
    return problems;
  }

  /**
   * Returns the ledger as {@code summary.json} has it under {@code updates}.
   *
   * @return the sums, {@code balanced}, and {@code problems} if it does not balance; only the count
   *     of duplicates if the ledger is not known
   */
  public JsonObject toJson() {
    JsonObject json = new JsonObject();
    if (isKnown()) {
      List<String> problems = problems();
      json.put("sent", sum(UpdatesCounted::sent))
          .put("applied", sum(UpdatesCounted::applied))
          .put("late", sum(UpdatesCounted::late))
          .put("tooStale", sum(UpdatesCounted::tooStale))
          .put("refused", sum(UpdatesCounted::refused))
          .put("lost", sum(UpdatesCounted::lost))
          .put("rolledBack", rolledBack())
          .put("balanced", problems.isEmpty());
      if (!problems.isEmpty()) {
        json.put("problems", new JsonArray(problems));
      }
    }
    return json.put("duplicate", duplicates());
  }

  /** Returns a server's last report, with counters added up over all incarnations. */
  Optional<ServerProgress> server(int shard) {
    return Optional.ofNullable(reports.get(shard)).map(IncarnationReports::total);
  }

  private long reported(ToLongFunction<ServerProgress> counter) {
    return reports.values().stream().map(IncarnationReports::total).mapToLong(counter).sum();
  }

  private static ServerProgress sum(ServerProgress earlier, ServerProgress later) {
    return new ServerProgress(
        later.timeMillis(),
        later.shard(),
        later.incarnation(),
        later.version(),
        later.samples(),
        earlier.applied() + later.applied(),
        earlier.late() + later.late(),
        earlier.duplicate() + later.duplicate(),
        earlier.tooStale() + later.tooStale(),
        earlier.refused() + later.refused());
  }

  private static void check(UpdatesCounted row, List<String> problems) {
    boolean atServer = row.shard() != UpdatesCounted.NO_SERVER;
    String what = atServer ? "updates" : "steps";
    String whose =
        (atServer ? "server %s: ".formatted(row.shard()) : "")
            + "%s of worker %s: ".formatted(what, row.rank());
    long arrived = row.applied() + row.late() + row.tooStale() + row.refused();
    if (row.lost() != 0) {
      problems.add(
          whose
              + String.format(Locale.ROOT, "%,d of %,d are lost", row.lost(), row.sent())
              + (atServer
                  ? ""
                  : String.format(Locale.ROOT, ", its replica is at version %,d", row.applied())));
    }
    if (row.sent() != arrived + row.lost()) {
      problems.add(
          whose
              + String.format(
                  Locale.ROOT,
                  "found %,d sent, expected %,d: applied %,d, late %,d, too stale %,d,"
                      + " refused %,d, lost %,d",
                  row.sent(),
                  arrived + row.lost(),
                  row.applied(),
                  row.late(),
                  row.tooStale(),
                  row.refused(),
                  row.lost()));
    }
    if (row.unexplained() != 0) {
      problems.add(
          String.format(
              Locale.ROOT,
              "server %d: its parameters were stepped %,d times more than updates were applied",
              row.shard(),
              row.unexplained()));
    }
  }
}
