package io.vertigrad.internal.membership;

import io.vertigrad.compute.data.DividedSampler;
import io.vertigrad.internal.RecordJson;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.AskDivision;
import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Divides the samples of the rounds among the ranks in proportion to their measured speed. A plain
 * object on one thread.
 *
 * <p>Divisions follow one another without gaps. Each covers a number of rounds; the workers that
 * begin the round after the last one report their speed, and wait until all have reported. The next
 * division is then made and recorded, and each of them gets it. So a round has one division,
 * however often it is repeated and whoever repeats it.
 */
final class BatchDivisions {

  /** The first rounds, and the rounds after a division for which a speed was missing. */
  static final long FEWEST_ROUNDS = 20;

  /** Computing time of a division's rounds that is aimed at. */
  static final double NANOS = 10e9;

  /**
   * Shares change only if a round would be faster by this factor, measured twice in sequence. So
   * equally fast workers keep equal shares although measurements differ.
   */
  static final double LEAST_GAIN = 1.1;

  /**
   * A worker with a small batch counts as at most so much faster than before. A worker with a quota
   * of its processor is fast while its batch is small, and slow again with a larger one.
   */
  static final double MOST_RECOVERY = 1.1;

  private static final String FILE = "divisions.json";
  private static final RecordJson JSON = RecordJson.strict((part, key, value) -> false);

  private record Content(List<BatchDivision> divisions) {}

  private final int ranks;
  private final int samples;
  private final List<BatchDivision> divisions;

  /** Nanoseconds per sample of the workers that wait for the next division; 0 for unknown. */
  private final SortedMap<Integer, Long> reported = new TreeMap<>();

  /** The same, by rank, at the division before; empty if a rank's was missing. */
  private double[] previousNanos = {};

  private boolean recorded = true;

  /**
   * Creates the divisions of a run.
   *
   * @param samples samples of a round, a multiple of the number of ranks
   * @param earlier divisions that were recorded before; empty for a new run
   * @throws IllegalArgumentException when those are of another number of ranks or samples, or do
   *     not follow one another
   */
  BatchDivisions(int ranks, int samples, List<BatchDivision> earlier) {
    this.ranks = ranks;
    this.samples = samples;
    this.divisions = new ArrayList<>(earlier);
    long expected = 0;
    for (BatchDivision division : earlier) {
      if (division.from() != expected) {
        throw new IllegalArgumentException(
            "found a division from round %s on, expected one from round %s on; delete the file to divide the rounds anew"
                .formatted(division.from(), expected));
      }
      expected = division.until();
      if (!division.divides(samples, ranks)) {
        throw new IllegalArgumentException(
            "rounds are divided as %s, expected %s samples for %s workers; use the job file of that run, or another checkpoint.directory"
                .formatted(division.shares(), samples, ranks));
      }
    }
    if (divisions.isEmpty()) {
      List<Integer> equal = Collections.nCopies(ranks, samples / ranks);
      divisions.add(new BatchDivision(0, FEWEST_ROUNDS, equal));
    }
  }

  /**
   * Returns the folder in which a run keeps its divisions, so that a resumed run repeats them.
   *
   * @return empty if the job keeps no checkpoints, or all workers have equal batches
   */
  static Optional<CheckpointFolder> folder(JobConfig job, String run) {
    CheckpointConfig checkpoint = job.checkpoint();
    boolean kept = checkpoint.isOn() || checkpoint.directory().isPresent();
    return kept && job.workers().balancesSpeed()
        ? Optional.of(CheckpointFolder.of(job, run, checkpoint.keep()))
        : Optional.empty();
  }

  /**
   * Returns the divisions of a job with {@code workers.balance} {@code speed}, which begin with
   * those in a folder; blocks.
   *
   * @throws IOException naming the file, if it cannot be read, is damaged or of another job
   */
  static BatchDivisions of(JobConfig job, Optional<CheckpointFolder> folder) throws IOException {
    int ranks = job.workers().count();
    List<BatchDivision> earlier = folder.isPresent() ? read(folder.get()) : List.of();
    try {
      return new BatchDivisions(ranks, job.workers().batch() * ranks, earlier);
    } catch (IllegalArgumentException other) {
      throw new IOException(
          "%s: %s".formatted(folder.orElseThrow().path(FILE), other.getMessage()), other);
    }
  }

  private static List<BatchDivision> read(CheckpointFolder folder) throws IOException {
    Optional<String> text = folder.text(FILE);
    try {
      return text.isEmpty()
          ? List.of()
          : JSON.read(Content.class, new JsonObject(text.get()), "divisions of a run").divisions();
    } catch (DecodeException | IllegalArgumentException damaged) {
      throw new IOException(
          "%s is damaged: %s; delete it to divide the rounds anew"
              .formatted(folder.path(FILE), damaged.getMessage()),
          damaged);
    }
  }

  /** Writes divisions to a folder, in place of those before; blocks. */
  static void write(List<BatchDivision> divisions, CheckpointFolder folder) throws IOException {
    folder.write(FILE, JSON.write(new Content(divisions)).encode());
  }

  /** Returns all divisions so far. */
  List<BatchDivision> all() {
    return List.copyOf(divisions);
  }

  /** Returns the shares of the newest division. */
  List<Integer> newest() {
    return divisions.get(divisions.size() - 1).shares();
  }

  /** Records that {@link #all} is kept where a later coordinator finds it. */
  void onRecorded() {
    recorded = true;
  }

  /** Returns whether divisions were made that are to be recorded. */
  boolean isUnrecorded() {
    return !recorded;
  }

  /**
   * Takes the question of a worker that begins a round.
   *
   * @param membership the one in force
   * @return the division of this round; empty while it is not recorded, while others have not
   *     reported, and for a worker that is no member
   */
  Optional<BatchDivision> report(Membership membership, AskDivision question) {
    long round = question.round();
    if (!question.from().isPartOf(membership)) {
      return Optional.empty();
    }
    question.known().ifPresent(this::adopt);
    if (round >= end()) {
      reported.put(question.from().rank(), question.nanosPerSample());
      if (missing(membership, round).isEmpty()) {
        decide(round);
      }
    }
    return recorded
        ? divisions.stream().filter(division -> division.covers(round)).findFirst()
        : Optional.empty();
  }

  /** Returns the ranks that have not begun this round, for which the next division waits. */
  List<Integer> missing(Membership membership, long round) {
    return membership.workers().stream()
        .filter(worker -> worker.activeFrom() <= round)
        .map(Membership.Member::rank)
        .filter(rank -> round >= end() && !reported.containsKey(rank))
        .toList();
  }

  /** Takes over what an earlier coordinator has decided, if its records are not here. */
  private void adopt(BatchDivision known) {
    if (known.until() > end() && known.divides(samples, ranks)) {
      if (known.from() > end()) {
        append(known.from(), newest());
      }
      append(known.until(), known.shares());
    }
  }

  private void decide(long round) {
    boolean all = IntStream.range(0, ranks).allMatch(rank -> reported.getOrDefault(rank, 0L) > 0);
    double[] nanos = all ? nanosByRank() : new double[0];
    List<Integer> shares = newest();
    if (all && isWorthChanging(nanos) && isWorthChanging(previousNanos)) {
      shares = best(nanos);
    }
    long most = all ? (long) (NANOS / slowest(shares, nanos)) : FEWEST_ROUNDS;
    previousNanos = nanos;
    append(round + Math.max(FEWEST_ROUNDS, Math.min(round, most)), shares);
  }

  private double[] nanosByRank() {
    double[] nanos = IntStream.range(0, ranks).mapToDouble(reported::get).toArray();
    for (int rank = 0; rank < previousNanos.length; rank++) {
      if (newest().get(rank) < samples / ranks) {
        nanos[rank] = Math.max(nanos[rank], previousNanos[rank] / MOST_RECOVERY);
      }
    }
    return nanos;
  }

  /** Returns whether other shares would be faster; false if the speeds are unknown. */
  private boolean isWorthChanging(double[] nanos) {
    return nanos.length > 0 && slowest(newest(), nanos) > LEAST_GAIN * slowest(best(nanos), nanos);
  }

  /** Returns equal shares if they are almost as fast as any, otherwise the fastest ones. */
  private List<Integer> best(double[] nanos) {
    List<Integer> equal = Collections.nCopies(ranks, samples / ranks);
    double[] speeds = Arrays.stream(nanos).map(each -> 1 / each).toArray();
    List<Integer> divided = DividedSampler.divide(samples, speeds);
    return slowest(equal, nanos) > LEAST_GAIN * slowest(divided, nanos) ? divided : equal;
  }

  /** Returns the nanoseconds that the slowest worker takes for a round. */
  private static double slowest(List<Integer> shares, double[] nanos) {
    return IntStream.range(0, nanos.length)
        .mapToDouble(rank -> shares.get(rank) * nanos[rank])
        .max()
        .orElseThrow();
  }

  /** Adds rounds; those with the shares of the last ones prolong their division. */
  private void append(long until, List<Integer> shares) {
    boolean same = shares.equals(newest());
    long from = same ? divisions.remove(divisions.size() - 1).from() : end();
    divisions.add(new BatchDivision(from, until, shares));
    reported.clear();
    recorded = false;
  }

  private long end() {
    return divisions.get(divisions.size() - 1).until();
  }
}
