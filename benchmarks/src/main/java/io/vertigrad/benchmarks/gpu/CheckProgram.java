package io.vertigrad.benchmarks.gpu;

import io.vertx.core.json.JsonObject;
import java.util.concurrent.Callable;

/** A process that measures one thing for {@link GpuCheck}. */
final class CheckProgram {

  private CheckProgram() {}

  /**
   * Prints what was measured as JSON, in the last line, and ends this JVM. After an exception the
   * last line is its message and the exit code 1: threads of libraries must not keep a process
   * alive whose work is done, or has failed.
   */
  static void run(Callable<JsonObject> measurement) {
    int code = 1;
    try {
      System.out.println(measurement.call().encode());
      code = 0;
    } catch (Exception e) {
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      e.printStackTrace();
      System.err.println(cause.getMessage());
    } catch (Error e) {
      e.printStackTrace();
    }
    System.exit(code);
  }
}
