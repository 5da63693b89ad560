package io.vertigrad.benchmarks.goodput;

import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the workers of a run did, by its events and its timeline. Times are seconds since 1970.
 *
 * @param startedSeconds when step 0 began
 * @param changes members that joined or left, in order
 * @param gradients the gradients that workers computed, in order of their beginning
 * @param counted how many samples counted, each time when that number had changed
 */
record RunRecord(
    double startedSeconds, List<Change> changes, List<Gradient> gradients, List<Counted> counted) {

  private static final Pattern WORKER = Pattern.compile("worker (\\d+)");
  private static final double MILLIS = 1e-3;
  private static final double MICROS = 1e-6;

  /** A worker that joined, or left before its work was done. */
  record Change(double seconds, int rank, boolean joined, String node) {}

  /** A gradient that a worker of this rank computed. */
  record Gradient(int rank, double begin, double end) {}

  /** Samples of the updates that are in the parameters. */
  record Counted(double seconds, double samples) {}

  RunRecord {
    changes = List.copyOf(changes);
    gradients = List.copyOf(gradients);
    counted = List.copyOf(counted);
  }

  /**
   * Reads a run.
   *
   * @param events the lines of {@code events.jsonl}
   * @param timeline the events of {@code timeline.json}
   * @param samplesPerVersion samples of all workers in one version; used without servers, whose
   *     events count samples themselves
   */
  static RunRecord of(List<JsonObject> events, List<JsonObject> timeline, int samplesPerVersion) {
    double started = Double.NaN;
    List<Change> changes = new ArrayList<>();
    for (JsonObject event : events) {
      String type = event.getString("type");
      double seconds = MILLIS * event.getLong("timeMillis");
      if (type.equals("jobStarted")) {
        started = seconds;
      }
      boolean joined = type.equals("memberJoined");
      boolean left = type.equals("memberLeft") && !event.getString("reason", "").equals("finished");
      if ((joined || left) && event.getString("role").equals("worker")) {
        String node = event.getString("node", "");
        changes.add(new Change(seconds, event.getInteger("rank"), joined, node));
      }
    }
    changes.sort(Comparator.comparingDouble(Change::seconds));
    return new RunRecord(started, changes, gradients(timeline), counted(events, samplesPerVersion));
  }

  private static List<Gradient> gradients(List<JsonObject> timeline) {
    Map<Integer, Integer> ranks = new HashMap<>();
    for (JsonObject line : timeline) {
      if ("process_name".equals(line.getString("name"))) {
        Matcher worker = WORKER.matcher(line.getJsonObject("args").getString("name"));
        if (worker.matches()) {
          ranks.put(line.getInteger("pid"), Integer.parseInt(worker.group(1)));
        }
      }
    }
    List<Gradient> gradients = new ArrayList<>();
    for (JsonObject line : timeline) {
      if ("compute".equals(line.getString("name")) && ranks.containsKey(line.getInteger("pid"))) {
        double begin = MICROS * line.getLong("ts");
        double end = begin + MICROS * line.getLong("dur");
        gradients.add(new Gradient(ranks.get(line.getInteger("pid")), begin, end));
      }
    }
    gradients.sort(Comparator.comparingDouble(Gradient::begin));
    return gradients;
  }

  private static List<Counted> counted(List<JsonObject> events, int samplesPerVersion) {
    boolean servers = events.stream().anyMatch(one -> isType(one, "serverProgress"));
    List<Counted> counted = new ArrayList<>();
    double most = 0;
    for (JsonObject event : events) {
      double samples = 0;
      if (servers && isType(event, "serverProgress") && event.getInteger("shard") == 0) {
        samples = event.getLong("samples");
      } else if (!servers && isType(event, "workerProgress")) {
        samples = (double) samplesPerVersion * event.getLong("version");
      }
      if (samples > most) {
        most = samples;
        counted.add(new Counted(MILLIS * event.getLong("timeMillis"), samples));
      }
    }
    return counted;
  }

  private static boolean isType(JsonObject event, String type) {
    return event.getString("type").equals(type);
  }

  /** Returns when samples counted last; the start if none did. */
  double endedSeconds() {
    return counted.isEmpty() ? startedSeconds : counted.get(counted.size() - 1).seconds();
  }

  /**
   * Returns how many samples counted in a time. Between two reports the number grows evenly, so
   * that it does not matter at which point between two synchronisations the time begins and ends.
   */
  double samples(double from, double to) {
    return samplesUntil(to) - samplesUntil(from);
  }

  private double samplesUntil(double seconds) {
    Counted before = new Counted(startedSeconds, 0);
    for (Counted next : counted) {
      if (next.seconds() >= seconds) {
        double share = (seconds - before.seconds()) / (next.seconds() - before.seconds());
        return before.samples() + share * (next.samples() - before.samples());
      }
      before = next;
    }
    return before.samples();
  }

  /** Returns the rank that a worker on a host had at a time. */
  int rankAt(String host, double seconds) {
    return changes.stream()
        .filter(change -> change.seconds() <= seconds && change.joined())
        .filter(change -> change.node().startsWith(host + " "))
        .reduce((former, later) -> later)
        .orElseThrow(() -> new IllegalStateException("no worker of %s joined".formatted(host)))
        .rank();
  }

  /** Returns the mean duration of the gradients that began in a time. */
  double gradientSeconds(double from, double to) {
    return gradients.stream()
        .filter(one -> one.begin() >= from && one.begin() < to)
        .mapToDouble(one -> one.end() - one.begin())
        .average()
        .orElse(Double.NaN);
  }
}
