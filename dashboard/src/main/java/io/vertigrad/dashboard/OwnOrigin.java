package io.vertigrad.dashboard;

import io.vertx.core.Handler;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.HostAndPort;
import io.vertx.ext.web.RoutingContext;
import java.util.Set;

/**
 * Accepts a request only if it names this server by its own name, and comes from this server's
 * pages or from no page. This covers every transport, because a page of another site may open a
 * socket to any server.
 *
 * <p>The name check prevents DNS rebinding: another site's page whose domain resolves to this
 * machine would otherwise count as this server's own.
 */
final class OwnOrigin implements Handler<RoutingContext> {

  private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "::1", "[::1]");
  private static final String ADDRESS = "[0-9.]+|\\[?[0-9a-fA-F:.]+]?";
  private static final int FORBIDDEN = 403;

  private final String host;

  /** Creates the check; {@code host} is the address that this server listens on. */
  OwnOrigin(String host) {
    this.host = host;
  }

  @Override
  public void handle(RoutingContext context) {
    HttpServerRequest request = context.request();
    HostAndPort authority = request.authority();
    if (authority == null || !own(authority.host())) {
      refuse(context, "this server goes by the address it printed, not by this name");
    } else if (!sameOrigin(request.getHeader("Origin"), request.getHeader("Host"))) {
      refuse(context, "only pages of this server may ask");
    } else {
      context.next();
    }
  }

  private boolean own(String name) {
    boolean loopback = LOOPBACK.contains(host);
    return LOOPBACK.contains(name) || name.equals(host) || !loopback && name.matches(ADDRESS);
  }

  private static boolean sameOrigin(String origin, String hostHeader) {
    return origin == null || origin.equals("http://" + hostHeader);
  }

  private static void refuse(RoutingContext context, String why) {
    context.response().setStatusCode(FORBIDDEN).end(why + "\n");
  }
}
