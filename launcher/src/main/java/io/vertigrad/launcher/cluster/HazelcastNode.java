package io.vertigrad.launcher.cluster;

import com.hazelcast.config.ClassFilter;
import com.hazelcast.config.Config;
import com.hazelcast.config.JavaSerializationFilterConfig;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import io.vertigrad.job.ClusterConfig;
import java.util.List;
import java.util.Map;

/** Hazelcast's settings for one node, all of them in code so that no stray file can change them. */
final class HazelcastNode {

  /** Ports tried above the first, so that several nodes share a machine. */
  static final int PORTS = 100;

  /** How long a node asks to be let in. */
  static final int JOIN_SECONDS = 30;

  /** Read once more from the system, before there is any configuration. */
  private static final String LOGGING = "hazelcast.logging.type";

  /**
   * How long a newcomer waits for a connection to everyone: one of them may sleep, and Hazelcast's
   * own limit is longer than others wait for the newcomer's heartbeats.
   */
  private static final String CONNECT_SECONDS = "3";

  /**
   * How soon a cluster of those who slept, or were cut off, looks for the others and joins them
   * again; Hazelcast's own is five minutes, in which no newcomer finds a server that slept.
   */
  private static final String MERGE_SECONDS = "5";

  /**
   * How long Hazelcast keeps a node that says nothing. One that it drops wakes up in a cluster of
   * its own, where no heartbeat of a job finds it for long after; so a coordinator that was stopped
   * for a minute must not be dropped. A process that ended is noticed at once by its connections,
   * and members that are silent are evicted by the coordinator, far earlier.
   */
  private static final String SILENCE_SECONDS = "90";

  private static final Map<String, String> PROPERTIES =
      Map.ofEntries(
          Map.entry(LOGGING, "slf4j"),
          // Its lines would begin with the cluster's name, which is not for everybody.
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
   * Joins this member's cluster or none: never founds another, whatever does not answer in time.
   */
  static void require(Config config, JoinAddress member) {
    config.getNetworkConfig().getJoin().getTcpIpConfig().setRequiredMember(member.toString());
  }

  private static void network(NetworkConfig network, ClusterConfig cluster) {
    network.setPort(cluster.port()).setPortAutoIncrement(true).setPortCount(PORTS);
    network.setPublicAddress(cluster.host());
    network.getInterfaces().setEnabled(true).addInterface(cluster.host());
    JoinConfig join = network.getJoin();
    join.getAutoDetectionConfig().setEnabled(false);
    join.getMulticastConfig().setEnabled(false);
    join.getTcpIpConfig().setEnabled(true).setConnectionTimeoutSeconds(5);
    cluster.members().stream()
        .map(JoinAddress::parse)
        .forEach(member -> join.getTcpIpConfig().addMember(member.toString()));
  }

  /**
   * What Java may deserialise: what Vert.x shares, and Hazelcast's own answers and exceptions. The
   * classes that attacks are made of live elsewhere.
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
