package io.vertigrad.internal.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.HexFormat;

/**
 * Compares a worker's parameters with its left neighbour's by hash. If all comparisons around the
 * ring agree, all replicas are equal.
 */
public final class ReplicaCheck {

  private final Peers peers;
  private final PeerGroup group;

  public ReplicaCheck(Peers peers, PeerGroup group) {
    this.peers = peers;
    this.group = group;
  }

  /**
   * Exchanges and compares hashes.
   *
   * @throws ExchangeException naming both workers and the step when they differ
   */
  public void compare(long round, int phase, Replica replica) {
    if (group.size() == 1) {
      return;
    }
    TensorView mine = hash(replica.parameters());
    Tag tag = new Tag(round, phase, 0);
    peers.send(group.right(), tag, mine);
    TensorView theirs = peers.receive(group.left(), tag);
    if (!theirs.equals(mine)) {
      throw new ExchangeException(
          ("after step %d the parameters of worker %d (hash %s) differ from those of worker %d"
                  + " (hash %s), expected equal bits; do all nodes run the same version on the same"
                  + " kind of processor?")
              .formatted(
                  replica.updates(), group.self(), shown(mine), group.left(), shown(theirs)));
    }
  }

  private static Tensor hash(float[] parameters) {
    TensorView all = Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(parameters));
    long hash = 0xcbf29ce484222325L;
    ByteBuffer bytes = all.bytes();
    while (bytes.hasRemaining()) {
      hash = (hash ^ bytes.getInt()) * 0x100000001b3L;
      hash ^= hash >>> 32;
    }
    return Tensor.wrap(DataType.FLOAT32, ByteBuffer.allocate(Long.BYTES).putLong(0, hash));
  }

  private static String shown(TensorView hash) {
    byte[] bytes = new byte[hash.payloadBytes()];
    hash.bytes().get(bytes);
    return HexFormat.of().formatHex(bytes);
  }
}
