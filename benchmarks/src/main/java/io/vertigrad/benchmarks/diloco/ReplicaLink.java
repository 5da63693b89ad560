package io.vertigrad.benchmarks.diloco;

import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Connects replicas on threads of one JVM. */
final class ReplicaLink implements Peers {

  private static final long LIMIT_SECONDS = 30;

  private final PeerGroup group;
  private final Map<Message, CompletableFuture<Tensor>> messages;
  private long arrivedNanos;

  private record Message(int from, int to, Tag tag) {}

  private ReplicaLink(PeerGroup group, Map<Message, CompletableFuture<Tensor>> messages) {
    this.group = group;
    this.messages = messages;
  }

  /** Returns one end for each of the ranks from 0. */
  static ReplicaLink[] between(int replicas) {
    Map<Message, CompletableFuture<Tensor>> messages = new ConcurrentHashMap<>();
    ReplicaLink[] ends = new ReplicaLink[replicas];
    for (int rank = 0; rank < replicas; rank++) {
      PeerGroup group = new PeerGroup(1, IntStream.range(0, replicas).boxed().toList(), rank);
      ends[rank] = new ReplicaLink(group, messages);
    }
    return ends;
  }

  @Override
  public PeerGroup adopt() {
    return group;
  }

  @Override
  public void send(int rank, Tag tag, TensorView tensor) {
    slot(group.self(), rank, tag).complete(tensor.retain());
  }

  @Override
  public Tensor receive(int rank, Tag tag) {
    Tensor tensor = slot(rank, group.self(), tag).orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS).join();
    return taken(rank, tag, tensor);
  }

  @Override
  public Optional<Tensor> poll(int rank, Tag tag) {
    Tensor tensor = slot(rank, group.self(), tag).getNow(null);
    return tensor == null ? Optional.empty() : Optional.of(taken(rank, tag, tensor));
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }

  private Tensor taken(int rank, Tag tag, Tensor tensor) {
    messages.remove(new Message(rank, group.self(), tag));
    arrivedNanos = System.nanoTime();
    return tensor;
  }

  private CompletableFuture<Tensor> slot(int from, int to, Tag tag) {
    return messages.computeIfAbsent(
        new Message(from, to, tag), message -> new CompletableFuture<>());
  }
}
