package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.pipeline.Schedule.Action;
import io.vertigrad.internal.pipeline.Schedule.Action.Kind;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScheduleTest {

  @Test
  void shouldTakeTurnsWhenOneForwardOneBackward() {
    Schedule schedule = Schedule.named("1f1b", 3, 4);

    assertEquals("[F0, F1, F2, B0, F3, B1, B2, B3]", schedule.stages().get(0).toString());
    assertEquals("[F0, F1, B0, F2, B1, F3, B2, B3]", schedule.stages().get(1).toString());
    assertEquals("[F0, B0, F1, B1, F2, B2, F3, B3]", schedule.stages().get(2).toString());
  }

  @Test
  void shouldRunAllForwardThenAllBackwardWhenGpipe() {
    Schedule schedule = Schedule.named("gpipe", 2, 3);

    assertEquals("[F0, F1, F2, B0, B1, B2]", schedule.stages().get(0).toString());
    assertEquals(schedule.stages().get(0), schedule.stages().get(1));
  }

  /** The bubble is (S - 1) / (M + S - 1), however long forward and backward take. */
  @ParameterizedTest
  @CsvSource({
    "gpipe,1,1",
    "gpipe,2,4",
    "gpipe,4,8",
    "gpipe,8,3",
    "1f1b,1,5",
    "1f1b,2,4",
    "1f1b,4,8",
    "1f1b,4,2",
    "1f1b,8,32"
  })
  void shouldHaveTheBubbleOfTheFormula(String name, int stages, int microBatches) {
    double expected = (stages - 1.0) / (microBatches + stages - 1);

    Schedule schedule = Schedule.named(name, stages, microBatches);

    assertEquals(expected, schedule.cost(1, 1).bubble(), 1e-12);
    assertEquals(expected, schedule.cost(1, 3).bubble(), 1e-12);
  }

  /** The peak is M with GPipe, and min(S - s, M) with one forward one backward. */
  @ParameterizedTest
  @CsvSource({"2,4", "4,8", "4,2", "8,3", "1,6"})
  void shouldKeepAsManyActivationsAsTheFormula(int stages, int microBatches) {
    Schedule.Cost gpipe = Schedule.named("gpipe", stages, microBatches).cost(1, 2);
    Schedule.Cost turns = Schedule.named("1f1b", stages, microBatches).cost(1, 2);

    for (int s = 0; s < stages; s++) {
      assertEquals(microBatches, gpipe.peaks().get(s));
      assertEquals(Math.min(stages - s, microBatches), turns.peaks().get(s));
    }
  }

  @ParameterizedTest
  @CsvSource({"gpipe,3,5", "1f1b,3,5", "1f1b,5,2"})
  void shouldRunEveryPassOnceAndBackwardInOrder(String name, int stages, int microBatches) {
    for (List<Action> actions : Schedule.named(name, stages, microBatches).stages()) {
      assertEquals(2 * microBatches, actions.size());
      assertEquals(actions.size(), new HashSet<>(actions).size());
      List<Integer> backward =
          actions.stream().filter(a -> a.kind() == Kind.BACKWARD).map(Action::microBatch).toList();
      assertEquals(IntStream.range(0, microBatches).boxed().toList(), backward);
    }
  }

  @Test
  void shouldReportTheDeadlockOfAnImpossibleSchedule() {
    Schedule wrong =
        new Schedule(
            1,
            List.of(
                List.of(Action.backward(0), Action.forward(0)),
                List.of(Action.forward(0), Action.backward(0))));

    IllegalArgumentException stuck =
        assertThrows(IllegalArgumentException.class, () -> wrong.cost(1, 1));

    assertEquals("stages [0, 1] wait for ever", stuck.getMessage());
  }

  @Test
  void shouldNameTheSchedulesWhenItIsAskedForAnother() {
    IllegalArgumentException unknown =
        assertThrows(IllegalArgumentException.class, () -> Schedule.named("2f2b", 2, 2));

    assertTrue(unknown.getMessage().contains("expected one of 1f1b, gpipe"));
  }
}
