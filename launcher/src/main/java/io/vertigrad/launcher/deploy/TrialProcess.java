package io.vertigrad.launcher.deploy;

import io.vertigrad.launcher.job.InputException;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A JVM that trains one trial of a sweep after another, so that a trial that ends its process ends
 * no other. Tasks are lines of JSON on its standard input, results on its standard output. It ends
 * in good order when its input ends, and so when this process does.
 */
public final class TrialProcess {

  private static final Logger LOG = LoggerFactory.getLogger(TrialProcess.class);
  private static final long KILLED_SECONDS = 5;

  /** Exit codes after a closed terminal, Ctrl-C and {@code kill}. */
  private static final Set<Integer> SIGNALS = Set.of(129, 130, 143);

  private final Process process;
  private final Path log;

  private TrialProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  /**
   * Starts the JVM.
   *
   * @param name of its thread here
   * @param log file for what it prints besides results
   * @param mainClass main class of the command line, started with {@code trials}
   * @param onResult receives each result, on a thread of its own
   * @param onEnd called once, on that thread, after the last result, when the process ends
   * @throws InputException when it cannot be started
   */
  public static TrialProcess start(
      String name, Path log, String mainClass, Consumer<JsonObject> onResult, Runnable onEnd) {
    try {
      Path folder = Files.createDirectories(log.toAbsolutePath().getParent());
      Process started =
          new ProcessBuilder(ChildProcess.command(folder, mainClass, List.of("trials")))
              .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
              .start();
      Thread reader = new Thread(() -> read(started, onResult, onEnd), name);
      reader.setDaemon(true);
      reader.start();
      return new TrialProcess(started, log);
    } catch (IOException e) {
      throw new InputException("a process for trials cannot be started: " + e.getMessage(), e);
    }
  }

  private static void read(Process process, Consumer<JsonObject> onResult, Runnable onEnd) {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        try {
          onResult.accept(new JsonObject(line));
        } catch (DecodeException other) {
          LOG.info("process {} printed {}", process.pid(), line);
        }
      }
    } catch (IOException closed) {
      LOG.debug("process {}: {}", process.pid(), closed.toString());
    }
    onEnd.run();
  }

  /** Sends a task; a process that has ended does not receive it. */
  public void send(JsonObject task) {
    try {
      OutputStream input = process.getOutputStream();
      input.write((task.encode() + "\n").getBytes(StandardCharsets.UTF_8));
      input.flush();
    } catch (IOException ended) {
      LOG.debug("process {} did not receive a task: {}", process.pid(), ended.toString());
    }
  }

  /** Returns whether it has not ended. */
  public boolean runs() {
    return process.isAlive();
  }

  /** Returns its process id. */
  public long pid() {
    return process.pid();
  }

  /** Asks it to pause the trial that it trains and to end. */
  public void askToEnd() {
    try {
      process.getOutputStream().close();
    } catch (IOException ended) {
      LOG.debug("process {}: {}", process.pid(), ended.toString());
    }
  }

  /** Waits until it has ended, and kills it after the limit. */
  public void awaitEnd(long limitSeconds) {
    try {
      if (!process.waitFor(limitSeconds, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor(KILLED_SECONDS, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether Ctrl-C or a signal asked it to end; false while it runs. */
  public boolean wasAsked() {
    return !process.isAlive() && SIGNALS.contains(process.exitValue());
  }

  /** Returns how it ended, for people: exit code and log; waits some seconds for the code. */
  public String ending() {
    awaitEnd(KILLED_SECONDS);
    return process.isAlive()
        ? "its process %s stays; log: %s".formatted(pid(), log)
        : "its process %s ended with exit code %s; log: %s"
            .formatted(pid(), process.exitValue(), log);
  }
}
