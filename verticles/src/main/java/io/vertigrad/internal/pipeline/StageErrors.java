package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.worker.ReplicaCheckpoints.RunVersion;
import java.util.List;
import java.util.stream.Stream;

/** Error messages of a stage, which name the stage. */
final class StageErrors {

  private StageErrors() {}

  static ExchangeException nothingInCommon(String stage, RunVersion memory, List<RunVersion> kept) {
    return new ExchangeException(
        ("%s: there is no step from which every stage can go on; this one has %s. Set"
                + " checkpoint.every, and a checkpoint.directory that a replacement"
                + " can read")
            .formatted(
                stage,
                Stream.concat(Stream.of(memory), kept.stream()).map(RunVersion::version).toList()));
  }

  static ExchangeException diverged(String stage, long step, double loss) {
    return new ExchangeException(
        ("%s: training diverged: the gradient of step %d holds NaN or infinity (loss %s). Lower"
                + " optimizer.learningRate")
            .formatted(stage, step, loss));
  }

  static IllegalStateException unexpected(String stage, long step, int found, int expected) {
    return new IllegalStateException(
        "%s: the batch of step %d has %d samples, expected %d"
            .formatted(stage, step, found, expected));
  }
}
