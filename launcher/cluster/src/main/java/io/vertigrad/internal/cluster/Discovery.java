package io.vertigrad.internal.cluster;

import com.hazelcast.config.Config;
import com.hazelcast.config.DiscoveryStrategyConfig;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.KubernetesConfig;
import com.hazelcast.spi.properties.ClusterProperty;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobSecret;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * How a node finds the others, as {@code cluster.discovery} says. A node that is told where to join
 * ({@code cluster.members}) looks for no others. Otherwise a node that finds nobody starts the
 * cluster, and two clusters that find each other merge.
 *
 * @param kind how
 * @param argument a service, a name or addresses; empty if the kind needs none
 */
public record Discovery(Kind kind, String argument) {

  private static final String EXPECTED =
      "members, multicast, kubernetes, kubernetes:SERVICE, dns:NAME or seeds:HOST[:PORT],...";

  /** Name of the service without another. */
  private static final String USUAL_SERVICE = "vertigrad";

  /** The words of the setting. */
  public enum Kind {
    MEMBERS,
    MULTICAST,
    KUBERNETES,
    DNS,
    SEEDS
  }

  /**
   * Reads the setting.
   *
   * @throws SettingsException if it names no discovery, or its argument is missing or wrong
   */
  public static Discovery of(ClusterConfig cluster) {
    String text = cluster.discovery();
    String[] parts = text.split(":", 2);
    String argument = parts.length < 2 ? "" : parts[1].strip();
    Kind kind =
        Arrays.stream(Kind.values())
            .filter(some -> some.name().toLowerCase(Locale.ROOT).equals(parts[0]))
            .findFirst()
            .orElseThrow(() -> refused(text));
    boolean named = !argument.isEmpty();
    boolean wellFormed =
        switch (kind) {
          case MEMBERS, MULTICAST -> parts.length == 1;
          case KUBERNETES -> parts.length == 1 || named;
          case DNS, SEEDS -> named;
        };
    if (!wellFormed) {
      throw refused(text);
    }
    Discovery discovery = new Discovery(kind, argument);
    if (kind == Kind.SEEDS) {
      discovery.seeds(cluster.port());
    }
    return discovery;
  }

  private static SettingsException refused(String text) {
    return new SettingsException(
        "cluster.discovery is \"%s\", expected %s".formatted(text, EXPECTED));
  }

  /** Makes a node of these settings find others. */
  void apply(Config config, ClusterConfig cluster, JobSecret secret) {
    if (!cluster.members().isEmpty()) {
      return;
    }
    JoinConfig join = config.getNetworkConfig().getJoin();
    join.getTcpIpConfig().setEnabled(kind == Kind.MEMBERS || kind == Kind.SEEDS);
    KubernetesConfig kubernetes = join.getKubernetesConfig();
    switch (kind) {
      case MEMBERS -> {}
      case SEEDS ->
          seeds(cluster.port()).forEach(seed -> join.getTcpIpConfig().addMember(seed.toString()));
      case KUBERNETES ->
          kubernetes
              .setEnabled(true)
              .setProperty("service-name", argument.isEmpty() ? USUAL_SERVICE : argument)
              .setProperty("service-port", Integer.toString(cluster.port()));
      case DNS ->
          kubernetes
              .setEnabled(true)
              .setProperty("service-dns", argument)
              .setProperty("service-port", Integer.toString(cluster.port()));
      case MULTICAST -> {
        config.setProperty(ClusterProperty.DISCOVERY_SPI_ENABLED.getName(), "true");
        join.getDiscoveryConfig()
            .addDiscoveryStrategyConfig(
                new DiscoveryStrategyConfig(
                    new MulticastDiscovery.Factory(cluster.host(), cluster.port(), secret)));
      }
    }
  }

  private List<JoinAddress> seeds(int port) {
    return Arrays.stream(argument.split(","))
        .map(String::strip)
        .map(seed -> JoinAddress.parse(seed, port))
        .toList();
  }
}
