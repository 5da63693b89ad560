package io.vertigrad.strategy;

/**
 * The needs of a strategy. Everything that depends on the kind of strategy asks here.
 *
 * @param besideServers true if a rule runs beside parameter servers, one for each partition; false
 *     if one runs beside each worker, which then keeps a replica of the model
 * @param rounds how a worker's steps depend on the other workers
 * @param compresses true if gradients are exchanged, which may be compressed; false for parameters,
 *     where compression would lose information for good
 * @param agreesEvery number of steps after which all replicas are equal, bit for bit; 0 if they
 *     never are, and beside servers
 * @param exchangesEvery number of steps between two exchanges, at least 1; replicas are saved, and
 *     jobs end early, at multiples of it
 * @param localSteps number of steps that a worker takes by itself for each version of the servers,
 *     to which it then sends how far its parameters have moved; 0 if it sends gradients
 * @param localEpochs number of passes over its own samples that a worker takes instead, so that the
 *     numbers of steps differ; a step of the job is then a version. 0 if {@code localSteps} counts
 * @param updatesPerVersion number of updates that servers without rounds collect for a version
 * @param sumsPartitions true if a round of one partition may need those of all others, see {@link
 *     PartitionSums}: workers then send a whole gradient before they wait for an answer
 */
public record StrategyTraits(
    boolean besideServers,
    Rounds rounds,
    boolean compresses,
    long agreesEvery,
    long exchangesEvery,
    long localSteps,
    int localEpochs,
    int updatesPerVersion,
    boolean sumsPartitions) {

  /** The dependence of a worker's steps on other workers; each constant is weaker than the next. */
  public enum Rounds {
    /** There are no rounds: each gradient is an update of its own. */
    NONE,
    /** Workers count rounds, but no step waits until others have begun the same one. */
    INDEPENDENT,
    /** A round ends with the gradients of some workers. */
    SOME_RANKS,
    /**
     * A round ends only with a gradient of every rank that the job's work is divided among ({@code
     * workers.count}), so that the others wait for the replacement of a lost worker.
     */
    EVERY_RANK
  }

  /**
   * Checks the number of steps.
   *
   * @param besideServers true if a rule runs beside parameter servers
   * @param rounds how a worker's steps depend on the other workers
   * @param compresses true if gradients are exchanged
   * @param agreesEvery number of steps after which all replicas are equal, or 0
   * @param exchangesEvery number of steps between two exchanges
   * @param localSteps number of steps for each version of the servers, or 0
   * @param localEpochs number of passes for each version of the servers, or 0
   * @param updatesPerVersion number of updates for each version, at least 1
   * @param sumsPartitions true if a round of one partition may need those of all others
   * @throws IllegalArgumentException when a number is out of range, or there are no replicas to
   *     agree
   */
  public StrategyTraits {
    if (exchangesEvery < 1) {
      throw new IllegalArgumentException(
          "exchangesEvery %s, expected at least 1".formatted(exchangesEvery));
    }
    if (localSteps < 0 || !besideServers && localSteps > 0) {
      throw new IllegalArgumentException(
          "localSteps %s, expected %s"
              .formatted(localSteps, besideServers ? "at least 0" : "0 beside workers"));
    }
    if (localEpochs < 0 || localEpochs > 0 && localSteps != 1 || updatesPerVersion < 1) {
      throw new IllegalArgumentException(
          "localEpochs %s, localSteps %s, updatesPerVersion %s: expected 0, or 1 local step; and 1"
              .formatted(localEpochs, localSteps, updatesPerVersion));
    }
    if (agreesEvery < 0 || besideServers && agreesEvery > 0) {
      throw new IllegalArgumentException(
          "agreesEvery %s, expected %s"
              .formatted(agreesEvery, besideServers ? "0 beside servers" : "at least 0"));
    }
  }

  /**
   * Returns the traits of a rule beside servers.
   *
   * @param rounds how a worker's steps depend on the other workers
   * @return traits of a rule whose gradients may be compressed
   */
  public static StrategyTraits atServers(Rounds rounds) {
    return new StrategyTraits(true, rounds, true, 0, 1, 0, 0, 1, false);
  }

  /**
   * Returns the traits of a rule beside workers that exchange parameters and never agree.
   *
   * @param rounds how a worker's steps depend on the other workers
   * @return traits without compression
   */
  public static StrategyTraits atWorkers(Rounds rounds) {
    return new StrategyTraits(false, rounds, false, 0, 1, 0, 0, 1, false);
  }

  /**
   * Returns the traits of a rule whose replicas become equal when they exchange.
   *
   * @param steps number of steps after which all replicas are equal, bit for bit
   * @return a copy
   */
  public StrategyTraits agreeingEvery(long steps) {
    return with(compresses, steps, Math.max(1, steps), localSteps, localEpochs, updatesPerVersion);
  }

  /**
   * Returns the traits of a rule that exchanges every few steps, after which replicas may still
   * differ.
   *
   * @param steps number of steps between two exchanges, at least 1
   * @return a copy
   */
  public StrategyTraits exchangingEvery(long steps) {
    return with(compresses, agreesEvery, steps, localSteps, localEpochs, updatesPerVersion);
  }

  /**
   * Returns the traits of a rule that exchanges gradients, which may be compressed.
   *
   * @return a copy
   */
  public StrategyTraits compressing() {
    return with(true, agreesEvery, exchangesEvery, localSteps, localEpochs, updatesPerVersion);
  }

  /**
   * Returns the traits of a rule beside servers whose workers take several steps by themselves
   * before they send how far they have moved. A version of the servers is then that many steps of a
   * worker.
   *
   * @param steps number of steps, at least 1
   * @return a copy
   */
  public StrategyTraits steppingLocally(long steps) {
    return with(compresses, agreesEvery, exchangesEvery, steps, 0, updatesPerVersion);
  }

  /**
   * Returns the traits of a rule beside servers whose workers pass over their own samples before
   * they send how far they have moved. A step of the job is a version of the servers.
   *
   * @param epochs number of passes, at least 1
   * @return a copy
   */
  public StrategyTraits passingLocally(int epochs) {
    return with(compresses, agreesEvery, exchangesEvery, 1, epochs, updatesPerVersion);
  }

  /**
   * Returns the traits of a rule without rounds whose servers collect updates for each version.
   *
   * @param updates number of updates, at least 1
   * @return a copy
   */
  public StrategyTraits collecting(int updates) {
    return with(compresses, agreesEvery, exchangesEvery, localSteps, localEpochs, updates);
  }

  private StrategyTraits with(
      boolean compress, long agrees, long exchanges, long steps, int epochs, int updates) {
    return new StrategyTraits(
        besideServers, rounds, compress, agrees, exchanges, steps, epochs, updates, sumsPartitions);
  }

  /**
   * Returns the traits of a rule beside servers whose rounds wait for {@link PartitionSums}.
   *
   * @return a copy
   */
  public StrategyTraits summingPartitions() {
    return new StrategyTraits(
        besideServers,
        rounds,
        compresses,
        agreesEvery,
        exchangesEvery,
        localSteps,
        localEpochs,
        updatesPerVersion,
        true);
  }

  /**
   * Returns the number of steps of a worker from one version to the next.
   *
   * @return 1, unless workers take several steps by themselves
   */
  public long stepsPerVersion() {
    return Math.max(1, localSteps);
  }

  /**
   * Returns the version at which a job ends.
   *
   * @param steps number of steps of each worker, at least 1
   * @param workers number of workers that the job starts with
   * @return {@code steps} when a version is a step of every worker, {@code steps * workers} when
   *     servers count each gradient as an update of its own. Of {@code steps} only every {@link
   *     #stepsPerVersion() several} counts, and of updates every {@code updatesPerVersion}, both
   *     rounded up
   */
  public long lastVersion(long steps, int workers) {
    long rounds = (steps + stepsPerVersion() - 1) / stepsPerVersion();
    return besideServers && !lockstep()
        ? (Math.multiplyExact(rounds, workers) + updatesPerVersion - 1) / updatesPerVersion
        : rounds;
  }

  /**
   * Returns the number of rounds of each worker, or of its updates without rounds, in one epoch.
   *
   * @param stepsPerEpoch number of steps of a worker in one epoch
   * @return rounds, with a fraction
   */
  public double roundsPerEpoch(double stepsPerEpoch) {
    return localEpochs > 0 ? 1.0 / localEpochs : stepsPerEpoch / stepsPerVersion();
  }

  /**
   * Returns whether workers move in rounds. A newcomer then starts at an agreed round, so that no
   * partition waits for it earlier than another.
   *
   * @return true when they do
   */
  public boolean lockstep() {
    return rounds != Rounds.NONE;
  }

  /**
   * Returns whether a worker's step can end only after the others have begun the same one. A pause
   * then lets all workers finish the step.
   *
   * @return true when it cannot end earlier
   */
  public boolean stepsTogether() {
    return rounds == Rounds.SOME_RANKS || needsEveryRank();
  }

  /**
   * Returns whether a step needs every rank that the job's work is divided among.
   *
   * @return true when the others wait for the replacement of a lost worker
   */
  public boolean needsEveryRank() {
    return rounds == Rounds.EVERY_RANK;
  }
}
