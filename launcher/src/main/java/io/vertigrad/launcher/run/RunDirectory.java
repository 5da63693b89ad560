package io.vertigrad.launcher.run;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.InputException;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder of one run.
 *
 * @param path {@code runs/<time>-<job>} unless another was chosen
 */
public record RunDirectory(Path path) {

  /** The folder in which runs are kept, and looked for by their names. */
  public static final Path RUNS = Path.of("runs");

  private static final Logger LOG = LoggerFactory.getLogger(RunDirectory.class);
  private static final int ID_DIGITS = 8;
  private static final Pattern MODEL = Pattern.compile("model\\.[a-z0-9]+");
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT);

  /** Name of the file with the secret, in a run's folder and beside a copied job file. */
  public static final String SECRET = "secret";

  /**
   * Creates a new folder {@code runs/<time>-<job>} below the working directory.
   *
   * @throws InputException when it cannot be written
   */
  public static RunDirectory fresh(Path parent, String job, LocalDateTime now) {
    return create(parent.resolve(freshName(parent, job, now)));
  }

  /** Returns a name {@code <time>-<job>} that nothing in a folder has. */
  public static String freshName(Path parent, String job, LocalDateTime now) {
    String id = TIME.format(now) + "-" + job;
    String name = id;
    for (int again = 2; Files.exists(parent.resolve(name)); again++) {
      name = id + "-" + again;
    }
    return name;
  }

  /**
   * Creates the folder that was asked for.
   *
   * @throws InputException when it is not empty, or cannot be written
   */
  public static RunDirectory at(Path path) {
    if (Files.isDirectory(path) && !isEmpty(path) || Files.isRegularFile(path)) {
      throw new InputException(
          "--run-dir %s: there is something in it already, expected a new or empty folder"
              .formatted(path));
    }
    return create(path);
  }

  /**
   * Returns the file of the job as it runs, with every change of the command line. It lacks the
   * paths and addresses that are valid on this machine only.
   */
  public Path job() {
    return path.resolve("job.json");
  }

  /** Returns the file of events, one JSON object per line. */
  public Path events() {
    return path.resolve("events.jsonl");
  }

  /** Returns the file of the run's curves, thinned, which is written while the run goes on. */
  public Path curves() {
    return path.resolve("curves.json");
  }

  /**
   * Returns the file with a line per epoch: number from 0, seconds of training, training loss, test
   * accuracy.
   */
  public Path epochs() {
    return path.resolve("epochs.log");
  }

  /**
   * Returns the file with each member's activities over time, which is written only when the job
   * asks for it. Each coordinator has its own file.
   */
  public Path timeline(int resumes) {
    return path.resolve(resumes == 0 ? "timeline.json" : "timeline-%s.json".formatted(resumes));
  }

  /** Returns the file that the process of the run's coordinator holds locked. */
  public Path lock() {
    return path.resolve("lock");
  }

  /** Returns the file that records how the run was started on this machine. */
  public Path launch() {
    return path.resolve("launch.json");
  }

  /**
   * Returns the file with the last addresses of the cluster's nodes, from which the next
   * coordinator finds those that still run.
   */
  public Path nodes() {
    return path.resolve("nodes.json");
  }

  /** Returns the file of tags and a note that a person wrote; nothing that trains reads it. */
  public Path notes() {
    return path.resolve("notes.json");
  }

  /** Returns the file that says which trial of a sweep the run is; there is none for other runs. */
  public Path sweep() {
    return path.resolve("sweep.json");
  }

  /** Returns the folder's name. */
  public String name() {
    return path.toAbsolutePath().normalize().getFileName().toString();
  }

  /** Returns whether the folder has any file that a run begins with. */
  public boolean isRun() {
    return Stream.of(job(), launch(), events(), summary())
        .anyMatch(file -> Files.exists(file, LinkOption.NOFOLLOW_LINKS));
  }

  /** Returns the file of the result. */
  public Path summary() {
    return path.resolve("summary.json");
  }

  /** Returns the file in which a job's engine saves the trained network. */
  public Path model(JobConfig job) {
    return path.resolve(Engine.named(job.engine()).modelFile(job.model().name()));
  }

  /** Returns the trained network if it exists: {@code model.zip}, or another engine's file name. */
  public Optional<Path> model() {
    try (DirectoryStream<Path> found =
        Files.newDirectoryStream(path, file -> MODEL.matcher(name(file)).matches())) {
      Iterator<Path> files = found.iterator();
      return files.hasNext() ? Optional.of(files.next()) : Optional.empty();
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private static String name(Path file) {
    return file.getFileName().toString();
  }

  /** Returns the full log of this JVM. */
  public Path log() {
    return path.resolve("run.log");
  }

  /** Returns the log of a child process, for example {@code logs/worker-1.log}. */
  public Path log(String process) {
    return path.resolve("logs").resolve(process + ".log");
  }

  /**
   * Returns the file of the secret with which members prove that they belong to this run, unless
   * the job file names another. Only the owner can read it.
   */
  public Path secret(JobConfig job) {
    return job.cluster().secretFile().map(Path::of).orElseGet(() -> path.resolve(SECRET));
  }

  /** Returns the folder in which servers keep checkpoints unless the job file names another. */
  public Path checkpoints() {
    return path.resolve("checkpoints");
  }

  /**
   * Returns the job as a new run of this folder. Its checkpoints go into the folder unless the job
   * names another.
   */
  public JobConfig begin(JobConfig job) {
    JsonObject json = job.json().copy();
    if (job.checkpoint().directory().isEmpty()) {
      json.getJsonObject("checkpoint").put("directory", checkpoints().toAbsolutePath().toString());
    }
    String id = "%s-%s".formatted(name(), UUID.randomUUID().toString().substring(0, ID_DIGITS));
    json.put("run", new JsonObject().put("id", id).put("resumes", 0));
    return JobConfig.read(job.origin(), json);
  }

  /**
   * Finds the folder of a run that was started before.
   *
   * @param name its path, its name below {@code parent}, or {@code last} for the newest there
   * @throws InputException when there is none
   */
  public static RunDirectory find(Path parent, String name) {
    if (name.equals("last")) {
      try (Stream<Path> runs = Files.isDirectory(parent) ? Files.list(parent) : Stream.empty()) {
        return runs.map(RunDirectory::new)
            .filter(run -> Files.isReadable(run.launch()))
            .max(
                Comparator.comparingLong(RunLaunch::startedMillis)
                    .thenComparing(RunDirectory::isOriginal)
                    .thenComparing(RunDirectory::name))
            .orElseThrow(
                () ->
                    new InputException(
                        "last: found no run below %s, expected the folder where train was started"
                            .formatted(parent.toAbsolutePath())));
      } catch (IOException e) {
        throw new InputException("%s: cannot be read: %s".formatted(parent, e.getMessage()), e);
      }
    }
    return Stream.of(Path.of(name), parent.resolve(name))
        .map(RunDirectory::new)
        .filter(run -> Files.isReadable(run.job()))
        .findFirst()
        .orElseThrow(
            () ->
                new InputException(
                    "%s: expected the folder of a run, as train makes them below runs/, or last"
                        .formatted(name)));
  }

  /**
   * Returns the folder that a name means, whether it holds a run or not.
   *
   * @param name its path, its name below {@code parent}, or {@code last} for the newest there
   * @throws InputException when {@code last} is given and there is no run
   */
  public static Path named(Path parent, String name) {
    Path path = Path.of(name);
    if (name.equals("last") && !Files.exists(path)) {
      return find(parent, name).path();
    }
    Path below = parent.resolve(name);
    return !Files.exists(path) && Files.isDirectory(below) ? below : path;
  }

  /** Returns false for a copy of a run under another name. */
  private boolean isOriginal() {
    return read(job())
        .map(job -> job.getValue("run"))
        .filter(JsonObject.class::isInstance)
        .map(run -> String.valueOf(((JsonObject) run).getValue("id")))
        .filter(id -> id.length() == name().length() + 1 + ID_DIGITS && id.startsWith(name()))
        .isPresent();
  }

  /** Reads the job file of a run that was started before. */
  public JsonObject readJob() {
    try {
      return new JsonObject(JsonText.read(job()));
    } catch (IOException | DecodeException e) {
      throw new InputException(
          "%s: cannot be read: %s; a run's folder holds the job it ran"
              .formatted(job(), e.getMessage()),
          e);
    }
  }

  /**
   * Reads the summary that the last coordinator wrote at its end; empty when it did not write one.
   */
  public Optional<JsonObject> readSummary() {
    return read(summary());
  }

  /** Reads the last addresses of the cluster's nodes; empty when the run had no cluster. */
  public Optional<JsonObject> readNodes() {
    return read(nodes());
  }

  static Optional<JsonObject> read(Path file) {
    try {
      return Files.isRegularFile(file)
          ? Optional.of(new JsonObject(JsonText.read(file)))
          : Optional.empty();
    } catch (IOException | DecodeException unfinished) {
      return Optional.empty();
    }
  }

  /** Deletes the checkpoints in this folder, if there are any. */
  public void discardCheckpoints() {
    if (!Files.isDirectory(checkpoints())) {
      return;
    }
    try (Stream<Path> files = Files.list(checkpoints())) {
      for (Path file : files.toList()) {
        Files.deleteIfExists(file);
      }
      Files.deleteIfExists(checkpoints());
    } catch (IOException e) {
      LOG.warn("{}: checkpoints stay: {}", checkpoints(), e.toString());
    }
  }

  /**
   * Deletes the folder with everything in it. Deletes symbolic links, not what they point to.
   *
   * @return bytes of the deleted files
   * @throws UncheckedIOException naming the file that cannot be deleted; what was deleted before
   *     stays deleted
   */
  public long delete() {
    AtomicLong bytes = new AtomicLong();
    try {
      Files.walkFileTree(
          path,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes found)
                throws IOException {
              Files.delete(file);
              bytes.addAndGet(found.isRegularFile() ? found.size() : 0);
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path folder, IOException failure)
                throws IOException {
              Files.delete(folder);
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(
          "%s: cannot be deleted: %s; what was deleted before stays deleted".formatted(path, e), e);
    }
    return bytes.get();
  }

  /**
   * Writes a JSON file of this folder. A reader at the same time, or after a crash, finds either
   * the old file or the new one.
   */
  public void write(Path file, JsonObject json) {
    replace(file, json.encodePrettily() + System.lineSeparator());
  }

  /** Writes a file of this folder, as {@link #write} does. */
  void replace(Path file, String text) {
    try {
      Path unfinished = file.resolveSibling(file.getFileName() + ".unfinished");
      // A link of this name is not followed.
      Files.deleteIfExists(unfinished);
      Files.writeString(unfinished, text, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be written: " + e.getMessage(), e);
    }
  }

  private static RunDirectory create(Path path) {
    try {
      Files.createDirectories(path.resolve("logs"));
      return new RunDirectory(path);
    } catch (IOException e) {
      throw new InputException(
          "%s: the run's folder cannot be made here; choose another with --run-dir DIR"
              .formatted(path),
          e);
    }
  }

  private static boolean isEmpty(Path path) {
    try (Stream<Path> files = Files.list(path)) {
      return files.findAny().isEmpty();
    } catch (IOException e) {
      return false;
    }
  }
}
