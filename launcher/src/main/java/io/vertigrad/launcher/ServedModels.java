package io.vertigrad.launcher;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.serving.ModelServer;
import io.vertigrad.serving.ModelServer.Candidate;
import io.vertigrad.serving.ModelServer.TestResult;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/** Finds the models of one word of {@code serve}: a run, a model's file, or a folder of runs. */
final class ServedModels implements ModelServer.Source {

  /** A run that is saved writes its summary after its model, within this time. */
  private static final long SUMMARY_MILLIS = 10_000;

  private final String text;
  private final Path path;
  private final boolean folder;
  private final Function<Path, ModelJobOptions.Chosen> reading;
  private final Consumer<String> notices;

  /** What was read before, by the model's file. */
  private final Map<Path, Known> known = new HashMap<>();

  /** A model, and the times and sizes that its file and its summary had when it was read. */
  private record Known(String state, Optional<Candidate> candidate) {}

  private ServedModels(
      String text,
      Path path,
      boolean folder,
      Function<Path, ModelJobOptions.Chosen> reading,
      Consumer<String> notices) {
    this.text = text;
    this.path = path;
    this.folder = folder;
    this.reading = reading;
    this.notices = notices;
  }

  /**
   * Finds what a word means, once: {@code last} stays the run that is the newest now.
   *
   * @param text a path, the name of a run below {@code runs}, or {@code last}
   * @param reading finds a model by the path of its run or file
   * @param notices takes a line for each run of a folder that cannot be read
   * @throws InputException if there is no such run, file or folder of runs
   */
  static ServedModels of(
      String text, Function<Path, ModelJobOptions.Chosen> reading, Consumer<String> notices) {
    Path path = RunDirectory.named(RunDirectory.RUNS, text);
    boolean folder =
        Files.isDirectory(path) && !new RunDirectory(path).isRun() && !runs(path).isEmpty();
    return new ServedModels(text, path, folder, reading, notices);
  }

  @Override
  public String text() {
    return text;
  }

  @Override
  public boolean isFolder() {
    return folder;
  }

  @Override
  public List<Candidate> find() {
    List<Candidate> found = new ArrayList<>();
    if (!folder) {
      candidate(path).ifPresent(found::add);
      return found;
    }
    for (Path run : runs(path)) {
      try {
        if (new RunDirectory(run).model().isPresent()) {
          candidate(run).ifPresent(found::add);
        }
      } catch (RuntimeException why) {
        Path file = new RunDirectory(run).model().orElse(run);
        Known unreadable = new Known(state(file), Optional.empty());
        if (!unreadable.equals(known.put(file, unreadable))) {
          notices.accept("%s: is not served: %s".formatted(run, why.getMessage()));
        }
      }
    }
    return found;
  }

  private static List<Path> runs(Path folder) {
    List<Path> runs = new ArrayList<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(folder, Files::isDirectory)) {
      all.forEach(runs::add);
    } catch (IOException e) {
      throw new InputException(
          "%s: cannot be read, expected a folder of runs".formatted(folder), e);
    }
    runs.removeIf(run -> !Files.isReadable(new RunDirectory(run).job()));
    return runs;
  }

  /** Reads a model's job and test, unless they are known; empty while its run is being saved. */
  private Optional<Candidate> candidate(Path where) {
    Path file = Files.isDirectory(where) ? new RunDirectory(where).model().orElse(where) : where;
    String state = state(file);
    Known before = known.get(file);
    if (before != null && before.state().equals(state)) {
      return before.candidate();
    }
    ModelJobOptions.Chosen chosen = reading.apply(where);
    Optional<RunDirectory> run = chosen.run().filter(of -> isModelOf(of, chosen.file()));
    boolean summarised =
        run.filter(of -> millis(of.summary()) >= millis(chosen.file())).isPresent();
    boolean young = System.currentTimeMillis() - millis(chosen.file()) < SUMMARY_MILLIS;
    if (run.isPresent() && !summarised && young) {
      return Optional.empty();
    }
    Candidate candidate =
        new Candidate(
            chosen.job().addresses().job(),
            run.map(RunDirectory::path).orElse(chosen.file()).toString(),
            chosen.job(),
            chosen.file(),
            run.filter(of -> summarised)
                .flatMap(RunDirectory::readSummary)
                .flatMap(summary -> test(summary, chosen.job())));
    known.put(file, new Known(state, Optional.of(candidate)));
    return Optional.of(candidate);
  }

  private static boolean isModelOf(RunDirectory run, Path file) {
    return run.model()
        .filter(own -> own.toAbsolutePath().normalize().equals(file.toAbsolutePath().normalize()))
        .isPresent();
  }

  /** Returns the test of a run's final parameters; empty if there was none, or it diverged. */
  private static Optional<TestResult> test(JsonObject summary, JobConfig job) {
    boolean tested =
        summary.getValue("loss") instanceof Number loss
            && Double.isFinite(loss.doubleValue())
            && summary.getValue("testSamples") instanceof Number;
    return tested
        ? Optional.of(
            new TestResult(
                summary.getDouble("loss"), summary.getLong("testSamples"), testedOn(job)))
        : Optional.empty();
  }

  private static String testedOn(JobConfig job) {
    DataFingerprint samples = job.fingerprints().get(Split.TEST.fingerprint());
    String data =
        samples == null ? String.valueOf(job.json().getJsonObject("data")) : samples.hash();
    return job.loss().key() + " on " + data;
  }

  private static String state(Path file) {
    Path summary = new RunDirectory(file.toAbsolutePath().getParent()).summary();
    try {
      long bytes = Files.isRegularFile(file) ? Files.size(file) : 0;
      return "%s %s %s".formatted(millis(file), bytes, millis(summary));
    } catch (IOException gone) {
      return "";
    }
  }

  private static long millis(Path file) {
    try {
      return Files.getLastModifiedTime(file).toMillis();
    } catch (IOException gone) {
      return -1;
    }
  }
}
