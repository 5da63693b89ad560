package io.vertigrad.launcher;

import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.Console;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ScopeType;

/**
 * Implements {@code vertigrad runs}, which lists the runs of a folder, and deletes or marks them.
 */
@Command(
    name = "runs",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    synopsisSubcommandLabel = "[COMMAND]",
    description = {"Lists the runs of a folder, the newest first; deletes, keeps and notes runs."},
    optionListHeading = RunsCommand.OPTIONS,
    commandListHeading = "%nCommands:%n")
final class RunsCommand implements Callable<Integer> {

  static final String OPTIONS = "%nOptions:%n";
  private static final String NAMES = "Names of runs below runs/ (--in); last is the newest run.";
  private static final double MIB = 1 << 20;

  @Option(
      names = "--in",
      paramLabel = "DIR",
      defaultValue = "runs",
      scope = ScopeType.INHERIT,
      description = "The folder that holds the runs' folders. Default: ${DEFAULT-VALUE}.")
  private Path folder;

  @Option(names = "--json", description = "Prints what the page gets as JSON.")
  private boolean json;

  /** Lists the runs. */
  @Override
  public Integer call() {
    return list(json);
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description = "Lists the runs, as without a command.",
      optionListHeading = OPTIONS)
  int list(
      @Option(names = "--json", description = "Prints what the page gets as JSON.")
          boolean asJson) {
    RunLog.leaveConsole();
    RunList runs = new RunList(folder);
    if (asJson) {
      System.out.println(runs.list().toString(StandardCharsets.UTF_8));
      return ExitStatus.OK;
    }
    List<String> lines = runs.lines();
    (lines.isEmpty() ? List.of("no run in " + folder) : lines).forEach(System.out::println);
    return ExitStatus.OK;
  }

  @Command(
      name = "rm",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = "Deletes the folders of runs that are over and not kept.",
      parameterListHeading = "%nParameters:%n",
      optionListHeading = OPTIONS)
  int remove(
      @Parameters(paramLabel = "NAME", arity = "1..*", description = NAMES) List<String> names,
      @Option(names = "--yes", description = "Asks no question.") boolean yes) {
    RunLog.leaveConsole();
    RunList runs = new RunList(folder);
    Set<RunDirectory> found = found(runs, names);
    found.forEach(RunList::requireRemovable);
    if (!yes && !confirmed(found)) {
      System.out.println("nothing was deleted");
      return ExitStatus.OK;
    }
    long all = 0;
    for (RunDirectory run : found) {
      long bytes = runs.remove(run);
      all += bytes;
      System.out.println("deleted %s: %s".formatted(run.path(), size(bytes)));
    }
    if (found.size() > 1) {
      System.out.println("deleted %s runs: %s".formatted(found.size(), size(all)));
    }
    return ExitStatus.OK;
  }

  @Command(
      name = "keep",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = "Marks runs that rm must not delete.",
      parameterListHeading = "%nParameters:%n",
      optionListHeading = OPTIONS)
  int keep(
      @Parameters(paramLabel = "NAME", arity = "1..*", description = NAMES) List<String> names,
      @Option(names = "--undo", description = "Removes the mark.") boolean undo) {
    RunLog.leaveConsole();
    RunList runs = new RunList(folder);
    for (RunDirectory run : found(runs, names)) {
      runs.annotate(run.name(), JsonObject.of("kept", !undo));
      System.out.println("%s: %s".formatted(run.path(), undo ? "no longer kept" : "kept"));
    }
    return ExitStatus.OK;
  }

  @Command(
      name = "name",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = "Gives a run a name that page and lists show; its folder keeps its own.",
      parameterListHeading = "%nParameters:%n",
      optionListHeading = OPTIONS)
  int name(
      @Parameters(index = "0", paramLabel = "RUN", description = NAMES) String run,
      @Parameters(
              index = "1",
              paramLabel = "NAME",
              description = "Up to 60 characters; \"\" removes the name.")
          String label) {
    return annotate(run, JsonObject.of("label", label));
  }

  @Command(
      name = "note",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = "Keeps a note and tags in the folder of a run; the page shows both.",
      parameterListHeading = "%nParameters:%n",
      optionListHeading = OPTIONS)
  int note(
      @Parameters(index = "0", paramLabel = "NAME", description = NAMES) String name,
      @Parameters(
              index = "1",
              arity = "0..1",
              paramLabel = "TEXT",
              description = "The note, in place of an earlier one; \"\" removes it.")
          String text,
      @Option(
              names = "--tag",
              paramLabel = "TAG",
              description =
                  "A tag; together they replace the earlier ones, and \"\" alone removes them."
                      + " Repeatable.")
          List<String> tags) {
    RunLog.leaveConsole();
    JsonObject change = new JsonObject();
    Optional.ofNullable(text).ifPresent(note -> change.put("note", note));
    Optional.ofNullable(tags)
        .ifPresent(
            words ->
                change.put("tags", new JsonArray(words.equals(List.of("")) ? List.of() : words)));
    if (change.isEmpty()) {
      throw new InputException("runs note: found no text and no tag, expected one of them");
    }
    return annotate(name, change);
  }

  private int annotate(String name, JsonObject change) {
    RunLog.leaveConsole();
    RunList runs = new RunList(folder);
    for (RunDirectory run : found(runs, List.of(name))) {
      runs.annotate(run.name(), change);
      System.out.println("written to " + run.notes());
    }
    return ExitStatus.OK;
  }

  /** Finds all runs before anything is done with one of them. */
  private Set<RunDirectory> found(RunList runs, List<String> names) {
    return names.stream()
        .map(
            name ->
                (name.equals("last")
                        ? Optional.of(RunDirectory.find(folder, name))
                        : runs.find(below(name)))
                    .orElseThrow(() -> unknown(name)))
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  /** Returns the name of a run that was given as a path, as a shell completes it. */
  private String below(String name) {
    Path path = Path.of(name).toAbsolutePath().normalize();
    boolean inside = folder.toAbsolutePath().normalize().equals(path.getParent());
    return inside ? path.getFileName().toString() : name;
  }

  private InputException unknown(String name) {
    return new InputException(
        "%s: expected the name of a run in %s, as runs lists them".formatted(name, folder));
  }

  private static boolean confirmed(Set<RunDirectory> runs) {
    String names =
        runs.stream().map(run -> run.path().toString()).collect(Collectors.joining(", "));
    Console console = System.console();
    String answer = console == null ? null : console.readLine("delete %s? [y/N] ", names);
    if (answer == null) {
      throw new InputException(
          "runs rm: there is no terminal to ask on; to delete %s without a question, add --yes"
              .formatted(names));
    }
    return answer.strip().toLowerCase(Locale.ROOT).matches("y|yes");
  }

  private static String size(long bytes) {
    return String.format(Locale.ROOT, "%,.1f MiB", bytes / MIB);
  }
}
