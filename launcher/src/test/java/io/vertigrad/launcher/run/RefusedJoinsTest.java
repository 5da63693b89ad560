package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tests with the log of this process. */
class RefusedJoinsTest {

  private static final Logger LOG = LoggerFactory.getLogger(RefusedJoins.LOGGER);

  private final List<String> screen = new ArrayList<>();

  @Test
  void shouldShowANodeOnceForEachReasonWhenItAsksAgainAndAgain() {
    String first = RefusedJoins.BEGINNING + "a pid 7: worker at a is refused: it has 3 classes";
    String other = RefusedJoins.BEGINNING + "a pid 7: worker 2 is expelled";
    RefusedJoins joins = RefusedJoins.showOn(screen::add);
    try (joins) {
      LOG.warn(first);
      LOG.warn("{} (and 40 more about a pid 7 since the last line)", first);
      LOG.warn(other);
      LOG.warn("refused a control request: no kind");
      LOG.info("a member joined");
    }
    LOG.warn(RefusedJoins.BEGINNING + "after the end");

    assertEquals(List.of(first, other), screen);
  }

  @Test
  void shouldFollowTheLogOfAClassWhenTheCoordinatorStillHasIt() throws Exception {
    assertEquals("ControlRequestHandler", Class.forName(RefusedJoins.LOGGER).getSimpleName());
  }
}
