package io.vertigrad.strategy;

import io.vertigrad.codecs.GradientCompression;
import io.vertigrad.compute.Block;
import io.vertigrad.job.Partition;
import java.util.List;

/** Creates the compression in which a worker sends its gradients to the servers. */
@FunctionalInterface
public interface GradientCompressor {

  /**
   * Creates the compression of one worker, with what it remembers from step to step.
   *
   * @param blocks the arrays of the vector, of which trainable ones come first
   * @param partitions the ranges that are compressed, in order
   * @return a compression that has compressed nothing yet
   */
  GradientCompression create(List<Block> blocks, List<Partition> partitions);
}
