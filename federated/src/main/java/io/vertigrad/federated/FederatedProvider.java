package io.vertigrad.federated;

import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.federated.FederatedConfig.Rule;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.job.TrainingLength.Unit;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import java.util.Optional;

/**
 * Registers the strategy {@code federated}: each worker takes several steps on its own samples and
 * sends how far it has moved, and parameter servers combine that to the next parameters.
 *
 * <p>The rules are FedAvg (McMahan et al., 2017), FedProx, SCAFFOLD, FedNova, FedAdam, FedYogi and
 * FedBuff. With {@code fedavg}, {@code localSteps} and an optimizer without state it equals {@code
 * diloco} with servers, an outer rate of 1 and no outer momentum, bit for bit.
 *
 * <p>With {@code fedavg}, {@code fedprox}, {@code fedadam} and {@code fedyogi}, the aggregate of a
 * robust {@code reduction} can take the place of the mean, with the keys of {@link RobustStrategy}.
 * With {@code clip} and {@code noise}, workers hide their updates; see {@link PrivacyAccountant}.
 *
 * <p>A worker that does not take part in a round computes nothing, and sends zeros so that the
 * round can close: it costs the bytes of an update, and none of the work.
 */
public final class FederatedProvider implements StrategyProvider {

  private static final String NAME = "federated";

  /** Creates the provider; called by the {@code ServiceLoader}. */
  public FederatedProvider() {}

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    FederatedConfig config = FederatedConfig.read(settings);
    settings.refuseUnknown();
    LocalWork alike = new LocalWork(0, 1, 0);
    StrategyFactory factory =
        StrategyFactory.besideServers(config.traits(), context -> rule(config, 0, alike, context))
            .readingJob(
                (job, context) -> rule(config, job.seed(), LocalWork.of(config, job), context))
            .withLocalRule((job, layout) -> FederatedSteps.of(config, job, layout))
            .steppingWith(config.outer())
            .checking(job -> check(config, job));
    return config.reduction().leavingOut(factory);
  }

  private static ServerStrategy rule(
      FederatedConfig config, long seed, LocalWork work, ServerStrategyContext context) {
    Participation participation = config.participation(seed);
    if (config.rule() == Rule.FEDBUFF) {
      return new BufferedUpdates(config.buffer(), context);
    }
    boolean plain = config.rule() == Rule.FEDAVG || config.rule() == Rule.FEDPROX;
    if (plain
        && config.reduction().isPlainMean()
        && participation.isFull()
        && config.noise() == 0) {
      return Barrier.summing(NAME, 0, config.deadlineMillis(), context, true);
    }
    int ranks = context.ranks();
    Optional<PrivacyLoss> loss =
        config.privacyLoss(participation, ranks).filter(each -> context.partition().index() == 0);
    return Barrier.keepingAll(
        NAME,
        config.deadlineMillis(),
        context,
        new ParticipatingUpdates(
            participation, ranks, loss, reduction(config, seed, work, context)));
  }

  /** Returns how updates are combined, and the step with what they combine to. */
  private static Barrier.Reduction reduction(
      FederatedConfig config, long seed, LocalWork work, ServerStrategyContext context) {
    PartitionStore store = context.store();
    Partition partition = context.partition();
    boolean adapts = config.rule().adapts() && partition.kind() == Block.Kind.TRAINABLE;
    int ofReduction = config.reduction().memory(partition);
    int elements = ofReduction + (adapts ? AdaptiveStep.memory(store.length()) : 0);
    float[] memory = elements == 0 ? new float[0] : store.memory(elements);
    Optional<AdaptiveStep> adaptive =
        adapts
            ? Optional.of(new AdaptiveStep(config, store, memory, ofReduction))
            : Optional.empty();
    RobustReduction.Step step =
        (aggregate, samples) -> {
          adaptive.ifPresent(each -> each.replace(aggregate));
          store.apply(aggregate, 1, samples);
        };
    return config.reduction().isPlainMean()
        ? new FederatedRound(config.rule(), work, partition, step)
        : RobustReduction.of(config.reduction(), seed, context, memory, step, 1);
  }

  private static void check(FederatedConfig config, JobConfig job) {
    Settings root = job.settings();
    Settings strategy = root.section("strategy");
    if (job.pipeline().isPresent()) {
      throw strategy.refuse(
          "name", "is \"federated\" with a pipeline, expected \"allreduce\" or \"local\"");
    }
    if (job.exchange().overlap()) {
      throw root.section("exchange")
          .refuse(
              "overlap",
              "is true with strategy federated, expected false: workers send after several steps");
    }
    if (job.data().name().equals("stream")) {
      throw root.section("data")
          .refuse(
              "name",
              "is stream with strategy federated, expected another data set: servers count rounds, a stream steps");
    }
    if (!config.reduction().isPlainMean()) {
      config.reduction().check(job, config.participation(0).of(job.workers().count()));
    }
    if (config.localEpochs() > 0) {
      checkEpochs(job);
    }
    if (config.participation() < 1) {
      checkParticipation(config, job);
    }
    if (config.rule() == Rule.SCAFFOLD) {
      checkVariates(job);
    }
    if (config.rule() == Rule.FEDNOVA) {
      checkNormalised(config, job);
    }
  }

  private static void checkEpochs(JobConfig job) {
    Unit unit = job.length().unit();
    if (unit == Unit.EPOCHS || unit == Unit.TOTAL_STEPS) {
      throw job.settings()
          .refuse(
              unit.key(),
              "is given with strategy.localEpochs, expected steps: the number of rounds");
    }
    JsonObject schedule = schedule(job);
    if (schedule.getString("name", "").equals("cosine") && !schedule.containsKey("epochs")) {
      throw job.settings()
          .section("optimizer")
          .section("schedule")
          .refuse(
              "epochs",
              "is missing with strategy.localEpochs, expected the length of the schedule in passes of a worker over its own samples");
    }
  }

  private static void checkParticipation(FederatedConfig config, JobConfig job) {
    String share = "strategy.participation %s".formatted(config.participation());
    if (!job.workers().sharesData()) {
      throw job.settings()
          .section("workers")
          .refuse(
              "sampler",
              "is \"none\" with %s, expected \"distributed\": a round is chosen among workers.count ranks"
                  .formatted(share));
    }
    if (job.exchange().compression().isOn()) {
      throw job.settings()
          .section("exchange")
          .refuse(
              "compression",
              "is \"%s\" with %s, expected \"none\": what compression leaves out would be lost in a round without the worker"
                  .formatted(job.exchange().compression(), share));
    }
  }

  private static void checkVariates(JobConfig job) {
    checkPlain(job, Rule.SCAFFOLD, "equal steps of all workers");
    if (job.optimizer().momentum() > 0) {
      throw refuseOptimizer(job, "momentum", job.optimizer().momentum(), "0 with rule scaffold");
    }
    Settings exchange = job.settings().section("exchange");
    if (job.exchange().type() != DataType.FLOAT32) {
      throw exchange.refuse(
          "type",
          "is %s with rule scaffold, expected float32: control variates are differences of parameters"
              .formatted(job.exchange().type().name().toLowerCase(Locale.ROOT)));
    }
    if (job.exchange().compression().isOn()) {
      throw exchange.refuse(
          "compression",
          "is \"%s\" with rule scaffold, expected \"none\": control variates are differences of parameters"
              .formatted(job.exchange().compression()));
    }
  }

  private static void checkNormalised(FederatedConfig config, JobConfig job) {
    checkPlain(job, Rule.FEDNOVA, "the sum of a worker's steps by a formula");
    OptimizerConfig optimizer = job.optimizer();
    if (optimizer.dampening() > 0) {
      throw refuseOptimizer(job, "dampening", optimizer.dampening(), "0 with rule fednova");
    }
    if (optimizer.momentum() > 0 && config.keepsOptimizer()) {
      throw job.settings()
          .section("strategy")
          .refuse(
              "optimizerState",
              "is \"keep\" with rule fednova and momentum %s, expected \"restart\""
                  .formatted(optimizer.momentum()));
    }
  }

  /** Requires SGD at a constant rate. */
  private static void checkPlain(JobConfig job, Rule rule, String need) {
    if (!job.optimizer().name().equals("sgd")) {
      throw refuseOptimizer(
          job,
          "name",
          job.optimizer().name(),
          "sgd with rule %s: it needs %s".formatted(rule.key(), need));
    }
    JsonObject schedule = schedule(job);
    boolean constant =
        schedule.getString("name", "constant").equals("constant")
            && schedule.getLong("warmUpUpdates", 0L) == 0;
    if (!constant) {
      throw refuseOptimizer(
          job,
          "schedule",
          schedule.encode(),
          "none with rule %s: it needs %s".formatted(rule.key(), need));
    }
  }

  private static JsonObject schedule(JobConfig job) {
    return job.settings().section("optimizer").section("schedule").toJson();
  }

  private static RuntimeException refuseOptimizer(
      JobConfig job, String key, Object found, String expected) {
    return job.settings()
        .section("optimizer")
        .refuse(key, "is %s, expected %s".formatted(found, expected));
  }
}
