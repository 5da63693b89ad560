package io.vertigrad.launcher.doctor;

import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Estimates the heap that members need at least, before any of them starts: their copies of the
 * parameters, and the samples. Networks compute in memory outside the heap.
 */
public final class MemoryEstimate {

  private static final ClassLoader LOADER = MemoryEstimate.class.getClassLoader();
  private static final long MIB = 1L << 20;

  /** Classes and threads: what a job with a tiny model and tiny data keeps on the heap. */
  private static final long BASE_MIB = 30;

  /** Vectors of the model's size on all servers together: the parameters and the sum of a round. */
  private static final int OF_SERVERS = 2;

  /**
   * Vectors of the model's size on a worker in a job without servers: the parameters, the initial
   * parameters, the gradient, and the strategy's result. Its optimizer's state comes to them.
   */
  private static final int OF_A_WORKER = 4;

  /**
   * More vectors of a worker between two rounds: where it began, the sum, the outer momentum; and
   * where a round ends: what it leads to, and the copy that is saved or tested. Two workers of 100
   * million parameters in one JVM kept 18 vectors at most, all in all.
   */
  private static final int OF_ROUNDS = 5;

  /** The strategy whose workers step by themselves between rounds, without servers. */
  private static final String ROUNDS = "diloco";

  private static final int PROBE = 1_000;

  /** Vectors of the model's size in the process that saves the model at the end. */
  private static final int SAVED = 1;

  /** Factor of free room in the suggested heap: a heap that is full at every collection is slow. */
  private static final double ROOM = 1.5;

  private final JobConfig job;
  private final LocalMembers roles;
  private final long parameters;
  private final boolean processes;

  /**
   * Creates the estimate of a job.
   *
   * @param job the job, with its samples counted
   * @param roles the members that start on this machine
   * @param parameters number of parameters of its model
   * @param processes true when each member has its own JVM
   */
  public MemoryEstimate(JobConfig job, LocalMembers roles, long parameters, boolean processes) {
    this.job = job;
    this.roles = roles;
    this.parameters = parameters;
    this.processes = processes;
  }

  /**
   * Returns why a heap is too small for the largest process, or for all members in this JVM; empty
   * when it is enough.
   */
  public Optional<String> shortage(long heapBytes) {
    long needed = neededMib();
    long heap = heapBytes / MIB;
    if (needed <= heap) {
      return Optional.empty();
    }
    long wanted = (long) (Math.ceil(needed * ROOM / 100) * 100);
    String apart =
        processes || roles.servers() + roles.workers() < 2
            ? ""
            : ", give each role a JVM of its own with --processes";
    return Optional.of(
        format(
            "%s; the heap has %,d MiB: set VERTIGRAD_JAVA_OPTS=-Xmx%dm%s, or train a smaller model",
            describe(), heap, wanted, apart));
  }

  /** Describes in one line how much memory each part needs. */
  public String describe() {
    List<String> owners = new ArrayList<>();
    add(owners, "server", ofServers());
    add(owners, processes || roles.workers() == 1 ? "worker" : "workers", ofWorkers());
    add(owners, "saved model", SAVED);
    return format(
        "%s at least %,d MiB of heap: %,d parameters of %,d MiB (copies: %s) and samples of %,d MiB",
        processes ? "the largest process needs" : "this JVM needs",
        neededMib(),
        parameters,
        parameters * Float.BYTES / MIB,
        String.join(", ", owners),
        samplesBytes() / MIB);
  }

  private static void add(List<String> owners, String owner, long copies) {
    if (copies > 0) {
      owners.add(owner + " " + copies);
    }
  }

  private long neededMib() {
    long copies =
        processes
            ? Math.max(SAVED, Math.max(ofServers(), ofWorkers()))
            : ofServers() + ofWorkers() + SAVED;
    return BASE_MIB + (copies * parameters * Float.BYTES + samplesBytes()) / MIB;
  }

  /** Returns the vectors of all shards together, or of one process's share, rounded up. */
  private long ofServers() {
    int together = Math.max(1, processes ? roles.servers() : 1);
    return roles.servers() == 0 ? 0 : (OF_SERVERS + together - 1) / together;
  }

  private long ofWorkers() {
    boolean alone = LocalMembers.of(job).servers() == 0 && job.pipeline().isEmpty();
    long each =
        OF_A_WORKER
            + PlainRules.create(job.optimizer(), PROBE).stateLength() / PROBE
            + (job.strategy().name().equals(ROUNDS) ? OF_ROUNDS : 0);
    return alone ? each * (processes ? Math.min(1, roles.workers()) : roles.workers()) : 0;
  }

  /**
   * Returns the size of the samples. Images are kept as bytes and CSV rows as floats; for other
   * data the size is unknown and counts as 0.
   */
  private long samplesBytes() {
    Dataset test = DatasetProvider.open(job.data(), Split.TEST, LOADER);
    int bytes = test.normalisation().isPresent() ? 1 : job.data().name().equals("csv") ? 4 : 0;
    long each = (long) bytes * test.shape().stream().reduce(1, Math::multiplyExact);
    return each * (job.trainingSamples().orElse(0) + test.size());
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
