package io.vertigrad.internal.cluster;

import com.hazelcast.config.ClassFilter;
import com.hazelcast.config.Config;
import com.hazelcast.config.JavaSerializationFilterConfig;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.instance.EndpointQualifier;
import com.hazelcast.spi.MemberAddressProvider;
import io.vertigrad.job.ClusterConfig;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;

/**
 * Builds Hazelcast's settings for one node. All of them are in code, so that no stray file can
 * change them.
 */
final class HazelcastNode {

  /** Number of ports tried from the first one up, so that several nodes can share a machine. */
  static final int PORTS = 100;

  /** Time for which a node asks to be admitted. */
  static final int JOIN_SECONDS = 30;

  /** Also set as a system property, because Hazelcast reads it before there is a configuration. */
  private static final String LOGGING = "hazelcast.logging.type";

  /**
   * Time for which a new node waits for a connection to every other node. One of them may be
   * suspended, and Hazelcast's own limit is longer than the others wait for the new node's
   * heartbeats.
   */
  private static final String CONNECT_SECONDS = "3";

  /**
   * Interval at which a separated part of the cluster looks for the other part and merges with it.
   * Hazelcast's default is five minutes, during which no new node finds a server that was
   * suspended.
   */
  private static final String MERGE_SECONDS = "5";

  /**
   * Time for which Hazelcast keeps a silent node. A node that it drops continues in its own
   * cluster, where the job's heartbeats do not find it for a long time. A coordinator that was
   * stopped for a minute must therefore not be dropped. When a process ends, its broken connections
   * show that at once, and the coordinator evicts silent members far earlier.
   */
  private static final String SILENCE_SECONDS = "90";

  /**
   * Interval at which every node receives the list of all nodes again. A node that missed a change,
   * for example of a process that was killed and is back at the same port at once, would otherwise
   * keep the old list for a minute, longer than the limits of a job.
   */
  private static final String LIST_SECONDS = "5";

  private static final Map<String, String> PROPERTIES =
      Map.ofEntries(
          Map.entry(LOGGING, "slf4j"),
          // With details, each log line would start with the cluster's name, which must stay
          // private.
          Map.entry("hazelcast.logging.details.enabled", "false"),
          Map.entry("hazelcast.phone.home.enabled", "false"),
          Map.entry("hazelcast.shutdownhook.enabled", "false"),
          Map.entry("hazelcast.graceful.shutdown.max.wait", "5"),
          Map.entry("hazelcast.merge.first.run.delay.seconds", MERGE_SECONDS),
          Map.entry("hazelcast.merge.next.run.delay.seconds", MERGE_SECONDS),
          Map.entry("hazelcast.socket.bind.any", "false"),
          Map.entry("hazelcast.prefer.ipv4.stack", "true"),
          Map.entry("hazelcast.wait.seconds.before.join", "0"),
          Map.entry("hazelcast.tcp.join.port.try.count", "1"),
          Map.entry("hazelcast.max.join.seconds", Integer.toString(JOIN_SECONDS)),
          Map.entry("hazelcast.connect.all.wait.seconds", CONNECT_SECONDS),
          Map.entry("hazelcast.heartbeat.interval.seconds", "1"),
          Map.entry("hazelcast.max.no.heartbeat.seconds", SILENCE_SECONDS),
          Map.entry("hazelcast.member.list.publish.interval.seconds", LIST_SECONDS),
          Map.entry("hazelcast.partition.count", "31"),
          Map.entry("hazelcast.operation.thread.count", "2"),
          Map.entry("hazelcast.operation.generic.thread.count", "2"),
          Map.entry("hazelcast.io.thread.count", "1"),
          Map.entry("hazelcast.jmx", "false"));

  private HazelcastNode() {}

  static Config config(String name, ClusterConfig cluster) {
    System.setProperty(LOGGING, PROPERTIES.get(LOGGING));
    Config config = new Config();
    config.setClusterName(name);
    PROPERTIES.forEach(config::setProperty);
    config.getMetricsConfig().setEnabled(false);
    config.getJetConfig().setEnabled(false);
    config.getIntegrityCheckerConfig().setEnabled(false);
    config.getSerializationConfig().setJavaSerializationFilterConfig(filter());
    network(config.getNetworkConfig(), cluster);
    return config;
  }

  /**
   * Makes the node join this member's cluster or fail: it never starts another cluster, even when
   * the member does not answer in time.
   */
  static void require(Config config, JoinAddress member) {
    config.getNetworkConfig().getJoin().getTcpIpConfig().setRequiredMember(member.toString());
  }

  private static void network(NetworkConfig network, ClusterConfig cluster) {
    network.setPort(cluster.port()).setPortAutoIncrement(true).setPortCount(PORTS);
    network
        .getMemberAddressProviderConfig()
        .setEnabled(true)
        .setImplementation(new ConfiguredAddress(cluster.host()));
    JoinConfig join = network.getJoin();
    join.getAutoDetectionConfig().setEnabled(false);
    join.getMulticastConfig().setEnabled(false);
    join.getTcpIpConfig().setEnabled(true).setConnectionTimeoutSeconds(5);
    cluster.members().stream()
        .map(JoinAddress::parse)
        .forEach(member -> join.getTcpIpConfig().addMember(member.toString()));
  }

  /**
   * The address that a node listens at and advertises. Hazelcast's own choice knows only the first
   * address of an interface: it refuses 127.0.0.2, for example.
   */
  private record ConfiguredAddress(String host) implements MemberAddressProvider {

    @Override
    public InetSocketAddress getBindAddress() {
      return new InetSocketAddress(host, 0);
    }

    @Override
    public InetSocketAddress getBindAddress(EndpointQualifier qualifier) {
      return getBindAddress();
    }

    @Override
    public InetSocketAddress getPublicAddress() {
      return getBindAddress();
    }

    @Override
    public InetSocketAddress getPublicAddress(EndpointQualifier qualifier) {
      return getPublicAddress();
    }
  }

  /**
   * Returns the classes that Java may deserialise: those that Vert.x shares, and Hazelcast's own
   * answers and exceptions. The classes used in deserialisation attacks are in other packages.
   */
  private static JavaSerializationFilterConfig filter() {
    ClassFilter allowed = new ClassFilter();
    for (String room : List.of("io.vertx.spi.cluster.hazelcast.impl.", "com.hazelcast.")) {
      allowed.addPrefixes(room, "[L" + room);
    }
    allowed.addPrefixes("java.lang.", "[Ljava.lang.", "java.util.Collections$", "java.io.IOExc");
    allowed.addClasses("java.util.ArrayList", "java.util.concurrent.ExecutionException");
    return new JavaSerializationFilterConfig().setDefaultsDisabled(true).setWhitelist(allowed);
  }
}
