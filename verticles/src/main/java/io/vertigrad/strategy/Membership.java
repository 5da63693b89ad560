package io.vertigrad.strategy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The members of a job in one epoch.
 *
 * @param epoch grows with every change, from 1
 * @param workers in rank order
 * @param servers in rank order; a server's rank is the shard it owns
 */
public record Membership(int epoch, List<Member> workers, List<Member> servers) {

  /** The membership before the job starts: no members. */
  public static final Membership NONE = new Membership(0, List.of(), List.of());

  /**
   * Sorts the members by rank.
   *
   * @param epoch from 1
   * @param workers in any order
   * @param servers in any order
   */
  public Membership {
    workers = workers.stream().sorted(Comparator.comparingInt(Member::rank)).toList();
    servers = servers.stream().sorted(Comparator.comparingInt(Member::rank)).toList();
  }

  /**
   * One member.
   *
   * @param rank from 0; a replacement takes the lowest free rank
   * @param incarnation number of times that this rank was admitted before
   * @param activeFrom first round in which a lockstep strategy waits for the member; 0 for other
   *     strategies
   * @param firstStep number of the first step that it takes; earlier members of its rank took those
   *     before
   */
  public record Member(int rank, int incarnation, long activeFrom, long firstStep) {

    /**
     * Creates a member whose steps are counted from its first round.
     *
     * @param rank from 0
     * @param incarnation number of times that this rank was admitted before
     * @param activeFrom first round, and number of the first step
     */
    public Member(int rank, int incarnation, long activeFrom) {
      this(rank, incarnation, activeFrom, activeFrom);
    }
  }

  /**
   * Returns the worker of a rank.
   *
   * @param rank from 0
   * @return empty when no worker has this rank
   */
  public Optional<Member> worker(int rank) {
    return find(workers, rank);
  }

  /**
   * Returns whether a given incarnation of a worker is a member.
   *
   * @param rank from 0
   * @param incarnation number of times that the rank had been admitted before
   * @return true when it is
   */
  public boolean hasWorker(int rank, int incarnation) {
    return worker(rank).filter(member -> member.incarnation() == incarnation).isPresent();
  }

  /**
   * Returns the server of a rank.
   *
   * @param rank the shard it owns
   * @return empty when no server has this rank
   */
  public Optional<Member> server(int rank) {
    return find(servers, rank);
  }

  /** Finds a rank by binary search: a server looks up the sender of every gradient. */
  private static Optional<Member> find(List<Member> sorted, int rank) {
    int low = 0;
    int high = sorted.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (sorted.get(middle).rank() < rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < sorted.size() && sorted.get(low).rank() == rank
        ? Optional.of(sorted.get(low))
        : Optional.empty();
  }

  /**
   * Converts the membership for control messages.
   *
   * @return the JSON
   */
  public JsonObject toJson() {
    return new JsonObject()
        .put("epoch", epoch)
        .put("workers", toJson(workers))
        .put("servers", toJson(servers));
  }

  /**
   * Reads a membership from a control message.
   *
   * @param json a value of {@link #toJson()}
   * @return the membership
   */
  public static Membership fromJson(JsonObject json) {
    return new Membership(
        json.getInteger("epoch"),
        members(json.getJsonArray("workers")),
        members(json.getJsonArray("servers")));
  }

  private static JsonArray toJson(List<Member> members) {
    JsonArray array = new JsonArray();
    members.forEach(
        m -> array.add(JsonArray.of(m.rank(), m.incarnation(), m.activeFrom(), m.firstStep())));
    return array;
  }

  private static List<Member> members(JsonArray array) {
    return array.stream()
        .map(JsonArray.class::cast)
        .map(m -> new Member(m.getInteger(0), m.getInteger(1), m.getLong(2), m.getLong(3)))
        .toList();
  }
}
