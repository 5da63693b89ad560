package io.vertigrad.strategy;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/** A configured strategy: what it needs of its job, and how to create its rules. */
public final class StrategyFactory {

  private final StrategyTraits traits;
  private final Function<PeerContext, PeerStrategy> atWorker;
  private Function<ServerStrategyContext, ServerStrategy> atServer;
  private Optional<BiFunction<JobConfig, ServerStrategyContext, ServerStrategy>> inJob =
      Optional.empty();
  private Consumer<JobConfig> check = job -> {};
  private Optional<OptimizerConfig> outer = Optional.empty();
  private Optional<GradientCompressor> compressor = Optional.empty();
  private LocalRule.Factory localRule = (job, layout) -> LocalRule.NONE;
  private boolean takesNotFinite;

  private StrategyFactory(
      StrategyTraits traits,
      Function<ServerStrategyContext, ServerStrategy> atServer,
      Function<PeerContext, PeerStrategy> atWorker) {
    this.traits = traits;
    this.atServer = atServer;
    this.atWorker = atWorker;
  }

  private StrategyFactory with(Consumer<StrategyFactory> change) {
    StrategyFactory copy = new StrategyFactory(traits, atServer, atWorker);
    copy.inJob = inJob;
    copy.check = check;
    copy.outer = outer;
    copy.compressor = compressor;
    copy.localRule = localRule;
    copy.takesNotFinite = takesNotFinite;
    change.accept(copy);
    return copy;
  }

  /**
   * Creates the factory of a rule beside a server in which all workers share a round. Such a job
   * has as many versions as {@code steps}.
   *
   * @param rule creates the rule of one partition
   * @return the factory
   */
  public static StrategyFactory inRounds(Function<ServerStrategyContext, ServerStrategy> rule) {
    return besideServers(Rounds.EVERY_RANK, rule);
  }

  /**
   * Creates the factory of a rule beside a server that applies each gradient separately. Such a job
   * has {@code steps} versions for each worker.
   *
   * @param rule creates the rule of one partition
   * @return the factory
   */
  public static StrategyFactory perGradient(Function<ServerStrategyContext, ServerStrategy> rule) {
    return besideServers(Rounds.NONE, rule);
  }

  /**
   * Creates the factory of a rule beside a server.
   *
   * @param rounds how a worker's steps depend on the other workers
   * @param rule creates the rule of one partition; called once for each partition of a shard, on
   *     the shard's thread
   * @return the factory
   */
  public static StrategyFactory besideServers(
      Rounds rounds, Function<ServerStrategyContext, ServerStrategy> rule) {
    return besideServers(StrategyTraits.atServers(rounds), rule);
  }

  /**
   * Creates the factory of a rule beside a server.
   *
   * @param traits what the strategy needs of its job
   * @param rule creates the rule of one partition; called once for each partition of a shard, on
   *     the shard's thread
   * @return the factory
   * @throws IllegalArgumentException when the traits are those of a rule beside workers
   */
  public static StrategyFactory besideServers(
      StrategyTraits traits, Function<ServerStrategyContext, ServerStrategy> rule) {
    if (!traits.besideServers()) {
      throw new IllegalArgumentException(
          "traits of a rule beside workers, expected those of a rule beside servers");
    }
    return new StrategyFactory(traits, rule, context -> refused("workers", "servers"));
  }

  /**
   * Creates the factory of a rule beside each worker. Its job has no servers.
   *
   * @param traits what the strategy needs of its job
   * @param rule creates the rule of one worker
   * @return the factory
   * @throws IllegalArgumentException when the traits are those of a rule beside servers
   */
  public static StrategyFactory besideWorkers(
      StrategyTraits traits, Function<PeerContext, PeerStrategy> rule) {
    if (traits.besideServers()) {
      throw new IllegalArgumentException(
          "traits of a rule beside servers, expected those of a rule beside workers");
    }
    return new StrategyFactory(traits, context -> refused("servers", "workers"), rule);
  }

  /**
   * Returns a copy that also checks what the other sections of the job file say.
   *
   * @param more throws a {@link io.vertigrad.compute.settings.SettingsException} that names the key
   *     when the strategy does not fit the job
   * @return a copy
   */
  public StrategyFactory checking(Consumer<JobConfig> more) {
    return with(copy -> copy.check = check.andThen(more));
  }

  /**
   * Returns a copy whose servers step with an optimizer of their own, while that of the job is used
   * by the workers in their {@linkplain StrategyTraits#localSteps local steps}.
   *
   * @param optimizer of the servers
   * @return a copy
   */
  public StrategyFactory steppingWith(OptimizerConfig optimizer) {
    return with(copy -> copy.outer = Optional.of(optimizer));
  }

  /**
   * Returns a copy whose workers compress the gradients that they send to servers by a rule of the
   * strategy, in place of {@code exchange.compression}. What a compression remembers is saved with
   * the worker.
   *
   * @param rule creates the compression of each worker
   * @return a copy
   * @throws IllegalStateException when the strategy runs beside workers, which compress themselves
   */
  public StrategyFactory compressingWith(GradientCompressor rule) {
    if (!traits.besideServers()) {
      throw new IllegalStateException("a strategy beside workers compresses by itself");
    }
    return with(copy -> copy.compressor = Optional.of(rule));
  }

  /**
   * Returns a copy whose workers take their {@linkplain StrategyTraits#localSteps local steps} by a
   * rule of the strategy.
   *
   * @param rule creates the rule of each worker
   * @return a copy
   */
  public StrategyFactory withLocalRule(LocalRule.Factory rule) {
    return with(copy -> copy.localRule = rule);
  }

  /**
   * Returns a copy whose rules beside servers get all updates, and leave out those with NaN or
   * infinity themselves. Otherwise such an update is refused, and its round waits for another.
   *
   * @return a copy
   */
  public StrategyFactory takingNotFinite() {
    return with(copy -> copy.takesNotFinite = true);
  }

  /**
   * Returns a copy whose rules beside servers depend on other sections of the job file, too.
   *
   * @param rule creates the rule of one partition in a job; in tests without a job the rule of
   *     {@link #besideServers} stays
   * @return a copy
   */
  public StrategyFactory readingJob(
      BiFunction<JobConfig, ServerStrategyContext, ServerStrategy> rule) {
    return with(copy -> copy.inJob = Optional.of(rule));
  }

  /**
   * Returns a copy that creates the rules beside the servers of a job.
   *
   * @param job the job
   * @return a copy
   */
  public StrategyFactory in(JobConfig job) {
    return with(
        copy -> inJob.ifPresent(rule -> copy.atServer = context -> rule.apply(job, context)));
  }

  /**
   * Returns whether rules beside servers get updates with NaN or infinity.
   *
   * @return false if they are refused
   */
  public boolean takesNotFinite() {
    return takesNotFinite;
  }

  /**
   * Creates the rule of one worker's local steps.
   *
   * @param job the job
   * @param layout the arrays of the model's vector
   * @return {@link LocalRule#NONE}, unless the strategy has a rule
   */
  public LocalRule localRule(JobConfig job, ParameterLayout layout) {
    return localRule.create(job, layout);
  }

  /**
   * Returns how the strategy compresses gradients that workers send to servers.
   *
   * @return empty if {@code exchange.compression} decides
   */
  public Optional<GradientCompressor> compressor() {
    return compressor;
  }

  /**
   * Returns the optimizer of a job's servers.
   *
   * @param job the job
   * @return that of the job, unless the strategy has one of its own
   */
  public OptimizerConfig optimizer(JobConfig job) {
    return outer.orElseGet(job::optimizer);
  }

  /**
   * Checks that the strategy fits a job.
   *
   * @param job the job
   * @throws io.vertigrad.compute.settings.SettingsException when it does not, naming the key
   */
  void check(JobConfig job) {
    check.accept(job);
    if (job.workers().balancesSpeed()) {
      balanceObstacle(job)
          .ifPresent(
              obstacle -> {
                throw job.settings()
                    .section("workers")
                    .refuse("balance", "is \"speed\", expected \"equal\" " + obstacle);
              });
    }
  }

  /** Returns with which rule, and why, the samples of a round cannot be divided by speed. */
  private Optional<String> balanceObstacle(JobConfig job) {
    String strategy = job.strategy().name();
    if (traits.rounds() == Rounds.SOME_RANKS) {
      return Optional.of(
          "with a quorum, which leaves slow workers out of a round instead; remove one of them");
    }
    if (!traits.lockstep() || traits.rounds() == Rounds.INDEPENDENT) {
      return Optional.of(
          "with strategy %s: nobody waits for a slow worker there".formatted(strategy));
    }
    boolean sums =
        traits.localSteps() == 0
            && traits.exchangesEvery() == 1
            && (traits.besideServers() || traits.agreesEvery() == 1);
    return sums
        ? Optional.empty()
        : Optional.of(
            ("with strategy %s: it does not weigh each step by samples; use sync or allreduce,"
                    + " without \"between\"")
                .formatted(strategy));
  }

  /**
   * Returns what the strategy needs of its job.
   *
   * @return the same for all members of a job
   */
  public StrategyTraits traits() {
    return traits;
  }

  /**
   * Creates the rule of one partition.
   *
   * @param context the rule's environment
   * @return a rule without updates
   * @throws IllegalStateException when the strategy runs beside workers
   */
  public ServerStrategy create(ServerStrategyContext context) {
    return atServer.apply(context);
  }

  /**
   * Creates the rule of one worker.
   *
   * @param context the rule's environment
   * @return a rule without a group
   * @throws IllegalStateException when the strategy runs beside servers
   */
  public PeerStrategy create(PeerContext context) {
    return atWorker.apply(context);
  }

  private static <T> T refused(String asked, String place) {
    throw new IllegalStateException(
        "no rule beside %s: this strategy runs beside %s".formatted(asked, place));
  }
}
