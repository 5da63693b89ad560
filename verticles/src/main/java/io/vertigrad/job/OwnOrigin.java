package io.vertigrad.job;

import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.HostAndPort;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The rule by which an HTTP port of a job accepts requests: one must name this server by its own
 * name, and come from this server's pages, from a page that the job names, or from no page. It
 * holds for every transport, because a page of another site may open a socket to any server.
 *
 * <p>The name check prevents DNS rebinding: another site's page whose domain resolves to this
 * machine would otherwise count as this server's own. With TLS the browser makes that check, by the
 * certificate.
 */
public final class OwnOrigin {

  private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "::1", "[::1]");
  private static final String ADDRESS = "[0-9.]+|\\[?[0-9a-fA-F:.]+]?";

  private final String host;
  private final Set<String> others;

  /**
   * Creates the rule of a port that answers its own pages only.
   *
   * @param host the address that the server listens on
   */
  public OwnOrigin(String host) {
    this(host, List.of());
  }

  /**
   * Creates the rule of a port that answers pages of other servers too.
   *
   * @param host the address that the server listens on
   * @param others origins of the other pages, exactly as browsers send them
   */
  public OwnOrigin(String host, List<String> others) {
    this.host = host;
    this.others = Set.copyOf(others);
  }

  /**
   * Checks a request.
   *
   * @param request a request to the port
   * @return why it is refused; empty if it is accepted
   */
  public Optional<String> refusal(HttpServerRequest request) {
    HostAndPort authority = request.authority();
    if (authority == null || !request.isSSL() && !own(authority.host())) {
      return Optional.of("this server goes by the address it printed, not by this name");
    }
    String origin = request.getHeader("Origin");
    String own = (request.isSSL() ? "https://" : "http://") + request.getHeader("Host");
    return origin == null || origin.equals(own) || others.contains(origin)
        ? Optional.empty()
        : Optional.of("only pages of this server may ask");
  }

  private boolean own(String name) {
    boolean loopback = LOOPBACK.contains(host);
    return LOOPBACK.contains(name) || name.equals(host) || !loopback && name.matches(ADDRESS);
  }
}
