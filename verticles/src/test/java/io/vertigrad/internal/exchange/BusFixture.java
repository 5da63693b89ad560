package io.vertigrad.internal.exchange;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.fixture.ExchangeFixture;
import io.vertigrad.fixture.FakeShard;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.List;

/** An event bus with a fake shard, for any number of incarnations. */
final class BusFixture {

  static final int ELEMENTS = 10;
  static final int LENGTH = 100;
  static final Addresses ADDRESSES = new Addresses("exchange-test");
  static final PartitionPlan PLAN = PartitionPlan.of(QuadraticModel.layout(LENGTH, 0), ELEMENTS, 1);

  private final FakeShard shard = new FakeShard(PLAN, LENGTH, 1);
  private final Vertx vertx;

  BusFixture(Vertx vertx) {
    this.vertx = vertx;
    FrameCodecs.register(vertx.eventBus());
  }

  Vertx vertx() {
    return vertx;
  }

  FakeShard shard() {
    return shard;
  }

  void serve(int incarnation) {
    consume(incarnation, message -> message.reply(shard.answer(message.body())));
  }

  void consume(int incarnation, Handler<Message<Frame>> handler) {
    MessageConsumer<Frame> consumer =
        vertx.eventBus().consumer(ADDRESSES.shard(0, incarnation), handler);
    assertTrue(consumer.isRegistered());
  }

  PartitionClient client(ExchangeConfig config, int server) {
    PartitionClient client =
        new PartitionClient(Transport.onBus(vertx.eventBus()), ADDRESSES, config, System::nanoTime);
    client.membershipChanged(membership(1, server));
    return client;
  }

  static Membership membership(int epoch, int server) {
    return new Membership(epoch, List.of(), List.of(new Membership.Member(0, server, 0)));
  }

  static ExchangeConfig config(int windowBytes, long retryMillis, long deadlineMillis) {
    return ExchangeFixture.config(ELEMENTS, windowBytes, retryMillis, deadlineMillis);
  }

  static Refusal refusal(Frame frame, Reason reason, String message) {
    return new Refusal(((GradientPartition) frame).id(), reason, message);
  }

  /**
   * Returns the parameters after one step with gradient element i equal to i and learning rate 1.
   */
  static float[] expectedAfterOneStep() {
    float[] expected = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      expected[i] -= i;
    }
    return expected;
  }
}
