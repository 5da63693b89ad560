package io.vertigrad.dashboard;

import io.vertigrad.codecs.Addresses;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.handler.sockjs.SockJSSocket;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects browsers to the event bus, in the JSON protocol of Vert.x's bridge: browsers listen to
 * {@code metrics.<job>} and send requests to {@code metrics-requests.<job>}.
 *
 * <p>It encodes a delta once for all browsers that listen, and a snapshot once for all that ask
 * between two deltas. Everything that a browser can ask for has a limit. A browser that exceeds a
 * limit is disconnected, and the page connects again. Single-threaded: everything runs on the event
 * loop of the dashboard.
 */
final class BrowserBridge implements Handler<SockJSSocket> {

  static final int SOCKETS = 256;
  static final int SOCKETS_PER_ADDRESS = 64;

  /** Most unsent bytes for all browsers together. */
  static final int PENDING_BYTES = 16 << 20;

  /** Most registrations plus unanswered requests of one socket. */
  static final int HANDLERS = 16;

  private static final String LISTENED = "metrics\\..+";
  private static final int ADDRESS_LENGTH = 100;
  private static final int SNAPSHOT_BYTES_PER_SECOND = 4 << 20;
  private static final long SNAPSHOT_MILLIS = 333;
  private static final long REPLY_MILLIS = 10_000;
  private static final long LOOK_MILLIS = 5_000;
  private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(15);
  private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final int FORBIDDEN = 403;

  private static final Logger LOG = LoggerFactory.getLogger(BrowserBridge.class);

  private final Vertx vertx;
  private final Addresses addresses;
  private final Set<BrowserSocket> sockets = new LinkedHashSet<>();
  private final Map<String, Topic> topics = new HashMap<>();
  private final Allowance snapshotBytes =
      new Allowance(2 * SNAPSHOT_BYTES_PER_SECOND, SNAPSHOT_BYTES_PER_SECOND);
  private Optional<Snapshot> snapshot = Optional.empty();
  private long pendingBytes;
  private long newestDelta;
  private long loggedNanos = System.nanoTime() - LOG_NANOS;
  private int notLogged;

  /** An address that browsers listen to, with its consumer and its listeners. */
  private record Topic(MessageConsumer<?> consumer, Set<BrowserSocket> listeners) {}

  /** The encoded answer to every browser that asks before the next delta. */
  private record Snapshot(Future<Buffer> body, long askedNanos) {}

  /** Creates the bridge; {@code addresses} are those of the job that the page shows. */
  BrowserBridge(Vertx vertx, Addresses addresses) {
    this.vertx = vertx;
    this.addresses = addresses;
  }

  /** Starts to follow the job; the bridge accepts sockets from now on. */
  void open() {
    topic(addresses.metrics());
    vertx.setPeriodic(LOOK_MILLIS, timer -> closeSilentSockets());
  }

  @Override
  public void handle(SockJSSocket socket) {
    BrowserSocket browser = new BrowserSocket(socket, System.nanoTime());
    long fromThere = sockets.stream().filter(other -> other.host().equals(browser.host())).count();
    if (sockets.size() >= SOCKETS || fromThere >= SOCKETS_PER_ADDRESS) {
      warn(
          "a browser at %s was turned away: %s are connected, %s of them from there"
              .formatted(browser.host(), sockets.size(), fromThere));
      socket.close();
      return;
    }
    sockets.add(browser);
    // A broken connection calls the end handler too.
    socket.exceptionHandler(broken -> {});
    socket.endHandler(ended -> forget(browser));
    socket.handler(message -> receive(browser, message));
  }

  /** Returns whether a browser that listens to the job has not been sent the newest delta yet. */
  boolean hasUnsentDelta() {
    return sockets.stream()
        .filter(browser -> browser.topics().contains(addresses.metrics()))
        .anyMatch(browser -> browser.lacks(newestDelta));
  }

  /** Returns the unsent bytes for all browsers together. */
  long pendingBytes() {
    return pendingBytes;
  }

  private void receive(BrowserSocket browser, Buffer text) {
    if (!sockets.contains(browser)) {
      return;
    }
    long now = System.nanoTime();
    if (!browser.mayAsk(now)) {
      close(browser, "it asks too often");
      return;
    }
    if (!browser.mayBeAnswered(now)) {
      // Not decoded either: to decode and refuse it would cost as much as to answer it.
      return;
    }
    JsonObject message;
    try {
      message = new JsonObject(text);
    } catch (DecodeException e) {
      refuse(browser, "", "invalid_json", "expected a JSON object");
      return;
    }
    String type = textOf(message, "type");
    String address = textOf(message, "address");
    if (Math.max(address.length(), textOf(message, "replyAddress").length()) > ADDRESS_LENGTH) {
      refuse(browser, "", "max_address_length_reached", "expected a shorter address");
      return;
    }
    switch (type) {
      case "ping" -> {}
      case "register" -> listen(browser, message, address);
      case "unregister" -> leave(browser, address);
      case "send" -> send(browser, message, address);
      case "publish" -> deny(browser, "publish to", message, address);
      default ->
          refuse(browser, address, "invalid_type", "expected a type such as register or send");
    }
  }

  private void listen(BrowserSocket browser, JsonObject message, String address) {
    if (!address.matches(LISTENED)) {
      deny(browser, "listen to", message, address);
    } else if (mayHandleMore(browser, address)) {
      topic(address).listeners().add(browser);
      browser.topics().add(address);
      if (address.equals(addresses.metrics())) {
        browser.listensAfter(newestDelta);
      }
    }
  }

  private void leave(BrowserSocket browser, String address) {
    if (browser.topics().remove(address)) {
      Topic left = topics.get(address);
      left.listeners().remove(browser);
      if (left.listeners().isEmpty() && !address.equals(addresses.metrics())) {
        topics.remove(address);
        left.consumer().unregister();
      }
    }
  }

  private Topic topic(String address) {
    return topics.computeIfAbsent(
        address,
        name -> {
          Set<BrowserSocket> listeners = new LinkedHashSet<>();
          return new Topic(
              vertx.eventBus().consumer(name, message -> deliver(name, message, listeners)),
              listeners);
        });
  }

  private void deliver(String address, Message<?> message, Set<BrowserSocket> listeners) {
    long number =
        message.body() instanceof JsonObject delta
                && "delta".equals(delta.getValue("kind"))
                && delta.getValue("number") instanceof Number found
            ? found.longValue()
            : 0;
    if (address.equals(addresses.metrics())) {
      snapshot = Optional.empty();
      newestDelta = Math.max(newestDelta, number);
    }
    if (listeners.isEmpty() || !(message.body() instanceof JsonObject body)) {
      return;
    }
    Buffer text = envelope(address).put("body", body).toBuffer();
    for (BrowserSocket browser : List.copyOf(listeners)) {
      write(browser, text, number);
    }
  }

  private void send(BrowserSocket browser, JsonObject message, String address) {
    if (!address.equals(addresses.metricsRequests())) {
      deny(browser, "send to", message, address);
      return;
    }
    String asker = textOf(message, "replyAddress");
    if (!(message.getValue("body") instanceof JsonObject request)) {
      refuse(browser, asker, "invalid_body", "expected a JSON object as body");
    } else if (asker.isEmpty()) {
      vertx.eventBus().send(address, request);
    } else if (mayHandleMore(browser, asker)) {
      browser.awaitAnswer();
      if ("snapshot".equals(request.getValue("request"))) {
        snapshot().onComplete(found -> answerSnapshot(browser, asker, found));
      } else {
        ask(address, request).onComplete(found -> answer(browser, asker, found));
      }
    }
  }

  private Future<JsonObject> ask(String address, JsonObject request) {
    return vertx
        .eventBus()
        .request(address, request, new DeliveryOptions().setSendTimeout(REPLY_MILLIS))
        .map(reply -> reply.body() instanceof JsonObject body ? body : new JsonObject());
  }

  /**
   * Returns the newest snapshot: the same until the next delta, or for a third of a second without
   * one.
   */
  private Future<Buffer> snapshot() {
    long now = System.nanoTime();
    if (snapshot.isEmpty()
        || snapshot.get().body().failed()
        || now - snapshot.get().askedNanos() > TimeUnit.MILLISECONDS.toNanos(SNAPSHOT_MILLIS)) {
      JsonObject request = new JsonObject().put("request", "snapshot");
      Future<Buffer> body = ask(addresses.metricsRequests(), request).map(JsonObject::toBuffer);
      snapshot = Optional.of(new Snapshot(body, now));
    }
    return snapshot.get().body();
  }

  /** Sends the snapshot. The body was encoded once for all; only the address before it differs. */
  private void answerSnapshot(BrowserSocket browser, String asker, AsyncResult<Buffer> found) {
    if (!sockets.contains(browser)) {
      return;
    }
    if (found.failed()) {
      answer(browser, asker, Future.failedFuture(found.cause()));
      return;
    }
    Buffer body = found.result();
    long now = System.nanoTime();
    boolean often = !browser.mayHaveSnapshot(now);
    if (often || !snapshotBytes.take(now, body.length())) {
      String limit =
          often
              ? "a browser gets one snapshot a second"
              : String.format(
                  Locale.ROOT,
                  "all browsers together get %,d bytes of snapshots a second",
                  SNAPSHOT_BYTES_PER_SECOND);
      JsonObject refusal = MetricsRequestHandler.refused(limit + ": ask again in a second");
      answer(browser, asker, Future.succeededFuture(refusal));
      return;
    }
    browser.answered();
    String start = envelope(asker).encode();
    write(
        browser,
        Buffer.buffer(start.length() + body.length() + 16)
            .appendString(start.substring(0, start.length() - 1))
            .appendString(",\"body\":")
            .appendBuffer(body)
            .appendString("}"),
        0);
  }

  private void answer(BrowserSocket browser, String asker, AsyncResult<JsonObject> found) {
    browser.answered();
    if (found.succeeded()) {
      write(browser, envelope(asker).put("body", found.result()).toBuffer(), 0);
    } else {
      JsonObject error = new JsonObject().put("type", "err").put("address", asker);
      if (found.cause() instanceof ReplyException failure) {
        error.put("failureCode", failure.failureCode()).put("failureType", failure.failureType());
      }
      error.put("message", found.cause().getMessage());
      write(browser, error.toBuffer(), 0);
    }
  }

  private static JsonObject envelope(String address) {
    return new JsonObject().put("type", "rec").put("address", address);
  }

  private boolean mayHandleMore(BrowserSocket browser, String address) {
    if (browser.handlers() < HANDLERS) {
      return true;
    }
    String limit = "a browser has %s registrations and open requests at most".formatted(HANDLERS);
    refuse(browser, address, "max_handlers_reached", limit);
    return false;
  }

  private void deny(BrowserSocket browser, String verb, JsonObject message, String address) {
    String asker = textOf(message, "replyAddress");
    refuse(
        browser,
        asker.isEmpty() ? address : asker,
        "access_denied",
        "a browser may not %s %s; it may listen to metrics.<job> and send to %s"
            .formatted(verb, address, addresses.metricsRequests()));
  }

  /** Answers with an error that the client passes to the callback or handler of this address. */
  private void refuse(BrowserSocket browser, String address, String code, String message) {
    JsonObject error =
        new JsonObject()
            .put("type", "err")
            .put("address", address)
            .put("failureType", code)
            .put("failureCode", FORBIDDEN)
            .put("message", message)
            .put("body", code);
    write(browser, error.toBuffer(), 0);
  }

  /** Writes a message; {@code number} is that of the delta being sent, 0 for any other message. */
  private void write(BrowserSocket browser, Buffer message, long number) {
    int length = message.length();
    if (sockets.contains(browser) && !browser.hasRoomFor(length)) {
      close(browser, "it does not read");
    }
    while (pendingBytes > 0 && pendingBytes + length > PENDING_BYTES) {
      sockets.stream()
          .max(Comparator.comparingLong(BrowserSocket::pendingBytes))
          .ifPresent(slowest -> close(slowest, "it reads slowest and too much is pending"));
    }
    if (!sockets.contains(browser)) {
      return;
    }
    pendingBytes += length;
    browser
        .write(message)
        .onComplete(
            written -> {
              browser.written(length, number);
              if (sockets.contains(browser)) {
                pendingBytes -= length;
              }
            });
  }

  private void closeSilentSockets() {
    long now = System.nanoTime();
    List.copyOf(sockets).stream()
        .filter(browser -> browser.silentNanos(now) > SILENT_NANOS)
        .forEach(browser -> close(browser, "it sent nothing for 15 s"));
  }

  private void close(BrowserSocket browser, String why) {
    if (forget(browser)) {
      warn("a browser at %s was closed: %s".formatted(browser.host(), why));
      browser.close();
    }
  }

  private boolean forget(BrowserSocket browser) {
    if (!sockets.remove(browser)) {
      return false;
    }
    pendingBytes -= browser.pendingBytes();
    Set.copyOf(browser.topics()).forEach(address -> leave(browser, address));
    return true;
  }

  /** Logs at most one line a second, however many browsers misbehave. */
  private void warn(String line) {
    long now = System.nanoTime();
    if (now - loggedNanos < LOG_NANOS) {
      notLogged++;
      return;
    }
    LOG.warn("{}{}", line, notLogged == 0 ? "" : "; and %s others before".formatted(notLogged));
    loggedNanos = now;
    notLogged = 0;
  }

  private static String textOf(JsonObject message, String key) {
    return message.getValue(key) instanceof String text ? text : "";
  }
}
