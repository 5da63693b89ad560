package io.vertigrad.compute.settings;

/** A setting that is missing, unknown or out of range; the message says where and what to do. */
public final class SettingsException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Refuses a setting.
   *
   * @param message where, what was found, what was expected
   */
  public SettingsException(String message) {
    super(message);
  }

  /**
   * Refuses a setting for a reason that lies deeper.
   *
   * @param message where, what was found, what was expected
   * @param cause the reason
   */
  public SettingsException(String message, Throwable cause) {
    super(message, cause);
  }
}
