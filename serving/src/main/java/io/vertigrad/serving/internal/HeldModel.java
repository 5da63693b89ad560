package io.vertigrad.serving.internal;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.NewestParameters.Version;
import io.vertigrad.training.SavedModel;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** A model from a file, whose parameters do not change. */
final class HeldModel implements ServedModel {

  private final SavedModel model;
  private final SampleFormat format;
  private final Version version;
  private final long writtenMillis;

  private HeldModel(SavedModel model, Version version, long writtenMillis) {
    this.model = model;
    this.format = SampleFormat.of(model);
    this.version = version;
    this.writtenMillis = writtenMillis;
  }

  /**
   * Opens a model.
   *
   * @param job the job that trained it, if the file does not describe its samples
   * @param file file of the model
   */
  static HeldModel open(JobConfig job, Path file) {
    return open(job, file, trainedVersion(file));
  }

  /**
   * Opens a model that answers as a version of the server's own.
   *
   * @param version the version
   */
  static HeldModel open(JobConfig job, Path file, long version) {
    SavedModel model =
        SavedModel.jobOf(file).isEmpty() ? SavedModel.open(job, file) : SavedModel.open(file);
    try {
      return new HeldModel(
          model, new Version(version, version), Files.getLastModifiedTime(file).toMillis());
    } catch (IOException e) {
      model.close();
      throw new UncheckedIOException("%s: %s".formatted(file, e.getMessage()), e);
    }
  }

  /** Returns the version in the summary of the file's run; 0 if there is none. */
  static long trainedVersion(Path file) {
    Path summary = file.resolveSibling("summary.json");
    try {
      return Files.isReadable(summary)
          ? new JsonObject(JsonText.read(summary)).getLong("version", 0L)
          : 0;
    } catch (IOException | DecodeException | ClassCastException otherFile) {
      return 0;
    }
  }

  @Override
  public SampleFormat format() {
    return format;
  }

  @Override
  public Optional<Version> load(long after, BooleanSupplier stop) {
    return after < 0 ? Optional.of(version) : Optional.empty();
  }

  @Override
  public long loadedMillis() {
    return writtenMillis;
  }

  @Override
  public float[] outputs(int count, float[] inputs) {
    return model.probabilities(inputs, count);
  }

  @Override
  public void wake() {
    // Nothing waits.
  }

  @Override
  public void close() {
    model.close();
  }
}
