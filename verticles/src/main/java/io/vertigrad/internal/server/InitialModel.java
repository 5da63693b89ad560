package io.vertigrad.internal.server;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataFingerprint.Samples;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.internal.exchange.InitialParameters;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.ParameterStore.ParameterSource;
import io.vertigrad.internal.shard.ParameterStore.StoreConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyFactory;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The parts of a model that a server needs before training: its layout and initial parameters.
 *
 * @param engine creates the update rules
 * @param layout the model's layout
 * @param vector the whole exchange vector, from the job's seed or the file that the job names
 * @param trainingSamples size of the training set
 * @param fingerprints of the data and the files that it was made of
 */
record InitialModel(
    Engine engine,
    ParameterLayout layout,
    FloatBuffer vector,
    long trainingSamples,
    Map<String, DataFingerprint> fingerprints) {

  /**
   * Builds the model, reads its parameters and closes it; blocks. It opens the data only if the
   * coordinator has not shown what they look like.
   */
  static InitialModel of(JobConfig job, ClassLoader loader) {
    Optional<Samples> known =
        Samples.in(job.fingerprints(), job.optimizer().schedule().countsEpochs());
    Samples samples =
        known.orElseGet(() -> Samples.of(DatasetProvider.open(job.data(), Split.TRAIN, loader)));
    Map<String, DataFingerprint> fingerprints = new TreeMap<>(job.fingerprints());
    fingerprints.putAll(
        job.fingerprints(known.isPresent() ? Set.of() : Set.of(Split.TRAIN), loader));
    ModelConfig config = job.modelOn(samples.shape(), samples.targets(), samples.tokens());
    Engine engine = Engine.named(job.engine());
    try (Model model = InitialParameters.into(JobModel.of(job, config), job)) {
      FloatBuffer vector = FloatBuffer.allocate(model.layout().length());
      model.readParameters(0, vector);
      return new InitialModel(
          engine, model.layout(), vector.rewind(), samples.size(), fingerprints);
    }
  }

  /** Creates the store of one shard with these parameters; blocks. */
  ParameterStore store(JobConfig job, StrategyFactory strategy, int shard) {
    return new ParameterStore(
        new StoreConfig(
            plan(job),
            shard,
            strategy.optimizer(job),
            engine,
            trainingSamples,
            job.exchange().type()),
        ParameterSource.of(vector));
  }

  PartitionPlan plan(JobConfig job) {
    return PartitionPlan.of(job, layout);
  }
}
