package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.StepState;
import org.junit.jupiter.api.Test;

final class StepGateTest {

  private final StepGate gate = new StepGate();

  @Test
  void shouldReportNoRestBeforeTheWorkerHasLookedAtTheNewestOrder() {
    assertTrue(gate.tryBegin(17));
    assertEquals(18, gate.apply(new Pause(1, 0)));
    gate.idle(gate.order());
    assertEquals(new StepState(18, 1, true), gate.state(18));

    gate.apply(new Pause(2, 19));

    assertEquals(new StepState(18, 2, false), gate.state(18), "it takes another step soon");
    gate.idle(1);
    assertFalse(gate.state(18).idle(), "the worker looked at the order before");
    assertTrue(gate.tryBegin(18));
    gate.idle(gate.order());
    assertEquals(new StepState(19, 2, true), gate.state(19));
  }

  @Test
  void shouldReportRestAgainWhenTheWorkerCannotTakeTheStepThatIsOpen() {
    gate.apply(new Pause(1, 0));
    gate.apply(new Pause(2, 19));

    gate.idle(gate.order());

    assertTrue(gate.open(18));
    assertTrue(gate.state(18).idle());
  }
}
