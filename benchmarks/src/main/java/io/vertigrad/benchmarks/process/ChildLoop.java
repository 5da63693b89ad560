package io.vertigrad.benchmarks.process;

import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * The child's side of a {@link ChildJvm}: it answers each input line with an output line, until the
 * input ends.
 */
public final class ChildLoop {

  static final String ANSWER = "answer> ";
  static final String FAILED = "failed";

  private ChildLoop() {}

  /** Answers one question. */
  @FunctionalInterface
  public interface Work {
    JsonObject answer(JsonObject question) throws Exception;
  }

  /** Answers every line of standard input, then ends the JVM. */
  public static void run(Work work) throws IOException {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        System.out.println(ANSWER + answer(work, new JsonObject(line)).encode());
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private static JsonObject answer(Work work, JsonObject question) {
    try {
      return work.answer(question);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new JsonObject().put(FAILED, "interrupted");
    } catch (Exception e) {
      e.printStackTrace();
      return new JsonObject().put(FAILED, String.valueOf(e));
    }
  }
}
