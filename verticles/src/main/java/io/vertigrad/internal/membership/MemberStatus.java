package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import io.vertigrad.strategy.StragglerReport;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A member's report about itself, sent with each heartbeat and on request; every field is optional.
 *
 * @param starting true while the job must not count on this member
 * @param step current step of a worker
 * @param version highest version of the parameters that it has reached
 * @param samples training samples behind that version
 * @param event what it does now, for people
 * @param testing version that an evaluator tests now, or tested last
 * @param evaluated version that an evaluator has tested and reported
 * @param tested test samples processed by a stage, or by an evaluator that training waits for
 * @param ended true once a worker has finished everything before an early end and stays
 * @param restored true for a server that continues from what an earlier incarnation left
 * @param saveMillis how long its last checkpoint took to write; 0 before the first
 * @param waiting the workers that the first of a server's partitions waits for
 * @param counters a server's counters so far, only in answer to a request for them
 * @param dataAwaited true for a worker that takes no step because its data have not come
 */
@MayBeAbsent
public record MemberStatus(
    boolean starting,
    OptionalLong step,
    OptionalLong version,
    OptionalLong samples,
    Optional<String> event,
    OptionalLong testing,
    OptionalLong evaluated,
    long tested,
    boolean ended,
    boolean restored,
    long saveMillis,
    Optional<StragglerReport> waiting,
    Optional<ServerProgress> counters,
    boolean dataAwaited) {

  /** A status without any information. */
  public static final MemberStatus NONE = starting(false);

  /** The status of a member that is not ready to take part yet. */
  public static final MemberStatus STARTING = starting(true);

  public MemberStatus {
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(samples, "samples");
    Objects.requireNonNull(step, "step");
    Objects.requireNonNull(event, "event");
    Objects.requireNonNull(waiting, "waiting");
    Objects.requireNonNull(testing, "testing");
    Objects.requireNonNull(evaluated, "evaluated");
    Objects.requireNonNull(counters, "counters");
  }

  /**
   * Returns the status of a server.
   *
   * @param version highest version of any of its partitions
   * @param samples training samples behind it
   * @param restored true when it continues from what an earlier incarnation left
   * @param waiting the workers that its first partition waits for
   */
  public static MemberStatus ofServer(
      long version, long samples, boolean restored, Optional<StragglerReport> waiting) {
    return new MemberStatus(
        false,
        OptionalLong.empty(),
        OptionalLong.of(version),
        OptionalLong.of(samples),
        Optional.empty(),
        OptionalLong.empty(),
        OptionalLong.empty(),
        0,
        false,
        restored,
        0,
        waiting,
        Optional.empty(),
        false);
  }

  /**
   * Returns the status of a worker.
   *
   * @param version highest version that it has received
   * @param samples of all workers, when no server counts them
   * @param step current step
   * @param event what it does, for people
   * @param tested test samples that it has processed
   * @param ended true once it has finished everything before an early end
   */
  public static MemberStatus ofWorker(
      long version, long samples, long step, String event, long tested, boolean ended) {
    return new MemberStatus(
        false,
        OptionalLong.of(step),
        OptionalLong.of(version),
        OptionalLong.of(samples),
        Optional.of(event),
        OptionalLong.empty(),
        OptionalLong.empty(),
        tested,
        ended,
        false,
        0,
        Optional.empty(),
        Optional.empty(),
        false);
  }

  /**
   * Returns the status of an evaluator that training waits for.
   *
   * @param testing version that it tests now, or tested last
   * @param evaluated version that it has tested and reported
   * @param tested test samples that it has processed so far
   */
  public static MemberStatus ofEvaluator(long testing, long evaluated, long tested) {
    return new MemberStatus(
        false,
        OptionalLong.empty(),
        OptionalLong.empty(),
        OptionalLong.empty(),
        Optional.empty(),
        OptionalLong.of(testing),
        OptionalLong.of(evaluated),
        tested,
        false,
        false,
        0,
        Optional.empty(),
        Optional.empty(),
        false);
  }

  /** Returns the same status with a server's counters. */
  public MemberStatus withCounters(ServerProgress now) {
    return new MemberStatus(
        starting,
        step,
        version,
        samples,
        event,
        testing,
        evaluated,
        tested,
        ended,
        restored,
        saveMillis,
        waiting,
        Optional.of(now),
        dataAwaited);
  }

  /** Returns the same status with the time that the last checkpoint took to write. */
  public MemberStatus withSaveMillis(long millis) {
    return new MemberStatus(
        starting,
        step,
        version,
        samples,
        event,
        testing,
        evaluated,
        tested,
        ended,
        restored,
        millis,
        waiting,
        counters,
        dataAwaited);
  }

  /** Returns the same status of a worker that waits for data, or has some. */
  public MemberStatus awaitingData(boolean now) {
    return new MemberStatus(
        starting,
        step,
        version,
        samples,
        event,
        testing,
        evaluated,
        tested,
        ended,
        restored,
        saveMillis,
        waiting,
        counters,
        now);
  }

  /** Returns the status for messages, as JSON with the keys of the control protocol. */
  @Override
  public String toString() {
    return ControlCodec.write(this).encode();
  }

  private static MemberStatus starting(boolean starting) {
    return new MemberStatus(
        starting,
        OptionalLong.empty(),
        OptionalLong.empty(),
        OptionalLong.empty(),
        Optional.empty(),
        OptionalLong.empty(),
        OptionalLong.empty(),
        0,
        false,
        false,
        0,
        Optional.empty(),
        Optional.empty(),
        false);
  }
}
