package io.vertigrad.launcher;

import com.sun.management.UnixOperatingSystemMXBean;
import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.compute.settings.MissingClass;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JoinException;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.training.JobFailedException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.InvalidPathException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Reports a command's failure: one line on the terminal, the stack trace in the log. */
final class FailureReport {

  /**
   * Longest message that is printed, in characters; a library's message may quote all of its input.
   */
  private static final int MOST_CHARACTERS = 4_000;

  private FailureReport() {}

  static int wrongArguments(ParameterException error, String[] arguments) {
    CommandLine command = error.getCommandLine();
    StringBuilder line = new StringBuilder("vertigrad: ").append(oneLine(error.getMessage()));
    if (error instanceof UnmatchedArgumentException unmatched) {
      List<String> nearest = suggestions(unmatched);
      line.append(nearest.isEmpty() ? "" : ", did you mean " + String.join(" or ", nearest) + "?");
    }
    line.append("; see ").append(help(command.getCommandSpec().qualifiedName()));
    command.getErr().println(line);
    return ExitStatus.BAD_INPUT;
  }

  /**
   * Returns similar options. For a name that other programs use for an option, it returns the
   * {@code --set} that sets the matching key.
   */
  private static List<String> suggestions(UnmatchedArgumentException error) {
    String typed = error.getUnmatched().get(0);
    boolean takesKeys = error.getCommandLine().getCommandSpec().optionsMap().containsKey("--set");
    Optional<String> key =
        typed.startsWith("--") && takesKeys
            ? Settings.usualKey(typed.substring(2).replaceFirst("=.*", ""))
            : Optional.empty();
    return key.map(path -> List.of("--set %s=VALUE".formatted(path)))
        .orElseGet(error::getSuggestions);
  }

  private static ShellCommand help(String command) {
    List<String> words = new ArrayList<>(List.of(command.split(" ")));
    words.remove(0);
    return new ShellCommand(words).with("--help");
  }

  static int failed(Exception error, CommandLine command, ParseResult result) {
    LoggerFactory.getLogger(FailureReport.class).debug("the command failed", error);
    Optional<Throwable> input = causes(error).filter(FailureReport::isInput).findFirst();
    Optional<Throwable> job = causes(error).filter(FailureReport::isJob).findFirst();
    if (input.isPresent() && job.isEmpty()) {
      String message =
          input.get() instanceof InvalidPathException path
              ? invalidPath(path, System.getProperty("sun.jnu.encoding"))
              : input.get().getMessage();
      command.getErr().println("vertigrad: " + related(result, message));
      return ExitStatus.BAD_INPUT;
    }
    Optional<String> limit =
        causes(error).map(FailureReport::limit).flatMap(Optional::stream).findFirst();
    if (limit.isPresent()) {
      command.getErr().println("vertigrad: " + limit.get());
      return ExitStatus.JOB_FAILED;
    }
    Optional<String> missing = MissingClass.in(error);
    if (missing.isPresent()) {
      command.getErr().println("vertigrad: " + missing.get());
      return ExitStatus.BAD_INPUT;
    }
    String line = job.map(failure -> related(result, FailureReason.of(failure))).orElse(bug(error));
    command.getErr().println("vertigrad: " + line);
    return ExitStatus.JOB_FAILED;
  }

  /**
   * Returns why a job has failed, or why it cannot run here; empty for a failure that nobody
   * expected.
   */
  static Optional<String> reason(RuntimeException error) {
    Optional<String> failed =
        causes(error).filter(FailureReport::isJob).findFirst().map(FailureReason::of);
    return failed
        .or(
            () ->
                causes(error).filter(FailureReport::isInput).findFirst().map(Throwable::getMessage))
        .map(FailureReport::oneLine);
  }

  /** Returns whether the same attempt may succeed a moment later. */
  static boolean isPassing(RuntimeException error) {
    return causes(error).anyMatch(FailureReport::isJob);
  }

  /**
   * Names the locale where it is the cause.
   *
   * @param encoding what Java takes the names of files for, by the locale of the process
   */
  static String invalidPath(InvalidPathException error, String encoding) {
    if ("UTF-8".equals(encoding) || !error.getReason().contains("unmappable")) {
      return error.getMessage();
    }
    return "%s: a name with letters beyond ASCII needs a UTF-8 locale, and that of this process is %s: set LC_ALL=C.UTF-8, or another UTF-8 locale of this machine (locale -a lists them)"
        .formatted(error.getInput(), encoding);
  }

  /** Names the limit of the operating system that a failure has met, and how to raise it. */
  static Optional<String> limit(Throwable error) {
    String message = String.valueOf(error.getMessage());
    if (message.contains("Too many open files")
        || message.contains("failed to create a child event loop")
        || message.contains("failed to open a new selector")) {
      String files =
          ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
              ? "%s files and connections".formatted(unix.getMaxFileDescriptorCount())
              : "no more files and connections";
      return Optional.of(
          "this process may open %s at once, which is too few: raise it with ulimit -n 4096, or as LimitNOFILE= of a service"
              .formatted(files));
    }
    return message.contains("unable to create native thread")
        ? Optional.of(
            "the operating system allows no more threads: raise the limit with ulimit -u, as TasksMax= of a service, or as the pids limit of a container")
        : Optional.empty();
  }

  private static boolean isJob(Throwable error) {
    return error instanceof JobFailedException
        || error instanceof JoinException join && !join.refused()
        || error instanceof UncheckedIOException
        || error instanceof ComponentException component && !component.isPermanent();
  }

  private static boolean isInput(Throwable error) {
    return error instanceof InputException
        || error instanceof JoinException join && join.refused()
        || error instanceof SettingsException
        || error instanceof DataException
        || error instanceof ComponentException component && component.isPermanent()
        || error instanceof InvalidPathException
        || error.getClass() == IllegalArgumentException.class;
  }

  private static Stream<Throwable> causes(Throwable error) {
    return Stream.iterate(error, cause -> cause != null, Throwable::getCause);
  }

  /** Returns a message without the options of this command that have nothing to do with it. */
  private static String related(ParseResult result, String message) {
    return oneLine(
        Stream.iterate(result, one -> one != null, ParseResult::subcommand)
            .flatMap(one -> one.commandSpec().mixins().values().stream())
            .map(CommandSpec::userObject)
            .filter(JobOptions.class::isInstance)
            .map(options -> ((JobOptions) options).related(message))
            .findFirst()
            .orElse(message));
  }

  private static String bug(Throwable error) {
    return "unexpected: %s; the trace is in the run's log".formatted(oneLine(error.toString()));
  }

  /** Returns a message on one line, without what a terminal obeys: it may quote another's file. */
  static String oneLine(String text) {
    if (text == null) {
      return "no message";
    }
    String whole = text.strip();
    String shown =
        whole.length() > MOST_CHARACTERS ? whole.substring(0, MOST_CHARACTERS) + "..." : whole;
    return shown.replaceAll("\\s*\\R\\s*", " | ").replaceAll("[\\p{Cc}\\p{Cf}&&[^\t]]", "?");
  }
}
