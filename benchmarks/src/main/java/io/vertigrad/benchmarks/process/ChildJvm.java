package io.vertigrad.benchmarks.process;

import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A JVM started for a measurement, with this one's class path; it runs a {@link ChildLoop} and ends
 * when this one does.
 *
 * <p>One thread uses it. Output of the child that is not an answer goes to this process's standard
 * error.
 */
public final class ChildJvm implements AutoCloseable {

  private static final List<String> PRODUCT_OPTIONS =
      List.of(
          "-XX:+UseParallelGC",
          "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
          "-Djava.net.preferIPv4Stack=true",
          "--add-opens=java.base/java.lang=ALL-UNNAMED",
          "--add-opens=java.base/java.nio=ALL-UNNAMED",
          "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
          "--add-opens=java.management/sun.management=ALL-UNNAMED",
          "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
          "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
          "-Dlogback.configurationFile=logback-benchmarks.xml");

  /** Options that delay some compilation, which pays off in short runs. */
  private static final List<String> COMPILE_LATER =
      List.of(
          "-XX:Tier3InvocationThreshold=500",
          "-XX:Tier3MinInvocationThreshold=250",
          "-XX:Tier3CompileThreshold=4000",
          "-XX:Tier4InvocationThreshold=30000",
          "-XX:Tier4MinInvocationThreshold=6000",
          "-XX:Tier4CompileThreshold=90000",
          "-XX:Tier4BackEdgeThreshold=400000");

  private final String name;
  private final Process process;
  private final PrintStream questions;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

  private ChildJvm(String name, Process process) {
    this.name = name;
    this.process = process;
    this.questions = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    Thread reader = new Thread(this::read, "output of " + name);
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * Returns the options that {@code ./vertigrad} passes to every process, and a limit to the heap.
   */
  public static List<String> productOptions(String heap) {
    List<String> options = settledOptions(heap);
    options.addAll(COMPILE_LATER);
    return options;
  }

  /**
   * Returns the options without those that delay compilation, for figures taken when everything is
   * compiled.
   */
  public static List<String> settledOptions(String heap) {
    List<String> options = new ArrayList<>(PRODUCT_OPTIONS);
    options.add("-Xmx" + heap);
    return options;
  }

  /**
   * Starts a JVM.
   *
   * @param name its name in errors
   * @param main a class whose main method runs a {@link ChildLoop}
   * @param options options of the JVM, such as {@code -Xmx1g}
   * @param environment variables to set in addition to this process's own
   */
  public static ChildJvm start(
      String name, Class<?> main, List<String> options, Map<String, String> environment)
      throws IOException {
    return start(name, main, options, environment, Processors.any());
  }

  /** Starts a JVM on some of the machine's processors only. */
  public static ChildJvm start(
      String name,
      Class<?> main,
      List<String> options,
      Map<String, String> environment,
      Processors processors)
      throws IOException {
    List<String> command = new ArrayList<>(processors.prefix());
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    return new ChildJvm(name, builder.redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /** Sends a question without waiting, so that several children can work at once. */
  public ChildJvm send(JsonObject question) {
    questions.println(question.encode());
    return this;
  }

  /** Returns the next answer; fails when the child failed, ended, or took longer than the limit. */
  public JsonObject answer(long limitSeconds) throws InterruptedException {
    String line = answers.poll(limitSeconds, TimeUnit.SECONDS);
    if (line == null) {
      throw new IllegalStateException(
          "%s gave no answer within %s s".formatted(name, limitSeconds));
    }
    if (line.isEmpty()) {
      throw new IllegalStateException("%s ended with code %s".formatted(name, process.waitFor()));
    }
    JsonObject answer = new JsonObject(line);
    if (answer.containsKey(ChildLoop.FAILED)) {
      throw new IllegalStateException(name + ": " + answer.getString(ChildLoop.FAILED));
    }
    return answer;
  }

  /** Sends a question and waits for the answer. */
  public JsonObject ask(JsonObject question, long limitSeconds) throws InterruptedException {
    return send(question).answer(limitSeconds);
  }

  /** Returns the process id, for profilers. */
  public long pid() {
    return process.pid();
  }

  @Override
  public void close() {
    questions.close();
    try {
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private void read() {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith(ChildLoop.ANSWER)) {
          answers.add(line.substring(ChildLoop.ANSWER.length()));
        } else {
          System.err.println(name + ": " + line);
        }
      }
    } catch (IOException e) {
      System.err.println(name + ": " + e.getMessage());
    }
    answers.add("");
  }
}
