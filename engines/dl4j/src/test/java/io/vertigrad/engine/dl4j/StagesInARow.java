package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Runs all stages of a model on one thread, one micro-batch after another. */
final class StagesInARow {

  private final SplitModel split;
  private final List<StageModel> stages = new ArrayList<>();
  private double lossSum;

  StagesInARow(ModelConfig config, SplitConfig cuts) {
    split = Engine.named("dl4j").split(config, cuts);
    for (int i = 0; i < split.stages().size(); i++) {
      stages.add(split.stage(i));
    }
  }

  SplitModel split() {
    return split;
  }

  /** Returns the mean loss of the last batch. */
  double loss(int samples) {
    return lossSum / samples;
  }

  /** Computes the whole model's gradient: all forward passes first, then all backward passes. */
  float[] gradient(Batch batch, int microBatches) {
    List<float[]> sums = new ArrayList<>();
    stages.forEach(stage -> sums.add(new float[stage.layout().length()]));
    List<Batch> parts = new ArrayList<>();
    for (int m = 0; m < microBatches; m++) {
      int first = batch.count() * m / microBatches;
      parts.add(Samples.part(batch, first, batch.count() * (m + 1) / microBatches));
    }
    lossSum = 0;
    List<float[][]> inputs = parts.stream().map(this::forward).toList();
    for (int m = 0; m < microBatches; m++) {
      backward(inputs.get(m), parts.get(m).labels(), batch.count(), sums);
    }
    return assembled(sums);
  }

  /** Runs the forward pass in inference mode. */
  Score score(Batch batch) {
    float[] values = batch.features();
    for (StageModel stage : stages.subList(0, stages.size() - 1)) {
      values = array(stage.infer(values, batch.count()));
    }
    return stages.get(stages.size() - 1).score(values, batch.labels());
  }

  /** Copies a whole model's parameters to the stages. */
  void become(float[] parameters) {
    int trainable = 0;
    int statistics = split.layout().trainable();
    for (StageModel stage : stages) {
      int own = stage.layout().trainable();
      int rest = stage.layout().statistics();
      stage.writeParameters(0, FloatBuffer.wrap(parameters, trainable, own));
      stage.writeParameters(own, FloatBuffer.wrap(parameters, statistics, rest));
      trainable += own;
      statistics += rest;
    }
  }

  float[] parameters() {
    List<float[]> values = new ArrayList<>();
    for (StageModel stage : stages) {
      float[] own = new float[stage.layout().length()];
      stage.readParameters(0, FloatBuffer.wrap(own));
      values.add(own);
    }
    return assembled(values);
  }

  private float[][] forward(Batch part) {
    float[][] inputs = new float[stages.size()][];
    inputs[0] = part.features();
    for (int s = 0; s < stages.size() - 1; s++) {
      inputs[s + 1] = array(stages.get(s).forward(inputs[s], part.count()));
    }
    return inputs;
  }

  private void backward(float[][] inputs, int[] labels, int batch, List<float[]> sums) {
    int last = stages.size() - 1;
    StageLoss loss = stages.get(last).loss(inputs[last], labels);
    lossSum += loss.sum();
    stages.get(last).addGradient(sums.get(last), batch);
    float[] gradient = array(loss.inputGradient());
    for (int s = last - 1; s >= 0; s--) {
      gradient = array(stages.get(s).backward(inputs[s], gradient, labels.length));
      stages.get(s).addGradient(sums.get(s), batch);
    }
  }

  /** Combines the stages' vectors block by block, in the order of the whole layout. */
  private float[] assembled(List<float[]> vectors) {
    Map<String, float[]> blocks = new HashMap<>();
    for (int s = 0; s < stages.size(); s++) {
      int at = 0;
      for (Block block : stages.get(s).layout().blocks()) {
        float[] values = new float[block.length()];
        System.arraycopy(vectors.get(s), at, values, 0, values.length);
        blocks.put(block.name(), values);
        at += values.length;
      }
    }
    FloatBuffer whole = FloatBuffer.allocate(split.layout().length());
    split.layout().blocks().forEach(block -> whole.put(blocks.get(block.name())));
    return whole.array();
  }

  private static float[] array(FloatBuffer buffer) {
    float[] values = new float[buffer.remaining()];
    buffer.get(values);
    return values;
  }
}
