package io.vertigrad.internal.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * A decision that all members of a group take together: each tells the member at position 0 what it
 * has, that one decides and tells all others.
 */
public final class LeaderGather {

  private LeaderGather() {}

  /**
   * Takes part in one decision; blocks until all have spoken. What members say travels bit for bit:
   * a peer's frame carries bytes in whole numbers of 4, whatever they mean.
   *
   * @param peers how this member reaches the others
   * @param group the members
   * @param ask tags what each member says; used in no other exchange of this membership epoch
   * @param tell tags what was decided; likewise
   * @param mine what this member says, a multiple of 4 bytes
   * @param decision makes the decision of what all have said, in order of their positions; called
   *     at position 0 alone
   * @return what was decided, little-endian, position 0
   */
  public static ByteBuffer decide(
      Peers peers,
      PeerGroup group,
      Tag ask,
      Tag tell,
      ByteBuffer mine,
      Function<List<ByteBuffer>, ByteBuffer> decision) {
    int leader = group.rank(0);
    if (group.self() != leader) {
      peers.send(leader, ask, tensor(mine));
      return peers.receive(leader, tell).bytes();
    }
    List<ByteBuffer> said = new ArrayList<>(List.of(little(mine)));
    for (int i = 1; i < group.size(); i++) {
      said.add(peers.receive(group.rank(i), ask).bytes());
    }
    ByteBuffer decided = decision.apply(said);
    for (int i = 1; i < group.size(); i++) {
      peers.send(group.rank(i), tell, tensor(decided));
    }
    return little(decided);
  }

  private static Tensor tensor(ByteBuffer bytes) {
    return Tensor.wrap(DataType.FLOAT32, bytes.duplicate());
  }

  private static ByteBuffer little(ByteBuffer bytes) {
    return bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }
}
