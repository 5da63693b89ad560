package io.vertigrad.serving.internal;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.NewestParameters;
import io.vertigrad.training.NewestParameters.Version;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** A model with the parameters of a job that is trained meanwhile. */
final class FollowedModel implements ServedModel {

  private static final ClassLoader LOADER = FollowedModel.class.getClassLoader();

  /** Batches up to this size are computed as they are, larger ones are filled up. */
  private static final int EXACT = 8;

  private final SampleFormat format;
  private final Model model;
  private final NewestParameters.Reader reader;
  private long loadedMillis;

  private FollowedModel(SampleFormat format, Model model, NewestParameters.Reader reader) {
    this.format = format;
    this.model = model;
    this.reader = reader;
  }

  /** Builds the model as the evaluator does. */
  static FollowedModel open(JobConfig job, NewestParameters newest) {
    Dataset test = DatasetProvider.open(job.data(), Split.TEST, LOADER);
    ModelConfig config = job.modelOn(test).on(job.workers().device());
    Model model = newest.model(test, config);
    try {
      return new FollowedModel(
          SampleFormat.of(job, test, LOADER), model, newest.into(config, model));
    } catch (RuntimeException e) {
      model.close();
      throw e;
    }
  }

  @Override
  public SampleFormat format() {
    return format;
  }

  @Override
  public Optional<Version> load(long after, BooleanSupplier stop) {
    Optional<Version> loaded = reader.next(after, stop);
    loaded.ifPresent(version -> loadedMillis = System.currentTimeMillis());
    return loaded;
  }

  @Override
  public void done() {
    reader.done();
  }

  @Override
  public boolean isAwaited() {
    return reader.isAwaited();
  }

  @Override
  public long loadedMillis() {
    return loadedMillis;
  }

  /**
   * Returns the outputs. Models keep arrays for each size of a batch that they have seen, so larger
   * batches are filled up to a multiple of {@value #EXACT}.
   */
  @Override
  public float[] outputs(int count, float[] inputs) {
    int filled = count <= EXACT ? count : (count + EXACT - 1) / EXACT * EXACT;
    float[] features = filled == count ? inputs : Arrays.copyOf(inputs, filled * format.inputs());
    Batch batch = new Batch(filled, features, new int[filled], new float[0], format.shape(), 0);
    float[] outputs = model.probabilities(batch, format.targets().outputs());
    return filled == count ? outputs : Arrays.copyOf(outputs, count * format.outputs());
  }

  @Override
  public void wake() {
    reader.wake();
  }

  @Override
  public void close() {
    model.close();
  }
}
