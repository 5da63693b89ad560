package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import io.vertigrad.strategy.StragglerReport;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A member's report about itself, sent with each heartbeat and on request. In JSON, the first
 * component tells the records apart.
 */
public sealed interface MemberStatus {

  /** The status of a member that has no progress to report. */
  MemberStatus NONE = new NoProgress(false);

  /** The status of a member that is not ready to take part yet. */
  MemberStatus STARTING = new NoProgress(true);

  /** Returns whether the job must not count on this member yet. */
  default boolean starting() {
    return false;
  }

  /** Returns the highest version of the parameters that the member has reached, if it has any. */
  default OptionalLong reached() {
    return OptionalLong.empty();
  }

  /** Returns the number of test samples that it has processed; 0 for a member without tests. */
  default long tested() {
    return 0;
  }

  /** Returns what its last checkpoint cost, in milliseconds; 0 before the first. */
  default long saveMillis() {
    return 0;
  }

  /**
   * A worker, or a stage of a pipeline.
   *
   * @param step current step
   * @param version highest version that it has received
   * @param samples training samples of all workers behind it, when no server counts them
   * @param event what it does now, for people
   * @param tested test samples that it has processed as a stage
   * @param ended true once it has finished everything before an early end and stays
   * @param saveMillis what its last checkpoint cost, in milliseconds; 0 before the first
   * @param dataAwaited true while it takes no step because its data have not come
   */
  record WorkerStatus(
      long step,
      @MayBeAbsent long version,
      @MayBeAbsent long samples,
      @MayBeAbsent String event,
      @MayBeAbsent long tested,
      boolean ended,
      @MayBeAbsent long saveMillis,
      boolean dataAwaited)
      implements MemberStatus {

    @Override
    public OptionalLong reached() {
      return OptionalLong.of(version);
    }
  }

  /**
   * An evaluator that training waits for.
   *
   * @param testing version that it tests now, or tested last
   * @param evaluated version that it has tested and reported
   * @param tested test samples that it has processed
   */
  record EvaluatorStatus(long testing, @MayBeAbsent long evaluated, @MayBeAbsent long tested)
      implements MemberStatus {}

  /**
   * A server.
   *
   * @param version highest version of any of its partitions
   * @param samples training samples behind it
   * @param restored true when it continues from what an earlier incarnation left
   * @param saveMillis what its last checkpoint cost, in milliseconds; 0 before the first
   * @param waiting the workers that its first partition waits for
   * @param counters its counters so far, only in answer to a request for them
   */
  record ServerStatus(
      long version,
      @MayBeAbsent long samples,
      boolean restored,
      @MayBeAbsent long saveMillis,
      Optional<StragglerReport> waiting,
      Optional<ServerProgress> counters)
      implements MemberStatus {

    @Override
    public OptionalLong reached() {
      return OptionalLong.of(version);
    }
  }

  /** A member of any role. */
  record NoProgress(boolean starting) implements MemberStatus {}
}
