package io.vertigrad.strategy;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;
import java.util.Collection;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * One worker's line to the others of its group; belongs to the strategy's thread. While that waits,
 * whoever gives it what it waits for may send: who brings a message, or computes the gradient.
 *
 * <p>Each message arrives once, whatever the way does to it, and keeps until it is received. A
 * message is known by its sender, the group's epoch and its {@link Tag}, so none is mistaken for
 * another. Messages of an earlier epoch are gone. All of a worker's messages of one round are
 * received before any of its later ones.
 */
public interface Peers {

  /**
   * Adopts the newest group heard of; from now on messages go to it and come from it.
   *
   * @return the group
   */
  PeerGroup adopt();

  /**
   * Sends and returns at once; the tensor may be queued behind earlier ones to the same worker.
   *
   * @param rank another worker of the group
   * @param tag what the message is
   * @param tensor what it holds; not to be changed any more
   */
  void send(int rank, Tag tag, TensorView tensor);

  /**
   * Sends a copy of these values, which are the caller's again when this returns.
   *
   * @param rank another worker of the group
   * @param tag what the message is
   * @param type how the values travel
   * @param values what is sent: all that remains in the buffer
   */
  default void send(int rank, Tag tag, DataType type, FloatBuffer values) {
    send(rank, tag, Tensor.copyOf(type, values));
  }

  /**
   * Sends {@code own + tensor}, both of which are the caller's again when this returns.
   *
   * @param rank another worker of the group
   * @param tag what the message is
   * @param type how the sum travels
   * @param own as many values as the tensor has
   * @param tensor what they are added to
   */
  default void sendSum(int rank, Tag tag, DataType type, FloatBuffer own, TensorView tensor) {
    send(rank, tag, Tensor.sumOf(type, own, tensor));
  }

  /**
   * Waits for a message; blocks the worker's thread.
   *
   * @param rank the worker that sends it
   * @param tag what the message is
   * @return the tensor, which is the caller's
   * @throws GroupChangedException when there is a newer group than the one adopted, or nobody wants
   *     the message any more: let go of the round
   * @throws io.vertigrad.internal.exchange.UnansweredException at the deadline, naming who has not
   *     sent what
   */
  Tensor receive(int rank, Tag tag);

  /**
   * Waits for these messages of one worker and hands each over as it comes: one at a time, in any
   * order, by any thread. The tensor may be borrowed until {@code taker} returns: what must last is
   * {@linkplain TensorView#retain retained}.
   *
   * @param rank the worker that sends them
   * @param tags in the order in which they are expected
   * @param taker takes each message
   * @throws GroupChangedException as {@link #receive(int, Tag)}, and likewise at the deadline;
   *     {@code taker} is not called any more after that
   */
  default void receive(int rank, Collection<Tag> tags, BiConsumer<Tag, TensorView> taker) {
    tags.forEach(tag -> taker.accept(tag, receive(rank, tag)));
  }

  /**
   * Returns a message if it is there already.
   *
   * @param rank the worker that sends it
   * @param tag what the message is
   * @return the tensor; empty when it is not there
   */
  Optional<Tensor> poll(int rank, Tag tag);

  /**
   * Returns when the latest of the messages received had arrived.
   *
   * @return a time of {@link System#nanoTime()}
   */
  long arrivedNanos();
}
