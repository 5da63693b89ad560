package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.internal.worker.ReplicaAgreement;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The agreement of one incarnation of a stage with all stages of all replicas. */
final class StageAgreement implements ReplicaAgreement {

  private static final Logger LOG = LoggerFactory.getLogger(StageAgreement.class);

  private final StageContext context;
  private final StageReplica replica;
  private final SenderIdentity identity;
  private final StageGroup group;

  StageAgreement(
      StageContext context, StageReplica replica, SenderIdentity identity, StageGroup group) {
    this.context = context;
    this.replica = replica;
    this.identity = identity;
    this.group = group;
  }

  @Override
  public Optional<PeerGroup> settle(PeerGroup all, PeerStrategy rule) {
    if (!group.adopt(all)) {
      LOG.warn(
          "{}: step {} cannot go on without {}; the job waits for a replacement",
          name(),
          replica.vector().updates(),
          group.missing());
      return Optional.empty();
    }
    List<RunVersion> kept = replica.savedVersions(context.checkpoints(), identity);
    Optional<RunVersion> held = replica.heldVersion(identity.rank());
    Admission self = new Admission(Role.WORKER, identity.rank(), identity.incarnation());
    List<RunVersion> copies =
        context.checkpoints().copies().map(each -> each.held(true)).orElse(List.of());
    Candidates candidates =
        new Candidates(self, all.epoch(), Rule.COMMON_STATE, held, kept, copies, false, true);
    Choice choice = context.versions().apply(candidates);
    RunVersion from = choice.from().orElseThrow(() -> noCommonVersion(kept));
    long before = replica.vector().updates();
    if (!held.equals(Optional.of(from))) {
      rule.restore(restored(from));
    }
    replica.assignRun(choice.run().orElseThrow(), identity.rank());
    LOG.info("{}: was at step {}, goes on at {}", name(), before, replica.vector().updates());
    return Optional.of(group.replicas());
  }

  private ExchangeException noCommonVersion(List<RunVersion> kept) {
    return new ExchangeException(
        ("%s: there is no step from which every stage can go on; this one has %s. Set"
                + " checkpoint.every, and a checkpoint.directory that a replacement"
                + " can read")
            .formatted(
                name(),
                Stream.concat(Stream.of(replica.state()), kept.stream())
                    .map(RunVersion::version)
                    .toList()));
  }

  /** Goes back to a version and returns the strategy's state at that version. */
  private float[] restored(RunVersion from) {
    if (from.equals(RunVersion.BEGINNING)) {
      replica.restart();
      return new float[0];
    }
    return replica.restore(
        name(), context.checkpoints().restore(identity.rank(), from, () -> false));
  }

  /**
   * Returns false: stages have agreed where to continue before the replicas of one stage are asked.
   */
  @Override
  public boolean isFresh() {
    return false;
  }

  private String name() {
    return context.job().pipeline().orElseThrow().name(identity.rank());
  }
}
