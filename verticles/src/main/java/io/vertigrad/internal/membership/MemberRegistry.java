package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.LeaveReason.Kind;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The members by role and rank, and how often each rank was given out. */
final class MemberRegistry {

  private final Map<Role, TreeMap<Integer, MemberRecord>> present = new EnumMap<>(Role.class);
  private final Map<String, MemberRecord> tokens = new HashMap<>();
  private final Map<Admission, Integer> incarnations = new HashMap<>();
  private final Map<Integer, Admission> lastServedBy = new HashMap<>();
  private final DepartedMembers departures = new DepartedMembers();
  private final MemberNames names;
  private final int firstIncarnation;

  /**
   * Creates a registry without members.
   *
   * @param firstIncarnation of the first member of each rank
   */
  MemberRegistry(MemberNames names, int firstIncarnation) {
    this.names = names;
    this.firstIncarnation = firstIncarnation;
    for (Role role : Role.values()) {
      present.put(role, new TreeMap<>());
    }
  }

  /**
   * Admits a member under a free rank and the rank's next incarnation. The member gets the rank it
   * had before, because it may still hold that rank's state in memory, or else the lowest free
   * rank.
   */
  MemberRecord admit(JoinRequest request, long nowMillis) {
    TreeMap<Integer, MemberRecord> members = present.get(request.role());
    int rank =
        request
            .before()
            .map(Admission::rank)
            .filter(held -> !members.containsKey(held))
            .orElseGet(() -> lowestFree(members));
    Admission admission = next(request.role(), rank);
    MemberRecord record = new MemberRecord(admission, names.of(admission), request, nowMillis);
    members.put(rank, record);
    tokens.put(record.token(), record);
    return record;
  }

  private Admission next(Role role, int rank) {
    int incarnation = incarnations.getOrDefault(key(role, rank), firstIncarnation);
    incarnations.put(key(role, rank), incarnation + 1);
    return new Admission(role, rank, incarnation);
  }

  /** Returns whether each of the first {@code ranks} ranks has a worker. */
  boolean hasAllWorkers(int ranks) {
    return count(Role.WORKER) >= ranks
        && IntStream.range(0, ranks).allMatch(rank -> has(Role.WORKER, rank));
  }

  /**
   * Finds the substitute worker that gives up its place to this newcomer. A substitute is a worker
   * that another worker's process started for an empty rank. It gives way when no rank of the job
   * is free, because a newcomer under a further rank would be one too many. A substitute that is
   * not yet published also gives way to the worker that had its rank before, which may still hold
   * its replica.
   *
   * @param ranks number of ranks of the job
   */
  Optional<MemberRecord> substituteFor(JoinRequest request, int ranks) {
    if (request.role() != Role.WORKER || request.adopts()) {
      return Optional.empty();
    }
    Optional<MemberRecord> successor =
        request
            .before()
            .map(before -> present.get(Role.WORKER).get(before.rank()))
            .filter(worker -> worker.isSubstitute() && !worker.published());
    return successor.isPresent() || !hasAllWorkers(ranks)
        ? successor
        : of(Role.WORKER).stream().filter(MemberRecord::isSubstitute).findFirst();
  }

  /**
   * Finds a server that has not served anybody yet and gives way to one that comes back with a
   * newer version of its shard.
   */
  Optional<MemberRecord> outdatedServerFor(JoinRequest request) {
    return shardOf(request)
        .map(shard -> present.get(Role.SERVER).get(shard))
        .filter(server -> !lastServedBy.containsKey(server.rank()))
        .filter(
            server ->
                Math.max(server.heldVersion().orElse(0), server.version().orElse(0))
                    < request.holds().orElse(0));
  }

  /** Returns the shard that a newcomer served before; empty for other members. */
  Optional<Integer> shardOf(JoinRequest request) {
    return request.before().filter(before -> before.role() == Role.SERVER).map(Admission::rank);
  }

  /**
   * Returns whether a server's memory is the newest state of its shard: as far as this coordinator
   * knows, no other server has served the shard since.
   */
  boolean hasNewestMemory(MemberRecord server) {
    return server.heldVersion().isPresent()
        && server.previous().filter(before -> before.rank() == server.rank()).isPresent()
        && Optional.ofNullable(lastServedBy.get(server.rank()))
            .map(last -> server.previous().filter(last::equals).isPresent())
            .orElse(true);
  }

  void remove(MemberRecord record, LeaveReason reason) {
    Admission admission = record.admission();
    present.get(admission.role()).remove(admission.rank());
    tokens.remove(record.token());
    departures.add(record, reason);
  }

  Optional<MemberRecord> find(Admission admission) {
    return at(admission.role(), admission.rank())
        .filter(record -> record.admission().equals(admission));
  }

  /** Returns the member that has this rank now. */
  Optional<MemberRecord> at(Role role, int rank) {
    return Optional.ofNullable(present.get(role).get(rank));
  }

  Optional<MemberRecord> withToken(String token) {
    return Optional.ofNullable(tokens.get(token));
  }

  /** Returns the members of a role in rank order. */
  Collection<MemberRecord> of(Role role) {
    return present.get(role).values();
  }

  /** Returns whether a member has this rank. */
  boolean has(Role role, int rank) {
    return present.get(role).containsKey(rank);
  }

  int count(Role role) {
    return present.get(role).size();
  }

  /** Returns all members, as a copy that allows removals meanwhile. */
  Stream<MemberRecord> all() {
    List<MemberRecord> everybody = new ArrayList<>();
    present.values().forEach(members -> everybody.addAll(members.values()));
    return everybody.stream();
  }

  /** Records that the members of this membership are now known to all. */
  void published(Membership membership) {
    membership.workers().forEach(member -> published(Role.WORKER, member));
    membership.servers().forEach(member -> published(Role.SERVER, member));
  }

  /** Returns the servers that can take part. */
  List<MemberRecord> readyServers() {
    return of(Role.SERVER).stream().filter(MemberRecord::ready).toList();
  }

  /**
   * Returns the ready servers that may have gone back to an earlier version: not yet published, and
   * not the first of their rank.
   */
  List<MemberRecord> rolledBackServers() {
    return readyServers().stream()
        .filter(server -> !server.published())
        .filter(server -> server.admission().incarnation() > firstIncarnation)
        .toList();
  }

  /** Returns how many workers can take part. */
  long readyWorkers() {
    return of(Role.WORKER).stream().filter(MemberRecord::ready).count();
  }

  /** Returns the workers that were in no published membership yet. */
  List<MemberRecord> newWorkers() {
    return of(Role.WORKER).stream().filter(worker -> !worker.published()).toList();
  }

  /** Returns the members that have left. */
  DepartedMembers departures() {
    return departures;
  }

  /** Returns the names of the free ranks below {@code count}, for messages. */
  String missing(Role role, int count) {
    return StragglerReport.listed(
        IntStream.range(0, count)
            .filter(rank -> !present.get(role).containsKey(rank))
            .mapToObj(rank -> names.of(role, rank))
            .toList(),
        ", ");
  }

  private void published(Role role, Membership.Member member) {
    Admission admission = new Admission(role, member.rank(), member.incarnation());
    find(admission).ifPresent(record -> record.publish(member));
    if (role == Role.SERVER) {
      lastServedBy.put(member.rank(), admission);
    }
  }

  private static int lowestFree(TreeMap<Integer, MemberRecord> members) {
    if (members.isEmpty() || members.lastKey() == members.size() - 1) {
      return members.size();
    }
    return IntStream.iterate(0, r -> r + 1)
        .filter(r -> !members.containsKey(r))
        .findFirst()
        .getAsInt();
  }

  private static Admission key(Role role, int rank) {
    return new Admission(role, rank, 0);
  }

  /** One admitted member, with the last status that the coordinator received. */
  static final class MemberRecord {

    private static final int STATUS_LENGTH = 300;

    private final Admission admission;
    private final String name;
    private final String token;
    private final String node;
    private final String clusterNode;
    private final boolean substitute;
    private final Optional<Admission> previous;
    private final OptionalLong heldVersion;
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
      this.admission = admission;
      this.name = name;
      token = request.token();
      node = request.node();
      clusterNode = request.clusterNode();
      substitute = request.adopts();
      previous = request.before();
      heldVersion = request.holds();
      status = request.status();
      heardMillis = nowMillis;
    }

    Admission admission() {
      return admission;
    }

    /** Returns its admission before it was evicted. */
    Optional<Admission> previous() {
      return previous;
    }

    /** Returns the version that a server had in memory when it joined. */
    OptionalLong heldVersion() {
      return heldVersion;
    }

    int rank() {
      return admission.rank();
    }

    String token() {
      return token;
    }

    /** Returns whether another worker's process started it, for a rank without a worker. */
    boolean isSubstitute() {
      return substitute;
    }

    String node() {
      return node;
    }

    /** Returns the cluster's name for its process; empty outside of a cluster. */
    String clusterNode() {
      return clusterNode;
    }

    /** Takes a heartbeat. */
    void onStatus(MemberStatus newStatus, long nowMillis) {
      status = newStatus;
      restartSilence(nowMillis);
    }

    /** Counts silence from this time on; used when the coordinator itself did not run. */
    void restartSilence(long nowMillis) {
      heardMillis = nowMillis;
      suspected = false;
    }

    /** Returns the ranks that this member reported as missing from its current round. */
    Optional<StragglerReport> straggler() {
      return status instanceof ServerStatus server ? server.waiting() : Optional.empty();
    }

    long silentMillis(long nowMillis) {
      return Math.max(0, nowMillis - heardMillis);
    }

    /** Returns true once per silence, when it has lasted for the limit. */
    boolean checkSuspect(long limitMillis, long nowMillis) {
      boolean suspect = silentMillis(nowMillis) >= limitMillis;
      boolean newlySuspected = suspect && !suspected;
      suspected = suspect;
      return newlySuspected;
    }

    /** Returns whether it has reported that it is no longer starting. */
    boolean ready() {
      return !status.starting();
    }

    /** Returns the version it last reported, if any. */
    OptionalLong version() {
      return status.reached();
    }

    /** Returns whether it continues from what an earlier incarnation left. */
    boolean restored() {
      return status instanceof ServerStatus server && server.restored();
    }

    /** Returns the step it last reported, if any. */
    OptionalLong step() {
      return status instanceof WorkerStatus worker
          ? OptionalLong.of(worker.step())
          : OptionalLong.empty();
    }

    /** Returns whether it waits for samples of a stream. */
    boolean awaitsData() {
      return status instanceof WorkerStatus worker && worker.dataAwaited();
    }

    /** Returns how many test samples it has processed; 0 if it does not test during training. */
    long tested() {
      return status.tested();
    }

    /** Returns whether it has finished everything it had started before an early end. */
    boolean ended() {
      return status instanceof WorkerStatus worker && worker.ended();
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
    String describeStatus(long nowMillis) {
      return "%s, %s ms ago: %s".formatted(name, silentMillis(nowMillis), statusText());
    }

    /** Returns how long it has been silent and its last status, for messages. */
    String describeSilence(long nowMillis) {
      String silence = "silent for %s ms".formatted(silentMillis(nowMillis));
      return status.equals(MemberStatus.NONE) ? silence : silence + ", last heard " + statusText();
    }

    /** Returns the status, cut where a server lists many workers that it waits for. */
    private String statusText() {
      String all = words(ControlCodec.writeStatus(status));
      if (all.isEmpty()) {
        return "nothing reported yet";
      }
      return all.length() > STATUS_LENGTH ? all.substring(0, STATUS_LENGTH) + "..." : all;
    }

    /** Writes a status in words, for example {@code step 16, version 15, trains}. */
    private static String words(JsonObject values) {
      return values.stream()
          .filter(entry -> !"".equals(entry.getValue()))
          .map(
              entry ->
                  ("event".equals(entry.getKey()) ? "" : entry.getKey() + " ")
                      + words(entry.getValue()))
          .collect(Collectors.joining(", "));
    }

    private static String words(Object value) {
      if (value instanceof JsonObject inner) {
        return "(" + words(inner) + ")";
      }
      return value instanceof JsonArray all
          ? all.stream().map(MemberRecord::words).collect(Collectors.joining(", "))
          : String.valueOf(value);
    }
  }

  /** The members that left and why: the last holder of each rank, and the latest few in order. */
  static final class DepartedMembers {

    private static final int RECENT = 16;

    private final Map<Admission, LeaveReason> reasons = new HashMap<>();
    private final Deque<String> recent = new ArrayDeque<>();
    private String firstFailure;

    void add(MemberRecord record, LeaveReason reason) {
      Admission gone = record.admission();
      reasons.put(rank(gone), reason);
      if (recent.size() == RECENT) {
        recent.removeFirst();
      }
      recent.addLast(record.describe() + ": " + reason);
      if (firstFailure == null && gone.role() == Role.WORKER && reason.kind() == Kind.FAILED) {
        firstFailure = record.describe() + ": " + reason.detail();
      }
    }

    /** Returns why the last holder of this rank left. */
    String leaveReason(Admission admission) {
      LeaveReason reason = reasons.get(rank(admission));
      return reason == null ? admission + " was never admitted" : reason.toString();
    }

    /**
     * Returns the error of the first worker that failed, if the last worker of every rank failed. A
     * worker that was lost or stopped may still be replaced.
     */
    Optional<String> firstFailureIfAllFailed() {
      boolean othersMayReturn =
          reasons.entrySet().stream()
              .filter(left -> left.getKey().role() == Role.WORKER)
              .anyMatch(left -> left.getValue().kind() != Kind.FAILED);
      return othersMayReturn ? Optional.empty() : Optional.ofNullable(firstFailure);
    }

    /** Returns the latest departures with their reasons, for messages about missing members. */
    @Override
    public String toString() {
      return recent.isEmpty() ? "nobody left" : String.join("; ", recent);
    }

    private static Admission rank(Admission admission) {
      return new Admission(admission.role(), admission.rank(), 0);
    }
  }
}
