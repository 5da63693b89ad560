package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.checkpoint.CheckpointWriter;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.VersionChoiceFixture;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WorkerAgreementTest {

  private static final int LENGTH = 5;
  private static final PeerGroup WITHOUT_ONE = new PeerGroup(2, List.of(0, 2), 0);

  private static final CheckpointWriter.Owner OWNER =
      new CheckpointWriter.Owner(() -> "run", Map::of);

  private final StepGate gate = new StepGate();
  private final VectorModel model = model();
  private final VersionChoiceFixture versions = new VersionChoiceFixture();
  private final RecordingStrategy rule = new RecordingStrategy();
  private ReplicaCheckpoints checkpoints;

  @TempDir Path folder;

  @AfterEach
  void close() {
    if (checkpoints != null) {
      checkpoints.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"allreduce", "dpsgd", "local", "diloco"})
  void shouldTakeNoStepWhileARankIsMissing(String strategy) {
    WorkerAgreement agreement = agreement(strategy, 0, 0);

    assertEquals(Optional.empty(), settle(agreement, WITHOUT_ONE));
    assertFalse(agreement.reconsiders());
  }

  @Test
  void shouldContinueWithFewerWorkersInGossip() {
    assertEquals(Optional.of(WITHOUT_ONE), settle(agreement("gossip", 0, 0), WITHOUT_ONE));
  }

  @Test
  void shouldFinishWithFewerWhenTheJobEndsEarlyAndNobodyIsAdmitted() {
    WorkerAgreement agreement = agreement("dpsgd", 0, 0);
    settle(agreement, WITHOUT_ONE);

    gate.apply(new Pause(1, 7, Long.MAX_VALUE, false, true, List.of()));

    assertTrue(agreement.reconsiders());
    assertEquals(Optional.of(WITHOUT_ONE), settle(agreement, WITHOUT_ONE));
    assertFalse(agreement.reconsiders());
  }

  /** Between two averages one worker may be far ahead of another. */
  @ParameterizedTest
  @CsvSource({
    "dpsgd, 0, 0, 3, 3",
    "dpsgd, 1, 1, 3, 6",
    "dpsgd, 100, 100, 3, 4",
    "allreduce, 7, 7, 9, 9",
    "local, 1, 10, 3, 4",
    "local, 25, 30, 3, 4",
    "diloco, 25, 100, 3, 4",
    "gossip, 25, 25, 3, 3"
  })
  void shouldKeepCheckpointsAtVersionsThatAllWorkersReach(
      String strategy, long asked, long every, int keep, int kept) {
    JobConfig job = job(strategy, asked, keep);
    StrategyTraits traits = traits(job);

    assertEquals(every, WorkerAgreement.checkpointEvery(job, traits));
    assertEquals(kept, WorkerAgreement.checkpointKeep(job, traits));
  }

  @Test
  void shouldRestoreEveryBitOfAnEarlierIncarnation() {
    model.optimizer(OptimizerConfig.sgd(0.1));
    PeerGroup alone = new PeerGroup(1, List.of(0), 0);
    WorkerAgreement first = agreement("dpsgd", 4, 0, 1);
    ReplicaSaves saves = new ReplicaSaves(checkpoints, 0, 0, true);
    settle(first, alone);
    float[] third = {1, 2, 1 / 3f, Float.MIN_VALUE, -0f};
    model.vector().setParameters(third.clone());
    model.vector().resume(4, 1 / 3.0);
    assertTrue(saves.due(4));
    saves.write(model, new float[] {0.25f, -7});
    first.reached();
    model.reached(4);
    saves.changing();
    model.vector().setParameters(new float[LENGTH]);
    model.vector().resume(5, 99);

    // Version 5 was not completed: reached(5) was not called.
    WorkerAgreement second = agreement("dpsgd", 4, 1, 1);
    settle(second, new PeerGroup(2, List.of(0), 0));

    assertEquals(4, model.vector().updates());
    assertEquals(1 / 3.0, model.vector().samples());
    assertArrayEquals(third, model.vector().parameters());
    assertArrayEquals(new float[] {0.25f, -7}, rule.memory);
    assertFalse(second.isFresh());
  }

  /** Replicas differ, so the initial parameters of one replica would belong to no rank. */
  @ParameterizedTest
  @ValueSource(strings = {"dpsgd", "local", "allreduce"})
  void shouldContinueFromMemoryWhenAllWereEvictedAtOneVersion(String strategy) {
    List<VectorModel> models = List.of(model(), model());
    incarnation(strategy, 0, models, 4);

    List<WorkerAgreement> next = incarnation(strategy, 1, models, 4);

    models.forEach(each -> assertEquals(4, each.vector().updates()));
    next.forEach(each -> assertFalse(each.isFresh()));
  }

  /** Checkpoints are off, so both ranks can restore only the initial parameters. */
  @ParameterizedTest
  @CsvSource({"dpsgd, 0", "local, 0", "allreduce, 4"})
  void shouldNotContinueFromAnotherRanksReplicaWhenReplicasDiffer(String strategy, long version) {
    List<VectorModel> models = List.of(model(), model());
    incarnation(strategy, 0, models, 4);

    List<WorkerAgreement> next = incarnation(strategy, 1, List.of(models.get(1), models.get(0)), 4);

    models.forEach(each -> assertEquals(version, each.vector().updates()));
    next.forEach(each -> assertEquals(version == 0, each.isFresh()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"dpsgd", "local"})
  void shouldStartOverWhenWorkersWereEvictedAtDifferentVersions(String strategy) {
    List<VectorModel> models = List.of(model(), model());
    incarnation(strategy, 0, models, 4);
    models.get(1).vector().resume(5, 20);
    models.get(1).reached(5);

    List<WorkerAgreement> next = incarnation(strategy, 1, models, 4);

    models.forEach(each -> assertEquals(0, each.vector().updates()));
    next.forEach(each -> assertTrue(each.isFresh()));
  }

  @Test
  void shouldNotMakeANewcomerOfAnEvictedGossipingWorker() {
    settle(agreement("gossip", 0, 0), WITHOUT_ONE);
    model.vector().resume(4, 16);

    WorkerAgreement next = agreement("gossip", 0, 1);
    settle(next, WITHOUT_ONE);

    assertFalse(next.isFresh());
  }

  /** Each model settles as the rank at its list index; new models then train up to a version. */
  private List<WorkerAgreement> incarnation(
      String strategy, int number, List<VectorModel> models, long version) {
    List<CompletableFuture<WorkerAgreement>> ranks = new ArrayList<>();
    for (int rank = 0; rank < models.size(); rank++) {
      PeerGroup group = new PeerGroup(number + 1, List.of(0, 1), rank);
      VectorModel own = models.get(rank);
      WorkerAgreement agreement = agreement(strategy, 0, rank, number, models.size(), own);
      ranks.add(
          CompletableFuture.supplyAsync(
              () -> {
                agreement.settle(group, new RecordingStrategy());
                return agreement;
              },
              work -> new Thread(work).start()));
    }
    List<WorkerAgreement> settled =
        ranks.stream().map(each -> each.orTimeout(10, TimeUnit.SECONDS).join()).toList();
    if (number == 0) {
      models.forEach(each -> each.vector().resume(version, 4 * version));
      models.forEach(each -> each.reached(version));
      settled.forEach(WorkerAgreement::reached);
    }
    return settled;
  }

  private static VectorModel model() {
    return new VectorModel(
        new QuadraticModel(LENGTH, 0), new QuadraticEngine(), 0, 64, Float.MAX_VALUE);
  }

  private Optional<PeerGroup> settle(WorkerAgreement agreement, PeerGroup group) {
    return agreement.settle(group, rule);
  }

  private WorkerAgreement agreement(String strategy, long every, int incarnation) {
    return agreement(strategy, every, incarnation, 3);
  }

  private WorkerAgreement agreement(String strategy, long every, int incarnation, int count) {
    return agreement(strategy, every, 0, incarnation, count, model);
  }

  private WorkerAgreement agreement(
      String strategy, long every, int rank, int incarnation, int count, VectorModel own) {
    JobConfig job = job(strategy, every, 3, count);
    StrategyTraits traits = traits(job);
    if (checkpoints == null) {
      checkpoints =
          new ReplicaCheckpoints(
              job, own.layout(), every, 3, true, OWNER, List::of, event -> {}, Optional.empty());
    }
    SenderIdentity self = new SenderIdentity(job.addresses().jobHash(), rank, incarnation);
    return new WorkerAgreement(
        job,
        traits,
        checkpoints,
        new Incarnation(self, 0, 0, gate, () -> false),
        own,
        candidates -> versions.choose(count, candidates));
  }

  private JobConfig job(String strategy, long every, int keep) {
    return job(strategy, every, keep, 3);
  }

  private JobConfig job(String strategy, long every, int keep, int count) {
    return JobConfig.read(
        "test",
        new JsonObject()
            .put("job", "agreement")
            .put("engine", "quadratic")
            .put("data", new JsonObject().put("name", "points"))
            .put("strategy", new JsonObject().put("name", strategy))
            .put("workers", new JsonObject().put("count", count))
            .put(
                "checkpoint",
                new JsonObject()
                    .put("every", every)
                    .put("keep", keep)
                    .put("directory", folder.toString())));
  }

  private static StrategyTraits traits(JobConfig job) {
    return StrategyProviders.configure(job.strategy(), WorkerAgreementTest.class.getClassLoader())
        .traits();
  }

  /** A strategy that does nothing and records the memory that it is given. */
  private static final class RecordingStrategy implements PeerStrategy {

    private float[] memory = new float[0];

    @Override
    public void open(PeerGroup group, boolean fresh) {}

    @Override
    public void begin() {}

    @Override
    public void complete(LocalGradient gradient) {}

    @Override
    public void restore(float[] given) {
      memory = given;
    }

    @Override
    public ExchangeTiming timing() {
      return ExchangeTiming.NONE;
    }

    @Override
    public double spectralGap() {
      return 1;
    }
  }
}
