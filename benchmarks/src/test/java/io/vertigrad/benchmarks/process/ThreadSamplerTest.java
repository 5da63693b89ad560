package io.vertigrad.benchmarks.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.benchmarks.process.ThreadSampler.Id;
import io.vertigrad.benchmarks.process.ThreadSampler.Reading;
import io.vertigrad.benchmarks.process.ThreadSampler.Sample;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThreadSamplerTest {

  private static final Id ONE = new Id(7, 1);
  private static final Id TWO = new Id(7, 2);

  private final ThreadSampler sampler = new ThreadSampler();

  @ParameterizedTest
  @CsvSource({
    "vert.x-eventloo, EVENT_LOOPS",
    "vert.x-..read-0, EVENT_LOOPS",
    "vert.x-worker-t, OTHERS",
    "worker 0 of mar, WORKERS",
    "worker ..p-sync, WORKERS",
    "strategy of wor, STRATEGIES",
    "C1 CompilerThre, COMPILERS",
    "C2 Comp..hread0, COMPILERS",
    "GC Thread#1, COLLECTORS",
    "G1 Conc#0, COLLECTORS",
    "VM Thread, OTHERS",
    "batches of work, OTHERS"
  })
  void shouldKnowTheKindOfAThreadByItsName(String name, ThreadKind kind) {
    assertEquals(kind, ThreadKind.of(name));
  }

  @Test
  void shouldKeepTheTimeOfAThreadThatHasEnded() {
    sampler.add(0, Map.of(ONE, worker(5), TWO, new Reading(ThreadKind.COMPILERS, 3)));
    sampler.add(1, Map.of(ONE, worker(6)));
    sampler.add(2, Map.of(ONE, worker(8)));

    assertEquals(
        List.of(
            new Sample(0, Map.of(ThreadKind.WORKERS, 5L, ThreadKind.COMPILERS, 3L)),
            new Sample(1, Map.of(ThreadKind.WORKERS, 6L, ThreadKind.COMPILERS, 3L)),
            new Sample(2, Map.of(ThreadKind.WORKERS, 8L, ThreadKind.COMPILERS, 3L))),
        sampler.samples());
  }

  @Test
  void shouldAddTheTimeOfAnotherThreadThatHasTheNumberOfAnEndedOne() {
    sampler.add(0, Map.of(ONE, worker(50)));
    sampler.add(1, Map.of(ONE, worker(4)));

    assertEquals(54, sampler.samples().get(1).nanos(ThreadKind.WORKERS));
  }

  @Test
  void shouldAddOnlyWhatFollowsWhenAThreadGetsAnotherName() {
    sampler.add(0, Map.of(ONE, new Reading(ThreadKind.OTHERS, 50)));
    sampler.add(1, Map.of(ONE, worker(60)));

    assertEquals(50, sampler.samples().get(1).nanos(ThreadKind.OTHERS));
    assertEquals(10, sampler.samples().get(1).nanos(ThreadKind.WORKERS));
  }

  @Test
  void shouldNotCountAThreadTwiceThatASampleHasMissed() {
    sampler.add(0, Map.of(ONE, worker(50)));
    sampler.add(1, Map.of());
    sampler.add(2, Map.of(ONE, worker(51)));

    assertEquals(51, sampler.samples().get(2).nanos(ThreadKind.WORKERS));
  }

  @Test
  void shouldReadTheThreadsOfAProcess() throws Exception {
    sampler.start(ProcessHandle.current());
    List<Sample> samples = sampler.stop();

    assertTrue(samples.get(0).nanos(ThreadKind.OTHERS) > 0, samples::toString);
  }

  private static Reading worker(long nanos) {
    return new Reading(ThreadKind.WORKERS, nanos);
  }
}
