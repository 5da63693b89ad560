package io.vertigrad.collective;

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
 * A decision by all members of a group: each sends its values to the member at position 0, which
 * decides and sends the decision to all others.
 */
public final class LeaderGather {

  private LeaderGather() {}

  /**
   * Takes part in one decision. Blocks until all members have sent their values. Values are sent
   * bit for bit; a peer's frame carries any bytes in multiples of 4.
   *
   * @param peers connects this member to the others
   * @param group the members
   * @param valueTag tag of the members' values; used in no other exchange of this membership epoch
   * @param decisionTag tag of the decision; used in no other exchange of this membership epoch
   * @param mine the value of this member, a multiple of 4 bytes
   * @param decision computes the decision from all values in order of position; called only at
   *     position 0
   * @return the decision, little-endian, position 0
   */
  public static ByteBuffer decide(
      Peers peers,
      PeerGroup group,
      Tag valueTag,
      Tag decisionTag,
      ByteBuffer mine,
      Function<List<ByteBuffer>, ByteBuffer> decision) {
    int leader = group.rank(0);
    if (group.self() != leader) {
      peers.send(leader, valueTag, tensor(mine));
      return peers.receive(leader, decisionTag).bytes();
    }
    List<ByteBuffer> values = new ArrayList<>(List.of(littleEndian(mine)));
    for (int i = 1; i < group.size(); i++) {
      values.add(peers.receive(group.rank(i), valueTag).bytes());
    }
    ByteBuffer decided = decision.apply(values);
    for (int i = 1; i < group.size(); i++) {
      peers.send(group.rank(i), decisionTag, tensor(decided));
    }
    return littleEndian(decided);
  }

  private static Tensor tensor(ByteBuffer bytes) {
    return Tensor.wrap(DataType.FLOAT32, bytes.duplicate());
  }

  private static ByteBuffer littleEndian(ByteBuffer bytes) {
    return bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }
}
