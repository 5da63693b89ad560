package io.vertigrad.strategy;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import java.nio.FloatBuffer;
import java.util.Collection;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * One worker's line to the others of its group; belongs to the strategy's thread.
 *
 * <p>Each message arrives once, whatever the way does to it, and keeps until it is received. A
 * message is known by its sender, the group's epoch and its {@link Tag}, so none is mistaken for
 * another. Messages of an earlier epoch are gone. All of a worker's messages of one round are
 * received before any of its later ones.
 */
public interface Peers {

  /** The newest group heard of; from now on messages go to it and come from it. */
  PeerGroup adopt();

  /**
   * Sends and returns at once; the tensor may be queued behind earlier ones to the same worker.
   *
   * @param rank another worker of the group
   */
  void send(int rank, Tag tag, Tensor tensor);

  /** Sends a copy of these values, which are the caller's again when this returns. */
  default void send(int rank, Tag tag, DataType type, FloatBuffer values) {
    send(rank, tag, Tensor.copyOf(type, values));
  }

  /** Sends {@code own + tensor}, both of which are the caller's again when this returns. */
  default void sendSum(int rank, Tag tag, DataType type, FloatBuffer own, Tensor tensor) {
    send(rank, tag, Tensor.sumOf(type, own, tensor));
  }

  /**
   * Waits for a message.
   *
   * @throws GroupChangedException when there is a newer group than the one adopted, or nobody wants
   *     the message any more: let go of the round
   * @throws io.vertigrad.internal.exchange.UnansweredException at the deadline, naming who has not
   *     sent what
   */
  Tensor receive(int rank, Tag tag);

  /**
   * Waits for these messages of one worker and hands each over as it comes: one at a time, in any
   * order, by any thread. The tensor is lent until {@code taker} returns, see {@link Tensor#kept}.
   *
   * @param tags in the order in which they are expected
   * @throws GroupChangedException as {@link #receive(int, Tag)}, and likewise at the deadline;
   *     {@code taker} is not called any more after that
   */
  default void receive(int rank, Collection<Tag> tags, BiConsumer<Tag, Tensor> taker) {
    tags.forEach(tag -> taker.accept(tag, receive(rank, tag)));
  }

  /** A message if it is there already. */
  Optional<Tensor> poll(int rank, Tag tag);

  /** When the latest of the messages received had arrived; see {@link System#nanoTime()}. */
  long arrivedNanos();
}
