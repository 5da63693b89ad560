package io.vertigrad.internal.shard;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertx.core.Future;

/**
 * Follows every change of a shard, to keep a copy of it elsewhere, and decides when answers leave.
 * Called on the shard's thread.
 */
public interface ShardListener {

  /** Follows nothing; every answer leaves at once. */
  ShardListener NONE =
      new ShardListener() {
        @Override
        public void follow(
            StoredPartition stored, DuplicateWindow window, PartitionLedger ledger) {}

        @Override
        public Future<Frame> answering(int partition, Future<Frame> answer) {
          return answer;
        }

        @Override
        public void committed(Shard shard) {}

        @Override
        public void closed(String reason) {}
      };

  /**
   * Called for each partition before its first update. The listener may read the partition's state
   * at any time, and may listen to its changes.
   */
  void follow(StoredPartition stored, DuplicateWindow window, PartitionLedger ledger);

  /**
   * Called with every answer to a gradient or a pull.
   *
   * @return completes with the answer when it may leave
   */
  Future<Frame> answering(int partition, Future<Frame> answer);

  /** Called after every call that may have changed the shard; all changes since are one commit. */
  void committed(Shard shard);

  /**
   * Called when the shard ends. Answers that have not left are refused with {@code UNAVAILABLE}.
   */
  void closed(String reason);
}
