package io.vertigrad.launcher.deploy;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs one member of a job in its own JVM, started like this one, with its output in a file. */
final class ChildProcess {

  private static final Logger LOG = LoggerFactory.getLogger(ChildProcess.class);

  /**
   * The option that makes a child end when its parent does. The parent's end closes the child's
   * standard input.
   */
  static final String WITH_PARENT = "--with-parent";

  /** Options that only one JVM of a machine may have. */
  private static final List<String> ONLY_ONCE =
      List.of("-agentlib:jdwp", "-XX:ArchiveClassesAtExit", "-XX:AOTCacheOutput");

  private static final int LAST_LINES = 5;

  /** A larger exit code is this number plus the signal that ended the process. */
  private static final int SIGNALS = 128;

  private final String name;
  private final Path log;

  /** The exit code of a process that another process started; nobody here receives its real one. */
  private static final int UNKNOWN = -1;

  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final CompletableFuture<Void> found = new CompletableFuture<>();
  private final ProcessHandle handle;
  private final Optional<Process> process;

  private ChildProcess(String name, Path log, ProcessHandle handle, Optional<Process> process) {
    this.name = name;
    this.log = log;
    this.handle = handle;
    this.process = process;
  }

  /** Returns a member's process that another process has started. */
  static ChildProcess found(String name, Path log, ProcessHandle handle) {
    ChildProcess child = new ChildProcess(name, log, handle, Optional.empty());
    Thread watch = new Thread(child::watch, "watch-" + name);
    watch.setDaemon(true);
    watch.start();
    return child;
  }

  /**
   * Waits until a process that this JVM did not start has ended. If its parent has ended too, its
   * exit code may stay uncollected; it counts as ended all the same.
   */
  private void watch() {
    while (isAlive()) {
      LockSupport.parkNanos(LOOK_NANOS);
    }
    found.complete(null);
  }

  /** Starts {@code java} with this JVM's options and other arguments for the main class. */
  static ChildProcess start(String name, Path log, String mainClass, List<String> arguments)
      throws IOException {
    Files.createDirectories(log.getParent());
    ProcessBuilder builder =
        new ProcessBuilder(command(log.getParent(), mainClass, arguments))
            .redirectErrorStream(true);
    Process started = builder.redirectOutput(log.toFile()).start();
    return new ChildProcess(name, log, started.toHandle(), Optional.of(started));
  }

  /**
   * Returns {@code java} with this JVM's options and other arguments for the main class.
   *
   * @param folder an existing folder, for the file with the options
   */
  static List<String> command(Path folder, String mainClass, List<String> arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("@" + argumentFile(folder));
    command.add(mainClass);
    command.addAll(arguments);
    return command;
  }

  /**
   * Writes this JVM's options and class path into a file of its children, because the class path
   * alone has some 9,000 characters: lists of processes show the arguments of the main class.
   */
  private static Path argumentFile(Path folder) throws IOException {
    List<String> options = new ArrayList<>(List.of("-XX:+ExitOnOutOfMemoryError"));
    options.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    options.removeIf(argument -> ONLY_ONCE.stream().anyMatch(argument::startsWith));
    options.addAll(List.of("-cp", System.getProperty("java.class.path")));
    // Java takes the file's bytes for what they are on a command line.
    Charset encoding = Charset.forName(System.getProperty("sun.jnu.encoding"));
    byte[] text =
        options.stream()
            .map(option -> "\"" + option.replace("\\", "\\\\").replace("\"", "\\\"") + "\"\n")
            .collect(Collectors.joining())
            .getBytes(encoding);
    Path file = folder.resolve("java-%s.args".formatted(ProcessHandle.current().pid()));
    // In a container, the process that wrote the file before a restart had the same number.
    if (!Files.exists(file) || !Arrays.equals(Files.readAllBytes(file), text)) {
      Path written = Files.createTempFile(folder, "java-", ".new");
      Files.write(written, text);
      Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
    }
    return file;
  }

  /**
   * Writes a line to the process's standard input, which stays open. A process that has ended does
   * not receive it.
   */
  void send(String line) {
    process.ifPresent(
        started -> {
          try {
            OutputStream input = started.getOutputStream();
            input.write((line + System.lineSeparator()).getBytes(StandardCharsets.UTF_8));
            input.flush();
          } catch (IOException ended) {
            LOG.debug("{} did not receive {}: {}", name, line, ended.getMessage());
          }
        });
  }

  String name() {
    return name;
  }

  ProcessHandle handle() {
    return handle;
  }

  long pid() {
    return handle.pid();
  }

  int exitCode() {
    return process.map(Process::exitValue).orElse(UNKNOWN);
  }

  /** Completes when the process has ended. */
  CompletableFuture<?> onExit() {
    return process.<CompletableFuture<?>>map(Process::onExit).orElse(found);
  }

  /** Returns the exit code, and the signal that it stands for. */
  String exit() {
    int code = exitCode();
    if (code == UNKNOWN) {
      return "an exit code that is not known here";
    }
    return code > SIGNALS
        ? "exit code %s (signal %s)".formatted(code, code - SIGNALS)
        : "exit code " + code;
  }

  /**
   * Returns how the process ended, for the user: exit code and log, and the log's last lines if it
   * ended by itself.
   */
  String ending() {
    String ending = "%s (process %s) ended with %s".formatted(name, pid(), exit());
    return exitCode() > SIGNALS || exitCode() == UNKNOWN
        ? "%s; log: %s".formatted(ending, log)
        : "%s; %s ends with: %s".formatted(ending, log, String.join(" | ", lastLines()));
  }

  /** Returns the last line of the log. */
  String lastLine() {
    List<String> lines = lastLines();
    return lines.get(lines.size() - 1).replaceFirst("^vertigrad: ", "");
  }

  boolean isAlive() {
    return handle.isAlive() && (process.isPresent() || !isZombie());
  }

  private boolean isZombie() {
    try {
      String status = Files.readString(Path.of("/proc", Long.toString(pid()), "stat"));
      return status.substring(status.lastIndexOf(')')).startsWith(") Z");
    } catch (IOException noProc) {
      return false;
    }
  }

  /** Returns the length of what it has printed, in bytes. */
  long outputBytes() {
    return log.toFile().length();
  }

  /** Returns the processor time that it has taken, in milliseconds; 0 if that is not known. */
  long processorMillis() {
    return handle.info().totalCpuDuration().map(Duration::toMillis).orElse(0L);
  }

  /** Kills the process at once, also when it is stopped and reacts to nothing else. */
  void kill() {
    handle.destroyForcibly();
  }

  /** Asks the process to end; it leaves the job in good order. */
  void ask() {
    handle.destroy();
  }

  /** Waits for the process to end and kills it after the limit. */
  void end(long limitNanos) {
    try {
      onExit().get(Math.max(0, limitNanos), TimeUnit.NANOSECONDS);
    } catch (TimeoutException | ExecutionException late) {
      handle.destroyForcibly();
      awaitEnd();
    } catch (InterruptedException e) {
      handle.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private void awaitEnd() {
    try {
      onExit().get(1, TimeUnit.SECONDS);
    } catch (TimeoutException | ExecutionException stays) {
      // The operating system has been asked to kill it; nothing more can be done.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private List<String> lastLines() {
    try {
      List<String> lines = Files.readAllLines(log, StandardCharsets.UTF_8);
      List<String> last = lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size());
      return last.isEmpty() ? List.of("nothing") : last;
    } catch (IOException e) {
      return List.of("nothing readable");
    }
  }
}
