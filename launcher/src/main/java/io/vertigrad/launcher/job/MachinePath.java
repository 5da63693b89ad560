package io.vertigrad.launcher.job;

/** The paths that a machine may name in an environment variable, for every job. */
public enum MachinePath {
  DATA("data.directory", "--data", "VERTIGRAD_DATA"),
  TLS("cluster.tls", "--tls", "VERTIGRAD_TLS"),
  SECRET("cluster.secretFile", "--secret", "VERTIGRAD_SECRET");

  private final String key;
  private final String option;
  private final String variable;

  MachinePath(String key, String option, String variable) {
    this.key = key;
    this.option = option;
    this.variable = variable;
  }

  /** Returns the key of the job file. */
  public String key() {
    return key;
  }

  /** Returns the option of the command line that sets the key. */
  public String option() {
    return option;
  }

  /** Returns the environment variable, which counts where neither option nor job file do. */
  public String variable() {
    return variable;
  }
}
