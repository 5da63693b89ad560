package io.vertigrad.launcher;

import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.sweep.Sweep;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.Console;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
  private static final JsonObject NO_SWEEP = new JsonObject();
  private static final String NAMES = "Names of runs below runs/ (--in); last is the newest run.";
  private static final String JSON =
      "Prints one array with an object per run (docs/reference/runs.md) for programs.";
  private static final double MIB = 1 << 20;
  private static final Pattern AGE = Pattern.compile("([1-9][0-9]{0,5})([hdw])");
  private static final Map<String, Duration> UNITS =
      Map.of("h", Duration.ofHours(1), "d", Duration.ofDays(1), "w", Duration.ofDays(7));

  /** Number of runs that a question names in its own line. */
  private static final int FEW = 3;

  @Option(
      names = "--in",
      paramLabel = "DIR",
      defaultValue = "runs",
      scope = ScopeType.INHERIT,
      description = "The folder that holds the runs' folders. Default: ${DEFAULT-VALUE}.")
  private Path folder;

  @Option(names = "--json", description = JSON)
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
  int list(@Option(names = "--json", description = JSON) boolean asJson) {
    RunLog.leaveConsole();
    RunList runs = new RunList(folder);
    if (asJson) {
      System.out.println(runs.described().encode());
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
      description =
          "Deletes the folders of runs that are over and not kept; of a sweep, all trials.",
      parameterListHeading = "%nParameters:%n",
      optionListHeading = OPTIONS)
  int remove(
      @Parameters(paramLabel = "NAME", arity = "0..*", description = NAMES) List<String> names,
      @Option(
              names = "--older-than",
              paramLabel = "AGE",
              description =
                  "In place of names: all runs that were last written so long ago, such as 12h, 30d or"
                      + " 8w. Those that go on or are kept stay.")
          String age,
      @Option(names = "--yes", description = "Asks no question.") boolean yes) {
    RunLog.leaveConsole();
    if ((names == null) == (age == null)) {
      throw new InputException(
          "runs rm: found %s, expected either names of runs or --older-than AGE"
              .formatted(age == null ? "neither names nor an age" : "names and an age"));
    }
    RunList runs = new RunList(folder);
    List<RunDirectory> sweeps = age == null ? sweeps(names) : List.of();
    Set<RunDirectory> found = age == null ? found(runs, names, sweeps) : older(runs, age);
    found.forEach(RunList::requireRemovable);
    // Fails while a process runs it.
    sweeps.forEach(sweep -> Sweep.resume(sweep.path()).close());
    if (found.isEmpty() && sweeps.isEmpty()) {
      System.out.println("no run in %s is to be deleted".formatted(folder));
      return ExitStatus.OK;
    }
    Set<RunDirectory> asked = new LinkedHashSet<>(found);
    asked.addAll(sweeps);
    if (!yes && !confirmed(asked)) {
      System.out.println("nothing was deleted");
      return ExitStatus.OK;
    }
    long all = 0;
    for (RunDirectory run : found) {
      long bytes = runs.remove(run);
      all += bytes;
      System.out.println("deleted %s: %s".formatted(run.path(), size(bytes)));
    }
    for (RunDirectory sweep : sweeps) {
      Sweep held = Sweep.resume(sweep.path());
      try (held) {
        long bytes = sweep.delete();
        all += bytes;
        System.out.println("deleted %s: %s".formatted(sweep.path(), size(bytes)));
      }
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

  /** Finds runs of these names, and the trials of those that are sweeps. */
  private Set<RunDirectory> found(RunList runs, List<String> names, List<RunDirectory> sweeps) {
    Set<String> swept = sweeps.stream().map(RunDirectory::name).collect(Collectors.toSet());
    Set<RunDirectory> found =
        found(runs, names.stream().filter(name -> !swept.contains(below(name))).toList());
    runs.described().stream()
        .map(JsonObject.class::cast)
        .filter(run -> swept.contains(run.getJsonObject("sweep", NO_SWEEP).getString("sweep")))
        .forEach(run -> runs.find(run.getString("name")).ifPresent(found::add));
    return found;
  }

  /** Returns those of the names that are sweeps. */
  private List<RunDirectory> sweeps(List<String> names) {
    return names.stream()
        .map(this::below)
        .filter(name -> name.matches(SweepCommand.NAME))
        .map(name -> new RunDirectory(folder.resolve(name)))
        .filter(sweep -> Files.isDirectory(sweep.path(), LinkOption.NOFOLLOW_LINKS))
        .filter(sweep -> Files.isRegularFile(sweep.path().resolve(Sweep.JOURNAL)))
        .distinct()
        .toList();
  }

  /** Finds the runs that were last written so long ago and may be deleted; names the others. */
  private Set<RunDirectory> older(RunList runs, String age) {
    Matcher read = AGE.matcher(age);
    if (!read.matches()) {
      throw new InputException(
          "--older-than %s: expected a number of hours, days or weeks, such as 12h, 30d or 8w"
              .formatted(age));
    }
    long millis = Long.parseLong(read.group(1)) * UNITS.get(read.group(2)).toMillis();
    Set<RunDirectory> older = new LinkedHashSet<>();
    for (RunDirectory run : runs.unchangedSince(System.currentTimeMillis() - millis)) {
      Optional<String> stays = RunList.whyStays(run);
      stays.ifPresent(why -> System.out.println("stays: " + why));
      if (stays.isEmpty()) {
        older.add(run);
      }
    }
    return older;
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
    boolean few = runs.size() <= FEW;
    if (console != null && !few) {
      runs.forEach(run -> System.out.println(run.path()));
    }
    String question = few ? names : "these %s runs".formatted(runs.size());
    String answer = console == null ? null : console.readLine("delete %s? [y/N] ", question);
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
