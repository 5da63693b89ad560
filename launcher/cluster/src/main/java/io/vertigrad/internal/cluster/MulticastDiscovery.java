package io.vertigrad.internal.cluster;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.hazelcast.cluster.Address;
import com.hazelcast.config.properties.PropertyDefinition;
import com.hazelcast.logging.ILogger;
import com.hazelcast.spi.discovery.AbstractDiscoveryStrategy;
import com.hazelcast.spi.discovery.DiscoveryNode;
import com.hazelcast.spi.discovery.DiscoveryStrategy;
import com.hazelcast.spi.discovery.DiscoveryStrategyFactory;
import com.hazelcast.spi.discovery.SimpleDiscoveryNode;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobSecret;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Asks a multicast group for the nodes of a cluster. Questions and answers are signed with the
 * cluster's secret, so that nothing from a stranger is believed or answered; Hazelcast's own
 * multicast deserialises what anybody sends. An answer is as long as its question. A repeated old
 * answer names an address, where a connection must still prove the secret.
 *
 * <p>A datagram is a kind (1 byte), a nonce (16), a code (32) and the sender's {@code HOST:PORT} in
 * ASCII.
 */
final class MulticastDiscovery extends AbstractDiscoveryStrategy {

  /** An address for one organisation (RFC 2365); a router does not forward it by default. */
  static final String GROUP = "239.255.86.71";

  private static final int NONCE_BYTES = 16;
  private static final int HEADER_BYTES = 1 + NONCE_BYTES + JobSecret.CODE_BYTES;
  private static final int MOST_BYTES = 512;
  private static final int QUESTIONS = 2;
  private static final int ANSWER_MILLIS = 400;

  /** The pause after an error, which may occur again at once. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final byte QUESTION = 'Q';
  private static final byte ANSWER = 'A';

  private final String host;
  private final InetSocketAddress group;
  private final JobSecret secret;
  private final String own;
  private MulticastSocket listening;

  /**
   * Creates the strategy of one node.
   *
   * @param host address whose network interface is used
   * @param port the group's port
   * @param own address of this node, {@code HOST:PORT}
   */
  MulticastDiscovery(ILogger logger, String host, int port, JobSecret secret, String own) {
    super(logger, Map.of());
    this.host = host;
    this.group = new InetSocketAddress(GROUP, port);
    this.secret = secret;
    this.own = own;
  }

  /** Creates the strategy when Hazelcast knows the node's port. */
  record Factory(String host, int port, JobSecret secret) implements DiscoveryStrategyFactory {

    @Override
    public Class<? extends DiscoveryStrategy> getDiscoveryStrategyType() {
      return MulticastDiscovery.class;
    }

    @Override
    @SuppressWarnings("rawtypes")
    public DiscoveryStrategy newDiscoveryStrategy(
        DiscoveryNode node, ILogger logger, Map<String, Comparable> properties) {
      Address address = node.getPublicAddress();
      String own = address.getHost() + ":" + address.getPort();
      return new MulticastDiscovery(logger, host, port, secret, own);
    }

    @Override
    public Collection<PropertyDefinition> getConfigurationProperties() {
      return List.of();
    }
  }

  /**
   * Begins to answer questions.
   *
   * @throws SettingsException if the interface takes no multicast
   */
  @Override
  public void start() {
    try {
      MulticastSocket socket = socket(group.getPort());
      listening = socket;
      socket.joinGroup(group, network());
      Thread thread = new Thread(() -> answer(socket), "multicast-discovery");
      thread.setDaemon(true);
      thread.start();
    } catch (IOException e) {
      destroy();
      throw refused(e);
    }
  }

  @Override
  public void destroy() {
    if (listening != null) {
      listening.close();
    }
  }

  @Override
  public Iterable<DiscoveryNode> discoverNodes() {
    byte[] nonce = new byte[NONCE_BYTES];
    new SecureRandom().nextBytes(nonce);
    Set<String> found = new LinkedHashSet<>();
    try (MulticastSocket asking = socket(0)) {
      for (int i = 0; i < QUESTIONS; i++) {
        send(asking, QUESTION, nonce, group);
        receive(asking, nonce, found);
      }
    } catch (IOException e) {
      throw refused(e);
    }
    return found.stream().map(MulticastDiscovery::node).flatMap(Optional::stream).toList();
  }

  private void receive(MulticastSocket socket, byte[] nonce, Set<String> found) throws IOException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ANSWER_MILLIS);
    for (long left = ANSWER_MILLIS;
        left > 0;
        left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())) {
      socket.setSoTimeout((int) left);
      DatagramPacket packet = new DatagramPacket(new byte[MOST_BYTES], MOST_BYTES);
      try {
        socket.receive(packet);
      } catch (SocketTimeoutException enough) {
        return;
      }
      read(packet, ANSWER)
          .filter(message -> Arrays.equals(message.nonce, nonce))
          .ifPresent(message -> found.add(message.address));
    }
  }

  private void answer(MulticastSocket socket) {
    while (!socket.isClosed()) {
      DatagramPacket packet = new DatagramPacket(new byte[MOST_BYTES], MOST_BYTES);
      try {
        socket.receive(packet);
        Optional<Message> question =
            read(packet, QUESTION).filter(message -> !message.address.equals(own));
        if (question.isPresent()) {
          send(socket, ANSWER, question.get().nonce, packet.getSocketAddress());
        }
      } catch (IOException closedOrUnreachable) {
        getLogger().fine("multicast discovery", closedOrUnreachable);
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private record Message(byte[] nonce, String address) {}

  /** Returns a datagram's content if a node of this cluster has sent it. */
  private Optional<Message> read(DatagramPacket packet, byte kind) {
    ByteBuffer bytes = ByteBuffer.wrap(packet.getData(), 0, packet.getLength());
    if (bytes.remaining() <= HEADER_BYTES || bytes.get() != kind) {
      return Optional.empty();
    }
    byte[] nonce = new byte[NONCE_BYTES];
    byte[] code = new byte[JobSecret.CODE_BYTES];
    bytes.get(nonce).get(code);
    byte[] address = new byte[bytes.remaining()];
    bytes.get(address);
    return JobSecret.equal(code, code(kind, nonce, address))
        ? Optional.of(new Message(nonce, new String(address, US_ASCII)))
        : Optional.empty();
  }

  private void send(MulticastSocket socket, byte kind, byte[] nonce, SocketAddress to)
      throws IOException {
    byte[] address = own.getBytes(US_ASCII);
    byte[] message =
        ByteBuffer.allocate(HEADER_BYTES + address.length)
            .put(kind)
            .put(nonce)
            .put(code(kind, nonce, address))
            .put(address)
            .array();
    socket.send(new DatagramPacket(message, message.length, to));
  }

  private byte[] code(byte kind, byte[] nonce, byte[] address) {
    return secret.sign(
        "multicast discovery " + (char) kind, ByteBuffer.wrap(nonce), ByteBuffer.wrap(address));
  }

  private MulticastSocket socket(int port) throws IOException {
    NetworkInterface network = network();
    MulticastSocket socket = new MulticastSocket(null);
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(port));
    socket.setNetworkInterface(network);
    return socket;
  }

  private NetworkInterface network() throws IOException {
    NetworkInterface network = NetworkInterface.getByInetAddress(InetAddress.getByName(host));
    if (network == null) {
      throw new IOException("no network interface has this address");
    }
    if (!network.supportsMulticast() && !network.isLoopback()) {
      throw new IOException(network.getName() + " takes no multicast");
    }
    return network;
  }

  private SettingsException refused(IOException why) {
    return new SettingsException(
        "cluster.discovery multicast cannot be used at %s: %s; use kubernetes, dns or seeds"
            .formatted(host, why.getMessage()),
        why);
  }

  private static Optional<DiscoveryNode> node(String address) {
    JoinAddress there = JoinAddress.parse(address);
    try {
      return Optional.of(new SimpleDiscoveryNode(new Address(there.host(), there.port())));
    } catch (UnknownHostException notHere) {
      return Optional.empty();
    }
  }
}
