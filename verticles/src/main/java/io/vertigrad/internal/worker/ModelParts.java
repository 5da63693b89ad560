package io.vertigrad.internal.worker;

import io.vertigrad.compute.Model;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** Creates the source and the exchange of a worker with a whole model, for each incarnation. */
final class ModelParts implements TrainingLoop.Parts {

  private final Model model;
  private final BatchesOfRank batches;
  private final BatchGradients.BatchNumber number;
  private final Function<Incarnation, ParameterExchange> exchanges;
  private final JoinRequester requester;
  private final LongSupplier nanoClock;

  /**
   * Creates the parts of a worker.
   *
   * @param data opens the batches of a rank
   * @param number the number that selects a batch
   * @param exchanges creates the parameter exchange of an incarnation
   */
  ModelParts(
      Model model,
      BatchOpener data,
      BatchGradients.BatchNumber number,
      Function<Incarnation, ParameterExchange> exchanges,
      JoinRequester requester,
      LongSupplier nanoClock) {
    this.model = model;
    this.batches = new BatchesOfRank(data);
    this.number = number;
    this.exchanges = exchanges;
    this.requester = requester;
    this.nanoClock = nanoClock;
  }

  @Override
  public GradientSource source(Incarnation self) {
    int rank = self.identity().rank();
    return new BatchGradients(
        model, step -> batches.of(rank, step), number, nanoClock, requester.track());
  }

  @Override
  public ParameterExchange exchange(Incarnation self) {
    return exchanges.apply(self);
  }

  @Override
  public void close() {
    batches.close();
  }
}
