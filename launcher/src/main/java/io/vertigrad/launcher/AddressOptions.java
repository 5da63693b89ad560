package io.vertigrad.launcher;

import io.vertigrad.launcher.job.Assignment;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import picocli.CommandLine.Option;

/** Holds the options for the address of a page or of a predictor, and the names that it goes by. */
final class AddressOptions {

  @Option(
      names = "--host",
      paramLabel = "HOST",
      description =
          "Address to listen on, 127.0.0.1 unless given; 0.0.0.0 for all of this machine's"
              + " (dashboard.host, of serve serving.host).")
  private String host;

  @Option(
      names = "--hosts",
      paramLabel = "NAME",
      split = ",",
      description =
          "Further names by which browsers and other programs ask, as of a Service, of compose or of"
              + " a proxy (dashboard.hosts, of serve serving.hosts); several with commas.")
  private List<String> hosts = List.of();

  /** Writes the options that were given into a section of a job file, such as {@code serving}. */
  void applyTo(JsonObject job, String section) {
    if (host != null) {
      new Assignment(section + ".host", host).applyTo(job);
    }
    if (!hosts.isEmpty()) {
      new Assignment(section + ".hosts", new JsonArray(hosts)).applyTo(job);
    }
  }
}
