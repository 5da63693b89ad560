package io.vertigrad.job;

import java.util.Locale;

/** The part that a member has in a job. */
public enum Role {
  /** Owns one shard of the parameters. */
  SERVER,

  /** Computes gradients of the whole model or of one stage of it. */
  WORKER,

  /** Tests the newest parameters. */
  EVALUATOR;

  /**
   * Returns the role's name in addresses, events and on the command line.
   *
   * @return the name in lower case
   */
  public String lower() {
    return name().toLowerCase(Locale.ROOT);
  }
}
