package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(20)
class PrefetchingBatchSourceTest {

  private static final Dataset TEN = new NumberedDataset(10);
  private static final Sampler IN_ORDER = epoch -> IntStream.range(0, 10).toArray();

  @Test
  void shouldFollowTheSamplerAndKeepThePartialBatchWhenEpochsPass() {
    try (BatchSource source = start(TEN, IN_ORDER, config(4, false))) {
      assertBatch(source.next(), 0, 0, 1, 2, 3);
      assertBatch(source.next(), 0, 4, 5, 6, 7);
      assertBatch(source.next(), 0, 8, 9);
      assertBatch(source.next(), 1, 0, 1, 2, 3);
    }
  }

  @Test
  void shouldShowTheNextItemAndLeaveItThere() throws Exception {
    Handoff<String> items = new Handoff<>(2);
    assertEquals(Optional.empty(), items.peek());

    items.put("first");
    items.put("second");

    assertEquals(Optional.of("first"), items.peek());
    assertEquals("first", items.take(1));
    assertEquals(Optional.of("second"), items.peek());
  }

  @Test
  void shouldLeaveOutThePartialBatchWhenAskedTo() {
    try (BatchSource source = start(TEN, IN_ORDER, config(4, true))) {
      source.next();
      assertBatch(source.next(), 0, 4, 5, 6, 7);
      assertBatch(source.next(), 1, 0, 1, 2, 3);
    }
  }

  /**
   * Starts at batches 0 to beyond 2 epochs, with samplers whose epochs do and do not divide evenly.
   */
  @ParameterizedTest
  @CsvSource({"4, false", "4, true", "5, false", "5, true", "7, true", "1, false"})
  void shouldGiveTheSameBatchesWhenOpenedInTheMiddle(int size, boolean dropLast) {
    Augmentation noise =
        (features, at, shape, random) -> features[at + 1] = (float) random.uniform();
    NumberedDataset data = new NumberedDataset(22);
    List<Sampler> samplers =
        List.of(
            new DistributedSampler(22, 3, 2, 9),
            new DistributedSampler(22, 2, 0, 9),
            new ShuffledSampler(22, 1, 9),
            epoch -> IntStream.range(0, 8 + epoch).toArray());
    for (Sampler sampler : samplers) {
      int count = 3 * 22 / size;
      List<Batch> expected = read(data, sampler, config(size, dropLast), noise, 0, count);
      for (int first = 0; first < count; first++) {
        List<Batch> found = read(data, sampler, config(size, dropLast), noise, first, 2);
        for (int i = 0; i < 2 && first + i < count; i++) {
          Batch wanted = expected.get(first + i);
          String where = "%s, batch %d".formatted(sampler, first + i);
          assertArrayEquals(wanted.features(), found.get(i).features(), where);
          assertArrayEquals(wanted.labels(), found.get(i).labels(), where);
          assertEquals(wanted.epoch(), found.get(i).epoch(), where);
        }
      }
      assertTrue(expected.get(count - 1).epoch() >= 2, "three epochs were compared");
    }
  }

  @Test
  void shouldReadNoSampleOfTheBatchesThatArePassedOver() {
    Dataset dataset = failingAt(3, new IllegalStateException("read a batch that was passed over"));
    Sampler firstEpochOnly = epoch -> epoch == 0 ? new int[] {3, 3, 3, 3} : new int[] {1, 2};
    try (BatchSource source = start(dataset, firstEpochOnly, config(2, false), 2)) {
      assertBatch(source.next(), 1, 1, 2);
    }
  }

  @Test
  void shouldRefuseToStartBeforeTheFirstBatch() {
    assertEquals(
        "worker 0: first batch is -1, expected at least 0",
        assertThrows(
                IllegalArgumentException.class, () -> start(TEN, IN_ORDER, config(4, false), -1))
            .getMessage());
  }

  @Test
  void shouldAssembleNoMoreThanConfiguredAheadWhenNobodyReads() throws Exception {
    AtomicInteger reads = new AtomicInteger();
    CountDownLatch fourth = new CountDownLatch(4);
    CountDownLatch fifth = new CountDownLatch(5);
    Augmentation counting =
        (features, offset, shape, random) -> {
          reads.incrementAndGet();
          fourth.countDown();
          fifth.countDown();
        };
    BatchConfig three = new BatchConfig(1, false, 3, 5_000, 0);

    try (BatchSource source =
        PrefetchingBatchSource.start("worker 0", TEN, IN_ORDER, three, counting)) {
      // Three wait in the queue, and the thread holds one.
      assertTrue(fourth.await(5, TimeUnit.SECONDS));
      assertFalse(fifth.await(100, TimeUnit.MILLISECONDS));
      source.next();
      assertTrue(fifth.await(5, TimeUnit.SECONDS));
    }
  }

  @Test
  void shouldSeedTheAugmentationBySampleAndEpochWhenAssembling() {
    Augmentation noise = (features, at, shape, random) -> features[at] = (float) random.uniform();
    try (BatchSource source =
        PrefetchingBatchSource.start("worker 0", TEN, IN_ORDER, config(10, false), noise)) {
      float[] first = source.next().features();
      float[] second = source.next().features();

      assertEquals((float) new SplitMix64(7, 0, 3).uniform(), first[6]);
      assertEquals((float) new SplitMix64(7, 1, 3).uniform(), second[6]);
      assertEquals(-3, first[7]);
    }
  }

  @Test
  void shouldReturnGoodBatchesBeforeTheErrorWhenASampleCannotBeRead() {
    IllegalStateException broken = new IllegalStateException("disk on fire");
    Dataset dataset = failingAt(6, broken);
    try (BatchSource source = start(dataset, IN_ORDER, config(4, false))) {
      assertEquals(4, source.next().count());

      ComponentException first = assertThrows(ComponentException.class, source::next);
      ComponentException again = assertThrows(ComponentException.class, source::next);

      String what = " failed at sample 6: java.lang.IllegalStateException: disk on fire, at ";
      assertTrue(first.getMessage().contains(what), first::getMessage);
      assertTrue(first.isPermanent());
      assertEquals(broken, first.getCause());
      assertEquals(first.getMessage(), again.getMessage());
    }
  }

  @Test
  void shouldRethrowADataErrorOfTheSampler() {
    DataException cause = new DataException("x.csv:3: column 2 is \"a\", expected a number");
    Sampler sampler =
        epoch -> {
          throw cause;
        };
    try (BatchSource source = start(TEN, sampler, config(4, false))) {
      assertEquals(cause, assertThrows(DataException.class, source::next));
    }
  }

  @Test
  void shouldSayThatNoBatchFitsWhenPartialOnesAreDropped() {
    try (BatchSource source = start(TEN, IN_ORDER, config(11, true))) {
      assertEquals(
          "worker 0: epoch 0 has no batch: 10 samples for batches of 11, partial ones dropped; "
              + "use smaller batches",
          assertThrows(DataException.class, source::next).getMessage());
    }
  }

  @Test
  void shouldNameWhereTheThreadIsStuckWhenNoBatchComesInTime() {
    CountDownLatch never = new CountDownLatch(1);
    Dataset stuck = runningBefore(0, () -> await(never));
    BatchConfig impatient = new BatchConfig(4, false, 2, 50, 0);

    try (BatchSource source = start(stuck, IN_ORDER, impatient)) {
      String message = assertThrows(DataException.class, source::next).getMessage();

      assertTrue(
          message.startsWith(
              "worker 0: no batch within 50 ms; thread \"batches of worker 0\" is still at "
                  + "batch 0 of epoch 0, in "),
          message);
    }
  }

  @Test
  void shouldEndTheThreadAtOnceWhenClosedWhileItWaits() {
    BatchSource source = start(TEN, IN_ORDER, config(1, false));
    source.next();

    source.close();

    assertTrue(
        Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().equals("batches of worker 0")));
    assertThrows(IllegalStateException.class, source::next);
  }

  @Test
  void shouldWakeTheReaderWhenClosedFromAnotherThread() {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    Dataset stuck =
        runningBefore(
            0,
            () -> {
              entered.countDown();
              await(never);
            });
    BatchSource source = start(stuck, IN_ORDER, config(4, false));
    CompletableFuture<Batch> reader = CompletableFuture.supplyAsync(source::next);
    await(entered);

    source.close();

    Throwable cause =
        assertThrows(Exception.class, () -> reader.get(5, TimeUnit.SECONDS)).getCause();
    assertInstanceOf(IllegalStateException.class, cause);
  }

  @Test
  void shouldRefuseSizesBelowOne() {
    assertThrows(IllegalArgumentException.class, () -> new BatchConfig(0, false, 1, 1, 0));
    assertThrows(IllegalArgumentException.class, () -> new BatchConfig(1, false, 0, 1, 0));
    assertThrows(IllegalArgumentException.class, () -> new BatchConfig(1, false, 1, 0, 0));
  }

  private static BatchConfig config(int size, boolean dropLast) {
    return new BatchConfig(size, dropLast, 2, 10_000, 7);
  }

  private static BatchSource start(Dataset dataset, Sampler sampler, BatchConfig config) {
    return start(dataset, sampler, config, 0);
  }

  private static BatchSource start(
      Dataset dataset, Sampler sampler, BatchConfig config, long firstBatch) {
    return PrefetchingBatchSource.start(
        "worker 0", dataset, sampler, config, Augmentation.none(), firstBatch);
  }

  private static List<Batch> read(
      Dataset data,
      Sampler sampler,
      BatchConfig config,
      Augmentation augmentation,
      long firstBatch,
      int count) {
    try (BatchSource source =
        PrefetchingBatchSource.start("worker 0", data, sampler, config, augmentation, firstBatch)) {
      return Stream.generate(source::next).limit(count).toList();
    }
  }

  private static void assertBatch(Batch batch, int epoch, int... samples) {
    int[] found =
        IntStream.range(0, batch.count()).map(i -> (int) batch.features()[2 * i]).toArray();
    assertArrayEquals(samples, found);
    assertEquals(epoch, batch.epoch());
    assertEquals(samples[0] % 3, batch.labels()[0]);
    assertEquals(samples.length * 2, batch.features().length);
  }

  private static Dataset failingAt(int sample, RuntimeException failure) {
    return runningBefore(
        sample,
        () -> {
          throw failure;
        });
  }

  private static Dataset runningBefore(int sample, Runnable action) {
    return new Dataset() {
      @Override
      public int size() {
        return TEN.size();
      }

      @Override
      public List<Integer> shape() {
        return TEN.shape();
      }

      @Override
      public int classes() {
        return TEN.classes();
      }

      @Override
      public void read(int index, float[] features, int offset) {
        if (index == sample) {
          action.run();
        }
        TEN.read(index, features, offset);
      }

      @Override
      public int label(int index) {
        return TEN.label(index);
      }
    };
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(15, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
