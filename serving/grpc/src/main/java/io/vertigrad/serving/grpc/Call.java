package io.vertigrad.serving.grpc;

import io.vertigrad.serving.internal.InferenceService;
import io.vertigrad.serving.internal.InferenceService.Holder;
import io.vertigrad.serving.internal.Refusal;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.grpc.common.GrpcMessage;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServerRequest;
import io.vertx.grpc.server.GrpcServerResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A call, from its first byte until its answer has left. It holds memory for its messages, and
 * gives it back when the answer has left or the peer is gone. Belongs to the server's event loop.
 */
final class Call {

  private static final Logger LOG = LoggerFactory.getLogger(Call.class);

  /** Longest time for sending a request, and for reading the answer. */
  private static final long PHASE_MILLIS = 60_000;

  /** HTTP/2's code for a stream that is not needed any more. */
  private static final long CANCEL = 8;

  /** A message's compression flag and length, which stand before it. */
  private static final int PREFIX_BYTES = 5;

  private static final int MOST_SHOWN = 200;

  private final Vertx vertx;
  private final HttpServerRequest http;

  /** Completes when the peer has sent all of the request. */
  private final Future<Void> sent;

  private final Holder holder;
  private final int mostBytes;
  private final List<Runnable> endings = new ArrayList<>();
  private GrpcServerRequest<Buffer, Buffer> request;
  private GrpcServerResponse<Buffer, Buffer> response;
  private long received;
  private long receiving = -1;
  private long deadline = -1;
  private boolean computing;
  private boolean ended;

  /**
   * Creates a call whose body has not been read.
   *
   * @param service what answers it; its limit of a message is that of all messages of the call
   */
  Call(InferenceService service, HttpServerRequest http) {
    this.vertx = service.vertx();
    this.http = http;
    this.sent = http.end();
    this.holder = service.holder();
    this.mostBytes = service.mostBytes();
  }

  /** Takes a part of the body if there is memory for it; what follows a refusal is dropped. */
  void onPart(Buffer part, Handler<Buffer> taker) {
    if (ended) {
      return;
    }
    received += part.length();
    try {
      if (received > (long) mostBytes + PREFIX_BYTES) {
        throw tooLarge();
      }
      // A buffer that grows is copied into one of twice its size.
      holder.receive(2 * received);
      taker.handle(part);
    } catch (UnsupportedOperationException compressed) {
      // Vert.x throws it for a compressed message without the header grpc-encoding.
      refuse(Refusal.invalid("message: is compressed, expected the header grpc-encoding"));
    } catch (RuntimeException why) {
      refuse(why);
    }
  }

  /** Takes the end of the body, unless a refusal was sent before. */
  void onLast(Handler<Void> taker) {
    if (!ended) {
      taker.handle(null);
    }
  }

  private Refusal tooLarge() {
    return new Refusal(
        Code.TOO_LARGE,
        "message: has more than %s bytes, expected at most so many (serving.maxBytes)"
            .formatted(mostBytes));
  }

  /** Begins to receive what the peer sends; the deadline is the peer's. */
  private void begin(GrpcServerRequest<Buffer, Buffer> arrived) {
    request = arrived;
    response = arrived.response();
    arrived.errorHandler(error -> release());
    arrived.exceptionHandler(broken -> release());
    response.exceptionHandler(broken -> release());
    arrived.invalidMessageHandler(large -> refuse(tooLarge()));
    if (arrived.timeout() > 0) {
      deadline =
          vertx.setTimer(
              arrived.timeout(),
              late ->
                  end(
                      GrpcStatus.DEADLINE_EXCEEDED,
                      "the deadline of the call (grpc-timeout) has passed",
                      null));
    }
  }

  /** Prepares to answer without reading the request. */
  void only(GrpcServerRequest<Buffer, Buffer> arrived, GrpcStatus status, String message) {
    begin(arrived);
    end(status, message, null);
  }

  /**
   * Receives the only message of a call, and answers it once.
   *
   * @param method answers the message; an exception refuses it
   */
  void unary(
      GrpcServerRequest<Buffer, Buffer> arrived, Function<GrpcMessage, Future<Buffer>> method) {
    receive(
        arrived,
        message -> {
          Future<Buffer> answer = method.apply(message);
          computing = true;
          answer.onComplete(
              done -> {
                computing = false;
                if (ended) {
                  holder.release();
                } else if (done.succeeded()) {
                  end(GrpcStatus.OK, null, done.result());
                } else {
                  refuse(done.cause());
                }
              });
        });
  }

  /**
   * Receives the only message of a call.
   *
   * @param taker takes it; an exception refuses it
   */
  void receive(GrpcServerRequest<Buffer, Buffer> arrived, Consumer<GrpcMessage> taker) {
    begin(arrived);
    receiving =
        vertx.setTimer(
            PHASE_MILLIS,
            late ->
                end(
                    GrpcStatus.DEADLINE_EXCEEDED,
                    "message: was not there after %s s".formatted(PHASE_MILLIS / 1000),
                    null));
    GrpcMessage[] message = {null};
    arrived.messageHandler(
        next -> {
          if (message[0] != null) {
            refuse(Refusal.invalid("request: has a second message, expected one"));
          }
          message[0] = next;
        });
    arrived.endHandler(
        all -> {
          vertx.cancelTimer(receiving);
          if (ended) {
            return;
          }
          try {
            if (message[0] == null) {
              throw Refusal.invalid("request: has no message, expected one");
            }
            taker.accept(message[0]);
          } catch (RuntimeException why) {
            refuse(why);
          }
        });
  }

  /**
   * Receives messages, each of which is answered at once, until the peer ends.
   *
   * @param method returns the answer to a message
   */
  void each(GrpcServerRequest<Buffer, Buffer> arrived, Function<GrpcMessage, Buffer> method) {
    begin(arrived);
    arrived.messageHandler(
        message -> {
          if (ended) {
            return;
          }
          try {
            send(method.apply(message));
          } catch (RuntimeException why) {
            refuse(why);
          }
        });
    arrived.endHandler(all -> end(GrpcStatus.OK, null, null));
  }

  /** Sends a message of several; a peer that does not read them is left. */
  void send(Buffer message) {
    if (ended) {
      return;
    }
    if (response.writeQueueFull()) {
      http.response().reset(CANCEL);
      release();
    } else {
      response.write(message);
    }
  }

  /** Runs an action when this call ends, for any reason; at once if it has ended. */
  void onEnd(Runnable action) {
    if (ended) {
      action.run();
    } else {
      endings.add(action);
    }
  }

  /** Returns the message's content, which must not be compressed to more than it may be. */
  byte[] content(GrpcMessage message) {
    return switch (message.encoding()) {
      case "identity" -> {
        holder.add(message.payload().length(), "message");
        yield message.payload().getBytes();
      }
      case "gzip" -> holder.unpacked(message.payload(), mostBytes);
      default ->
          throw new Refusal(
              Code.UNSUPPORTED,
              "grpc-encoding: is %s, expected gzip or identity"
                  .formatted(shown(message.encoding())));
    };
  }

  /** Returns a text of a request for a message, never a long one. */
  static String shown(String text) {
    return text.length() > MOST_SHOWN ? text.substring(0, MOST_SHOWN) + "..." : text;
  }

  /** Returns the memory that this call holds. */
  Holder holder() {
    return holder;
  }

  /** Returns the header with the peer's token. */
  Optional<String> authorization() {
    return Optional.ofNullable(http.getHeader("authorization"));
  }

  private void refuse(Throwable why) {
    if (why instanceof Refusal refusal) {
      end(status(refusal.code()), refusal.getMessage(), null);
    } else {
      LOG.error("a call could not be answered", why);
      end(GrpcStatus.INTERNAL, String.valueOf(why), null);
    }
  }

  private static GrpcStatus status(Code code) {
    return switch (code) {
      case INVALID -> GrpcStatus.INVALID_ARGUMENT;
      case UNAUTHENTICATED -> GrpcStatus.UNAUTHENTICATED;
      case FORBIDDEN -> GrpcStatus.PERMISSION_DENIED;
      case UNKNOWN -> GrpcStatus.NOT_FOUND;
      case TOO_LARGE -> GrpcStatus.RESOURCE_EXHAUSTED;
      case UNSUPPORTED -> GrpcStatus.UNIMPLEMENTED;
      case NOT_READY, OVERLOADED -> GrpcStatus.UNAVAILABLE;
      case FAILED -> GrpcStatus.INTERNAL;
    };
  }

  private void end(GrpcStatus status, String message, Buffer answer) {
    if (ended) {
      return;
    }
    finish();
    response.status(status);
    if (message != null) {
      response.statusMessage(message);
    }
    Future<Void> written = answer == null ? response.end() : response.end(answer);
    long reading = vertx.setTimer(PHASE_MILLIS, late -> http.response().reset(CANCEL));
    written.onComplete(left -> giveBack());
    Future.join(written, sent).onComplete(left -> vertx.cancelTimer(reading));
  }

  private void release() {
    if (!ended) {
      finish();
      giveBack();
    }
  }

  /** Gives back what the call holds; what is still computed is given back when that ends. */
  private void giveBack() {
    if (!computing) {
      holder.release();
    }
  }

  private void finish() {
    ended = true;
    vertx.cancelTimer(receiving);
    vertx.cancelTimer(deadline);
    endings.forEach(Runnable::run);
  }
}
