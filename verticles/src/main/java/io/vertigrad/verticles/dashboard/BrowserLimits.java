package io.vertigrad.verticles.dashboard;

import io.vertx.core.Handler;
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

  private static final Logger LOG = LoggerFactory.getLogger(BrowserLimits.class);

  private final Map<SockJSSocket, BrowserSocket> sockets = new ConcurrentHashMap<>();
  private final EncodedOnce encoded = new EncodedOnce();

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
      case SEND, PUBLISH, REGISTER, SOCKET_PING ->
          event.tryComplete(type != BridgeEventType.PUBLISH && mayAsk(socket));
      default -> event.tryComplete(true);
    }
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
    if (browser != null && !browser.write(encoded.of(event.getRawMessage()))) {
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
