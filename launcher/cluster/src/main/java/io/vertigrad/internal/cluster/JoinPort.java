package io.vertigrad.internal.cluster;

import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.job.JobSecret;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;

/**
 * The port at which a node asks for a job before it joins the cluster. A node that knows the job's
 * secret gets the job file and the cluster's address; any other node gets the reason for its
 * refusal. Nodes ask with {@link JoinOffer#ask}.
 *
 * <p>Idle connections cannot block the port: when too many are open, the oldest connection of the
 * host with the most connections is closed.
 */
public final class JoinPort implements AutoCloseable {

  private static final int PORTS = 100;
  private static final int MOST_AT_ONCE = 64;

  /**
   * Pause after each connection while the port is full: 200 connections a second, so that each has
   * time for its question.
   */
  private static final long FULL_NANOS = 5_000_000;

  private static final int MOST_QUESTION_BYTES = 4_096;
  private static final int SECONDS_IN_ALL = 20;

  private final ServerSocket server;
  private final String job;
  private final JobSecret secret;
  private final Optional<SSLContext> tls;
  private final Supplier<JsonObject> answer;
  private final PeerWarnings refusals;

  /** Open connections, oldest first. */
  private final Set<Socket> open = Collections.synchronizedSet(new LinkedHashSet<>());

  private JoinPort(
      ServerSocket server,
      String job,
      JobSecret secret,
      Optional<SSLContext> tls,
      Supplier<JsonObject> answer,
      Consumer<String> report) {
    this.server = server;
    this.job = job;
    this.secret = secret;
    this.tls = tls;
    this.answer = answer;
    this.refusals = new PeerWarnings(report);
  }

  /**
   * Opens the port and answers until it is closed, on threads of its own.
   *
   * @param host address to listen at
   * @param port first port to try; the next free one is used
   * @param offer the answer to a node
   * @param secret the secret that a node has to prove
   * @param tls how certificates are demanded and checked; empty for a job without TLS
   * @param report receives a line with the host and the reason of a refusal, at most once a minute
   *     for each host
   * @return the open port
   * @throws IOException when no port is free
   */
  public static JoinPort open(
      String host,
      int port,
      JoinOffer offer,
      JobSecret secret,
      Optional<SSLContext> tls,
      Consumer<String> report)
      throws IOException {
    String job = offer.job().getString("job", "vertigrad");
    JoinPort opened = new JoinPort(bind(host, port), job, secret, tls, () -> answer(offer), report);
    Thread thread = new Thread(opened::accept, "join-port");
    thread.setDaemon(true);
    thread.start();
    return opened;
  }

  /**
   * Returns the port's number.
   *
   * @return the number
   */
  public int port() {
    return server.getLocalPort();
  }

  /** Stops answering. */
  @Override
  public void close() {
    try {
      server.close();
    } catch (IOException e) {
      // The port accepts no more connections in either case.
    }
  }

  private static JsonObject answer(JoinOffer offer) {
    return new JsonObject().put("job", offer.job()).put("cluster", offer.cluster());
  }

  private static ServerSocket bind(String host, int first) throws IOException {
    InetAddress address = InetAddress.getByName(host);
    IOException last = null;
    for (int port = first; port < first + PORTS; port++) {
      ServerSocket socket = new ServerSocket();
      try {
        socket.bind(new InetSocketAddress(address, port));
        return socket;
      } catch (IOException taken) {
        socket.close();
        last = taken;
      }
    }
    throw last;
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket socket = server.accept();
        open.add(socket);
        Thread thread = new Thread(() -> serve(socket), "join-port-" + socket.getPort());
        thread.setDaemon(true);
        thread.start();
        if (open.size() > MOST_AT_ONCE) {
          closeOldest();
          LockSupport.parkNanos(FULL_NANOS);
        }
      } catch (IOException closed) {
        Thread.onSpinWait();
      }
    }
  }

  /** Closes the oldest connection of the host that has the most. */
  private void closeOldest() throws IOException {
    Map<InetAddress, Integer> hosts = new HashMap<>();
    List<Socket> all;
    synchronized (open) {
      all = List.copyOf(open);
    }
    all.forEach(socket -> hosts.merge(socket.getInetAddress(), 1, Integer::sum));
    Optional<Socket> oldest =
        hosts.entrySet().stream()
            .max(Map.Entry.comparingByValue())
            .flatMap(
                most ->
                    all.stream()
                        .filter(socket -> socket.getInetAddress().equals(most.getKey()))
                        .findFirst());
    if (oldest.isPresent() && open.remove(oldest.get())) {
      refused(
          oldest.get().getInetAddress().getHostAddress(),
          "%s connections are open, and its was the oldest".formatted(MOST_AT_ONCE));
      oldest.get().close();
    }
  }

  private void serve(Socket plain) {
    String who = plain.getInetAddress().getHostAddress();
    Thread limit = new Thread(() -> closeLate(plain), "join-port-limit");
    limit.setDaemon(true);
    limit.start();
    try (Socket socket = plain) {
      socket.setSoTimeout(JoinMessages.MESSAGE_MILLIS);
      answer(socket).ifPresent(why -> refused(who, why));
    } catch (IOException | DecodeException broken) {
      if (open.contains(plain)) {
        refused(who, meaning(broken));
      }
    } finally {
      limit.interrupt();
      open.remove(plain);
    }
  }

  private static String meaning(Exception broken) {
    if (broken instanceof SSLException bad) {
      return "its certificate is not accepted: " + innermost(bad);
    }
    return broken instanceof EOFException
        ? "it left before it had asked for the job"
        : "it did not speak as a node does: " + broken.getMessage();
  }

  /** Serves one node; returns why it was refused, or empty. */
  private Optional<String> answer(Socket plain) throws IOException {
    int greeted = greet(plain);
    if (greeted == JoinMessages.HAS_NO_CERTIFICATE) {
      return Optional.of("it has no certificate, and this job demands one");
    }
    if (greeted == JoinMessages.USES_TLS) {
      return Optional.of("it has a certificate, and this job uses none");
    }
    if (greeted < 0) {
      // The other side only checked whether the port is open.
      return Optional.empty();
    }
    Socket socket = tls.isPresent() ? secured(plain) : plain;
    return ask(
        new DataInputStream(socket.getInputStream()),
        new DataOutputStream(socket.getOutputStream()));
  }

  /** Sends the greeting and returns the node's answer; -1 if the node has left. */
  private int greet(Socket plain) throws IOException {
    try {
      DataOutputStream greeting = new DataOutputStream(plain.getOutputStream());
      greeting.write(JoinMessages.GREETING);
      greeting.writeBoolean(tls.isPresent());
      greeting.flush();
      return plain.getInputStream().read();
    } catch (SocketException | SocketTimeoutException gone) {
      return -1;
    }
  }

  private Optional<String> ask(DataInputStream in, DataOutputStream out) throws IOException {
    byte[] own = RandomBytes.of(JoinMessages.NONCE_BYTES);
    out.write(own);
    out.flush();
    byte[] theirs = JoinMessages.read(in, JoinMessages.NONCE_BYTES);
    byte[] code = JoinMessages.read(in, JobSecret.CODE_BYTES);
    byte[] question = JoinMessages.message(in, MOST_QUESTION_BYTES);
    if (!JobSecret.equal(code, JoinMessages.code(secret, true, own, theirs, question))) {
      JoinMessages.write(out, new byte[JobSecret.CODE_BYTES], new byte[0]);
      return Optional.of("it has another secret");
    }
    JsonObject asked = new JsonObject(new String(question, StandardCharsets.UTF_8));
    String named = asked.getString("job");
    boolean other = named != null && !named.equals(job);
    JsonObject reply =
        other
            ? new JsonObject().put("refused", "the job there is \"%s\"".formatted(job))
            : answer.get();
    byte[] message = JoinMessages.bytes(reply);
    JoinMessages.write(out, JoinMessages.code(secret, false, own, theirs, message), message);
    return other
        ? Optional.of("its job file is of job \"%s\", this job is \"%s\"".formatted(named, job))
        : Optional.empty();
  }

  private Socket secured(Socket plain) throws IOException {
    SSLSocket socket =
        (SSLSocket) tls.orElseThrow().getSocketFactory().createSocket(plain, null, 0, false);
    socket.setUseClientMode(false);
    socket.setNeedClientAuth(true);
    try {
      socket.startHandshake();
    } catch (SSLException bad) {
      letAlertArrive(plain);
      throw bad;
    }
    return socket;
  }

  /**
   * Reads what the node still sends until it closes the connection. If this side closed first, the
   * connection would be reset and the node would lose the alert with the reason.
   */
  private static void letAlertArrive(Socket plain) {
    try {
      plain.shutdownOutput();
      byte[] ignored = new byte[MOST_QUESTION_BYTES];
      while (plain.getInputStream().read(ignored) >= 0) {
        Thread.onSpinWait();
      }
    } catch (IOException gone) {
      // The node has closed the connection, or takes too long.
    }
  }

  private void refused(String who, String why) {
    refusals.warn(who, "a node at %s was refused: %s".formatted(who, why), System.nanoTime());
  }

  private static void closeLate(Socket socket) {
    try {
      Thread.sleep(SECONDS_IN_ALL * 1_000L);
      socket.close();
    } catch (InterruptedException | IOException served) {
      // There is nothing left to do.
    }
  }

  static String innermost(Throwable error) {
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof CertificateExpiredException) {
      return "it has expired (%s)".formatted(cause.getMessage());
    }
    return cause instanceof CertificateNotYetValidException
        ? "it is not valid yet (%s): compare the clocks".formatted(cause.getMessage())
        : cause.getMessage();
  }
}
