package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.events.Vitals;
import io.vertigrad.internal.RecordJson.Inline;
import io.vertigrad.internal.RecordJson.Key;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** A message of the control protocol; {@link ControlCodec} reads and writes it. */
sealed interface ControlMessage {

  /** A request to the coordinator. */
  sealed interface ControlRequest extends ControlMessage {

    /**
     * A request to join a job.
     *
     * @param role the role that is asked for
     * @param token the same on every retry, so that a lost answer never admits twice
     * @param node where the member runs, for people
     * @param clusterNode the cluster's name for that process; empty outside of a cluster
     * @param terms the settings it was started with
     * @param layout its model's parameter layout
     * @param adopts true for a worker that another worker's process has started
     * @param before its admission before it was evicted, whose rank it prefers
     * @param holds version that a server still has in memory from then, or the last version that a
     *     worker has received from its servers; empty for other members
     * @param status as in heartbeats; {@code starting} when it is not ready yet
     */
    record JoinRequest(
        Role role,
        String token,
        String node,
        @MayBeAbsent String clusterNode,
        JobTerms terms,
        ParameterLayout layout,
        boolean adopts,
        Optional<Admission> before,
        OptionalLong holds,
        @MayBeAbsent MemberStatus status)
        implements ControlRequest {}

    /**
     * A member's heartbeat.
     *
     * @param from the member
     * @param epoch of the newest membership it knows
     * @param status the member's own report
     * @param vitals measurements of its process, if it sent any
     * @param pause its reply to pauses
     */
    record Heartbeat(
        @Inline Admission from,
        int epoch,
        @MayBeAbsent MemberStatus status,
        Optional<Vitals> vitals,
        @MayBeAbsent PauseReply pause)
        implements ControlRequest {}

    /**
     * A member leaves.
     *
     * @param from the member
     * @param reason why it leaves
     * @param status its last report
     */
    record Leave(@Inline Admission from, LeaveReason reason, @MayBeAbsent MemberStatus status)
        implements ControlRequest {}

    /**
     * A worker without servers reports what it can continue from. It repeats the request until it
     * gets the choice, or the membership changes.
     */
    record ReportCandidates(@Inline Candidates candidates) implements ControlRequest {}

    /**
     * A worker that begins a round asks how its samples are divided among the workers. It repeats
     * the request until it gets the division.
     *
     * @param round version of the round's parameters
     * @param nanosPerSample its time for a sample in its recent rounds; 0 if it is unknown
     * @param known the newest division that it had before
     */
    record AskDivision(
        @Inline Admission from, long round, long nanosPerSample, Optional<BatchDivision> known)
        implements ControlRequest {}

    /**
     * A program that is no member, such as a predictor, reads the parameters of a job that has
     * finished. The members stay until it is done, for a limited time.
     *
     * @param reader the same in both messages of one reader
     * @param done true if it has read them
     */
    record ReadParameters(String reader, boolean done) implements ControlRequest {}

    /**
     * Asks for the members of one process to leave while the job goes on; repeated until they have.
     *
     * @param member the name of one of them, as events have it; empty if the process asks itself
     * @param node where the members run; empty if {@code member} is given
     */
    record DrainRequest(Optional<String> member, Optional<String> node) implements ControlRequest {}

    /** A command for the whole job, which any node on the bus may send. */
    enum JobCommand implements ControlRequest {
      /** Asks for the phase of the job and for its membership. */
      STATE,
      /** Makes every server write a checkpoint. */
      CHECKPOINT,
      /** Lets no worker start another step. */
      PAUSE,
      /** Lets workers go on. */
      RESUME,
      /** Ends the job and releases its members. */
      STOP;

      String lower() {
        return name().toLowerCase(Locale.ROOT);
      }
    }

    /**
     * A member's reply to pauses.
     *
     * @param number of the newest pause that it has received
     * @param begun version after the last step that it has started; 0 for none
     */
    @MayBeAbsent
    record PauseReply(long number, long begun) {

      /** The reply of a member that has received no pause and has started no step. */
      static final PauseReply NONE = new PauseReply(0, 0);
    }
  }

  /** An answer of the coordinator to a {@link ControlRequest}. */
  sealed interface ControlAnswer extends ControlMessage {

    /**
     * The request was refused.
     *
     * @param why for people
     * @param retry true when a place may become free, or a choice may be made
     * @param late true when the job has ended well, or is about to
     */
    record Refused(@Key("refused") String why, boolean retry, boolean late)
        implements ControlAnswer {}

    /**
     * A member is about to hand its place over to the newcomer, which asks again soon.
     *
     * @param why for people
     */
    record Standby(JobPhase state, int epoch, @Key("standby") String why)
        implements ControlAnswer {}

    /**
     * A newcomer was admitted.
     *
     * @param run name of the run, whose checkpoints the newcomer uses
     * @param keeps true for a server that continues from its memory, because nobody has served its
     *     shard since
     * @param from version that a server goes back to, because all servers do; empty for its newest
     */
    record Admitted(
        JobPhase state,
        int epoch,
        @Key("admitted") Admission admission,
        String run,
        boolean keeps,
        OptionalLong from)
        implements ControlAnswer {}

    /**
     * The request was granted.
     *
     * @param state phase of the job
     * @param epoch of the membership in force
     * @param membership present when the member knows an older one, and when the state was asked
     *     for
     * @param pause present when the member knows an older one
     */
    record Granted(
        JobPhase state, int epoch, Optional<Membership> membership, Optional<Pause> pause)
        implements ControlAnswer {}

    /** All workers of the membership have reported their candidates, and continue from this one. */
    record Chosen(JobPhase state, int epoch, @Key("chosen") Choice choice)
        implements ControlAnswer {}

    /** The samples of the round that was asked for are divided like this. */
    record Divided(JobPhase state, int epoch, @Key("divided") BatchDivision division)
        implements ControlAnswer {}

    /** The sender is not, or no longer, a member of the job. */
    record Unknown(JobPhase state, int epoch, @Key("unknown") String why)
        implements ControlAnswer {}

    /** The job is over, and the sender must stop. */
    record Released(JobPhase state, int epoch, @Key("stop") String why) implements ControlAnswer {}
  }

  /** A message that the coordinator publishes to every member. */
  sealed interface Published extends ControlMessage {

    /** Every server has accepted this membership. */
    record MembershipPublished(Membership membership) implements Published {}

    /** The limit up to which training may go has changed. */
    record PausePublished(Pause pause) implements Published {}

    /**
     * A user has asked for the members of this process to leave; the process ends when they have.
     */
    record DrainPublished(@Key("drain") String node) implements Published {}

    /** Every member must stop. */
    record StopPublished(@Key("stop") String why) implements Published {}
  }

  /** A request of the coordinator to one member. */
  sealed interface MemberRequest extends ControlMessage {

    /** Asks a server whether it can accept this membership. */
    record Propose(@Key("propose") Membership next) implements MemberRequest {}

    /** Asks the evaluator to test the newest parameters, of this version or a later one. */
    record Evaluate(@MayBeAbsent long version) implements MemberRequest {}

    /** Commands without arguments. */
    enum Command implements MemberRequest {
      /** Asks a server for its counters, or a worker whether it is in a step. */
      STATUS,
      /** Asks for a checkpoint; answered when it is on the disk. */
      SAVE,
      /** Asks for a checkpoint; answered when writing has started. */
      CHECKPOINT,
      /** Asks a server for the outcome of every update. */
      LEDGER,
      /** Makes a member save its part of the model and leave; answered before it leaves. */
      HAND_OVER,
      /** Makes a worker's process start another worker, for a rank without one. */
      ADOPT;

      String lower() {
        return name().toLowerCase(Locale.ROOT);
      }
    }
  }
}
