package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StragglerReport;
import java.util.Optional;
import java.util.OptionalLong;

/** One admitted member, with the last status that the coordinator received. */
final class MemberRecord {

  private final Admission admission;
  private final String name;
  private final String token;
  private final String node;
  private final String clusterNode;
  private final boolean adopted;
  private final boolean wasBackup;
  private final Optional<Admission> before;
  private final OptionalLong holds;
  private MemberStatus status;
  private long heardMillis;
  private boolean suspected;
  private boolean published;
  private long activeFrom;
  private long firstStep;

  /**
   * Creates the record of a member that was just admitted.
   *
   * @param name for messages
   */
  MemberRecord(Admission admission, String name, JoinRequest request, long nowMillis) {
    this(
        admission,
        name,
        request.token(),
        request.node(),
        request.clusterNode(),
        request.adopts(),
        false,
        request.before(),
        request.holds(),
        request.status(),
        nowMillis);
  }

  private MemberRecord(
      Admission admission,
      String name,
      String token,
      String node,
      String clusterNode,
      boolean adopted,
      boolean wasBackup,
      Optional<Admission> before,
      OptionalLong holds,
      MemberStatus status,
      long nowMillis) {
    this.admission = admission;
    this.name = name;
    this.token = token;
    this.node = node;
    this.clusterNode = clusterNode;
    this.adopted = adopted;
    this.wasBackup = wasBackup;
    this.before = before;
    this.holds = holds;
    this.status = status;
    heardMillis = nowMillis;
  }

  /** Returns the record of this member as a server, which has not yet reported under that rank. */
  MemberRecord promoted(Admission as, String asName, long nowMillis) {
    return new MemberRecord(
        as,
        asName,
        token,
        node,
        clusterNode,
        adopted,
        true,
        before,
        OptionalLong.empty(),
        MemberStatus.STARTING,
        nowMillis);
  }

  /** Returns whether this server was promoted: it then has every version that a worker has seen. */
  boolean wasBackup() {
    return wasBackup;
  }

  Admission admission() {
    return admission;
  }

  /** Returns its admission before it was evicted. */
  Optional<Admission> before() {
    return before;
  }

  /** Returns the version that a server had in memory when it joined. */
  OptionalLong holds() {
    return holds;
  }

  int rank() {
    return admission.rank();
  }

  String token() {
    return token;
  }

  /** Returns whether another worker's process started it, for a rank without a worker. */
  boolean adopted() {
    return adopted;
  }

  String node() {
    return node;
  }

  /** Returns the cluster's name for its process; empty outside of a cluster. */
  String clusterNode() {
    return clusterNode;
  }

  /** Takes a heartbeat. */
  void heard(MemberStatus newStatus, long nowMillis) {
    status = newStatus;
    forgive(nowMillis);
  }

  /** Counts silence from this time on; used when the coordinator itself did not run. */
  void forgive(long nowMillis) {
    heardMillis = nowMillis;
    suspected = false;
  }

  /** Returns the ranks that this member reported as missing from its current round. */
  Optional<StragglerReport> straggler() {
    return status.waiting();
  }

  long silentMillis(long nowMillis) {
    return Math.max(0, nowMillis - heardMillis);
  }

  /** Returns true once per silence, when it has lasted for the limit. */
  boolean becomesSuspect(long limitMillis, long nowMillis) {
    boolean suspect = silentMillis(nowMillis) >= limitMillis;
    boolean becomes = suspect && !suspected;
    suspected = suspect;
    return becomes;
  }

  /** Returns whether it has reported that it is no longer starting. */
  boolean ready() {
    return !status.starting();
  }

  /** Returns the version it last reported, if any. */
  OptionalLong version() {
    return status.version();
  }

  /** Returns whether it continues from what an earlier incarnation left. */
  boolean restored() {
    return status.restored();
  }

  /** Returns the step it last reported, if any. */
  OptionalLong step() {
    return status.step();
  }

  /** Returns how many test samples it has processed; 0 if it does not test during training. */
  long tested() {
    return status.tested();
  }

  /** Returns whether it has finished everything it had started before an early end. */
  boolean ended() {
    return status.ended();
  }

  /** Returns how many milliseconds its last checkpoint took to write. */
  long saveMillis() {
    return status.saveMillis();
  }

  /** Returns whether it was part of a published membership. */
  boolean published() {
    return published;
  }

  long activeFrom() {
    return activeFrom;
  }

  long firstStep() {
    return firstStep;
  }

  void publish(Membership.Member as) {
    published = true;
    activeFrom = as.activeFrom();
    firstStep = as.firstStep();
  }

  /** Returns its name and node, for messages. */
  String describe() {
    return "%s at %s".formatted(name, node);
  }

  /** Returns its name, its last status and the age of that status, for messages. */
  String lastEvent(long nowMillis) {
    return "%s, %d ms ago: %s".formatted(name, silentMillis(nowMillis), status);
  }

  /** Returns how long it has been silent and its last status, for messages. */
  String silence(long nowMillis) {
    String silence = "silent for %d ms".formatted(silentMillis(nowMillis));
    return status.equals(MemberStatus.NONE) ? silence : silence + ", last heard " + status;
  }
}
