package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.worker.CheckpointAgreement;
import io.vertigrad.internal.worker.CheckpointAgreement.Rule;
import io.vertigrad.internal.worker.CheckpointAgreement.Statement;
import io.vertigrad.internal.worker.ReplicaCheckpoints.RunVersion;
import io.vertigrad.internal.worker.ReplicaDuties;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Peers;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The duties of one incarnation of a stage besides its gradients: it agrees with all stages on a
 * step to continue from, shows and saves versions, and tests them together with its neighbours.
 */
final class StageDuties implements ReplicaDuties {

  private static final Logger LOG = LoggerFactory.getLogger(StageDuties.class);

  private final StageContext setting;
  private final StageReplica replica;
  private final SenderIdentity identity;
  private final StageGroup group;
  private final StageVersions versions;

  StageDuties(
      StageContext setting, StageReplica replica, SenderIdentity identity, StageGroup group) {
    this.setting = setting;
    this.replica = replica;
    this.identity = identity;
    this.group = group;
    versions =
        new StageVersions(
            setting, replica, identity, group.neighbours(setting.job(), setting.nanoClock()));
  }

  @Override
  public FrameEndpoint endpoint() {
    return versions.endpoint();
  }

  @Override
  public Future<?> open() {
    return group.open();
  }

  @Override
  public void membershipChanged(Membership now) {
    group.membershipChanged(now);
  }

  @Override
  public void wake() {
    group.wake();
  }

  @Override
  public boolean current() {
    return group.ready();
  }

  @Override
  public void remembers(Supplier<float[]> strategyMemory) {
    versions.remembers(strategyMemory);
  }

  @Override
  public void stepped(long version) {
    versions.stepped(version);
  }

  @Override
  public Optional<PeerGroup> settle(Peers peers, PeerGroup all, PeerStrategy rule) {
    if (!group.adopt(all)) {
      LOG.warn(
          "{}: step {} cannot go on without {}; the job waits for a replacement",
          name(),
          replica.vector().updates(),
          group.missing());
      return Optional.empty();
    }
    List<RunVersion> kept = replica.kept(setting.checkpoints(), identity);
    Optional<RunVersion> held = replica.held(identity.rank());
    Statement mine = new Statement(held, kept, false, true);
    long anyRun = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
    CheckpointAgreement.Agreed agreed =
        CheckpointAgreement.hold(peers, all, mine, Rule.COMMON_STATE, anyRun)
            .orElseThrow(() -> StageErrors.nothingInCommon(name(), replica.point(), kept));
    RunVersion from = agreed.from().orElseThrow();
    long before = replica.vector().updates();
    if (!held.equals(Optional.of(from))) {
      rule.restore(restored(from));
    }
    replica.belongsTo(agreed.run(), identity.rank());
    LOG.info("{}: was at step {}, goes on at {}", name(), before, replica.vector().updates());
    return Optional.of(group.replicas());
  }

  /** Goes back to a version and returns the strategy's state at that version. */
  private float[] restored(RunVersion from) {
    if (from.equals(RunVersion.BEGINNING)) {
      replica.restart();
      return new float[0];
    }
    return replica.restore(name(), setting.checkpoints().restore(identity.rank(), from));
  }

  @Override
  public void changing() {
    versions.saves().changing();
  }

  /**
   * Returns false: stages have agreed where to continue before the replicas of one stage are asked.
   */
  @Override
  public boolean fresh() {
    return false;
  }

  /** Shows and tests the version; blocks during the test. */
  @Override
  public void reached(long version, float[] parameters, boolean last) {
    replica.reached(version);
    versions.reached(version);
  }

  @Override
  public void hold(long version, float[] parameters) {
    if (group.ready()) {
      versions.rest(version);
    }
  }

  /**
   * Shows and tests the version of an early end. The regular last version was shown and tested when
   * it was reached.
   */
  @Override
  public void end(long version, float[] parameters) {
    if (version < setting.lastVersion()) {
      versions.ended(version);
    }
  }

  /**
   * Fails: if one stage's gradient is not finite, the stages would no longer take the same steps.
   */
  @Override
  public void leftOut(long version, double loss) {
    throw StageErrors.diverged(name(), version, loss);
  }

  @Override
  public void idle() {
    versions.saves().idle(versions::write);
  }

  @Override
  public TrafficCounters traffic() {
    return group.traffic();
  }

  @Override
  public Future<Path> checkpoint() {
    return versions.saves().ask();
  }

  @Override
  public Future<?> close() {
    versions.saves().close("this stage is stopping");
    return group.close();
  }

  private String name() {
    return setting.job().pipeline().orElseThrow().name(identity.rank());
  }
}
