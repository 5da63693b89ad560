package io.vertigrad.launcher;

import io.vertigrad.compute.data.files.MnistDownload;
import io.vertigrad.launcher.job.JobRequest;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** Holds the options that change a job file, the same for every command that needs a job. */
final class JobOptions {

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description = "Changes one key of the job file, such as workers.count=4; repeatable.")
  private List<String> assignments = new ArrayList<>();

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description =
          "Folder with the data set's files, raw or .gz, or one file of csv or text (data.directory);"
              + " without it, the variable VERTIGRAD_DATA.")
  private String data;

  @Option(
      names = "--download",
      description = "Fetches MNIST into --data DIR, or ./data, where it is missing.")
  private boolean download;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      description =
          "This machine's IPv4 address for the cluster, 127.0.0.1 if not given; auto for the one"
              + " that other machines reach, or of the pod (POD_IP).")
  private String host;

  @Option(
      names = "--tls",
      paramLabel = "DIR",
      description =
          "Folder with this machine's node.pem, node.key and authority.pem, or tls.crt, tls.key and"
              + " ca.crt (cluster.tls); without it, the variable VERTIGRAD_TLS.")
  private String tls;

  @Option(
      names = "--insecure",
      description =
          "Accepts other machines without TLS: anyone who reaches the port can take over.")
  private boolean insecure;

  private JobRequest requested;

  /** Returns true when an address of this machine was given. */
  boolean namesHost() {
    return host != null
        || assignments.stream().anyMatch(assignment -> assignment.startsWith("cluster.host="));
  }

  /** Returns the request that these options make for a job file, or the default one for null. */
  JobRequest request(String job) {
    JobRequest request = new JobRequest(job);
    requested = request;
    assignments.forEach(request::set);
    request.option("--data", "data.directory", data == null && download ? "data" : data);
    request.option("--download", "data.download", download ? mirror() : null);
    request.option("--host", "cluster.host", host);
    request.option("--tls", "cluster.tls", tls);
    request.variables(System.getenv());
    return request.option("--insecure", "cluster.insecure", insecure ? true : null);
  }

  /**
   * Returns an error's message without the options that have nothing to do with it.
   *
   * @param message may name the job file with every option of the last request
   */
  String related(String message) {
    return requested == null || message == null ? message : requested.related(message);
  }

  private static String mirror() {
    return MnistDownload.DEFAULT_MIRROR.toString();
  }
}
