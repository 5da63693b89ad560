package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.collective.LeaderGather;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * All stages of all replicas agree on the newest state that every one of them has, so that no two
 * ever go on from different steps.
 */
final class CheckpointAgreement {

  private static final int ROUND = 0;
  private static final int ASK = 1_000;
  private static final int TELL = 1_001;
  private static final StageState NOWHERE = new StageState(-1, 0);
  private static final int POINT_BYTES = 2 * Long.BYTES;

  private CheckpointAgreement() {}

  /**
   * What was agreed on.
   *
   * @param from the newest state that all have
   * @param run which training goes on from there; a new one from the beginning
   */
  record Agreed(StageState from, long run) {}

  /**
   * Blocks until all have spoken.
   *
   * @param mine what this member can go on from
   * @param fresh a number that no other training has, should a new one begin
   * @return empty when there is no state that all have
   */
  static Optional<Agreed> hold(Peers peers, PeerGroup group, List<StageState> mine, long fresh) {
    ByteBuffer told =
        LeaderGather.decide(
            peers,
            group,
            new Tag(ROUND, ASK, 0),
            new Tag(ROUND, TELL, 0),
            write(mine),
            said -> write(decision(said.stream().map(CheckpointAgreement::read).toList(), fresh)));
    List<StageState> decided = read(told);
    return decided.get(0).version() < 0
        ? Optional.empty()
        : Optional.of(new Agreed(decided.get(0), decided.get(1).run()));
  }

  /** The newest state that all have, or {@link #NOWHERE}; then the run that goes on from there. */
  private static List<StageState> decision(List<List<StageState>> said, long fresh) {
    List<StageState> common = new ArrayList<>(said.get(0));
    said.forEach(common::retainAll);
    StageState from =
        common.stream().max(Comparator.comparingLong(StageState::version)).orElse(NOWHERE);
    long run = from.run() == StageState.BEGINNING.run() ? fresh : from.run();
    return List.of(from, new StageState(0, run));
  }

  private static ByteBuffer write(List<StageState> points) {
    ByteBuffer bytes =
        ByteBuffer.allocate(points.size() * POINT_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    points.forEach(point -> bytes.putLong(point.version()).putLong(point.run()));
    return bytes.flip();
  }

  private static List<StageState> read(ByteBuffer bytes) {
    List<StageState> points = new ArrayList<>();
    while (bytes.remaining() >= POINT_BYTES) {
      points.add(new StageState(bytes.getLong(), bytes.getLong()));
    }
    return points;
  }
}
