package io.vertigrad.internal.server;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.shard.Shard;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.OptionalInt;

/**
 * The sums of one shard over the event bus: it asks other shards for theirs and answers their
 * questions. A question is the number of a sum, an answer its elements, each in 8 bytes. Belongs to
 * the shard's event loop.
 */
final class SumExchange {

  /** Without an answer for this long, the question is asked again. */
  private static final long ASK_MILLIS = 1_000;

  private static final int UNKNOWN_SUM = 1;

  private final EventBus bus;
  private final Addresses addresses;
  private final Shard shard;
  private final MessageConsumer<Buffer> questions;

  /**
   * Connects a shard with the others of its job.
   *
   * @param summed called after a sum has come that partitions may have waited for
   */
  SumExchange(
      EventBus bus, Addresses addresses, Admission admission, Shard shard, Runnable summed) {
    this.bus = bus;
    this.addresses = addresses;
    this.shard = shard;
    String address = addresses.sums(admission.rank(), admission.incarnation());
    questions = bus.consumer(address, this::answer);
    shard.sums().connect(this::ask, summed);
  }

  /** Answers no more questions. */
  Future<Void> close() {
    return questions.unregister();
  }

  private void answer(Message<Buffer> question) {
    shard
        .sums()
        .ofShard(question.body().getLong(0))
        .onSuccess(sum -> question.reply(write(sum)))
        .onFailure(unknown -> question.fail(UNKNOWN_SUM, unknown.getMessage()));
  }

  private Future<double[]> ask(int other, long number) {
    OptionalInt server = shard.serverOf(other);
    return server.isEmpty()
        ? Future.failedFuture("no server")
        : bus.<Buffer>request(
                addresses.sums(other, server.getAsInt()),
                Buffer.buffer().appendLong(number),
                new DeliveryOptions().setSendTimeout(ASK_MILLIS))
            .map(answer -> read(answer.body()));
  }

  private static Buffer write(double[] sum) {
    Buffer buffer = Buffer.buffer(sum.length * Double.BYTES);
    for (double each : sum) {
      buffer.appendDouble(each);
    }
    return buffer;
  }

  private static double[] read(Buffer buffer) {
    double[] sum = new double[buffer.length() / Double.BYTES];
    for (int i = 0; i < sum.length; i++) {
      sum[i] = buffer.getDouble(i * Double.BYTES);
    }
    return sum;
  }
}
