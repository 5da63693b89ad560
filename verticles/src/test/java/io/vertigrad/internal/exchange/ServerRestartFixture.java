package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.fixture.ExchangeFixture;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The clients of two workers and one real shard of two partitions under {@code sync}. The shard
 * crashes at a chosen moment and restarts without any of the updates.
 *
 * <p>The first incarnation answers only chosen requests. Moments are written {@code
 * worker/partition}.
 */
final class ServerRestartFixture {

  final TestJob job = new TestJob("{\"name\": \"sync\"}", 8, 0, 9, 2);
  final List<PartitionClient> clients;
  final Queue<Frame> offeredBefore = new ConcurrentLinkedQueue<>();
  final Queue<Frame> offeredAfter = new ConcurrentLinkedQueue<>();
  private final Vertx vertx;
  private final Addresses addresses = new Addresses("test");
  private final Set<String> answered;
  private final Set<String> crashAfter;

  /**
   * Creates a shard in its first incarnation.
   *
   * @param answered moments whose first answers arrive before the crash
   * @param crashAfter the shard crashes after all of these have been {@linkplain #record recorded}
   */
  ServerRestartFixture(Vertx vertx, int windowBytes, Set<String> answered, Set<String> crashAfter) {
    this.vertx = vertx;
    this.answered = answered;
    this.crashAfter = new HashSet<>(crashAfter);
    FrameCodecs.register(vertx.eventBus());
    ExchangeConfig config = ExchangeFixture.config(4, windowBytes, 10_000, 2_000);
    clients = List.of(client(config), client(config));
    serve(job.shard(), 0);
  }

  private PartitionClient client(ExchangeConfig config) {
    return new PartitionClient(
        Transport.onBus(vertx.eventBus()), addresses, config, System::nanoTime);
  }

  /** Records a request to or an answer of the first incarnation, or a finished round. */
  synchronized void record(String what) {
    if (crashAfter.remove(what) && crashAfter.isEmpty()) {
      TestShard restarted = job.shard(0, 1);
      restarted.restoreFrom(job.shard());
      serve(restarted, 1);
    }
  }

  static String moment(int worker, int partition) {
    return worker + "/" + partition;
  }

  private void serve(TestShard shard, int incarnation) {
    List<Member> workers = List.of(new Member(0, 0, 0), new Member(1, 0, 0));
    Membership now =
        new Membership(1 + incarnation, workers, List.of(new Member(0, incarnation, 0)));
    shard.membershipChanged(now);
    vertx
        .eventBus()
        .<Frame>consumer(
            addresses.shard(0, incarnation), message -> take(shard, incarnation, message));
    clients.forEach(client -> client.membershipChanged(now));
  }

  private void take(TestShard shard, int incarnation, Message<Frame> message) {
    GradientPartition frame = (GradientPartition) message.body();
    (incarnation == 0 ? offeredBefore : offeredAfter).add(frame);
    String moment = moment(frame.id().worker(), frame.id().partition());
    boolean answersThis = incarnation > 0 || frame.id().step() == 0 && answered.contains(moment);
    shard.handle(frame).onSuccess(answer -> reply(message, answer, answersThis));
    if (incarnation == 0) {
      record("offered " + moment);
    }
  }

  private static void reply(Message<Frame> message, Frame answer, boolean answersThis) {
    if (answersThis) {
      message.reply(answer);
    }
  }
}
