package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.Compression.Kind;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Encoding;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.job.Epochs;
import io.vertigrad.job.Partition;
import io.vertigrad.testkit.QuadraticModel;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Partitions of elements 0 to 3 and 4 to 5. The test chooses gradient element 4, others are 1. */
class OutgoingGradientTest {

  private static final int TRAINABLE = 6;

  private final QuadraticModel model = new QuadraticModel(TRAINABLE, 0);
  private Compression compression = Compression.NONE;
  private final PartitionPlan plan = PartitionPlan.of(model.layout(), 4, 1);

  private final List<OutgoingGradient> opened = new ArrayList<>();
  private final Map<TensorView, OutgoingGradient> copies = new IdentityHashMap<>();

  @AfterEach
  void giveBackCopies() {
    copies.forEach((copy, gradient) -> gradient.reclaim(copy, true));
    opened.forEach(OutgoingGradient::close);
  }

  @ParameterizedTest
  @CsvSource({
    "FLOAT32, NaN",
    "FLOAT32, Infinity",
    "FLOAT32, -Infinity",
    "FLOAT16, NaN",
    "FLOAT16, 65520",
    "FLOAT16, -65520",
    "BFLOAT16, 3.4e38"
  })
  void shouldNameThePartitionWhenAnElementWouldNotTravelFinite(DataType type, float element) {
    Optional<Partition> broken = gradient(type, 0, element).check();

    assertEquals(Optional.of(plan.partitions().get(1)), broken);
  }

  @ParameterizedTest
  @CsvSource({
    "FLOAT32, 3.4028235e38",
    "FLOAT32, 1e-45",
    "FLOAT16, 65519",
    "FLOAT16, -65519",
    "BFLOAT16, 3.38e38"
  })
  void shouldReportNothingWhenAllElementsTravelFinite(DataType type, float element) {
    OutgoingGradient gradient = gradient(type, 0, element);

    assertTrue(gradient.check().isEmpty());
    assertTrue(plan.partitions().stream().allMatch(p -> copy(gradient, p).isFinite()));
  }

  @Test
  void shouldCheckTheClippedGradientForNaN() {
    assertTrue(gradient(DataType.FLOAT16, 10, 1e30f).check().isEmpty());
  }

  @Test
  void shouldNotHideANaNWhenGradientsAreClipped() {
    assertEquals(
        Optional.of(plan.partitions().get(1)), gradient(DataType.FLOAT32, 10, Float.NaN).check());
  }

  @Test
  void shouldKeepUndeliveredElementsAsResidual() {
    compression = new Compression(Kind.TOPK, 0.25);
    Partition first = plan.partitions().get(0);
    OutgoingGradient gradient = gradient(DataType.FLOAT32, 0, 3);

    gradient.check();
    TensorView sent = copy(gradient, first);
    TensorView again = copy(gradient, first);
    gradient.check();
    TensorView instead = copy(gradient, first);
    gradient.delivered(first);
    gradient.check();
    TensorView next = copy(gradient, first);

    // The gradient is 1 everywhere in this partition; one of four elements is sent at a time.
    assertSame(sent, again);
    assertArrayEquals(new float[] {1, 0, 0, 0}, elements(sent));
    assertArrayEquals(new float[] {1, 0, 0, 0}, elements(instead));
    assertArrayEquals(new float[] {0, 2, 0, 0}, elements(next));
  }

  /** A replacement must not go on with the residual of a partition that was not applied. */
  @Test
  void shouldSeparateTheCurrentResidualFromThePendingOne() {
    compression = new Compression(Kind.TOPK, 0.25);
    OutgoingGradient gradient = gradient(DataType.FLOAT32, 0, 3);

    gradient.check();
    assertFalse(gradient.lacksDelivery());
    float[] pending = elements(gradient.pendingResidual());
    assertTrue(gradient.lacksDelivery());
    gradient.delivered(plan.partitions().get(0));

    assertTrue(gradient.lacksDelivery(), "partition 1");
    assertArrayEquals(new float[] {0, 1, 1, 1, 0, 1}, pending);
    assertArrayEquals(new float[] {0, 1, 1, 1, 0, 0}, elements(gradient.currentResidual()));
    gradient.delivered(plan.partitions().get(1));
    assertFalse(gradient.lacksDelivery());
    assertArrayEquals(pending, elements(gradient.currentResidual()));
  }

  @Test
  void shouldSendTheNewGradientWhenThePreviousOneWasNotSentCompletely() {
    OutgoingGradient gradient = gradient(DataType.FLOAT32, 0, 3);
    Partition first = plan.partitions().get(0);
    Partition second = plan.partitions().get(1);
    gradient.check();
    TensorView sent = copy(gradient, second);
    model.gradient(new Batch(new float[] {-1, -1, -1, -1, -5, -1}, new int[1], List.of(6), 0));
    gradient.check();

    assertArrayEquals(new float[] {5, 1}, elements(copy(gradient, second)));
    assertArrayEquals(new float[] {5, 1}, elements(copy(gradient, second)), "asked again");
    assertArrayEquals(new float[] {1, 1, 1, 1}, elements(copy(gradient, first)));
    assertArrayEquals(new float[] {3, 1}, elements(sent), "not given back yet");
  }

  @Test
  void shouldSendAGradientLongerThanOneChunk() {
    int length = 3 << 20;
    float[] features = new float[length];
    for (int i = 0; i < length; i++) {
      features[i] = i % 977;
    }
    QuadraticModel large = new QuadraticModel(length, 0);
    large.gradient(new Batch(features, new int[1], List.of(length), 0));
    PartitionPlan many = PartitionPlan.of(large.layout(), 100_000, 1);
    TrainingPlan training =
        new TrainingPlan(
            1,
            many,
            DataType.FLOAT32,
            compression,
            Optional.empty(),
            0,
            1,
            false,
            Epochs.NONE,
            Float.MAX_VALUE,
            false,
            false,
            "");
    OutgoingGradient gradient =
        opened(large, new ModelPartitions(large, DataType.FLOAT32), training);
    assertTrue(gradient.check().isEmpty());
    float[] expected = new float[length];
    large.readGradient(0, FloatBuffer.wrap(expected));

    for (Partition partition : many.partitions()) {
      TensorView copy = copy(gradient, partition);
      int first = partition.first();
      assertArrayEquals(
          Arrays.copyOfRange(expected, first, first + partition.length()), elements(copy));
      gradient.reclaim(copy, true);
      copies.remove(copy);
    }
  }

  @Test
  void shouldFindTheLastElementOfManyWhenItIsBeyondTheBound() {
    float[] features = new float[20_000];
    features[features.length - 1] = -1e30f;
    QuadraticModel large = new QuadraticModel(features.length, 0);
    large.gradient(new Batch(features, new int[1], List.of(features.length), 0));
    PartitionPlan one = PartitionPlan.of(large.layout(), features.length, 1);
    for (DataType type : List.of(DataType.FLOAT32, DataType.BFLOAT16)) {
      for (float bound : new float[] {1e9f, Float.MAX_VALUE}) {
        TrainingPlan training =
            new TrainingPlan(
                1,
                one,
                type,
                compression,
                Optional.empty(),
                0,
                1,
                false,
                Epochs.NONE,
                bound,
                false,
                false,
                "");

        assertEquals(
            bound == 1e9f,
            opened(large, new ModelPartitions(large, type), training).check().isPresent());
      }
    }
  }

  @Test
  void shouldFindTheLastElementOfManyWhenItIsNotFinite() {
    float[] features = new float[20_000];
    features[features.length - 1] = Float.NaN;
    QuadraticModel large = new QuadraticModel(features.length, 0);
    large.gradient(new Batch(features, new int[1], List.of(features.length), 0));
    PartitionPlan one = PartitionPlan.of(large.layout(), features.length, 1);
    TrainingPlan training = TrainingPlans.of(1, one, DataType.FLOAT32, compression, 0, 1, false);

    assertEquals(
        Optional.of(one.partitions().get(0)),
        opened(large, new ModelPartitions(large, DataType.FLOAT32), training).check());
  }

  @Test
  void shouldReuseAPartitionsMemoryOnlyWhenItIsReleased() {
    OutgoingGradient gradient = gradient(DataType.FLOAT32, 0, 1);
    Partition first = plan.partitions().get(0);
    TensorView sent = copy(gradient, first);
    model.gradient(new Batch(new float[] {-5, -5, -5, -5, -5, -5}, new int[1], List.of(6), 0));

    TensorView next = copy(gradient, first);
    assertArrayEquals(new float[] {1, 1, 1, 1}, elements(sent));
    gradient.reclaim(sent, true);
    copies.remove(sent);
    copy(gradient, first);

    assertArrayEquals(new float[] {5, 5, 5, 5}, elements(next));
    assertArrayEquals(new float[] {5, 5, 5, 5}, elements(sent), "the third took its memory");
  }

  @Test
  void shouldKeepStatisticsUncompressedWhenGradientsAreCompressed() {
    compression = new Compression(Kind.TOPK, 0.25);
    QuadraticModel normed = new QuadraticModel(4, 4);
    normed.gradient(new Batch(new float[] {-1, -2, -3, -4}, new int[1], List.of(4), 0));
    PartitionPlan both = PartitionPlan.of(normed.layout(), 4, 1);
    TrainingPlan training = TrainingPlans.of(1, both, DataType.BFLOAT16, compression, 0, 1, false);
    OutgoingGradient gradient =
        opened(normed, new ModelPartitions(normed, DataType.BFLOAT16), training);
    gradient.check();

    TensorView trainable = copy(gradient, both.partitions().get(0));
    TensorView statistics = copy(gradient, both.partitions().get(1));

    assertEquals(Encoding.TOP_K, trainable.encoding());
    assertEquals(DataType.BFLOAT16, statistics.type());
    assertEquals(Encoding.DENSE, statistics.encoding());
  }

  @Test
  void shouldOfferTheBrokenPartitionAsItIsWhenGradientsAreCompressed() {
    compression = new Compression(Kind.INT8, 0.25);
    OutgoingGradient gradient = gradient(DataType.FLOAT32, 0, Float.NaN);

    Partition broken = gradient.check().orElseThrow();

    assertFalse(copy(gradient, broken).isFinite());
    assertEquals(Encoding.DENSE, copy(gradient, broken).encoding());
  }

  /** Returns a copy of a partition, which is given back after the test. */
  private TensorView copy(OutgoingGradient gradient, Partition partition) {
    TensorView copy = gradient.partition(partition);
    copies.put(copy, gradient);
    return copy;
  }

  private OutgoingGradient opened(Model of, ModelPartitions partitions, TrainingPlan training) {
    OutgoingGradient gradient = new OutgoingGradient(of, partitions, training);
    opened.add(gradient);
    return gradient;
  }

  private static float[] elements(SavedState.Part part) {
    FloatBuffer elements = FloatBuffer.allocate(part.length());
    part.give(elements);
    return elements.array();
  }

  private static float[] elements(TensorView tensor) {
    float[] elements = new float[tensor.length()];
    tensor.copyTo(elements, 0);
    return elements;
  }

  /** The model's gradient is {@code w - x}, and w is 0. */
  private OutgoingGradient gradient(DataType type, double clipNorm, float element) {
    float[] features = {-1, -1, -1, -1, -element, -1};
    model.gradient(new Batch(features, new int[1], List.of(TRAINABLE), 0));
    TrainingPlan training = TrainingPlans.of(1, plan, type, compression, clipNorm, 1, false);
    return opened(model, new ModelPartitions(model, type), training);
  }
}
