package io.vertigrad.launcher;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs {@code vertigrad train} in its own process, and keeps its output so far. */
final class RunProcess {

  private static final Pattern ADDRESS = Pattern.compile("dashboard: (\\S+) .*#token=(\\w+)\\)");

  private final Process process;
  private final List<String> lines = new CopyOnWriteArrayList<>();

  private RunProcess(Process process) {
    this.process = process;
  }

  static RunProcess train(Path folder, String... more) throws IOException {
    List<String> command = JavaCommand.of("512m", "train", "conf/digits-sync.json");
    command.addAll(List.of("--run-dir", folder.toString(), "--set", "dashboard.port=0"));
    command.addAll(List.of(more));
    RunProcess run = new RunProcess(new ProcessBuilder(command).redirectErrorStream(true).start());
    Thread reader = new Thread(run::read, "output of a run");
    reader.setDaemon(true);
    reader.start();
    return run;
  }

  /** Returns the page's address once it was printed; empty before. */
  String url() {
    return said(1);
  }

  /** Returns the token for controlling the run from its page once it was printed; empty before. */
  String token() {
    return said(2);
  }

  String output() {
    return String.join("\n", lines);
  }

  int exit() throws InterruptedException {
    return process.waitFor(60, TimeUnit.SECONDS) ? process.exitValue() : -1;
  }

  /** Sends SIGTERM. */
  void terminate() {
    process.destroy();
  }

  /** Kills the process and its children. */
  void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }

  private String said(int group) {
    // The line comes first, or after the line about the port that the cluster uses in place of a
    // taken one.
    return lines.stream()
        .map(ADDRESS::matcher)
        .filter(Matcher::find)
        .map(found -> found.group(group))
        .findFirst()
        .orElse("");
  }

  private void read() {
    try (BufferedReader output = process.inputReader()) {
      output.lines().forEach(lines::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (UncheckedIOException closed) {
      // The process has ended.
    }
  }
}
