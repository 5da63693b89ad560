package io.vertigrad.dashboard;

import io.vertigrad.codecs.Addresses;
import io.vertx.core.Handler;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.bridge.BridgeEventType;
import io.vertx.ext.web.handler.sockjs.BridgeEvent;
import io.vertx.ext.web.handler.sockjs.SockJSSocket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps browsers from costing the run anything: so many of them, each with a limit on what it may
 * ask and on what may wait for it. Whoever exceeds one is closed; a page comes back by itself.
 *
 * <p>Sockets live on different event loops.
 */
final class BrowserLimits implements Handler<BridgeEvent> {

  static final int SOCKETS = 256;

  /** What a browser may listen to. */
  static final String LISTENED = "metrics\\..+";

  private static final String ADDRESS = "address";
  private static final String DENIED = "access_denied";
  private static final int FORBIDDEN = 403;
  private static final Map<BridgeEventType, String> VERBS =
      Map.of(
          BridgeEventType.SEND, "send to",
          BridgeEventType.PUBLISH, "publish to",
          BridgeEventType.REGISTER, "listen to");

  private static final Logger LOG = LoggerFactory.getLogger(BrowserLimits.class);

  private final Map<SockJSSocket, BrowserSocket> sockets = new ConcurrentHashMap<>();
  private final EncodedOnce encoded = new EncodedOnce();
  private final Addresses addresses;

  /** {@code addresses} of the job whose page this is. */
  BrowserLimits(Addresses addresses) {
    this.addresses = addresses;
  }

  @Override
  public void handle(BridgeEvent event) {
    SockJSSocket socket = event.socket();
    BridgeEventType type = event.type();
    switch (type) {
      case SOCKET_CREATED -> event.tryComplete(admit(socket));
      case SOCKET_CLOSED, SOCKET_ERROR -> {
        sockets.remove(socket);
        event.tryComplete(true);
      }
      case RECEIVE -> {
        deliver(socket, event);
        event.tryComplete(false);
      }
      case SOCKET_PING -> event.tryComplete(mayAsk(socket));
      case SEND, PUBLISH, REGISTER -> decide(socket, event);
      default -> event.tryComplete(true);
    }
  }

  /** True while a browser that follows the run has not been sent the delta of this number. */
  boolean lacks(long number) {
    return sockets.values().stream().anyMatch(browser -> browser.lacks(number));
  }

  private boolean admit(SockJSSocket socket) {
    if (sockets.size() >= SOCKETS) {
      LOG.warn("a browser was turned away: {} are connected", SOCKETS);
      return false;
    }
    sockets.put(socket, new BrowserSocket(socket));
    return true;
  }

  /** The bridge would write without looking whether anybody reads. */
  private void deliver(SockJSSocket socket, BridgeEvent event) {
    BrowserSocket browser = sockets.get(socket);
    JsonObject message = event.getRawMessage();
    long number = EncodedOnce.delta(message).map(delta -> delta.getLong("number", 0L)).orElse(0L);
    if (browser != null && !browser.write(encoded.of(message), number)) {
      close(socket, "it does not read");
    }
  }

  /**
   * Passes on what is permitted. What is not is answered here, so that whoever waits is told; the
   * bridge's own answer names no address, and clients find nobody to give it to. The event then
   * stays open, which is how the bridge is kept from answering too.
   */
  private void decide(SockJSSocket socket, BridgeEvent event) {
    if (!mayAsk(socket)) {
      event.tryComplete(false);
    } else if (permitted(event.type(), event.getRawMessage())) {
      event.tryComplete(true);
    } else {
      deny(socket, event.type(), event.getRawMessage());
    }
  }

  private boolean permitted(BridgeEventType type, JsonObject message) {
    String address = String.valueOf(message.getValue(ADDRESS));
    return switch (type) {
      case SEND -> address.equals(addresses.metricsRequests());
      case REGISTER -> address.matches(LISTENED);
      default -> false;
    };
  }

  private void deny(SockJSSocket socket, BridgeEventType type, JsonObject message) {
    Object address = message.getValue(ADDRESS);
    Object asker = message.getValue("replyAddress");
    JsonObject answer =
        new JsonObject()
            .put("type", "err")
            .put(ADDRESS, asker == null ? address : asker)
            .put("failureType", DENIED)
            .put("failureCode", FORBIDDEN)
            .put(
                "message",
                "a browser may not %s %s; it may listen to metrics.<job> and send to %s"
                    .formatted(
                        VERBS.getOrDefault(type, "use"), address, addresses.metricsRequests()))
            .put("body", DENIED);
    BrowserSocket browser = sockets.get(socket);
    if (browser != null && !browser.write(answer.toBuffer())) {
      close(socket, "it does not read");
    }
  }

  private boolean mayAsk(SockJSSocket socket) {
    BrowserSocket browser = sockets.get(socket);
    if (browser != null && browser.mayAsk(System.nanoTime())) {
      return true;
    }
    close(socket, "it asks too often");
    return false;
  }

  private void close(SockJSSocket socket, String why) {
    if (sockets.remove(socket) != null) {
      LOG.warn("a browser at {} was closed: {}", socket.remoteAddress(), why);
      socket.close();
    }
  }
}
