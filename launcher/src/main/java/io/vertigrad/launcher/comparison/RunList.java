package io.vertigrad.launcher.comparison;

import io.vertigrad.dashboard.RunCurves;
import io.vertigrad.dashboard.RunsVerticle;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLock;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The runs of a folder, in whatever state their folders are: a list of all, and the curves and the
 * notes of each. Does not follow symbolic links from the folder. Thread-safe; every method blocks.
 *
 * <p>What was read is kept until a file has changed.
 */
public final class RunList implements RunsVerticle.Source {

  /** Number of runs whose curves are kept in memory, some 100 KB each. */
  private static final int MOST_CURVES = 512;

  private static final long MOST_EVENT_BYTES = 1L << 30;

  /** The coarsest clock of a file system, that of FAT. */
  private static final long CLOCK_MILLIS = 2_000;

  /** A number that JavaScript holds exactly. */
  private static final long WHOLE_NUMBERS = (1L << 53) - 1;

  private static final String NAME = "name";
  private static final String CHANGED = "changed";

  private final Path folder;
  private final Map<String, Known> known = new ConcurrentHashMap<>();
  private final Map<String, Curves> curves = new LinkedHashMap<>(16, 0.75f, true);

  private record Known(List<FileStamp> stamps, Optional<RunLock.Holder> holder, JsonObject row) {}

  private record Curves(long changed, Buffer json) {}

  /** Creates the list of the runs of this folder, which may not exist yet. */
  public RunList(Path folder) {
    this.folder = folder;
  }

  /**
   * Returns what the list shows of each run, the newest first, with its rank among the others.
   *
   * @throws InputException when the folder cannot be read
   */
  List<JsonObject> rows() {
    List<JsonObject> rows = new ArrayList<>();
    if (Files.exists(folder)) {
      try (DirectoryStream<Path> found = Files.newDirectoryStream(folder)) {
        found.forEach(
            path -> find(path.getFileName().toString()).flatMap(this::row).ifPresent(rows::add));
      } catch (IOException | DirectoryIteratorException e) {
        throw new InputException("%s: cannot be read: %s".formatted(folder, e.getMessage()), e);
      }
    }
    Set<String> names = rows.stream().map(row -> row.getString(NAME)).collect(Collectors.toSet());
    known.keySet().retainAll(names);
    rows.sort(
        Comparator.<JsonObject>comparingLong(row -> -row.getLong("startedMillis"))
            .thenComparing(row -> row.getString(NAME)));
    return RunRanking.ranked(rows);
  }

  /**
   * Returns the list as lines for a terminal; none when there is no run.
   *
   * @throws InputException when the folder cannot be read
   */
  public List<String> lines() {
    List<JsonObject> rows = rows();
    return rows.isEmpty() ? List.of() : RunsText.of(rows);
  }

  /**
   * Returns the list for programs, the newest run first. Each run has the fields that
   * docs/reference/runs.md describes; {@code differs} has those of its settings in which the runs
   * differ.
   *
   * @throws InputException when the folder cannot be read
   */
  public JsonArray described() {
    List<JsonObject> rows = rows();
    List<String> differing = RunsText.differing(rows);
    JsonArray described = new JsonArray();
    for (JsonObject row : rows) {
      JsonObject settings = RunRow.settings(row);
      JsonObject differs = new JsonObject();
      differing.stream()
          .filter(settings::containsKey)
          .forEach(key -> differs.put(key, settings.getValue(key)));
      JsonObject copy = row.copy();
      copy.remove(CHANGED);
      described.add(copy.put("differs", differs));
    }
    return described;
  }

  /**
   * Returns the runs whose job, events and summary were last written before this time, the newest
   * first.
   *
   * @param millis milliseconds since 1970
   * @throws InputException when the folder cannot be read
   */
  public List<RunDirectory> unchangedSince(long millis) {
    return rows().stream()
        .map(row -> find(row.getString(NAME)))
        .flatMap(Optional::stream)
        .filter(
            run ->
                Stream.of(run.job(), run.events(), run.summary(), run.launch())
                    .mapToLong(file -> FileStamp.of(file).modifiedMillis())
                    .allMatch(modified -> modified < millis))
        .toList();
  }

  /** Returns what the list shows of a run; empty when there is no such run. */
  public Optional<JsonObject> row(String name) {
    return find(name).flatMap(this::row);
  }

  /** Returns the folder of a run; empty unless a folder of this name has files of a run. */
  public Optional<RunDirectory> find(String name) {
    try {
      Path path = Path.of(name);
      // An empty name would be the folder itself, with all runs.
      boolean named = !name.isEmpty() && !name.startsWith(".");
      boolean plain = named && path.getNameCount() == 1 && !path.isAbsolute();
      return Optional.of(new RunDirectory(folder.resolve(path)))
          .filter(run -> plain && Files.isDirectory(run.path(), LinkOption.NOFOLLOW_LINKS))
          .filter(RunDirectory::isRun);
    } catch (InvalidPathException e) {
      return Optional.empty();
    }
  }

  @Override
  public Buffer list() {
    return new JsonObject()
        .put("folder", folder.toString())
        .put("runs", new JsonArray(rows()))
        .toBuffer();
  }

  /**
   * Checks that the page of a run may be shown: that its files are neither links, pipes nor
   * devices, and its events not too large.
   *
   * @throws InputException naming the file and what is wrong with it
   */
  public void requireReadable(RunDirectory run) {
    Path checked = run.events();
    try {
      requireEvents(run);
      for (Path file : List.of(run.job(), run.summary())) {
        checked = file;
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
          FileText.require(file);
        }
      }
    } catch (IOException e) {
      throw new InputException(checked.getFileName() + " " + FileText.reason(e), e);
    }
  }

  @Override
  public Buffer curves(String name, BooleanSupplier gone) {
    Optional<RunDirectory> run = find(name);
    Optional<JsonObject> row = run.flatMap(this::row);
    if (row.isEmpty()) {
      return problem(name, "there is no run %s in %s".formatted(name, folder));
    }
    long changed = row.get().getLong(CHANGED);
    Curves kept = kept(name);
    if (kept == null || kept.changed() != changed) {
      kept = new Curves(changed, read(run.get(), row.get(), gone));
      keep(name, kept);
    }
    return kept.json();
  }

  @Override
  public Buffer csv(boolean archived) {
    List<JsonObject> rows =
        rows().stream().filter(row -> archived || !row.containsKey(RunNotes.ARCHIVED)).toList();
    return Buffer.buffer(RunsCsv.of(rows));
  }

  @Override
  public synchronized JsonObject annotate(String name, JsonObject change) {
    RunDirectory run = required(name);
    RunNotes notes = RunNotes.read(run).with(change);
    notes.write(run);
    known.remove(name);
    return notes.toJson();
  }

  @Override
  public JsonObject delete(String name) {
    return JsonObject.of("bytes", remove(required(name)));
  }

  private RunDirectory required(String name) {
    return find(name)
        .orElseThrow(
            () -> new NoSuchElementException("there is no run %s in %s".formatted(name, folder)));
  }

  /**
   * Checks a name that a person gives a run.
   *
   * @param option the option that has it
   * @return the name without blanks around it
   * @throws InputException saying what is wrong with it
   */
  public static String requireLabel(String option, String label) {
    try {
      return RunNotes.label(option, label);
    } catch (IllegalArgumentException wrong) {
      throw new InputException(wrong.getMessage(), wrong);
    }
  }

  /** Gives a run the name that page and lists show. */
  public static void name(RunDirectory run, String label) {
    RunNotes.read(run).with(JsonObject.of(RunNotes.LABEL, label)).write(run);
  }

  /**
   * Returns why the last attempt of a run failed.
   *
   * @return empty if it did not fail, or its events do not say so
   */
  public static Optional<String> failure(RunDirectory run) {
    return RunRow.failure(run);
  }

  /**
   * Deletes the folder of a run.
   *
   * @return bytes of its files
   * @throws InputException when the run goes on, or is kept
   * @throws UncheckedIOException when a file cannot be deleted
   */
  public long remove(RunDirectory run) {
    requireRemovable(run);
    // A resumed run takes the lock before it does anything.
    RunLock lock = RunLock.take(run);
    try (lock) {
      return run.delete();
    }
  }

  /**
   * Checks that a run is over and not kept.
   *
   * @throws InputException when it is not
   */
  public static void requireRemovable(RunDirectory run) {
    whyStays(run)
        .ifPresent(
            why -> {
              throw new InputException(why);
            });
  }

  /** Returns why a run may not be deleted; empty when it is over and not kept. */
  public static Optional<String> whyStays(RunDirectory run) {
    return RunLock.look(run)
        .map(
            holder ->
                "%s: process %s runs it; end that one first"
                    .formatted(run.path(), holder.process()))
        .or(
            () ->
                Optional.of(run)
                    .filter(one -> RunNotes.read(one).kept())
                    .map(
                        one ->
                            "%s: is kept, by runs keep; to delete it, undo that with runs keep --undo %s"
                                .formatted(one.path(), one.name())));
  }

  private Optional<JsonObject> row(RunDirectory run) {
    List<FileStamp> stamps =
        Stream.of(run.job(), run.summary(), run.events(), run.notes(), run.sweep())
            .map(FileStamp::of)
            .toList();
    Optional<RunLock.Holder> holder = RunLock.look(run);
    Known before = known.get(run.name());
    if (before != null && before.stamps().equals(stamps) && before.holder().equals(holder)) {
      return Optional.of(before.row());
    }
    JsonObject row = read(run, holder).put(CHANGED, changed(stamps));
    if (!run.isRun()) {
      // Somebody has deleted it meanwhile.
      return Optional.empty();
    }
    if (settled(stamps)) {
      known.put(run.name(), new Known(stamps, holder, row));
    }
    return Optional.of(row);
  }

  /**
   * Returns whether every later change of a file will show in its time: a file that is written
   * twice within the resolution of its file system's clock has the same time, perhaps the same
   * size.
   */
  private static boolean settled(List<FileStamp> stamps) {
    long newest = stamps.stream().mapToLong(FileStamp::modifiedMillis).max().orElse(0);
    return System.currentTimeMillis() - newest > CLOCK_MILLIS;
  }

  private static JsonObject read(RunDirectory run, Optional<RunLock.Holder> holder) {
    try {
      return RunRow.read(run, holder);
    } catch (RuntimeException unexpected) {
      // One folder must not hide the others.
      return new JsonObject()
          .put(NAME, run.name())
          .put(RunRow.STATE, "unreadable")
          .put("startedMillis", RunRow.startedMillis(run))
          .put(RunRow.PROBLEM, "it cannot be read: " + unexpected);
    }
  }

  /** Returns a number that differs when the curves do: all but the notes have a part in them. */
  private static long changed(List<FileStamp> stamps) {
    return (stamps.subList(0, 3).hashCode() * 0x9E3779B97F4A7C15L
            + stamps.get(2).bytes() * 31
            + stamps.get(2).modifiedMillis())
        & WHOLE_NUMBERS;
  }

  private static void requireEvents(RunDirectory run) throws IOException {
    FileText.require(run.events());
    long bytes = FileStamp.of(run.events()).bytes();
    if (bytes > MOST_EVENT_BYTES) {
      throw new IOException(
          String.format(
              Locale.ROOT, "has %,d bytes, expected at most %,d", bytes, MOST_EVENT_BYTES));
    }
  }

  private Buffer read(RunDirectory run, JsonObject row, BooleanSupplier gone) {
    String name = run.name();
    try {
      FileText.require(run.events());
      double versions = Math.max(1, row.getDouble("version", 0.0));
      RunCurves read = RunCurves.read(run.curves(), run.events(), MOST_EVENT_BYTES, gone);
      JsonObject json =
          read.toJson()
              .put(NAME, name)
              .put(CHANGED, row.getLong(CHANGED))
              .put(RunRow.STATE, row.getString(RunRow.STATE))
              .put("counted", FinishedRun.counted(run).orElse("versions"))
              .put("samplesPerVersion", row.getDouble("samples", 0.0) / versions);
      return (read.wereSaved() ? json : json.put("unsaved", true)).toBuffer();
    } catch (IOException e) {
      return problem(name, "events.jsonl " + FileText.reason(e) + ": there are no curves");
    }
  }

  private static Buffer problem(String name, String problem) {
    return JsonObject.of(NAME, name, RunRow.PROBLEM, problem).toBuffer();
  }

  private Curves kept(String name) {
    synchronized (curves) {
      return curves.get(name);
    }
  }

  private void keep(String name, Curves fresh) {
    synchronized (curves) {
      curves.put(name, fresh);
      if (curves.size() > MOST_CURVES) {
        curves.remove(curves.keySet().iterator().next());
      }
    }
  }
}
