package io.vertigrad.compute.pipeline;

import io.vertigrad.compute.ParameterLayout;
import java.util.List;

/** A model and where it is cut; its stages are built one by one, by whoever computes them. */
public interface SplitModel {

  /**
   * The whole model's arrays.
   *
   * @return the layout of the exchange vector
   */
  ParameterLayout layout();

  /**
   * All stages, in order.
   *
   * @return the stages, the first one first
   */
  List<StageSpec> stages();

  /**
   * Layers with which all stages but the last end: what cuts this model the same way again.
   *
   * @return names of layers
   */
  default List<String> cuts() {
    return stages().stream().limit(stages().size() - 1L).map(StageSpec::last).toList();
  }

  /**
   * Builds one stage on the calling thread, which from then on owns it; its parameters are the bits
   * that the whole model starts with.
   *
   * @param index from 0
   * @return a stage that is used and closed on this thread
   */
  StageModel stage(int index);
}
