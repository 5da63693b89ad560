package io.vertigrad.internal.checkpoint;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.internal.checkpoint.CheckpointFile.CheckpointException;
import io.vertigrad.internal.checkpoint.CheckpointFile.OtherFormatException;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder with the last few checkpoints of any number of shards.
 *
 * <p>A checkpoint gets its name only when it is complete and on the disk. Methods block: call them
 * on a worker thread, for example from {@code vertx.executeBlocking}, one call per shard at a time.
 */
public final class CheckpointFolder {

  private static final Logger LOG = LoggerFactory.getLogger(CheckpointFolder.class);
  private static final Pattern NAME =
      Pattern.compile(
          "shard-(\\d{1,4})-(\\d{1,9})-incarnation-(\\d{1,9})-version-(\\d{1,18})\\.checkpoint");

  private static final String UNFINISHED = ".unfinished";
  private static final String OWNER = "run.json";
  private static final String RUN = "run";
  private static final String FINGERPRINTS = "fingerprints";
  private static final int OWNER_READS = 40;
  private static final long OWNER_RETRY_MILLIS = 50;

  private final Path folder;
  private final int keep;
  private final Map<String, DataFingerprint> fingerprints;
  private final AtomicBoolean missingLogged = new AtomicBoolean();

  /** Creates the folder's object for data that are not compared. */
  public CheckpointFolder(Path folder, int keep) {
    this(folder, keep, Map.of());
  }

  /**
   * Creates the folder's object. The folder itself is created with the first checkpoint.
   *
   * @param keep number of checkpoints to keep per shard, at least 1
   * @param fingerprints of the data and model files with which its owner trains
   */
  public CheckpointFolder(Path folder, int keep, Map<String, DataFingerprint> fingerprints) {
    if (keep < 1) {
      throw new IllegalArgumentException("keep %s: expected at least 1".formatted(keep));
    }
    this.folder = folder;
    this.keep = keep;
    this.fingerprints = Map.copyOf(fingerprints);
  }

  /** Returns the folder of a run, for data that are not compared. */
  public static CheckpointFolder of(JobConfig job, String run, int keep) {
    return new CheckpointFolder(job.checkpoint().directoryOf(job.addresses().job(), run), keep);
  }

  /** Returns the number of files of one kind to keep. */
  int keep() {
    return keep;
  }

  /**
   * Returns whether the folder belongs to this run.
   *
   * @return false if the folder does not exist or no run has claimed it
   * @throws IOException if it belongs to another run or to a run without a name, or the run was
   *     trained on other data
   */
  public boolean belongsTo(String run) throws IOException {
    Path owner = folder.resolve(OWNER);
    if (!Files.exists(owner)) {
      if (!newestFirst().isEmpty()) {
        throw new CheckpointException(
            folder,
            "the folder's run",
            "not known, for it has checkpoints and no " + OWNER,
            "run \"%s\"; give this run a folder of its own (checkpoint.directory)".formatted(run));
      }
      return false;
    }
    JsonObject owned = owner(owner);
    String found = String.valueOf(owned.getValue(RUN));
    if (!found.equals(run)) {
      throw new CheckpointException(
          folder,
          "the folder's run",
          "\"%s\"".formatted(found),
          ("\"%s\": a folder of checkpoints belongs to one run; resume that one, or give this one"
                  + " another folder (checkpoint.directory)")
              .formatted(run));
    }
    compareData(owned);
    return true;
  }

  private void compareData(JsonObject owned) throws IOException {
    boolean missing = !owned.containsKey(FINGERPRINTS) && !fingerprints.isEmpty();
    if (missing && missingLogged.compareAndSet(false, true)) {
      LOG.info("{}: its run recorded no fingerprints, so the data cannot be compared", folder);
    }
    Map<String, DataFingerprint> before =
        DataFingerprint.all(owned.getJsonObject(FINGERPRINTS, new JsonObject()));
    Optional<String> difference = DataFingerprint.firstDifference(before, fingerprints);
    if (difference.isPresent()) {
      throw new IOException(
          "%s: the run was trained on other data, %s; give it the same files, or start a new run"
              .formatted(folder, difference.get()));
    }
  }

  /**
   * Claims the folder for this run, if no run has claimed it.
   *
   * @return true if it belonged to this run before
   * @throws IOException as {@link #belongsTo}, or if the folder is not writable
   */
  public boolean claim(String run) throws IOException {
    if (belongsTo(run)) {
      return true;
    }
    create(folder);
    try {
      Files.writeString(
          folder.resolve(OWNER),
          owner(run).encode() + "\n",
          StandardOpenOption.CREATE_NEW,
          StandardOpenOption.WRITE);
      return false;
    } catch (FileAlreadyExistsException another) {
      // Members of one run may claim the folder at the same time.
      belongsTo(run);
      return false;
    }
  }

  private JsonObject owner(String run) {
    JsonObject owner = new JsonObject().put(RUN, run);
    return fingerprints.isEmpty()
        ? owner
        : owner.put(FINGERPRINTS, DataFingerprint.json(fingerprints));
  }

  private static void create(Path folder) throws IOException {
    try {
      Files.createDirectories(folder);
    } catch (IOException e) {
      throw new CheckpointException(
          folder,
          "this",
          "no folder and cannot be made one (%s)".formatted(FailureReason.of(e)),
          "a folder for checkpoints; name another one (checkpoint.directory)");
    }
  }

  /** Reads the owner. Retries, because the member that claims the folder may still be writing. */
  private static JsonObject owner(Path file) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        return new JsonObject(JsonText.read(file));
      } catch (DecodeException unfinished) {
        if (attempt == OWNER_READS) {
          throw new CheckpointException(file, "its content", unfinished, "{\"run\": \"NAME\"}");
        }
      }
      try {
        Thread.sleep(OWNER_RETRY_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while " + file + " was read");
      }
    }
  }

  /**
   * Returns the shard whose checkpoints are here, where each server has a folder of its own.
   *
   * @return empty if there are none, or of several shards
   */
  public OptionalInt onlyShard() throws IOException {
    int[] shards = newestFirst().stream().mapToInt(Found::shard).distinct().toArray();
    return shards.length == 1 ? OptionalInt.of(shards[0]) : OptionalInt.empty();
  }

  /** Returns the versions in the names of a shard's checkpoints, the newest file first. */
  public List<Long> versions(int shard) throws IOException {
    return newestFirst(shard).stream().map(Found::version).distinct().toList();
  }

  /**
   * Reads a shard's checkpoint of one version.
   *
   * @param damaged receives a message for each damaged file of that version
   * @throws IOException if the folder cannot be read, or another version of this program wrote a
   *     file: to skip it would lose a run without a word
   */
  public Optional<Checkpoint> valid(int shard, long version, Consumer<String> damaged)
      throws IOException {
    List<Found> wanted = newestFirst(shard);
    List<Checkpoint> valid =
        read(wanted.stream().filter(found -> found.version() == version).toList(), 1, damaged);
    return valid.stream().findFirst();
  }

  private record Found(Path file, int shard, int sequence, int incarnation, long version) {}

  /**
   * Writes a copy and then deletes the oldest checkpoints beyond the number to keep.
   *
   * @param copy is completed here if it is not complete; its memory is released
   * @param pace how fast to write
   * @return the file
   * @throws IOException if the copy was not written; other checkpoints are unchanged
   */
  public Path write(Checkpoint copy, WritePace pace) throws IOException {
    try {
      pace.begin();
      pace.copied(copy.make());
      return writeNext(copy, pace);
    } finally {
      copy.release();
    }
  }

  private Path writeNext(Checkpoint copy, WritePace pace) throws IOException {
    Files.createDirectories(folder);
    List<Found> before = newestFirst(copy.rank());
    int sequence = before.isEmpty() ? 0 : before.get(0).sequence() + 1;
    String name =
        String.format(
            Locale.ROOT,
            "shard-%d-%06d-incarnation-%d-version-%d.checkpoint",
            copy.rank(),
            sequence,
            copy.incarnation(),
            copy.version());
    Path file = folder.resolve(name);
    publish(copy, pace, file);
    for (Found old : before.subList(Math.min(keep - 1, before.size()), before.size())) {
      Files.deleteIfExists(old.file());
    }
    return file;
  }

  /**
   * Reads all intact checkpoints of a shard, the newest first.
   *
   * @throws IOException as {@link #valid}
   */
  public List<Checkpoint> allValid(int shard, Consumer<String> damaged) throws IOException {
    return read(newestFirst(shard), Integer.MAX_VALUE, damaged);
  }

  private static List<Checkpoint> read(List<Found> files, int most, Consumer<String> damaged)
      throws IOException {
    List<Checkpoint> valid = new ArrayList<>();
    for (Found found : files) {
      try {
        if (valid.size() < most) {
          valid.add(CheckpointFile.read(found.file()));
        }
      } catch (OtherFormatException whole) {
        throw whole;
      } catch (IOException e) {
        damaged.accept(e.getMessage());
      }
    }
    return valid;
  }

  private void publish(Checkpoint copy, WritePace pace, Path file) throws IOException {
    deleteUnfinished(copy.rank());
    Path unfinished = unfinished(file);
    try {
      try (CheckpointFile written =
          new CheckpointFile(unfinished, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
        written.write(copy, pace);
      }
      publish(unfinished, file);
    } catch (IOException e) {
      Files.deleteIfExists(unfinished);
      throw e;
    }
  }

  private static Path unfinished(Path file) {
    return file.resolveSibling(file.getFileName() + UNFINISHED);
  }

  /** Forces a whole file to the disk, under its name, in place of the file that had it. */
  void publish(Path whole, Path file) throws IOException {
    force(whole, StandardOpenOption.WRITE);
    Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE);
    force(folder, StandardOpenOption.READ);
  }

  private static void force(Path path, StandardOpenOption option) throws IOException {
    try (FileChannel channel = FileChannel.open(path, option)) {
      channel.force(true);
    }
  }

  /**
   * Reads a text beside the checkpoints.
   *
   * @return empty if there is no file of this name
   */
  public Optional<String> text(String name) throws IOException {
    Path file = path(name);
    return Files.exists(file) ? Optional.of(JsonText.read(file)) : Optional.empty();
  }

  /** Writes a text beside the checkpoints, in place of the one of this name. */
  public void write(String name, String text) throws IOException {
    Files.createDirectories(folder);
    Path unfinished = unfinished(path(name));
    Files.writeString(unfinished, text);
    publish(unfinished, path(name));
  }

  /** Returns the path of a file of this name. */
  public Path path(String name) {
    return folder.resolve(name);
  }

  /** Returns the files whose names match; none without a folder. */
  List<Path> files(String glob) throws IOException {
    List<Path> found = new ArrayList<>();
    if (Files.isDirectory(folder)) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, glob)) {
        files.forEach(found::add);
      }
    }
    return found;
  }

  /** Deletes unfinished files, which a crash has left behind. */
  private void deleteUnfinished(int shard) throws IOException {
    for (Path file : files("shard-%s-*%s".formatted(shard, UNFINISHED))) {
      Files.deleteIfExists(file);
    }
  }

  private List<Found> newestFirst(int shard) throws IOException {
    return newestFirst().stream().filter(found -> found.shard() == shard).toList();
  }

  private List<Found> newestFirst() throws IOException {
    return files("shard-*").stream()
        .flatMap(file -> found(file).stream())
        .sorted(
            Comparator.comparingInt(Found::sequence)
                .thenComparingInt(Found::incarnation)
                .reversed())
        .toList();
  }

  private static Optional<Found> found(Path file) {
    Matcher name = NAME.matcher(file.getFileName().toString());
    return name.matches()
        ? Optional.of(
            new Found(
                file,
                Integer.parseInt(name.group(1)),
                Integer.parseInt(name.group(2)),
                Integer.parseInt(name.group(3)),
                Long.parseLong(name.group(4))))
        : Optional.empty();
  }
}
