package io.vertigrad.internal.backup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.ReplicaTensor;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests a shard and its backup as plain objects; the test delivers every record between them. */
class ShardReplicationTest {

  private static final int WORKERS = 2;
  private static final int STEPS = 12;

  private TestJob job = sync();
  private ShardReplication replication;
  private TestShard primary = primary(0);
  private ShardBackup backup = backup();
  private ManualLink link = new ManualLink(backup);
  private String failure;

  /** A link that delivers records and answers when the test says so. */
  private static final class ManualLink implements ShardReplication.Link {

    private final ShardBackup to;
    private final Deque<Sent> sent = new ArrayDeque<>();
    private final Deque<Runnable> answers = new ArrayDeque<>();

    private record Sent(Frame record, Completable<Frame> answered) {}

    ManualLink(ShardBackup to) {
      this.to = to;
    }

    @Override
    public void send(Frame record, Completable<Frame> answered) {
      sent.add(new Sent(record, answered));
    }

    /** Delivers the next record as its bytes on the wire. */
    void deliver() {
      Sent next = sent.remove();
      Buffer wire = Buffer.buffer();
      var bytes = FrameCodecs.encode(next.record());
      wire.appendBytes(array(bytes.header())).appendBytes(array(bytes.payload()));
      Frame answer = to.handle(FrameCodecs.decode(wire));
      answers.add(() -> next.answered().complete(answer, null));
    }

    void acknowledge() {
      answers.remove().run();
    }

    void settle() {
      while (!sent.isEmpty() || !answers.isEmpty()) {
        if (answers.isEmpty()) {
          deliver();
        }
        acknowledge();
      }
    }

    private static byte[] array(java.nio.ByteBuffer buffer) {
      byte[] bytes = new byte[buffer.remaining()];
      buffer.duplicate().get(bytes);
      return bytes;
    }
  }

  @Test
  void shouldHoldAnswersBackUntilTheBackupHasTheUpdate() {
    attach();
    Future<Frame> first = send(primary, 0, 0, 0);
    Future<Frame> second = send(primary, 1, 0, 0);
    Future<Frame> reader = primary.handle(job.pull(-1, 0, 0, 1));

    link.deliver();
    link.deliver();
    assertFalse(first.isComplete() || second.isComplete() || reader.isComplete());
    link.acknowledge();
    assertFalse(first.isComplete(), "only the gradient has arrived, not its commit");
    link.acknowledge();

    assertEquals(Outcome.APPLIED, answer(first).outcome());
    assertEquals(Outcome.APPLIED, answer(second).outcome());
    assertEquals(1, answer(reader).version());
  }

  @Test
  void shouldSendOneGradientARoundHoweverManyWorkersThereAre() {
    attach();

    send(primary, 0, 0, 0);
    send(primary, 1, 0, 0);
    long gradients =
        link.sent.stream().filter(sent -> sent.record() instanceof ReplicaTensor).count();

    assertEquals(1, gradients);
  }

  @Test
  void shouldAnswerAtOnceWhileThereIsNoBackup() {
    send(primary, 0, 0, 0);

    assertTrue(send(primary, 1, 0, 0).isComplete());
  }

  @Test
  void shouldCopyOnlyBetweenRoundsSoThatAllPartitionsHaveOneVersion() {
    send(primary, 0, 0, 0);
    send(primary, 1, 0, 0);
    Future<Void> attached = attaching();
    assertTrue(link.sent.isEmpty(), "partition 0 is ahead");

    for (int part = 1; part < parts(); part++) {
      send(primary, 0, 0, part);
      send(primary, 1, 0, part);
    }
    assertFalse(link.sent.isEmpty());
    link.settle();

    assertTrue(attached.succeeded());
    assertTrue(backup.isComplete());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "ssp"})
  void shouldHoldTheSameBitsAsItsPrimary(String strategy) {
    use(strategy);
    Random random = new Random(7);
    trainTo(primary, 3, random);
    attach();
    trainTo(primary, STEPS, random);

    TestShard promoted = promote(1);

    assertSameBits(primary, promoted);
  }

  /**
   * The primary crashes at every point of a run in turn: with a record not sent, sent but not
   * acknowledged, or acknowledged. No answered step is lost, and no update counts twice.
   */
  @ParameterizedTest
  @CsvSource({"sync, 0", "sync, 1", "async, 0", "async, 1", "ssp, 0"})
  void shouldLoseNothingThatWasAcknowledgedWhereverThePrimaryDies(
      String strategy, int unacknowledged) {
    for (int crashPoint = 0; crashPoint < 60; crashPoint++) {
      use(strategy);
      attach();
      Run run = new Run();
      for (int records = 0; records < crashPoint; records++) {
        run.offer(primary);
        if (!link.sent.isEmpty()) {
          link.deliver();
        }
        while (link.answers.size() > unacknowledged) {
          link.acknowledge();
        }
        run.collect();
      }
      // From here on, nothing from the primary arrives any more.
      long[][] answered = run.answered();
      TestShard promoted = promote(1);
      for (int worker = 0; worker < WORKERS; worker++) {
        for (int part = 0; part < parts(); part++) {
          assertTrue(
              next(promoted, worker, part) >= answered[worker][part],
              "crash point %d: an answered step of worker %d is missing"
                  .formatted(crashPoint, worker));
        }
      }
      run.repeat();
      while (!run.finished()) {
        run.offer(promoted);
        run.collect();
      }
      assertEquals(job.lastVersion(), promoted.version(), "crash point " + crashPoint);
      if (strategy.equals("sync")) {
        assertSameBits(trainedWithoutCrash(), promoted);
      }
    }
  }

  @Test
  void shouldRefuseItsOldPrimaryOnceItWasPromoted() {
    attach();
    backup.close("it goes on as server 0 (incarnation 1)");

    Future<Frame> first = send(primary, 0, 0, 0);
    Future<Frame> second = send(primary, 1, 0, 0);
    link.settle();

    assertFalse(first.isComplete() || second.isComplete(), "an old primary acknowledged");
    assertTrue(failure.contains("it goes on as server 0 (incarnation 1)"), failure);
    primary.close("this server was evicted");
    assertEquals(Reason.UNAVAILABLE, ((Refusal) first.result()).reason());
  }

  @Test
  void shouldRefuseAServerOfALowerIncarnationThanItsPrimary() {
    TestShard newer = primary(2);
    ShardReplication fromNewer = replication;
    primary = primary(0);
    ManualLink other = new ManualLink(backup);
    fromNewer.attach(newer.internal(), other, reason -> {});
    other.settle();

    attaching();
    link.deliver();
    link.acknowledge();

    assertTrue(failure.contains("found a server of incarnation 0 after one of 2"), failure);
    assertTrue(backup.isComplete(), "what the newer one has sent is there");
  }

  @Test
  void shouldRefuseRecordsAfterAGap() {
    attach();
    send(primary, 0, 0, 0);
    send(primary, 1, 0, 0);
    link.sent.remove();

    link.deliver();
    link.acknowledge();

    assertTrue(failure.contains("expected record"), failure);
  }

  @Test
  void shouldGoOnAloneOnlyOnceItWasToldTo() {
    attach();
    Future<Frame> first = send(primary, 0, 0, 0);
    send(primary, 1, 0, 0);
    link.sent.remove().answered().fail("the connection was closed");
    assertEquals("the connection was closed", failure);
    assertFalse(first.isComplete());
    Future<Frame> reader = primary.handle(job.pull(-1, 0, 0, 0));
    assertFalse(reader.isComplete(), "shows what the backup lacks");

    replication.detach();

    assertEquals(Outcome.APPLIED, answer(first).outcome());
    assertEquals(1, answer(reader).version());
  }

  @Test
  void shouldTakeANewCopyWhenABackupComesAgain() {
    attach();
    send(primary, 0, 0, 0);
    send(primary, 1, 0, 0);
    link.sent.remove().answered().fail("the connection was closed");
    replication.detach();
    failure = null;
    for (int part = 1; part < parts(); part++) {
      send(primary, 0, 0, part);
      send(primary, 1, 0, part);
    }

    backup = backup();
    link = new ManualLink(backup);
    attach();

    assertSameBits(primary, promote(1));
  }

  @Test
  void shouldGiveAWorkerTheVersionBeforeWhenOnePartitionIsAhead() {
    attach();
    float[] before = job.parameters(primary, 0);
    send(primary, 0, 0, 0);
    send(primary, 1, 0, 0);
    link.settle();

    TestShard promoted = promote(1);
    Frame answer = promoted.handle(job.pull(0, 0, 0, 0)).result();

    assertEquals(0, assertInstanceOf(ParameterPartition.class, answer).version());
    assertArrayEquals(before, TestJob.values((ParameterPartition) answer));
  }

  /** Workers that keep one update per partition unanswered and repeat it to a new server. */
  private final class Run {

    private final long[][] step = new long[WORKERS][parts()];
    private final List<List<Future<Frame>>> unanswered = new ArrayList<>();

    Run() {
      repeat();
    }

    /** Forgets the updates that are unanswered. */
    void repeat() {
      unanswered.clear();
      for (int worker = 0; worker < WORKERS; worker++) {
        List<Future<Frame>> none = new ArrayList<>();
        for (int part = 0; part < parts(); part++) {
          none.add(null);
        }
        unanswered.add(none);
      }
    }

    /**
     * Sends new updates; a worker starts a step when all partitions of the one before were
     * answered.
     */
    void offer(TestShard to) {
      for (int worker = 0; worker < WORKERS; worker++) {
        long lowest = Long.MAX_VALUE;
        for (long each : step[worker]) {
          lowest = Math.min(lowest, each);
        }
        for (int part = 0; part < parts(); part++) {
          boolean free = unanswered.get(worker).get(part) == null && step[worker][part] == lowest;
          if (free && lowest < STEPS) {
            unanswered.get(worker).set(part, send(to, worker, lowest, part));
          }
        }
      }
    }

    void collect() {
      for (int worker = 0; worker < WORKERS; worker++) {
        for (int part = 0; part < parts(); part++) {
          Future<Frame> answer = unanswered.get(worker).get(part);
          if (answer != null && answer.isComplete()) {
            assertInstanceOf(ParameterPartition.class, answer.result());
            unanswered.get(worker).set(part, null);
            step[worker][part]++;
          }
        }
      }
    }

    long[][] answered() {
      long[][] copy = new long[WORKERS][];
      for (int worker = 0; worker < WORKERS; worker++) {
        copy[worker] = step[worker].clone();
      }
      return copy;
    }

    boolean finished() {
      for (long[] worker : step) {
        for (long each : worker) {
          if (each < STEPS) {
            return false;
          }
        }
      }
      return true;
    }
  }

  private void use(String strategy) {
    job =
        new TestJob("{\"name\": \"%s\"}".formatted(strategy), 10, 2, STEPS, WORKERS)
            .withRanks(WORKERS)
            .withMomentum(0.9f);
    primary = primary(0);
    backup = backup();
    link = new ManualLink(backup);
    failure = null;
  }

  private static TestJob sync() {
    return new TestJob("{\"name\": \"sync\"}", 10, 2, STEPS, WORKERS)
        .withRanks(WORKERS)
        .withMomentum(0.9f);
  }

  /** Starts a shard that {@code replication} follows. */
  private TestShard primary(int incarnation) {
    replication = new ShardReplication(TestJob.JOB, 0, incarnation, job.layout().hash());
    return started(job.shard(incarnation, job.store(0), this::window, replication));
  }

  private DuplicateWindow window() {
    return new DuplicateWindow(WORKERS);
  }

  private TestShard started(TestShard shard) {
    shard.membershipChanged(TestJob.workers(WORKERS));
    return shard;
  }

  private ShardBackup backup() {
    return new ShardBackup(TestJob.JOB, job.store(0), WORKERS, job.lockstep());
  }

  private Future<Void> attaching() {
    return replication.attach(primary.internal(), link, reason -> failure = reason);
  }

  private void attach() {
    Future<Void> attached = attaching();
    link.settle();
    assertTrue(attached.succeeded());
    assertNull(failure);
  }

  private TestShard promote(int incarnation) {
    backup.close("promoted");
    TestShard promoted = job.shard(incarnation, backup.store(), backup.windows());
    promoted.internal().continueWith(backup::updates);
    return started(promoted);
  }

  private int parts() {
    return job.plan.partitions().size();
  }

  /** Sends a gradient that differs by step, worker, partition and element. */
  private Future<Frame> send(TestShard to, int worker, long step, int part) {
    float[] values = new float[job.plan.partitions().get(part).length()];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) Math.sin(1 + worker + 3 * step + 7 * part + 11 * i);
    }
    long version = job.lockstep() ? step : 0;
    GradientPartition gradient = job.gradient(worker, step, part, version, values);
    return to.handle(gradient);
  }

  private void trainTo(TestShard shard, long steps, Random order) {
    long begin = next(shard, 0, 0);
    for (long step = begin; step < steps; step++) {
      int first = order.nextInt(WORKERS);
      for (int part = 0; part < parts(); part++) {
        send(shard, first, step, part);
        send(shard, 1 - first, step, part);
      }
      link.settle();
    }
  }

  private TestShard trainedWithoutCrash() {
    TestShard shard = started(job.shard(0, 0));
    for (long step = 0; step < STEPS; step++) {
      for (int part = 0; part < parts(); part++) {
        send(shard, 0, step, part);
        send(shard, 1, step, part);
      }
    }
    return shard;
  }

  /** Returns the first step of a worker that a partition has not counted. */
  private long next(TestShard shard, int worker, int part) {
    return shard.internal().snapshot().partitions().get(part).window().stream()
        .filter(entry -> entry.worker() == worker)
        .mapToLong(entry -> entry.step() + 1)
        .findFirst()
        .orElse(0);
  }

  private static void assertSameBits(TestShard expected, TestShard found) {
    var all = expected.internal().snapshot().partitions();
    var others = found.internal().snapshot().partitions();
    assertEquals(all.size(), others.size());
    for (int i = 0; i < all.size(); i++) {
      assertEquals(all.get(i).version(), others.get(i).version());
      assertEquals(all.get(i).samples(), others.get(i).samples());
      assertEquals(all.get(i).window(), others.get(i).window());
      assertEquals(all.get(i).ledger(), others.get(i).ledger());
      assertArrayEquals(all.get(i).parameters(), others.get(i).parameters());
      assertArrayEquals(all.get(i).state(), others.get(i).state());
    }
  }

  private static ParameterPartition answer(Future<Frame> future) {
    return assertInstanceOf(ParameterPartition.class, future.result());
  }
}
