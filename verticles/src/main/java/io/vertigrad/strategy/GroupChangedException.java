package io.vertigrad.strategy;

/**
 * Reports that the group has changed since the round began: abandon the round and adopt the new
 * group.
 */
public final class GroupChangedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception, without a stack trace.
   *
   * @param message names the groups
   */
  public GroupChangedException(String message) {
    super(message, null, false, false);
  }
}
