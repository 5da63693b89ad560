package io.vertigrad.engine.pytorch;

/** An error of libtorch or of a module's code. Its message has no stack trace of native code. */
final class TorchException extends RuntimeException {

  private static final long serialVersionUID = 1L;
  private static final String TRACE = "\nException raised from ";

  /**
   * Creates the exception.
   *
   * @param failure what the presets threw
   */
  TorchException(RuntimeException failure) {
    super(withoutTrace(String.valueOf(failure.getMessage())), failure);
  }

  /** Returns what to throw in place of a caught failure: the presets throw nothing special. */
  static RuntimeException of(RuntimeException failure) {
    return failure.getClass() == RuntimeException.class ? new TorchException(failure) : failure;
  }

  private static String withoutTrace(String message) {
    int trace = message.indexOf(TRACE);
    return trace < 0 ? message : message.substring(0, trace);
  }
}
