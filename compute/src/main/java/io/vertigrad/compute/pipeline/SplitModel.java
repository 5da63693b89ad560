package io.vertigrad.compute.pipeline;

import io.vertigrad.compute.ParameterLayout;
import java.util.List;

/** A model and its cuts. Each stage is built by the member that computes it. */
public interface SplitModel {

  /**
   * Returns the whole model's arrays.
   *
   * @return the layout of the exchange vector
   */
  ParameterLayout layout();

  /**
   * Returns all stages in order.
   *
   * @return the stages, the first one first
   */
  List<StageSpec> stages();

  /**
   * Returns the layers with which all stages but the last end; with these names the model is cut
   * the same way again.
   *
   * @return names of layers
   */
  default List<String> cuts() {
    return stages().stream().limit(stages().size() - 1L).map(StageSpec::last).toList();
  }

  /**
   * Builds one stage. The calling thread owns it from then on. Its initial parameters equal the
   * whole model's bit for bit.
   *
   * @param index from 0
   * @return a stage that is used and closed on this thread
   */
  StageModel stage(int index);
}
