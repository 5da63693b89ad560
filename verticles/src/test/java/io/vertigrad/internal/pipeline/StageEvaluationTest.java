package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.compute.pipeline.StageSpec;
import io.vertigrad.internal.pipeline.PipelineEvaluation.StageEvaluation;
import io.vertigrad.internal.worker.InMemoryPeers;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/**
 * Tests two stages on ten samples without a bus: the first doubles its input, the second sums it.
 */
class StageEvaluationTest {

  private static final int MICRO_BATCHES = 7;
  private static final long STEP = 12;
  private static final JobConfig JOB =
      JobConfig.read("test", new JsonObject("{\"pipeline\": {\"stages\": 2}}"));

  private final InMemoryPeers boxes = new InMemoryPeers();
  private final List<Tag> sent = new ArrayList<>();
  private final AtomicLong went = new AtomicLong();

  @Test
  void shouldCountEverySampleOnceInTheLastStage() throws Exception {
    SequentialBatches samples = SequentialBatches.all(new Numbers(10), 3);
    CompletableFuture<Score> first =
        CompletableFuture.supplyAsync(() -> test(0, boxes).run(STEP, 0, samples));

    Score last = test(1, boxes).run(STEP, 0, samples);

    assertEquals(new Score(10, 2 * 45, 10), last);
    assertSame(Score.NONE, first.get(5, TimeUnit.SECONDS));
    assertEquals(2 * 10, went.get());
  }

  @Test
  void shouldBeAtMostFourBatchesAheadOfTheNextStage() {
    SequentialBatches samples = SequentialBatches.all(new Numbers(10), 1);
    List<Integer> ahead = new ArrayList<>();
    Peers peers =
        new Recording(0) {
          private int taken;

          @Override
          public void send(int rank, Tag tag, TensorView tensor) {
            super.send(rank, tag, tensor);
            ahead.add(sent.size() - taken);
          }

          @Override
          public Tensor receive(int rank, Tag tag) {
            assertEquals(
                StageFrames.tag(STEP, Direction.BACKWARD, MICRO_BATCHES + 20 + taken, 0), tag);
            taken++;
            return Tensor.ofFloats(1);
          }
        };

    new StageEvaluation(
            new Doubling(0), line(0, peers), 1, MICRO_BATCHES, 0, List.of(), count -> {})
        .run(STEP, 20, samples);

    assertEquals(List.of(1, 2, 3, 4, 4, 4, 4, 4, 4, 4), ahead);
    assertEquals(StageFrames.tag(STEP, Direction.FORWARD, MICRO_BATCHES + 20, 0), sent.get(0));
  }

  private StageEvaluation test(int stage, InMemoryPeers through) {
    Peers peers = through.of(new PeerGroup(1, List.of(0, 1), stage));
    return new StageEvaluation(
        new Doubling(stage), line(stage, peers), 3, MICRO_BATCHES, 0, List.of(), went::addAndGet);
  }

  private static StageNeighbours line(int stage, Peers peers) {
    return new StageNeighbours(
        peers, JOB.pipeline().orElseThrow(), stage, DataType.FLOAT32, 4, System::nanoTime);
  }

  /** Peers that record what is sent. */
  private abstract class Recording implements Peers {

    private final PeerGroup group;

    Recording(int rank) {
      group = new PeerGroup(1, List.of(0, 1), rank);
    }

    @Override
    public PeerGroup adopt() {
      return group;
    }

    @Override
    public void send(int rank, Tag tag, TensorView tensor) {
      sent.add(tag);
    }

    @Override
    public Optional<Tensor> poll(int rank, Tag tag) {
      return Optional.empty();
    }

    @Override
    public long arrivedNanos() {
      return 0;
    }
  }

  /** Samples of one value each, their index. */
  private record Numbers(int size) implements Dataset {

    @Override
    public List<Integer> shape() {
      return List.of(1);
    }

    @Override
    public int classes() {
      return 2;
    }

    @Override
    public void read(int index, float[] features, int offset) {
      features[offset] = index;
    }

    @Override
    public int label(int index) {
      return 1;
    }
  }

  /** A stage that doubles its input; the last one uses its input as the loss. */
  private record Doubling(StageSpec spec) implements StageModel {

    Doubling(int stage) {
      this(new StageSpec(stage, "a", "b", new ParameterLayout(List.of()), List.of(1), List.of(1)));
    }

    @Override
    public boolean hasLoss() {
      return spec.index() == 1;
    }

    @Override
    public FloatBuffer infer(float[] input, int samples) {
      assertEquals(samples, input.length);
      FloatBuffer output = FloatBuffer.allocate(samples);
      for (float value : input) {
        output.put(2 * value);
      }
      return output.flip();
    }

    @Override
    public Score score(float[] input, int[] labels, int topK) {
      double sum = 0;
      for (float value : input) {
        sum += value;
      }
      return new Score(input.length, sum, Arrays.stream(labels).sum());
    }

    @Override
    public void readParameters(int first, FloatBuffer destination) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void writeParameters(int first, FloatBuffer source) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FloatBuffer forward(float[] input, int samples) {
      throw new UnsupportedOperationException("a test is no training");
    }

    @Override
    public FloatBuffer backward(float[] input, float[] outputGradient, int samples) {
      throw new UnsupportedOperationException("a test goes forward only");
    }

    @Override
    public StageLoss loss(float[] input, int[] labels) {
      throw new UnsupportedOperationException("a test is no training");
    }

    @Override
    public void addGradient(float[] sum, int batch) {
      throw new UnsupportedOperationException("a test moves nothing");
    }

    @Override
    public void close() {}
  }
}
