package io.vertigrad.strategy;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;
import java.util.Collection;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * Sends and receives the messages of one worker's strategy to and from the other workers of its
 * {@link PeerGroup}. Belongs to the strategy's thread. While that thread waits, the thread that
 * delivers a message or computes the gradient may also send.
 *
 * <p>Each message arrives once, even if the transport repeats it, and is stored until it is
 * received. A message is identified by its sender, the group's epoch and its {@link Tag}. Messages
 * of earlier epochs are dropped. All messages of a worker's round are received before any of its
 * later rounds.
 */
public interface Peers {

  /**
   * Adopts the newest known group; from now on messages are sent to it and received from it.
   *
   * @return the group
   * @throws GroupChangedException when this worker is not in the newest known group
   */
  PeerGroup adopt();

  /**
   * Sends a tensor and returns immediately; the tensor may be queued behind earlier ones to the
   * same worker.
   *
   * @param rank another worker of the group
   * @param tag identifies the message
   * @param tensor the content; must not be changed afterwards
   */
  void send(int rank, Tag tag, TensorView tensor);

  /**
   * Sends a copy of values. The caller may reuse them when this returns.
   *
   * @param rank another worker of the group
   * @param tag identifies the message
   * @param type in which the values are sent
   * @param values the content: all that remains in the buffer
   */
  default void send(int rank, Tag tag, DataType type, FloatBuffer values) {
    send(rank, tag, Tensor.copyOf(type, values));
  }

  /**
   * Sends {@code own + tensor}. The caller may reuse both when this returns.
   *
   * @param rank another worker of the group
   * @param tag identifies the message
   * @param type in which the sum is sent
   * @param own as many values as the tensor has
   * @param tensor the other summand
   */
  default void sendSum(int rank, Tag tag, DataType type, FloatBuffer own, TensorView tensor) {
    send(rank, tag, Tensor.sumOf(type, own, tensor));
  }

  /**
   * Waits for a message; blocks the worker's thread.
   *
   * @param rank the worker that sends it
   * @param tag identifies the message
   * @return the tensor, which the caller owns
   * @throws GroupChangedException when there is a newer group than the one adopted, or the worker
   *     ends: abandon the round
   * @throws ExchangeException.UnansweredException at the deadline, naming the missing message and
   *     its sender
   */
  Tensor receive(int rank, Tag tag);

  /**
   * Waits for several messages of one worker and passes each to {@code taker} when it arrives: one
   * at a time, in any order, on any thread. The tensor may be borrowed until {@code taker} returns;
   * {@linkplain TensorView#retain retain} it to keep it.
   *
   * @param rank the worker that sends them
   * @param tags in the order in which they are expected
   * @param taker receives each message
   * @throws GroupChangedException as for {@link #receive(int, Tag)}, which also describes the
   *     deadline; {@code taker} is not called after that
   */
  default void receive(int rank, Collection<Tag> tags, BiConsumer<Tag, TensorView> taker) {
    tags.forEach(tag -> taker.accept(tag, receive(rank, tag)));
  }

  /**
   * Returns a message if it has arrived.
   *
   * @param rank the worker that sends it
   * @param tag identifies the message
   * @return the tensor; empty when it has not arrived
   */
  Optional<Tensor> poll(int rank, Tag tag);

  /**
   * Returns the time at which the latest of the received messages arrived.
   *
   * @return a time of {@link System#nanoTime()}
   */
  long arrivedNanos();
}
