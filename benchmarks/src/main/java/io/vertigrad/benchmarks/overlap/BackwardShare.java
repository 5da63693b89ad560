package io.vertigrad.benchmarks.overlap;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Measures the part of a gradient's time that comes after the first layer's gradient is final. */
final class BackwardShare {

  private static final int WARM = 5;
  private static final int COUNTED = 9;
  private static final int CLASSES = 10;
  private static final long LIMIT_SECONDS = 300;
  private static final List<Integer> SHAPE = List.of(3, 32, 32);

  private BackwardShare() {}

  /** Measures ResNet-20 with the batches of {@link OverlapCase}, in its own process. */
  static double measure() throws IOException, InterruptedException {
    try (ChildJvm child =
        ChildJvm.start(
            "backward share", BackwardShare.class, ChildJvm.productOptions("1g"), Map.of())) {
      return child.ask(new JsonObject(), LIMIT_SECONDS).getDouble("share");
    }
  }

  public static void main(String[] arguments) throws IOException {
    ChildLoop.run(question -> new JsonObject().put("share", share()));
  }

  private static double share() {
    Random random = new Random(1);
    float[] features = new float[OverlapCase.BATCH * SHAPE.stream().reduce(1, Math::multiplyExact)];
    for (int i = 0; i < features.length; i++) {
      features[i] = (float) random.nextGaussian();
    }
    int[] labels = random.ints(OverlapCase.BATCH, 0, CLASSES).toArray();
    Batch batch = new Batch(features, labels, SHAPE, 0);
    ModelConfig config = new ModelConfig("resnet20", Map.of(), SHAPE, CLASSES, 1, 1);
    List<Double> shares = new ArrayList<>();
    try (Model model = Engine.named("dl4j").model(config)) {
      for (int i = -WARM; i < COUNTED; i++) {
        long[] firstReady = new long[1];
        long begun = System.nanoTime();
        model.gradient(
            batch, first -> firstReady[0] = firstReady[0] == 0 ? System.nanoTime() : firstReady[0]);
        long ended = System.nanoTime();
        if (i >= 0) {
          shares.add((ended - firstReady[0]) / (double) (ended - begun));
        }
      }
    }
    return Repetitions.of(shares).median();
  }
}
