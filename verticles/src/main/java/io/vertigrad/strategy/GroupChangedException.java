package io.vertigrad.strategy;

/**
 * The group is not the one a round was begun with: the round is let go and the new group adopted.
 */
public final class GroupChangedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception, without a stack trace.
   *
   * @param message which groups
   */
  public GroupChangedException(String message) {
    super(message, null, false, false);
  }
}
