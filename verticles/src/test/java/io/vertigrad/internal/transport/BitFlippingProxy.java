package io.vertigrad.internal.transport;

import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A proxy between the two ends of a stream that flips one bit in the last byte of a given number of
 * requests and answers.
 */
public final class BitFlippingProxy {

  private static final int KIND_OFFSET = 4;

  private final Vertx vertx;

  /** Kept in a field, because Vert.x closes a client that is not referenced any more. */
  private final NetClient connecting;

  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicInteger answers = new AtomicInteger();

  private String address;
  private String behind;

  public BitFlippingProxy(Vertx vertx) {
    this.vertx = vertx;
    connecting = vertx.createNetClient();
  }

  /** Damages the next {@code count} requests. */
  public void flipRequests(int count) {
    requests.set(count);
  }

  /** Damages the next {@code count} answers. */
  public void flipAnswers(int count) {
    answers.set(count);
  }

  /** Returns how many requests are still to be damaged. */
  public int requestsToFlip() {
    return requests.get();
  }

  /** Returns how many answers are still to be damaged. */
  public int answersToFlip() {
    return answers.get();
  }

  /**
   * Accepts streams to {@code address} and forwards them to the listener at {@code behind}; nobody
   * else may listen at {@code address}.
   */
  public Future<Void> open(String address, String behind) {
    this.address = address;
    this.behind = behind;
    return vertx
        .eventBus()
        .<JsonObject>request(
            behind, null, new DeliveryOptions().addHeader(BusListener.ADDRESS_LOOKUP, ""))
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
    connecting
        .connect(target.port(), target.host())
        .onSuccess(
            server -> {
              Handshake handshake = new Handshake();
              pass(client, server, Kind.REQUEST, requests, handshake);
              pass(server, client, Kind.ANSWER, answers, handshake);
              client.resume();
            })
        .onFailure(refused -> client.close());
  }

  /** Forwards whole messages, and damages those of one kind while any are left to damage. */
  private static void pass(
      NetSocket from, NetSocket to, Kind kind, AtomicInteger left, Handshake handshake) {
    AtomicReference<Buffer> waiting = new AtomicReference<>(Buffer.buffer());
    from.closeHandler(closed -> to.close());
    from.handler(
        bytes -> {
          Buffer all = waiting.get().appendBuffer(bytes);
          int done = 0;
          int end = end(all, done);
          while (end <= all.length()) {
            Buffer message = all.getBuffer(done, end);
            int code = message.getByte(KIND_OFFSET);
            if (code == kind.ordinal() && left.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
              int last = message.length() - 1;
              message.setByte(last, (byte) (message.getByte(last) ^ 1));
            }
            to.write(handshake.translated(Kind.values()[code], message));
            done = end;
            end = end(all, done);
          }
          waiting.set(all.getBuffer(done, all.length()));
        });
  }

  /**
   * Translates the proofs: the stream is opened for the proxy's address on one side and for the
   * address behind it on the other. The job has no secret, so the proxy can prove both.
   */
  private final class Handshake {

    private final StreamProof here = new StreamProof(JobSecret.none(), address);
    private final StreamProof there = new StreamProof(JobSecret.none(), behind);
    private byte[] ofSender;
    private byte[] ofListener;

    Buffer translated(Kind kind, Buffer message) {
      byte[] body = message.getBytes(StreamMessage.HEADER_BYTES, message.length());
      return switch (kind) {
        case OPEN -> {
          ofSender = Arrays.copyOf(body, StreamProof.NONCE_BYTES);
          yield with(message, there.opening(ofSender));
        }
        case CHALLENGE -> {
          ofListener = Arrays.copyOf(body, StreamProof.NONCE_BYTES);
          yield with(message, here.challenge(ofSender, ofListener));
        }
        case PROOF -> with(message, there.proof(ofSender, ofListener));
        default -> message;
      };
    }

    private Buffer with(Buffer message, byte[] body) {
      return message
          .getBuffer(0, StreamMessage.HEADER_BYTES)
          .setIntLE(0, body.length)
          .appendBytes(body);
    }
  }

  /**
   * Returns the end of the message that starts here; a value past the end if its length is not
   * known yet.
   */
  private static int end(Buffer all, int start) {
    return all.length() - start < StreamMessage.HEADER_BYTES
        ? Integer.MAX_VALUE
        : start + StreamMessage.HEADER_BYTES + (int) all.getUnsignedIntLE(start);
  }
}
