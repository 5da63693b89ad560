package io.vertigrad.job;

import java.util.Locale;

/** What a member does in a job. */
public enum Role {
  SERVER,
  WORKER,
  EVALUATOR;

  /** As in addresses, events and the command line. */
  public String lower() {
    return name().toLowerCase(Locale.ROOT);
  }
}
