package io.vertigrad.serving.internal;

import io.vertigrad.job.JobConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Where a server finds models: a run, a file, or a folder of runs.
 *
 * @param text what the user calls it
 * @param folder whether it is a folder of runs, of which the best one of each name is served
 * @param find returns what is there now; blocks, and throws an exception with a message for the
 *     user. One thread calls it
 */
public record ModelSource(String text, boolean folder, Supplier<List<Candidate>> find) {

  /**
   * A file with a model that may be served.
   *
   * @param name of the model in addresses
   * @param origin the run or file, as it is shown
   * @param job the job that trained it; it has the queue and the batches of its predictor
   * @param file the model
   * @param test the last test of these parameters; empty if there was none
   */
  public record Candidate(
      String name, String origin, JobConfig job, Path file, Optional<TestResult> test) {}

  /**
   * A test of a model.
   *
   * @param loss mean loss, finite
   * @param samples number of samples
   * @param on names the loss function and the samples; only tests on the same are compared
   */
  public record TestResult(double loss, long samples, String on) {

    /** Returns whether losses of both tests can be compared. */
    boolean isLike(TestResult other) {
      return samples == other.samples && on.equals(other.on);
    }
  }

  /**
   * A candidate, and the state of its file.
   *
   * @param candidate the candidate
   * @param millis time at which the file was written, since 1970
   * @param bytes length of the file
   */
  record Found(Candidate candidate, long millis, long bytes) {

    /** Looks at a candidate's file; empty if it is not there any more. */
    static Optional<Found> find(Candidate candidate) {
      try {
        BasicFileAttributes file =
            Files.readAttributes(candidate.file(), BasicFileAttributes.class);
        return Optional.of(new Found(candidate, file.lastModifiedTime().toMillis(), file.size()));
      } catch (IOException gone) {
        return Optional.empty();
      }
    }

    boolean isSameFile(Found other) {
      return candidate.file().equals(other.candidate.file());
    }

    /** Returns whether the file has the same content, as far as time and length say. */
    boolean isUnchanged(Found other) {
      return isSameFile(other) && millis == other.millis && bytes == other.bytes;
    }

    /** Returns whether both have a test that can be compared, and this one's loss is higher. */
    boolean isWorseThan(Found other) {
      Optional<TestResult> mine = candidate.test();
      return other
          .candidate
          .test()
          .filter(
              test -> mine.filter(test::isLike).filter(own -> own.loss() > test.loss()).isPresent())
          .isPresent();
    }
  }
}
