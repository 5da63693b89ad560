package io.vertigrad.internal.worker;

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

/** Connects the members of one group in one JVM; each member has its own thread. */
public final class InMemoryPeers {

  private final Map<Key, CompletableFuture<Tensor>> messages = new ConcurrentHashMap<>();

  private record Key(int from, int to, Tag tag) {}

  public Peers of(PeerGroup group) {
    return new Peers() {
      @Override
      public PeerGroup adopt() {
        return group;
      }

      @Override
      public void send(int rank, Tag tag, TensorView tensor) {
        message(group.self(), rank, tag).complete(tensor.retain());
      }

      @Override
      public Tensor receive(int rank, Tag tag) {
        return message(rank, group.self(), tag).orTimeout(5, TimeUnit.SECONDS).join();
      }

      @Override
      public Optional<Tensor> poll(int rank, Tag tag) {
        return Optional.ofNullable(message(rank, group.self(), tag).getNow(null));
      }

      @Override
      public long arrivedNanos() {
        return System.nanoTime();
      }
    };
  }

  private CompletableFuture<Tensor> message(int from, int to, Tag tag) {
    return messages.computeIfAbsent(new Key(from, to, tag), key -> new CompletableFuture<>());
  }
}
