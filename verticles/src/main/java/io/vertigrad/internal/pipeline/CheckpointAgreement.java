package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
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
 * ever go on from different steps. Everyone tells the first, which tells everyone.
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
    int leader = group.rank(0);
    if (group.self() == leader) {
      return lead(peers, group, mine, fresh);
    }
    peers.send(leader, new Tag(ROUND, ASK, 0), write(mine));
    List<StageState> told = read(peers.receive(leader, new Tag(ROUND, TELL, 0)));
    return told.get(0).version() < 0
        ? Optional.empty()
        : Optional.of(new Agreed(told.get(0), told.get(1).run()));
  }

  private static Optional<Agreed> lead(
      Peers peers, PeerGroup group, List<StageState> mine, long fresh) {
    List<StageState> common = new ArrayList<>(mine);
    for (int i = 1; i < group.size(); i++) {
      common.retainAll(read(peers.receive(group.rank(i), new Tag(ROUND, ASK, 0))));
    }
    Optional<StageState> newest =
        common.stream().max(Comparator.comparingLong(StageState::version));
    StageState from = newest.orElse(NOWHERE);
    long run = from.run() == StageState.BEGINNING.run() ? fresh : from.run();
    TensorView told = write(List.of(from, new StageState(0, run)));
    for (int i = 1; i < group.size(); i++) {
      peers.send(group.rank(i), new Tag(ROUND, TELL, 0), told);
    }
    return newest.map(point -> new Agreed(point, run));
  }

  private static Tensor write(List<StageState> points) {
    ByteBuffer bytes =
        ByteBuffer.allocate(points.size() * POINT_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    points.forEach(point -> bytes.putLong(point.version()).putLong(point.run()));
    return Tensor.wrap(DataType.FLOAT32, bytes.flip());
  }

  private static List<StageState> read(TensorView tensor) {
    ByteBuffer bytes = tensor.bytes();
    List<StageState> points = new ArrayList<>();
    while (bytes.remaining() >= POINT_BYTES) {
      points.add(new StageState(bytes.getLong(), bytes.getLong()));
    }
    return points;
  }
}
