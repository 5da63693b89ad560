package io.vertigrad.compute.settings;

/**
 * Reports a setting that is missing, unknown or out of range. The message says where it is and what
 * to do.
 */
public final class SettingsException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates an error about a setting.
   *
   * @param message where, what was found, what was expected
   */
  public SettingsException(String message) {
    super(message);
  }

  /**
   * Creates an error about a setting that has another cause.
   *
   * @param message where, what was found, what was expected
   * @param cause the cause
   */
  public SettingsException(String message, Throwable cause) {
    super(message, cause);
  }
}
