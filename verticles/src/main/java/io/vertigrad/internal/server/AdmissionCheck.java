package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.Optional;

/**
 * Checks whether a gradient is meant for this partition and was sent by a member of the job.
 *
 * @param job hash of the job's name
 * @param layout hash of the parameter layout
 * @param partition the partition
 */
record AdmissionCheck(long job, long layout, Partition partition) {

  /** Returns the refusal for a gradient; empty if it is admitted. */
  Optional<Refusal> refusal(GradientPartition update, Membership membership) {
    return misdirected(update).or(() -> unknownSender(update.id(), membership));
  }

  private Optional<Refusal> misdirected(GradientPartition update) {
    if (update.id().job() != job) {
      return wrong(update, "job", hex(update.id().job()), hex(job));
    }
    if (update.layout() != layout) {
      return wrong(update, "layout", hex(update.layout()), hex(layout));
    }
    if (update.firstElement() != partition.first()) {
      return wrong(update, "first element", update.firstElement(), partition.first());
    }
    if (update.gradient().length() != partition.length()) {
      return wrong(update, "length", update.gradient().length(), partition.length());
    }
    return Optional.empty();
  }

  private Optional<Refusal> unknownSender(ExchangeId id, Membership membership) {
    Optional<Member> member = membership.worker(id.worker());
    int known = member.map(Member::incarnation).orElse(-1);
    if (known == id.incarnation()) {
      return Optional.empty();
    }
    boolean ahead = id.epoch() > membership.epoch() || known >= 0 && known < id.incarnation();
    String message =
        "partition %d: found worker %d of incarnation %d, expected %s as of membership epoch %d; %s"
            .formatted(
                partition.index(),
                id.worker(),
                id.incarnation(),
                known < 0 ? "nobody of this rank" : "incarnation " + known,
                membership.epoch(),
                ahead ? "news of it is on its way, try again" : "join again");
    Reason reason = ahead ? Reason.UNAVAILABLE : Reason.STALE_INCARNATION;
    return Optional.of(new Refusal(id, reason, message));
  }

  private Optional<Refusal> wrong(
      GradientPartition update, String what, Object found, Object expected) {
    return Optional.of(
        new Refusal(
            update.id(),
            Reason.WRONG_LAYOUT,
            "partition %d: found %s %s from worker %d, expected %s; use the same job file and model"
                .formatted(partition.index(), what, found, update.id().worker(), expected)));
  }

  private static String hex(long hash) {
    return "%016x".formatted(hash);
  }
}
