package io.vertigrad.collective;

import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.peer.PeerInbox;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Runs workers as threads, one at a time, over a network in virtual time that delays, loses,
 * duplicates and reorders messages at random. The same seed gives the same run.
 */
public final class SimulatedWorkers {

  private static final long DEADLINE_NANOS = 60_000_000_000L;

  private final Random random;
  private final NetworkFaults faults;
  private final VirtualTime time = new VirtualTime();
  private final TreeMap<Integer, Worker> workers = new TreeMap<>();
  private long messages;
  private long bytes;

  SimulatedWorkers(long seed, NetworkFaults faults) {
    this.random = new Random(seed);
    this.faults = faults;
  }

  /** Adds a worker that starts immediately. */
  public Worker start(int rank, Consumer<Worker> body) {
    Worker worker = new Worker(rank, body);
    workers.put(rank, worker);
    return worker;
  }

  /** Changes the group at a given time; each rank learns of it after a delay of its own. */
  public void regroup(long nanos, int epoch, List<Integer> ranks) {
    at(
        nanos,
        () ->
            ranks.forEach(
                rank ->
                    at(
                        now() + faults.delayNanos(random),
                        () -> workers.get(rank).groupChanged(epoch, ranks))));
  }

  /** Kills a worker's process at a given time. */
  public void kill(long nanos, int rank) {
    at(nanos, () -> workers.get(rank).dead = true);
  }

  void at(long nanos, Runnable action) {
    time.at(nanos, action);
  }

  long now() {
    return time.now();
  }

  public long messages() {
    return messages;
  }

  public long bytes() {
    return bytes;
  }

  /** Runs until every living worker has finished. */
  public void run() {
    try {
      workers.values().forEach(worker -> worker.thread.launch());
      while (workers.values().stream().anyMatch(w -> !w.thread.done() && !w.dead)) {
        List<Worker> ready = workers.values().stream().filter(Worker::runnable).toList();
        if (!ready.isEmpty()) {
          ready.get(random.nextInt(ready.size())).thread.resume();
        } else if (!time.advance()) {
          workers.values().forEach(Worker::rethrow);
          throw new AssertionError("everyone waits: " + workers.values());
        }
      }
      workers.values().forEach(Worker::rethrow);
    } finally {
      workers.values().forEach(worker -> worker.thread.interrupt());
    }
  }

  /** Returns true when every living worker has taken its last step. */
  boolean everyoneRests() {
    return workers.values().stream().allMatch(worker -> worker.rests || worker.dead);
  }

  private void transmit(Worker from, int to, int epoch, Tag tag, TensorView tensor) {
    messages++;
    bytes += tensor.payloadBytes();
    if (random.nextDouble() < faults.loss()) {
      at(now() + NetworkFaults.RETRY_NANOS, () -> retry(from, to, epoch, tag, tensor));
      return;
    }
    at(
        now() + faults.delayNanos(random),
        () -> workers.get(to).deliver(from.rank, epoch, tag, tensor));
    if (random.nextDouble() < faults.duplicates()) {
      at(
          now() + faults.delayNanos(random) * 7,
          () -> workers.get(to).deliver(from.rank, epoch, tag, tensor));
    }
  }

  private void retry(Worker from, int to, int epoch, Tag tag, TensorView tensor) {
    if (!from.dead) {
      transmit(from, to, epoch, tag, tensor);
    }
  }

  /** One worker's thread and its {@link Peers}. */
  public final class Worker implements Peers {

    final int rank;
    private final SimulatedThread thread;
    private final PeerInbox inbox = new PeerInbox();
    private PeerGroup newest;
    private PeerGroup group;
    private Wanted wanted;
    private long wakeNanos = -1;
    boolean rests;
    private boolean woken = true;
    private boolean dead;

    private record Wanted(int from, Tag tag) {}

    Worker(int rank, Consumer<Worker> body) {
      this.rank = rank;
      this.thread = new SimulatedThread("simulated worker " + rank, () -> body.accept(this));
    }

    /** Advances virtual time. */
    void compute(long nanos) {
      wakeNanos = now() + nanos;
      at(wakeNanos, () -> {});
      pause();
      wakeNanos = -1;
    }

    /** Blocks until this worker is in a group. */
    void awaitGroup() {
      while (newest == null) {
        pause();
      }
    }

    boolean current() {
      return newest.epoch() == group.epoch();
    }

    @Override
    public PeerGroup adopt() {
      group = newest;
      inbox.adopt(group.epoch());
      return group;
    }

    @Override
    public void send(int to, Tag tag, TensorView tensor) {
      if (to == rank || !group.ranks().contains(to)) {
        throw new AssertionError("worker " + rank + " sends to " + to + " in " + group);
      }
      transmit(this, to, group.epoch(), tag, tensor);
    }

    @Override
    public Tensor receive(int from, Tag tag) {
      long limit = now() + DEADLINE_NANOS;
      while (true) {
        if (newest.epoch() > group.epoch()) {
          throw new GroupChangedException("epoch " + newest.epoch());
        }
        Optional<Tensor> message = poll(from, tag);
        if (message.isPresent()) {
          return message.get();
        }
        if (now() >= limit) {
          throw new AssertionError(rank + " has nothing from " + from + " for " + tag);
        }
        wanted = new Wanted(from, tag);
        pause();
        wanted = null;
      }
    }

    @Override
    public Optional<Tensor> poll(int from, Tag tag) {
      return inbox.take(from, tag).map(TensorView::retain);
    }

    @Override
    public long arrivedNanos() {
      return inbox.arrivedNanos();
    }

    @Override
    public String toString() {
      return "worker %d %s in %s wants %s"
          .formatted(rank, thread.done() ? "done" : dead ? "dead" : "alive", group, wanted);
    }

    private boolean runnable() {
      return !thread.done() && !dead && woken && (wakeNanos < 0 || now() >= wakeNanos);
    }

    private void groupChanged(int epoch, List<Integer> ranks) {
      if (newest == null || newest.epoch() < epoch) {
        newest = new PeerGroup(epoch, ranks, rank);
        woken = true;
      }
    }

    private void deliver(int from, int epoch, Tag tag, TensorView tensor) {
      if (!dead) {
        inbox.accept(from, epoch, tag, tensor, now());
        woken |= wanted != null && wanted.from() == from && wanted.tag().equals(tag);
      }
    }

    private void pause() {
      woken = wakeNanos >= 0;
      thread.pause();
    }

    private void rethrow() {
      if (!dead) {
        thread.rethrow();
      }
    }
  }

  /** Returns ranks 0 to n-1. */
  static List<Integer> ranks(int workers) {
    return IntStream.range(0, workers).boxed().toList();
  }

  /**
   * A clock that jumps from one event to the next. Events of the same time run in the order in
   * which they were added.
   */
  private static final class VirtualTime {

    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long now;
    private long sequence;

    private record Event(long nanos, long order, Runnable action) implements Comparable<Event> {
      @Override
      public int compareTo(Event other) {
        int byTime = Long.compare(nanos, other.nanos);
        return byTime != 0 ? byTime : Long.compare(order, other.order);
      }
    }

    long now() {
      return now;
    }

    void at(long nanos, Runnable action) {
      events.add(new Event(nanos, sequence++, action));
    }

    /** Runs the next event; returns false if there is none. */
    boolean advance() {
      Event event = events.poll();
      if (event == null) {
        return false;
      }
      now = Math.max(now, event.nanos());
      event.action().run();
      return true;
    }
  }

  /**
   * A thread that runs only while it has the turn. The caller that gives turns decides the order of
   * all threads.
   */
  private static final class SimulatedThread {

    private static final long STACK_BYTES = 256 << 10;

    private final Thread thread;
    private final Semaphore turn = new Semaphore(0);
    private final Semaphore returned = new Semaphore(0);
    private boolean done;
    private Throwable failure;

    SimulatedThread(String name, Runnable body) {
      thread = new Thread(null, () -> live(body), name, STACK_BYTES);
      thread.setDaemon(true);
    }

    void launch() {
      thread.start();
    }

    /** Gives the thread the turn; returns when the thread gives it back or has ended. */
    void resume() {
      turn.release();
      returned.acquireUninterruptibly();
    }

    /** Gives the turn back; returns when the thread has it again. Called by the thread itself. */
    void pause() {
      returned.release();
      try {
        turn.acquire();
      } catch (InterruptedException e) {
        throw new SimulationOver();
      }
    }

    /** Ends the thread while it waits for its turn. */
    void interrupt() {
      thread.interrupt();
    }

    boolean done() {
      return done;
    }

    void rethrow() {
      if (failure != null) {
        throw new AssertionError(thread.getName() + " failed: " + failure, failure);
      }
    }

    private void live(Runnable body) {
      try {
        turn.acquireUninterruptibly();
        body.run();
      } catch (SimulationOver over) {
        return;
      } catch (Throwable e) {
        failure = e;
      }
      done = true;
      returned.release();
    }

    private static final class SimulationOver extends Error {
      private static final long serialVersionUID = 1L;
    }
  }
}
