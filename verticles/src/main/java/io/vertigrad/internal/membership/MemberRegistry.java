package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The members by role and rank, and how often each rank was given out. */
final class MemberRegistry {

  private final Map<Role, TreeMap<Integer, MemberRecord>> present = new EnumMap<>(Role.class);
  private final Map<Admission, Integer> incarnations = new HashMap<>();
  private final Map<Integer, Admission> served = new HashMap<>();
  private final DepartedMembers departures = new DepartedMembers();
  private final MemberNames names;
  private final int shards;
  private final int firstIncarnation;

  /**
   * Creates a registry without members.
   *
   * @param shards servers of lower ranks own one each; the others are backups
   * @param firstIncarnation of the first member of each rank
   */
  MemberRegistry(MemberNames names, int shards, int firstIncarnation) {
    this.names = names;
    this.shards = shards;
    this.firstIncarnation = firstIncarnation;
    for (Role role : Role.values()) {
      present.put(role, new TreeMap<>());
    }
  }

  /**
   * Admits a member under a free rank and the rank's next incarnation. The member gets the rank it
   * had before, because it may still hold that rank's state in memory, or else the lowest free
   * rank. A backup that holds its shard gets the rank of its server if that is free.
   */
  MemberRecord admit(JoinRequest request, long nowMillis) {
    TreeMap<Integer, MemberRecord> members = present.get(request.role());
    int rank =
        held(request)
            .or(() -> request.before().map(Admission::rank))
            .filter(held -> !members.containsKey(held))
            .filter(held -> isWanted(request.role(), held))
            .orElseGet(() -> lowestFree(members));
    Admission admission = next(request.role(), rank);
    MemberRecord record = new MemberRecord(admission, names.of(admission), request, nowMillis);
    members.put(rank, record);
    return record;
  }

  /** Gives a backup, which was removed from its own rank, the rank of the lost server. */
  MemberRecord promote(MemberRecord backup, int rank, long nowMillis) {
    Admission admission = next(Role.SERVER, rank);
    MemberRecord record = backup.promoted(admission, names.of(admission), nowMillis);
    present.get(Role.SERVER).put(rank, record);
    return record;
  }

  private Admission next(Role role, int rank) {
    int incarnation = incarnations.getOrDefault(key(role, rank), firstIncarnation);
    incarnations.put(key(role, rank), incarnation + 1);
    return new Admission(role, rank, incarnation);
  }

  /** Returns whether the rank may be given out: a former backup first replaces a missing server. */
  private boolean isWanted(Role role, int rank) {
    return role != Role.SERVER || rank < shards || servers().size() == shards;
  }

  /** Returns whether each of the first {@code ranks} ranks has a worker. */
  boolean playsAll(int ranks) {
    return IntStream.range(0, ranks).allMatch(rank -> has(Role.WORKER, rank));
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
  Optional<MemberRecord> toHandOver(JoinRequest request, int ranks) {
    if (request.role() != Role.WORKER || request.adopts()) {
      return Optional.empty();
    }
    Optional<MemberRecord> successor =
        request
            .before()
            .map(before -> present.get(Role.WORKER).get(before.rank()))
            .filter(worker -> worker.adopted() && !worker.published());
    return successor.isPresent() || !playsAll(ranks)
        ? successor
        : of(Role.WORKER).stream().filter(MemberRecord::adopted).findFirst();
  }

  /**
   * Finds a server that has not served anybody yet and gives way to one that comes back with a
   * newer version of its shard.
   */
  Optional<MemberRecord> toHandOver(JoinRequest request) {
    return shardOf(request)
        .map(shard -> present.get(Role.SERVER).get(shard))
        .filter(server -> !served.containsKey(server.rank()))
        .filter(
            server ->
                Math.max(server.holds().orElse(0), server.version().orElse(0))
                    < request.holds().orElse(0));
  }

  /** Returns the shard that a newcomer served or backed up before; empty for other members. */
  Optional<Integer> shardOf(JoinRequest request) {
    return request
        .before()
        .filter(before -> before.role() == Role.SERVER && shards > 0)
        .map(before -> before.rank() % shards);
  }

  /** Returns the shard that the newcomer has in memory, if its rank is free. */
  private Optional<Integer> held(JoinRequest request) {
    return shardOf(request)
        .filter(shard -> request.holds().isPresent() && !has(Role.SERVER, shard));
  }

  /**
   * Returns whether a server's memory is the newest state of its shard: as far as this coordinator
   * knows, no other server has served the shard since.
   */
  boolean keeps(MemberRecord server) {
    return server.holds().isPresent()
        && server.before().filter(before -> before.rank() % shards == server.rank()).isPresent()
        && Optional.ofNullable(served.get(server.rank()))
            .map(last -> server.before().filter(last::equals).isPresent())
            .orElse(true);
  }

  void remove(MemberRecord record, LeaveReason why) {
    Admission admission = record.admission();
    present.get(admission.role()).remove(admission.rank());
    departures.add(record, why);
  }

  Optional<MemberRecord> find(Admission admission) {
    return Optional.ofNullable(present.get(admission.role()).get(admission.rank()))
        .filter(record -> record.admission().equals(admission));
  }

  Optional<MemberRecord> withToken(String token) {
    return all().filter(record -> record.token().equals(token)).findFirst();
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

  /** Returns the servers that own a shard, ready or not. */
  List<MemberRecord> servers() {
    return of(Role.SERVER).stream().filter(server -> server.rank() < shards).toList();
  }

  /** Returns the servers that own a shard and can take part. */
  List<MemberRecord> readyServers() {
    return servers().stream().filter(MemberRecord::ready).toList();
  }

  /**
   * Returns the ready servers that may have gone back to an earlier version: not yet published, not
   * promoted, and not the first of their rank.
   */
  List<MemberRecord> returnedServers() {
    return readyServers().stream()
        .filter(server -> !server.published() && !server.wasBackup())
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
    return IntStream.range(0, count)
        .filter(rank -> !present.get(role).containsKey(rank))
        .mapToObj(rank -> names.of(role, rank))
        .collect(Collectors.joining(", "));
  }

  private void published(Role role, Membership.Member member) {
    Admission admission = new Admission(role, member.rank(), member.incarnation());
    find(admission).ifPresent(record -> record.publish(member));
    if (role == Role.SERVER) {
      served.put(member.rank(), admission);
    }
  }

  private static int lowestFree(Map<Integer, MemberRecord> members) {
    return IntStream.iterate(0, r -> r + 1)
        .filter(r -> !members.containsKey(r))
        .findFirst()
        .getAsInt();
  }

  private static Admission key(Role role, int rank) {
    return new Admission(role, rank, 0);
  }
}
