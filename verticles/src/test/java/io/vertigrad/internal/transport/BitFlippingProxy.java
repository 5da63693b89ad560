package io.vertigrad.internal.transport;

import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetSocket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Stands between the two ends of a stream and flips one bit in the last byte of as many requests
 * and answers as it was told to.
 */
public final class BitFlippingProxy {

  private static final int KIND_OFFSET = 4;

  private final Vertx vertx;
  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicInteger answers = new AtomicInteger();

  private String behind;

  public BitFlippingProxy(Vertx vertx) {
    this.vertx = vertx;
  }

  /** Damages the next requests. */
  public void flipRequests(int count) {
    requests.set(count);
  }

  /** Damages the next answers. */
  public void flipAnswers(int count) {
    answers.set(count);
  }

  /** How many requests are still to be damaged. */
  public int requestsToFlip() {
    return requests.get();
  }

  /** How many answers are still to be damaged. */
  public int answersToFlip() {
    return answers.get();
  }

  /**
   * Takes streams to {@code address} and passes them on to whoever listens at {@code behind};
   * nobody else may listen at {@code address}.
   */
  public Future<Void> open(String address, String behind) {
    this.behind = behind;
    return vertx
        .eventBus()
        .<JsonObject>request(behind, null, new DeliveryOptions().addHeader(BusListener.WHERE, ""))
        .map(answer -> StreamAddress.fromJson(answer.body()))
        .compose(
            target ->
                vertx
                    .createNetServer()
                    .connectHandler(socket -> join(socket, target))
                    .listen(0, "127.0.0.1"))
        .compose(
            server -> {
              JsonObject here = new StreamAddress("127.0.0.1", server.actualPort()).toJson();
              return vertx
                  .eventBus()
                  .consumer(address, message -> message.reply(here))
                  .completion();
            });
  }

  private void join(NetSocket client, StreamAddress target) {
    client.pause();
    vertx
        .createNetClient()
        .connect(target.port(), target.host())
        .onSuccess(
            server -> {
              pass(client, server, Kind.REQUEST.ordinal(), requests);
              pass(server, client, Kind.ANSWER.ordinal(), answers);
              client.resume();
            })
        .onFailure(refused -> client.close());
  }

  /** Passes whole messages on, and damages those of one kind while any are left to damage. */
  private void pass(NetSocket from, NetSocket to, int kind, AtomicInteger left) {
    AtomicReference<Buffer> waiting = new AtomicReference<>(Buffer.buffer());
    from.closeHandler(closed -> to.close());
    from.handler(
        bytes -> {
          Buffer all = waiting.get().appendBuffer(bytes);
          int done = 0;
          int end = end(all, done);
          while (end <= all.length()) {
            if (all.getByte(done + KIND_OFFSET) == Kind.OPEN.ordinal()) {
              all =
                  opening(all.getBuffer(done, end)).appendBuffer(all.getBuffer(end, all.length()));
              end = end(all, 0);
            }
            if (all.getByte(done + KIND_OFFSET) == kind
                && left.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
              all.setByte(end - 1, (byte) (all.getByte(end - 1) ^ 1));
            }
            done = end;
            end = end(all, done);
          }
          to.write(all.getBuffer(0, done));
          waiting.set(all.getBuffer(done, all.length()));
        });
  }

  /** The first message names the address that the stream is for: the one behind the proxy. */
  private Buffer opening(Buffer open) {
    byte[] address = behind.getBytes(StandardCharsets.UTF_8);
    return open.getBuffer(0, StreamMessage.HEADER_BYTES)
        .setIntLE(0, address.length)
        .appendBytes(address);
  }

  /** Where the message that starts here ends; past the end while its length is not known yet. */
  private static int end(Buffer all, int start) {
    return all.length() - start < StreamMessage.HEADER_BYTES
        ? Integer.MAX_VALUE
        : start + StreamMessage.HEADER_BYTES + (int) all.getUnsignedIntLE(start);
  }
}
