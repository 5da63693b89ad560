package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StragglerReport;
import java.util.Optional;
import java.util.OptionalLong;

/** One admitted member, as the coordinator last heard of it. */
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
   * A member that was just admitted.
   *
   * @param name for people
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

  /** The same member as a server of this rank, which it has not said yet that it is. */
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

  /** True for a server that was promoted: no worker has seen anything that it lacks. */
  boolean wasBackup() {
    return wasBackup;
  }

  Admission admission() {
    return admission;
  }

  /** What it was before it was evicted. */
  Optional<Admission> before() {
    return before;
  }

  /** The version that a server had in memory when it joined. */
  OptionalLong holds() {
    return holds;
  }

  int rank() {
    return admission.rank();
  }

  String token() {
    return token;
  }

  /** True when it was started beside another worker, for a rank that nobody played. */
  boolean adopted() {
    return adopted;
  }

  String node() {
    return node;
  }

  /** What its process is called in the cluster; empty outside of one. */
  String clusterNode() {
    return clusterNode;
  }

  /** Takes a sign of life. */
  void heard(MemberStatus newStatus, long nowMillis) {
    status = newStatus;
    forgive(nowMillis);
  }

  /** Counts silence from then on: it was the coordinator that slept. */
  void forgive(long nowMillis) {
    heardMillis = nowMillis;
    suspected = false;
  }

  /** Whom it said somebody waits for there. */
  Optional<StragglerReport> straggler() {
    return status.waiting();
  }

  long silentMillis(long nowMillis) {
    return Math.max(0, nowMillis - heardMillis);
  }

  /** True once per silence, when it has lasted for the limit. */
  boolean becomesSuspect(long limitMillis, long nowMillis) {
    boolean suspect = silentMillis(nowMillis) >= limitMillis;
    boolean becomes = suspect && !suspected;
    suspected = suspect;
    return becomes;
  }

  /** False while it said that it is still starting. */
  boolean ready() {
    return !status.starting();
  }

  /** The version it said it has reached, if it said so. */
  OptionalLong version() {
    return status.version();
  }

  /** True when it said that it went on from what an earlier incarnation had left. */
  boolean restored() {
    return status.restored();
  }

  /** The step it said it is at, if it said so. */
  OptionalLong step() {
    return status.step();
  }

  /** Test samples it said went through it; 0 for who does not test while it trains. */
  long tested() {
    return status.tested();
  }

  /** True when it said that it has finished whatever it had begun before an early end. */
  boolean ended() {
    return status.ended();
  }

  /** How long it said that its last checkpoint took to write. */
  long saveMillis() {
    return status.saveMillis();
  }

  /** True when it was part of a published membership. */
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

  /** For people: who and where. */
  String describe() {
    return "%s at %s".formatted(name, node);
  }

  /** For people: who, what it said last, and when. */
  String lastEvent(long nowMillis) {
    return "%s, %d ms ago: %s".formatted(name, silentMillis(nowMillis), status);
  }

  /** For people: for how long it has been silent, and what it said last. */
  String silence(long nowMillis) {
    String silence = "silent for %d ms".formatted(silentMillis(nowMillis));
    return status.equals(MemberStatus.NONE) ? silence : silence + ", last heard " + status;
  }
}
