package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.membership.ProposalAnswer.Start;
import org.junit.jupiter.api.Test;

class ProposalAnswerTest {

  /** With a quorum, a server in an earlier round may have received later steps. */
  @Test
  void shouldStartWithTheEarliestStepThatAnyServerNeeds() {
    Start behind = new Start(2, 3, 5);
    Start ahead = new Start(2, 4, 3);

    assertEquals(new Start(2, 3, 3), behind.earlier(ahead));
    assertEquals(new Start(2, 3, 3), ahead.earlier(behind));
  }
}
