package io.vertigrad.internal.cluster;

import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertx.core.json.JsonObject;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;

/**
 * The answer of a {@link JoinPort} to a node that knows the job's secret.
 *
 * @param job the job file, without settings that apply to one machine only
 * @param cluster address at which to join the cluster, {@code HOST:PORT}
 * @param localHost the address by which this machine reached the port; empty on the port's side
 */
public record JoinOffer(JsonObject job, String cluster, String localHost) {

  /**
   * Largest difference between clocks; beyond it messages may be refused, see
   * docs/reference/control-protocol.md.
   */
  private static final int CONNECT_MILLIS = 3_000;

  private static final int ATTEMPTS = 5;
  private static final long ATTEMPTS_NANOS = 8_000_000_000L;
  private static final long PAUSE_MILLIS = 200;

  /**
   * Asks a port for its job, up to five times while connections break. Blocks for less than a
   * minute.
   *
   * @param host host of the port
   * @param port number of the port
   * @param secret proves that this node may ask
   * @param tls this node's certificate and authority; empty if it has none
   * @param job name of the job that this node expects; empty to accept any
   * @return the offer; empty when the other side is not a join port
   * @throws IOException when nothing answers there
   * @throws JoinException when the port refuses this node, this node refuses the port, or every
   *     connection breaks
   */
  public static Optional<JoinOffer> ask(
      String host, int port, JobSecret secret, Optional<SSLContext> tls, Optional<String> job)
      throws IOException {
    long begun = System.nanoTime();
    for (int attempt = 1; ; attempt++) {
      try {
        return askOnce(host, port, secret, tls, job);
      } catch (ConnectException nobody) {
        throw nobody;
      } catch (EOFException | SocketException | SocketTimeoutException broken) {
        if (attempt == ATTEMPTS || System.nanoTime() - begun > ATTEMPTS_NANOS) {
          throw new JoinException(
              "%s:%s gave no job file over any of %s connections (the last: %s): it is"
                      .formatted(host, port, attempt, broken.getMessage())
                  + " the join port of a job that has too many connections, or no join port; the"
                  + " job's log names the hosts they come from. Start this node again, or compare"
                  + " HOST:PORT with what train prints");
        }
        pause(attempt);
      }
    }
  }

  private static void pause(int attempt) throws InterruptedIOException {
    try {
      Thread.sleep(PAUSE_MILLIS * attempt);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while it asked for the job");
    }
  }

  private static Optional<JoinOffer> askOnce(
      String host, int port, JobSecret secret, Optional<SSLContext> tls, Optional<String> job)
      throws IOException {
    try (Socket plain = new Socket()) {
      plain.connect(new InetSocketAddress(host, port), CONNECT_MILLIS);
      plain.setSoTimeout(JoinMessages.MESSAGE_MILLIS);
      Optional<Boolean> greeting = greeting(plain);
      if (greeting.isEmpty()) {
        return Optional.empty();
      }
      String there = host + ":" + port;
      agree(plain, there, greeting.get(), tls.isPresent());
      Socket socket = tls.isPresent() ? secured(plain, tls.get(), there) : plain;
      JsonObject answer = answer(socket, there, secret, job);
      return Optional.of(
          new JoinOffer(
              answer.getJsonObject("job"),
              answer.getString("cluster"),
              plain.getLocalAddress().getHostAddress()));
    }
  }

  /** Returns whether a join port demands certificates; empty when something else answers. */
  private static Optional<Boolean> greeting(Socket socket) throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    for (byte expected : JoinMessages.GREETING) {
      if (in.readByte() != expected) {
        return Optional.empty();
      }
    }
    return Optional.of(in.readBoolean());
  }

  private static void agree(Socket socket, String there, boolean wanted, boolean had)
      throws IOException {
    int answer =
        wanted == had
            ? JoinMessages.GOES_ON
            : had ? JoinMessages.USES_TLS : JoinMessages.HAS_NO_CERTIFICATE;
    socket.getOutputStream().write(answer);
    if (wanted && !had) {
      throw JoinException.refused(
          "the job at %s demands certificates, and this node has none: give it cluster.certificate,"
                  .formatted(there)
              + " cluster.key and cluster.authority, with --set or in a job file");
    }
    if (had && !wanted) {
      throw JoinException.refused(
          "this node has a certificate (cluster.certificate), and the job at %s uses none: leave it"
                  .formatted(there)
              + " out, or give one to the job as well");
    }
  }

  private static Socket secured(Socket plain, SSLContext tls, String there) throws IOException {
    SSLSocket socket = (SSLSocket) tls.getSocketFactory().createSocket(plain, null, 0, true);
    try {
      socket.startHandshake();
    } catch (SSLException bad) {
      throw certificate(bad, there);
    }
    return socket;
  }

  private static JsonObject answer(
      Socket socket, String there, JobSecret secret, Optional<String> job) throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
    byte[] theirs;
    try {
      theirs = JoinMessages.read(in, JoinMessages.NONCE_BYTES);
    } catch (SSLException bad) {
      // Under TLS 1.3 the listener checks the certificate after the handshake has ended on this
      // side.
      throw certificate(bad, there);
    }
    byte[] own = RandomBytes.of(JoinMessages.NONCE_BYTES);
    byte[] question = JoinMessages.bytes(new JsonObject().put("job", job.orElse(null)));
    byte[] code = JoinMessages.code(secret, true, theirs, own, question);
    out.write(own);
    JoinMessages.write(out, code, question);
    byte[] proof = JoinMessages.read(in, JobSecret.CODE_BYTES);
    byte[] message = JoinMessages.message(in, JoinMessages.MOST_BYTES);
    if (!JobSecret.equal(proof, JoinMessages.code(secret, false, theirs, own, message))) {
      throw JoinException.refused(
          "the job at %s has another secret: copy the file secret of its run's folder here and give"
                  .formatted(there)
              + " it with --secret");
    }
    JsonObject answer = new JsonObject(new String(message, StandardCharsets.UTF_8));
    String refused = answer.getString("refused");
    if (refused != null) {
      throw JoinException.refused(
          "refused at %s: %s, this node's job file is of job \"%s\""
              .formatted(there, refused, job.orElse("")));
    }
    return answer;
  }

  private static JoinException certificate(SSLException bad, String there) {
    String what = String.valueOf(JoinPort.innermost(bad));
    return JoinException.refused(
        what.contains("fatal alert")
            ? "the job at %s does not accept this node's certificate (cluster.certificate): %s"
                .formatted(there, what)
            : "this node does not accept the certificate of the job at %s (cluster.authority): %s"
                .formatted(there, what));
  }
}
