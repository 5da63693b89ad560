package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.data.ComponentException;
import java.util.regex.Pattern;

/** An error of libtorch or of a module's code. Its message has no stack trace of native code. */
final class TorchException extends RuntimeException {

  private static final long serialVersionUID = 1L;
  private static final Pattern GPU = Pattern.compile("CUDA error|CUBLAS_STATUS|(?i)cudnn");
  private static final String TRACE = "\nException raised from ";

  /**
   * Creates the exception.
   *
   * @param failure what the presets threw
   */
  TorchException(RuntimeException failure) {
    super(withoutTrace(String.valueOf(failure.getMessage())), cause(failure));
  }

  /** Returns what to throw in place of a caught failure: the presets throw nothing special. */
  static RuntimeException of(RuntimeException failure) {
    return failure.getClass() == RuntimeException.class ? new TorchException(failure) : failure;
  }

  /** Marks a failure of the GPU as one of the machine. */
  private static RuntimeException cause(RuntimeException failure) {
    return GPU.matcher(String.valueOf(failure.getMessage())).find()
        ? ComponentException.ofMachine("the GPU has failed", failure)
        : failure;
  }

  private static String withoutTrace(String message) {
    int trace = message.indexOf(TRACE);
    return trace < 0 ? message : message.substring(0, trace);
  }
}
