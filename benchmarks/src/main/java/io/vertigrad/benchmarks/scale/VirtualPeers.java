package io.vertigrad.benchmarks.scale;

import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.peer.PeerInbox;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;

/** One machine of a {@link VirtualNetwork}, and its connection to the others. */
final class VirtualPeers implements Peers {

  private static final int STACK_BYTES = 256 << 10;

  long outFreeNanos;
  long inFreeNanos;

  private final VirtualNetwork network;
  private final PeerGroup group;
  private final Thread thread;
  private final Semaphore turn = new Semaphore(0);
  private final Semaphore returned = new Semaphore(0);
  private final PeerInbox inbox = new PeerInbox();
  private int wantedFrom = -1;
  private Tag wanted;
  private boolean done;
  private RuntimeException failure;

  VirtualPeers(VirtualNetwork network, int rank, List<Integer> ranks, Consumer<VirtualPeers> body) {
    this.network = network;
    this.group = new PeerGroup(1, ranks, rank);
    this.thread = new Thread(null, () -> live(body), "machine " + rank, STACK_BYTES);
    this.thread.setDaemon(true);
    inbox.adopt(1);
  }

  int rank() {
    return group.self();
  }

  @Override
  public PeerGroup adopt() {
    return group;
  }

  @Override
  public void send(int rank, Tag tag, TensorView tensor) {
    network.send(this, network.machine(rank), tag, tensor);
  }

  @Override
  public Tensor receive(int rank, Tag tag) {
    Optional<Tensor> message = poll(rank, tag);
    while (message.isEmpty()) {
      wantedFrom = rank;
      wanted = tag;
      returned.release();
      turn.acquireUninterruptibly();
      message = poll(rank, tag);
    }
    return message.get();
  }

  @Override
  public Optional<Tensor> poll(int rank, Tag tag) {
    return inbox.take(rank, tag).map(TensorView::retain);
  }

  @Override
  public long arrivedNanos() {
    return inbox.arrivedNanos();
  }

  void launch() {
    thread.start();
  }

  /** Lets this machine run; returns when it waits or has finished. */
  void resume() {
    wanted = null;
    turn.release();
    returned.acquireUninterruptibly();
    if (failure != null) {
      throw failure;
    }
  }

  /** Delivers a message; returns true when the machine waits for exactly this message. */
  boolean deliver(int from, Tag tag, TensorView tensor) {
    inbox.accept(from, 1, tag, tensor, network.now());
    return from == wantedFrom && tag.equals(wanted);
  }

  boolean done() {
    return done;
  }

  @Override
  public String toString() {
    return "machine %s, for %s of machine %s".formatted(rank(), wanted, wantedFrom);
  }

  private void live(Consumer<VirtualPeers> body) {
    turn.acquireUninterruptibly();
    try {
      body.accept(this);
    } catch (RuntimeException e) {
      failure = e;
    }
    done = true;
    returned.release();
  }
}
