package io.vertigrad.http;

import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The rule by which an HTTP port of a job accepts requests: one must name this server by a name of
 * its own, and come from this server's pages, from a page that the job names, or from no page. It
 * holds for every transport, because a page of another site may open a socket to any server.
 *
 * <p>The name check prevents DNS rebinding: another site's page whose domain resolves to this
 * machine would otherwise count as this server's own. Names of its own are loopback's, the address
 * that it listens on, beyond loopback any numeric address, and those that the user lists. Every
 * browser names the server, so a {@code GET} or {@code HEAD} without a name comes from none, and is
 * accepted. With TLS the browser makes the check, by the certificate.
 */
public final class OwnOrigin {

  private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "::1");
  private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|[0-9a-fA-F.]*:[0-9a-fA-F:.]+");

  /** A name, an IPv4 address, or an IPv6 address in brackets; and a port, which is ignored. */
  private static final Pattern AUTHORITY =
      Pattern.compile("(?:\\[([0-9a-fA-F:.]+)]|([A-Za-z0-9._-]+))(?::\\d{0,5})?");

  private static final int MALFORMED = 400;
  private static final int FORBIDDEN = 403;

  private final String host;
  private final List<String> names;
  private final String key;
  private final Set<String> others;

  /**
   * Why a request is not answered.
   *
   * @param status of the answer, 400 or 403
   * @param reason a sentence, with what to do
   */
  public record Refusal(int status, String reason) {}

  /**
   * Creates the rule of a port.
   *
   * @param host the address that the server listens on
   * @param names further names of the server, without a port; {@code *.example} is any name below
   *     that one
   * @param key the key of the job file with these names, for the reason of a refusal
   * @param others origins of pages of other servers that may ask, exactly as browsers send them
   */
  public OwnOrigin(String host, List<String> names, String key, List<String> others) {
    this.host = plain(host);
    this.names = names.stream().map(OwnOrigin::plain).toList();
    this.key = key;
    this.others = Set.copyOf(others);
  }

  /**
   * Checks a request.
   *
   * @param request a request to the port
   * @return why it is refused; empty if it is accepted
   */
  public Optional<Refusal> refusal(HttpServerRequest request) {
    List<String> asked = request.headers().getAll("Host");
    Optional<Refusal> wrong = request.isSSL() ? Optional.empty() : wrongName(request, asked);
    String origin = request.getHeader("Origin");
    if (wrong.isPresent()
        || origin == null
        || isOwnPage(request, origin)
        || others.contains(origin)) {
      return wrong;
    }
    return Optional.of(
        new Refusal(
            FORBIDDEN,
            ("only pages of this server may ask: found Origin %s, expected that of Host %s; a proxy"
                    + " in between must pass the browser's Host on, with its port")
                .formatted(origin, request.getHeader("Host"))));
  }

  /**
   * Returns whether a page comes from this server by its name and port. A proxy may have ended TLS,
   * so that pages of a plain port may have either scheme; what a proxy says in further headers is
   * not needed, and anyone could write it.
   */
  private static boolean isOwnPage(HttpServerRequest request, String origin) {
    String host = request.getHeader("Host");
    return host != null
        && (origin.equals("https://" + host)
            || !request.isSSL() && origin.equals("http://" + host));
  }

  private Optional<Refusal> wrongName(HttpServerRequest request, List<String> asked) {
    if (asked.isEmpty()) {
      boolean reads = Set.of(HttpMethod.GET, HttpMethod.HEAD).contains(request.method());
      return reads
          ? Optional.empty()
          : Optional.of(new Refusal(MALFORMED, "expected a Host header with this server's name"));
    }
    Matcher authority = AUTHORITY.matcher(asked.get(0));
    if (asked.size() > 1 || !authority.matches()) {
      return Optional.of(
          new Refusal(
              MALFORMED,
              "expected one Host header, a name and perhaps a port, such as Host: localhost:8350"));
    }
    String name = plain(authority.group(1) == null ? authority.group(2) : authority.group(1));
    return isOwn(name)
        ? Optional.empty()
        : Optional.of(
            new Refusal(
                FORBIDDEN,
                ("this server does not go by the name %s, expected its address, localhost or a name"
                        + " in %s; if %s is this server, add it there: --set '%s=[\"%s\"]', or"
                        + " --hosts %s for ui, replay and serve")
                    .formatted(name, key, name, key, name, name)));
  }

  private boolean isOwn(String name) {
    boolean loopback = LOOPBACK.contains(host);
    return LOOPBACK.contains(name)
        || name.equals(host)
        || !loopback && ADDRESS.matcher(name).matches()
        || names.stream().anyMatch(listed -> covers(listed, name));
  }

  private static boolean covers(String listed, String name) {
    return listed.startsWith("*.") ? name.endsWith(listed.substring(1)) : name.equals(listed);
  }

  /** Returns a name as names are compared: small letters, without brackets and the last dot. */
  private static String plain(String name) {
    String small = name.toLowerCase(Locale.ROOT);
    if (small.startsWith("[") && small.endsWith("]")) {
      return small.substring(1, small.length() - 1);
    }
    return small.endsWith(".") ? small.substring(0, small.length() - 1) : small;
  }
}
