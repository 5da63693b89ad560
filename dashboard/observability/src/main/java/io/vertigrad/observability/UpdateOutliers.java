package io.vertigrad.observability;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the workers whose updates do not fit those of the others. It reads what a strategy that
 * combines updates robustly reports of each worker and round, as scalars of that worker:
 *
 * <ul>
 *   <li>{@value #DISTANCE}: how far its update is from what was accepted, over the median of all
 *       workers; 1 is usual
 *   <li>{@value #COSINE}: cosine of the angle between both, -1 to 1
 *   <li>{@value #LEFT_OUT}: 1 if the update had no weight or was clipped to less than half, else 0
 *   <li>{@value #EXPELLED}: 1 from the round on in which the worker was expelled
 *   <li>{@value #NOT_FINITE}: 1 if the update was left out because it holds NaN or infinity; it has
 *       no distance then
 * </ul>
 *
 * <p>Workers without servers report of their neighbours instead: {@code neighbour.3.distance} is
 * how far the farthest neighbour of a worker was from it, here worker 3, over the median of its
 * neighbours. As a wrong worker may report anything, a neighbour is named only when at least
 * {@value #WITNESSES} workers find it far.
 *
 * <p>Unlike data make small cosines and larger distances, and a rule that accepts the update of one
 * worker makes all others look wrong. So a worker is only named while the others agree with what
 * was accepted, and only when it is far outside of their spread; the constants are the limits.
 * {@code docs/measurements/advice.md} says how often they were right. Two workers are never judged:
 * either may be wrong.
 *
 * <p>Pass it every event of the run, in order. Its size depends on the number of ranks, not on the
 * length of the run. Used by one thread.
 */
public final class UpdateOutliers {

  /** Name of the scalar with the distance of an update from what was accepted. */
  public static final String DISTANCE = "update.distance";

  /** Name of the scalar with the cosine between an update and what was accepted. */
  public static final String COSINE = "update.cosine";

  /** Name of the scalar that says whether an update was left out. */
  public static final String LEFT_OUT = "update.leftOut";

  /** Name of the scalar that says whether a worker was expelled. */
  public static final String EXPELLED = "update.expelled";

  /** Name of the scalar that says whether an update was left out because it was not finite. */
  public static final String NOT_FINITE = "update.notFinite";

  /** Key of {@link #toJson()} in {@code summary.json}. */
  public static final String KEY = "workerUpdates";

  /** The last reports that count: of a worker's, 5 s when rounds are short. */
  static final int WINDOW = 20;

  /** Reports of a worker before it is judged. */
  static final int LEAST = 6;

  /** Judgements in sequence before a worker is named, and until it is not named any more. */
  static final int HELD = 4;

  /** Fewest workers that can be judged. */
  static final int WORKERS = 3;

  /** The share of the reports that is most of them. */
  static final double MOST = 0.75;

  /** The others agree with what was accepted from this median of their cosines on. */
  static final double AGREEING = 0.25;

  /** An update points the other way below this share of the others' cosine, with a minus sign. */
  static final double OPPOSITE = 0.3;

  /** Spreads of the others' cosines that it must be below them. */
  static final double COSINE_SPREADS = 4;

  /** An update is far at so many times the usual distance. */
  static final double FAR = 3;

  /** Spreads of the others' distances that it must be above them. */
  static final double DISTANCE_SPREADS = 8;

  /** A far update with a larger cosine is long, not wrong: more samples, or more steps. */
  static final double SAME_WAY = 0.5;

  /** Fewest workers that must find a neighbour far. */
  static final int WITNESSES = 2;

  /** The share of the rounds from which on a worker is as good as always left out. */
  static final double ALWAYS = 0.9;

  /** Smallest spreads: alike workers differ by this much from report to report. */
  private static final double LEAST_COSINE_SPREAD = 0.02;

  private static final double LEAST_DISTANCE_SPREAD = 0.05;

  /** The median absolute deviation times this estimates the standard deviation. */
  private static final double DEVIATION = 1.4826;

  private static final int MOST_WORKERS = 1_024;
  private static final int MOST_WITNESSES = 64;
  private static final Pattern SOURCE = Pattern.compile("worker (\\d{1,9})");
  private static final Pattern NEIGHBOUR = Pattern.compile("neighbour\\.(\\d{1,9})\\.distance");

  private final Map<Integer, Worker> workers = new TreeMap<>();
  private final EventFold fold =
      new EventFold().on(ScalarReported.class, this::reported).on(MemberJoined.class, this::joined);

  private final Set<Integer> fresh = new TreeSet<>();
  private long rounds;

  /** What is wrong with a worker's updates, the gravest first. */
  public enum Finding {
    /** The strategy leaves the worker out for the rest of the run. */
    EXPELLED("expelled"),
    /** They hold NaN or infinity. */
    NOT_FINITE("notFinite"),
    /** They point the other way. */
    OPPOSITE("opposite"),
    /** They are far from the others'. */
    FAR("far"),
    /** They have less than half of their weight in nearly all rounds; most others have more. */
    LEFT_OUT("leftOut");

    private final String key;

    Finding(String key) {
      this.key = key;
    }

    /**
     * Returns the name in messages.
     *
     * @return such as {@code leftOut}
     */
    public String key() {
      return key;
    }
  }

  /**
   * A worker whose updates do not fit those of the others.
   *
   * @param rank the worker
   * @param finding what is wrong
   * @param sentence the same for people, with the figures
   */
  public record Outlier(int rank, Finding finding, String sentence) {}

  /** The last reports of one worker. */
  private static final class Worker {

    private final Deque<Double> distances = new ArrayDeque<>();
    private final Deque<Double> cosines = new ArrayDeque<>();
    private final Deque<Double> leftOut = new ArrayDeque<>();
    private long rounds;
    private double distance = Double.NaN;
    private double cosine = Double.NaN;
    private double leftOutShare = Double.NaN;
    private int held;
    private Finding found;
    private Finding named;
    private boolean expelled;
    private long expelledSince;
    private int notFinite;

    /** The last distances by the workers that found this one the farthest, 0 for those later. */
    private final Map<Integer, Deque<Double>> witnesses = new TreeMap<>();

    void measure() {
      distance = median(distances);
      cosine = median(cosines);
      leftOutShare = leftOut.stream().mapToDouble(Double::doubleValue).average().orElse(Double.NaN);
    }

    /** Names the worker once the judgements have been the same for long enough. */
    void hold(Optional<Finding> judged) {
      found = judged.orElse(found);
      held = Math.max(0, Math.min(2 * HELD, held + (judged.isPresent() ? 1 : -1)));
      if (held >= HELD) {
        named = found;
      } else if (held == 0) {
        named = null;
      }
    }

    boolean isJudged() {
      return !expelled && notFinite == 0 && distances.size() >= LEAST;
    }
  }

  /** Creates the judge of a run before its first event. */
  public UpdateOutliers() {}

  /**
   * Returns whether a scalar is one of those that this class reads.
   *
   * @param name name of a scalar
   * @return whether it describes the update of a worker
   */
  public static boolean reads(String name) {
    return name.equals(DISTANCE)
        || name.equals(COSINE)
        || name.equals(LEFT_OUT)
        || name.equals(EXPELLED)
        || name.equals(NOT_FINITE);
  }

  /**
   * Returns the worker whose scalar this is.
   *
   * @param scalar a scalar
   * @return the rank; empty for other sources
   */
  public static Optional<Integer> rankOf(ScalarReported scalar) {
    Matcher worker = SOURCE.matcher(scalar.source());
    return worker.matches() ? Optional.of(Integer.valueOf(worker.group(1))) : Optional.empty();
  }

  /**
   * Processes the next event of the run.
   *
   * @param event any event; most kinds do not count
   */
  public void apply(TrainingEvent event) {
    fold.apply(event);
  }

  private void reported(ScalarReported scalar) {
    if (!Double.isFinite(scalar.value())) {
      return;
    }
    Matcher neighbour = NEIGHBOUR.matcher(scalar.name());
    if (neighbour.matches()) {
      int rank = Integer.parseInt(neighbour.group(1));
      rankOf(scalar).ifPresent(by -> farthest(rank, by, scalar.value()));
    } else if (reads(scalar.name())) {
      rankOf(scalar).ifPresent(rank -> reported(rank, scalar));
    }
  }

  /** Processes which neighbour a worker found the farthest, and how far. */
  private void farthest(int rank, int by, double distance) {
    if (!workers.containsKey(rank) && workers.size() == MOST_WORKERS) {
      return;
    }
    workers.computeIfAbsent(rank, unknown -> new Worker());
    workers.forEach(
        (each, worker) -> {
          boolean named = each == rank;
          if (named && worker.witnesses.size() < MOST_WITNESSES) {
            worker.witnesses.computeIfAbsent(by, first -> new ArrayDeque<>());
          }
          Deque<Double> distances = worker.witnesses.get(by);
          if (distances != null) {
            add(distances, named ? distance : 0);
            judgeByNeighbours(each, worker);
          }
        });
  }

  private void judgeByNeighbours(int rank, Worker worker) {
    List<Double> far = new ArrayList<>();
    for (Deque<Double> distances : worker.witnesses.values()) {
      double median = median(distances);
      if (distances.size() >= LEAST && median >= FAR) {
        far.add(median);
      }
    }
    Finding before = worker.named;
    worker.named = far.size() >= WITNESSES ? Finding.FAR : null;
    worker.distance = worker.named == null ? Double.NaN : median(far);
    if (worker.named != null && worker.named != before) {
      fresh.add(rank);
    }
  }

  private void reported(int rank, ScalarReported scalar) {
    if (!workers.containsKey(rank) && workers.size() == MOST_WORKERS) {
      return;
    }
    Worker worker = workers.computeIfAbsent(rank, unknown -> new Worker());
    switch (scalar.name()) {
      case DISTANCE -> {
        // The first distance of a round says that the reports of the round before are complete.
        if (++worker.rounds > rounds) {
          rounds = worker.rounds;
          judge();
        }
        add(worker.distances, scalar.value());
        finite(worker);
      }
      case COSINE -> add(worker.cosines, scalar.value());
      case LEFT_OUT -> add(worker.leftOut, scalar.value());
      case NOT_FINITE -> notFinite(rank, worker);
      default -> expel(rank, worker, scalar);
    }
  }

  private void notFinite(int rank, Worker worker) {
    if (++worker.notFinite == HELD) {
      worker.named = Finding.NOT_FINITE;
      worker.held = 0;
      fresh.add(rank);
    }
  }

  /** An update with a distance is finite: a worker is not named any more for those before. */
  private static void finite(Worker worker) {
    if (worker.named == Finding.NOT_FINITE) {
      worker.named = null;
    }
    worker.notFinite = 0;
  }

  private static void add(Deque<Double> values, double value) {
    values.addLast(value);
    if (values.size() > WINDOW) {
      values.removeFirst();
    }
  }

  private void expel(int rank, Worker worker, ScalarReported scalar) {
    boolean expelled = scalar.value() > 0;
    if (expelled && !worker.expelled) {
      worker.measure();
      worker.expelledSince = scalar.version();
      fresh.add(rank);
    }
    worker.expelled = expelled;
  }

  /** A process that has taken the place of another one is judged by what it sends itself. */
  private void joined(MemberJoined joined) {
    if (joined.role() == Role.WORKER && joined.incarnation() > 0) {
      workers.remove(joined.rank());
    }
  }

  private void judge() {
    Map<Integer, Worker> judged = new TreeMap<>(workers);
    judged.values().removeIf(worker -> !worker.isJudged());
    if (judged.size() < WORKERS) {
      return;
    }
    judged.values().forEach(Worker::measure);
    Spread cosines = Spread.of(judged, worker -> worker.cosine, LEAST_COSINE_SPREAD);
    Spread distances = Spread.of(judged, worker -> worker.distance, LEAST_DISTANCE_SPREAD);
    Spread leftOut = Spread.of(judged, worker -> worker.leftOutShare, 1);
    judged.forEach(
        (rank, worker) -> {
          Finding before = worker.named;
          worker.hold(finding(worker, cosines, distances, leftOut));
          if (worker.named != null && worker.named != before) {
            fresh.add(rank);
          }
        });
  }

  private static Optional<Finding> finding(
      Worker worker, Spread cosines, Spread distances, Spread leftOut) {
    if (cosines.median() >= AGREEING) {
      if (worker.cosine <= -OPPOSITE * cosines.median()
          && share(worker.cosines, cosine -> cosine < 0) >= MOST
          && cosines.median() - worker.cosine >= COSINE_SPREADS * cosines.deviation()) {
        return Optional.of(Finding.OPPOSITE);
      }
      if (worker.distance >= FAR * distances.median()
          && worker.cosine < SAME_WAY
          && worker.distance - distances.median() >= DISTANCE_SPREADS * distances.deviation()) {
        return Optional.of(Finding.FAR);
      }
    }
    return worker.leftOutShare >= ALWAYS && leftOut.median() < 0.5
        ? Optional.of(Finding.LEFT_OUT)
        : Optional.empty();
  }

  private static double share(Deque<Double> values, Predicate<Double> counts) {
    return (double) values.stream().filter(counts).count() / values.size();
  }

  /** The median of a figure of all workers, and an estimate of its standard deviation. */
  private record Spread(double median, double deviation) {

    static Spread of(Map<Integer, Worker> workers, ToDoubleFunction<Worker> figure, double least) {
      List<Double> values = new ArrayList<>();
      workers.values().forEach(worker -> values.add(figure.applyAsDouble(worker)));
      double median = UpdateOutliers.median(values);
      List<Double> deviations = new ArrayList<>();
      values.forEach(value -> deviations.add(Math.abs(value - median)));
      return new Spread(median, least + DEVIATION * UpdateOutliers.median(deviations));
    }
  }

  /** Returns the median of the values that are numbers, NaN without any. */
  private static double median(Iterable<Double> values) {
    List<Double> sorted = new ArrayList<>();
    values.forEach(value -> sorted.add(value));
    sorted.removeIf(value -> value.isNaN());
    sorted.sort(null);
    int size = sorted.size();
    return size == 0 ? Double.NaN : (sorted.get((size - 1) / 2) + sorted.get(size / 2)) / 2;
  }

  /**
   * Returns the workers whose updates do not fit those of the others.
   *
   * @return by finding, the gravest first, then by rank; empty when all fit
   */
  public List<Outlier> outliers() {
    List<Outlier> found = new ArrayList<>();
    for (Finding finding : Finding.values()) {
      workers.forEach(
          (rank, worker) -> {
            if (findingOf(worker) == finding) {
              found.add(new Outlier(rank, finding, sentence(rank, worker, finding)));
            }
          });
    }
    return found;
  }

  /**
   * Returns the outliers that were found since the last call, or whose finding has changed.
   *
   * @return as {@link #outliers()} has them
   */
  public List<Outlier> takeFresh() {
    if (fresh.isEmpty()) {
      return List.of();
    }
    List<Outlier> taken = new ArrayList<>(outliers());
    taken.removeIf(outlier -> !fresh.contains(outlier.rank()));
    fresh.clear();
    return taken;
  }

  private static Finding findingOf(Worker worker) {
    return worker.expelled ? Finding.EXPELLED : worker.named;
  }

  private static String sentence(int rank, Worker worker, Finding finding) {
    return switch (finding) {
      case EXPELLED -> format("Worker %d is expelled: %s", rank, reason(worker));
      case NOT_FINITE ->
          format(
              "Worker %d's updates hold NaN or infinity and are left out: broken samples, or a"
                  + " learning rate too large for its data?",
              rank);
      case OPPOSITE ->
          format(
              "Worker %d's updates point the other way (cosine %.2f): wrong labels, a wrong sign or"
                  + " broken memory?",
              rank, worker.cosine);
      case FAR ->
          format(
              "Worker %d's updates are far from the others' (%.1f times the usual distance): its"
                  + " data or its machine?",
              rank, worker.distance);
      case LEFT_OUT ->
          format(
              "Worker %d's updates had less than half of their weight in %.0f %% of the last rounds:"
                  + " are its data unlike the others'?",
              rank, 100 * worker.leftOutShare);
    };
  }

  /** Returns why a worker was expelled, as far as its last reports say it. */
  private static String reason(Worker worker) {
    if (worker.notFinite > 0) {
      return "its updates held NaN or infinity: broken samples, or a learning rate too large for its"
          + " data?";
    }
    if (worker.cosine < 0) {
      return format(
          "its updates pointed the other way (cosine %.2f): wrong labels, a wrong sign or broken"
              + " memory?",
          worker.cosine);
    }
    return format(
        "its updates did not fit the others' for strategy.expel rounds in sequence (%.1f times"
            + " the usual distance): its data or its machine?",
        worker.distance);
  }

  /**
   * Returns the figures of all workers: objects with {@code rank}, the medians {@code distance} and
   * {@code cosine} and the share {@code leftOut} of the last reports, as far as they are known, and
   * for an outlier {@code finding} and {@code sentence}; for an expelled worker {@code
   * expelledSince}, the version of the first report of that.
   *
   * @return by rank; empty for a strategy that reports none
   */
  public JsonArray toJson() {
    JsonArray json = new JsonArray();
    workers.forEach(
        (rank, worker) -> {
          if (!worker.expelled && worker.witnesses.isEmpty()) {
            worker.measure();
          }
          JsonObject one = new JsonObject().put("rank", rank);
          putKnown(one, "distance", worker.distance);
          putKnown(one, "cosine", worker.cosine);
          putKnown(one, "leftOut", worker.leftOutShare);
          Finding finding = findingOf(worker);
          if (worker.expelled) {
            one.put("expelledSince", worker.expelledSince);
          }
          if (finding != null) {
            one.put("finding", finding.key()).put("sentence", sentence(rank, worker, finding));
          }
          json.add(one);
        });
    return json;
  }

  private static void putKnown(JsonObject json, String key, double value) {
    if (Double.isFinite(value)) {
      json.put(key, value);
    }
  }

  private static String format(String text, Object... values) {
    return String.format(Locale.ROOT, text, values);
  }
}
