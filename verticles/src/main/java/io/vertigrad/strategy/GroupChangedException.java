package io.vertigrad.strategy;

/**
 * The group is not the one a round was begun with: the round is let go and the new group adopted.
 */
public final class GroupChangedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * An exchange was let go of.
   *
   * @param message what changed, for the log
   */
  public GroupChangedException(String message) {
    super(message, null, false, false);
  }
}
