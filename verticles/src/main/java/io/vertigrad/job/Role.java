package io.vertigrad.job;

import java.util.Locale;

/** What a member does in a job. */
public enum Role {
  /** Keeps and steps one shard of the parameters. */
  SERVER,
  /** Computes gradients, or one stage of them. */
  WORKER,
  /** Tests the newest parameters. */
  EVALUATOR;

  /**
   * As in addresses, events and the command line.
   *
   * @return such as {@code worker}
   */
  public String lower() {
    return name().toLowerCase(Locale.ROOT);
  }
}
