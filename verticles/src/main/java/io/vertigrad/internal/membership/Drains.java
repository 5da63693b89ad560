package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.Decision.HandOver;
import io.vertigrad.internal.membership.Decision.Succeed;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The members that were asked to leave while the job goes on. Each one trains on until a successor
 * stands by: a process that has built its model, asks for a place and finds none. Then the member
 * hands its place over between two steps, one member at a time.
 *
 * <p>A server, and a worker without servers, hold a part of the model that nobody else has. For
 * these all workers are held between two steps, from before the member saves its part until its
 * successor is part of the membership. A worker with servers leaves after a step of its own.
 *
 * <p>Everything that goes wrong here falls back to the replacement of a lost member.
 */
final class Drains {

  /**
   * A member without a successor leaves after this share of {@code exchange.drainSeconds}, because
   * its process ends at that time.
   */
  private static final double SUCCESSOR_SHARE = 0.75;

  /** The time of a substitute that was not asked to leave, and stays where no successor comes. */
  private static final long NOT_ASKED = Long.MAX_VALUE;

  /** A standby asks ten times a second or more often. */
  private static final long STANDBY_MILLIS = 1_000;

  /** A member that could not hand over is asked again after this time. */
  private static final long RETRY_MILLIS = 2_000;

  /** For so long the workers are held while nobody has the place. */
  private static final long REPLACE_MILLIS = 10_000;

  private static final String WAITS = "waits for a successor, until then it goes on";

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final Pauses pauses;
  private final CoordinatorEvents events;
  private final LongSupplier clockMillis;
  private final Consumer<Decision> decisions;
  private final Map<Admission, Drain> drains = new LinkedHashMap<>();

  /** How far a member is with leaving. */
  private enum Stage {
    /** It goes on, because no successor stands by or another member hands over. */
    WAITING,
    /** It was asked to save its part and to leave; it is still a member. */
    HANDING_OVER,
    /** It has left, and its successor has not its place yet. */
    REPLACING
  }

  /** One member that leaves. */
  private static final class Drain {

    private long askedMillis;
    private Stage stage = Stage.WAITING;
    private long sinceMillis;
    private long notBeforeMillis;
    private String token = "";
    private String successor = "";
    private long standbyMillis;
    private boolean rests;
    private boolean saved;

    /** Version of a server's last checkpoint; empty if its shard holds nothing. */
    private OptionalLong savedVersion = OptionalLong.empty();

    Drain(long nowMillis) {
      askedMillis = nowMillis;
    }

    void enter(Stage next, long nowMillis) {
      if (stage != (next == Stage.HANDING_OVER ? Stage.WAITING : Stage.HANDING_OVER)) {
        throw new IllegalStateException("%s does not follow %s".formatted(next, stage));
      }
      stage = next;
      sinceMillis = nowMillis;
    }
  }

  Drains(
      CoordinatorConfig config,
      MemberRegistry registry,
      Pauses pauses,
      CoordinatorEvents events,
      LongSupplier clockMillis,
      Consumer<Decision> decisions) {
    this.config = config;
    this.registry = registry;
    this.pauses = pauses;
    this.events = events;
    this.clockMillis = clockMillis;
    this.decisions = decisions;
  }

  /** Asks a member to leave, and for a process that succeeds it; a repeated request is ignored. */
  void ask(MemberRecord member) {
    Admission leaving = member.admission();
    Drain drain = drains.computeIfAbsent(leaving, first -> new Drain(NOT_ASKED));
    if (drain.askedMillis == NOT_ASKED) {
      drain.askedMillis = clockMillis.getAsLong();
      events.drains(leaving, WAITS);
      decisions.accept(new Succeed(member.node()));
    }
  }

  /**
   * Lets a substitute hand its rank over to a newcomer that stands by; until one does, and if none
   * does, it goes on.
   */
  void relieve(MemberRecord substitute) {
    drains.putIfAbsent(substitute.admission(), new Drain(NOT_ASKED));
  }

  /** Forgets all members that were asked to leave: the job ends, and they stay until then. */
  void clear() {
    drains.clear();
    hold();
  }

  /** Returns whether a member was asked to leave, or hands over. */
  boolean isLeaving(Admission member) {
    Drain drain = drains.get(member);
    return drain != null && (drain.askedMillis != NOT_ASKED || drain.stage != Stage.WAITING);
  }

  /**
   * Finds the member that this newcomer succeeds, if one of its role is about to leave and no other
   * place is free. The newcomer stands by until that member has left.
   *
   * @return the name of that member
   */
  Optional<String> standsBy(JoinRequest request) {
    if (request.adopts() || hasFreePlace(request.role())) {
      return Optional.empty();
    }
    long now = clockMillis.getAsLong();
    Optional<Map.Entry<Admission, Drain>> place =
        drains.entrySet().stream()
            .filter(entry -> entry.getKey().role() == request.role())
            .filter(entry -> entry.getValue().stage != Stage.REPLACING)
            .filter(
                entry ->
                    !hasStandby(entry.getValue(), now)
                        || entry.getValue().token.equals(request.token()))
            .findFirst();
    place.ifPresent(
        entry -> {
          entry.getValue().token = request.token();
          entry.getValue().successor = request.node();
          entry.getValue().standbyMillis = now;
        });
    return place.map(entry -> config.names().of(entry.getKey()));
  }

  private boolean hasFreePlace(Role role) {
    return switch (role) {
      case SERVER -> registry.count(role) < config.places().servers();
      case WORKER -> !registry.hasAllWorkers(config.places().workers());
      case EVALUATOR -> registry.count(role) == 0;
    };
  }

  /** Returns whether a successor takes the place of a worker that has left. */
  boolean replacesWorker() {
    return drains.entrySet().stream()
        .filter(entry -> entry.getKey().role() == Role.WORKER)
        .map(Map.Entry::getValue)
        .anyMatch(drain -> drain.stage == Stage.REPLACING && !drain.token.isEmpty());
  }

  /** Lets each member that leaves go one stage further, if it can; called after every change. */
  void check() {
    long now = clockMillis.getAsLong();
    for (Map.Entry<Admission, Drain> entry : List.copyOf(drains.entrySet())) {
      Admission member = entry.getKey();
      Drain drain = entry.getValue();
      switch (drain.stage) {
        case WAITING -> {
          boolean overdue = now - drain.askedMillis >= successorMillis();
          if (isFree() && now >= drain.notBeforeMillis && (overdue || hasStandby(drain, now))) {
            begin(member, drain, now);
          }
        }
        case HANDING_OVER -> {
          // It answers, or its request fails; a member that is lost meanwhile was removed.
        }
        case REPLACING -> {
          if (registry.at(member.role(), member.rank()).isPresent()) {
            // It starts, and the failure detector watches it.
            drain.sinceMillis = now;
          }
          if (hasSuccessor(member) || now - drain.sinceMillis >= REPLACE_MILLIS) {
            drains.remove(member);
            hold();
          }
        }
      }
    }
  }

  /** Returns how long a member waits for a successor. */
  private long successorMillis() {
    return Math.round(1_000 * SUCCESSOR_SHARE * config.exchange().drainSeconds());
  }

  /**
   * Returns whether no member hands over. A place without a successor may stay empty for long, and
   * other members have no time to wait for it.
   */
  private boolean isFree() {
    return drains.values().stream()
        .allMatch(
            drain ->
                drain.stage == Stage.WAITING
                    || drain.stage == Stage.REPLACING && drain.token.isEmpty());
  }

  /** Returns whether a process stands by: it asks still, and has not got another free place. */
  private boolean hasStandby(Drain drain, long nowMillis) {
    return !drain.token.isEmpty()
        && nowMillis - drain.standbyMillis <= STANDBY_MILLIS
        && registry.withToken(drain.token).isEmpty();
  }

  private void begin(Admission member, Drain drain, long now) {
    if (!hasStandby(drain, now)) {
      drain.token = "";
    }
    drain.enter(Stage.HANDING_OVER, now);
    events.drains(
        member,
        drain.token.isEmpty()
            ? "stays empty, because no successor came within %s s"
                .formatted(successorMillis() / 1_000)
            : "goes to " + drain.successor);
    drain.rests = holdsModel(member);
    hold();
    decisions.accept(new HandOver(member, drain.rests));
  }

  /** Holds all workers while any member that leaves needs it. */
  private void hold() {
    pauses.hold(Pauses.Reason.HANDOVER, drains.values().stream().anyMatch(drain -> drain.rests));
  }

  private boolean holdsModel(Admission member) {
    return member.role() == Role.SERVER
        || member.role() == Role.WORKER && config.places().servers() == 0;
  }

  /**
   * Records that a member has saved its part and is about to leave.
   *
   * @param status of a server, with the version that it has saved
   */
  void saved(Admission member, MemberStatus status) {
    Drain drain = drains.get(member);
    if (drain != null && drain.stage == Stage.HANDING_OVER) {
      drain.saved = true;
      drain.savedVersion = status.reached();
    }
  }

  /** Records that a member could not hand over; it goes on, and is asked again. */
  void failed(Admission member) {
    Drain drain = drains.get(member);
    if (drain != null && drain.stage == Stage.HANDING_OVER) {
      long now = clockMillis.getAsLong();
      drain.enter(Stage.WAITING, now);
      drain.rests = false;
      drain.saved = false;
      drain.notBeforeMillis = now + RETRY_MILLIS;
      hold();
    }
  }

  /**
   * Records that a member is gone, in good order or not. One that was lost before it handed over is
   * replaced like any other; another member may be handing over, for which the workers are held.
   */
  void onLeft(MemberRecord member) {
    Drain drain = drains.get(member.admission());
    if (drain != null && drain.stage == Stage.WAITING) {
      drains.remove(member.admission());
    } else if (drain != null) {
      drain.enter(Stage.REPLACING, clockMillis.getAsLong());
    }
  }

  private boolean hasSuccessor(Admission former) {
    return registry
        .at(former.role(), former.rank())
        .filter(member -> member.published() || former.role() == Role.EVALUATOR)
        .isPresent();
  }

  /**
   * Returns whether a server has all that the server before it had, and no step was taken since: it
   * was handed over while all workers were held, and they still are.
   */
  boolean carriesOn(MemberRecord server) {
    return drains.entrySet().stream()
        .filter(entry -> entry.getKey().role() == Role.SERVER)
        .filter(entry -> entry.getKey().rank() == server.rank())
        .map(Map.Entry::getValue)
        .anyMatch(
            drain ->
                drain.stage == Stage.REPLACING
                    && drain.saved
                    && drain.savedVersion.equals(server.version()));
  }
}
