package io.vertigrad.benchmarks.scale;

import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Simulates machines in virtual time. Each has one outgoing and one incoming link of the same
 * bandwidth; a switch between them adds latency and never fills up.
 *
 * <p>Every machine is a thread, and one of them runs at a time; computing takes no time. One
 * element of a tensor represents several, so that a thousand models fit into memory.
 */
final class VirtualNetwork {

  private static final double NANOS = 1e9;

  private final double bytesPerNano;
  private final long latencyNanos;
  private final int elementsEach;
  private final PriorityQueue<Arrival> arrivals = new PriorityQueue<>();
  private final Deque<VirtualPeers> runnable = new ArrayDeque<>();
  private final List<VirtualPeers> machines = new ArrayList<>();
  private long now;
  private long order;
  private long messages;
  private long bytes;

  /** A message in transit. */
  private record Arrival(
      long nanos, long order, VirtualPeers to, int from, Tag tag, TensorView tensor)
      implements Comparable<Arrival> {
    @Override
    public int compareTo(Arrival other) {
      return nanos != other.nanos
          ? Long.compare(nanos, other.nanos)
          : Long.compare(order, other.order);
    }
  }

  /**
   * Creates a network without machines.
   *
   * @param bytesPerSecond bandwidth of each link
   * @param elementsEach number of elements that one simulated element represents
   */
  VirtualNetwork(double bytesPerSecond, long latencyNanos, int elementsEach) {
    this.bytesPerNano = bytesPerSecond / NANOS;
    this.latencyNanos = latencyNanos;
    this.elementsEach = elementsEach;
  }

  void add(VirtualPeers machine) {
    machines.add(machine);
    runnable.add(machine);
  }

  VirtualPeers machine(int rank) {
    return machines.get(rank);
  }

  long now() {
    return now;
  }

  long messages() {
    return messages;
  }

  /** Returns the payload bytes sent by all machines. */
  long bytes() {
    return bytes;
  }

  void send(VirtualPeers from, VirtualPeers to, Tag tag, TensorView tensor) {
    long size = (long) tensor.payloadBytes() * elementsEach;
    long transfer = (long) (size / bytesPerNano);
    messages++;
    bytes += size;
    from.outFreeNanos = Math.max(now, from.outFreeNanos) + transfer;
    long begins = Math.max(from.outFreeNanos - transfer + latencyNanos, to.inFreeNanos);
    to.inFreeNanos = begins + transfer;
    arrivals.add(new Arrival(to.inFreeNanos, order++, to, from.rank(), tag, tensor));
  }

  /** Runs until every machine has finished. */
  void run() {
    machines.forEach(VirtualPeers::launch);
    while (true) {
      while (!runnable.isEmpty()) {
        runnable.remove().resume();
      }
      if (arrivals.isEmpty()) {
        requireDone();
        return;
      }
      Arrival next = arrivals.remove();
      now = next.nanos();
      if (next.to().deliver(next.from(), next.tag(), next.tensor())) {
        runnable.add(next.to());
      }
    }
  }

  private void requireDone() {
    for (VirtualPeers machine : machines) {
      if (!machine.done()) {
        throw new IllegalStateException("everyone waits, first " + machine);
      }
    }
  }
}
