package io.vertigrad.compute.settings;

/** A setting that is missing, unknown or out of range; the message says where and what to do. */
public final class SettingsException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public SettingsException(String message) {
    super(message);
  }

  public SettingsException(String message, Throwable cause) {
    super(message, cause);
  }
}
