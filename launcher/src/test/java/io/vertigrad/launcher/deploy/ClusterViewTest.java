package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.vertigrad.training.JobFailedException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ClusterViewTest {

  private List<String> nodes = List.of("me", "coordinator");
  private final ClusterView view = new ClusterView(() -> nodes, false);

  @Test
  void shouldReportNothingWhileTheCoordinatorIsUnknown() {
    nodes = List.of("me");

    assertEquals(Optional.empty(), looks(10));
  }

  @Test
  void shouldReportAMemberThatStaysInAnotherCluster() {
    view.expect("coordinator");
    assertEquals(Optional.empty(), looks(10));

    nodes = List.of("me");
    view.slept();
    assertEquals(Optional.empty(), looks(ClusterView.LOOKS - 1));

    assertEquals(
        "this process is in a cluster of 1 without the coordinator: it slept, or was cut off, until"
            + " the others let it go",
        assertInstanceOf(CoordinatorLostException.class, looks(1).orElseThrow()).getMessage());
  }

  @Test
  void shouldStayWhileItIsTheCoordinatorThatSleeps() {
    view.expect("coordinator");
    looks(1);

    nodes = List.of("me", "another");

    assertEquals(Optional.empty(), looks(10 * ClusterView.LOOKS));
  }

  @Test
  void shouldTolerateADelayedClusterView() {
    view.expect("coordinator");
    nodes = List.of("me");
    looks(ClusterView.LOOKS - 1);
    nodes = List.of("me", "coordinator");
    looks(1);
    nodes = List.of("me");

    assertEquals(Optional.empty(), looks(ClusterView.LOOKS - 1));
  }

  @Test
  void shouldReportNoFaultForAServer() {
    ClusterView server = new ClusterView(() -> List.of("me"), true);
    server.expect("coordinator");

    for (int i = 0; i < 10; i++) {
      assertEquals(Optional.empty(), server.fault());
    }
  }

  @Test
  void shouldEndTheProcessWhoseClusterWasShutDown() {
    ClusterView shut =
        new ClusterView(
            () -> {
              throw new IllegalStateException("Hazelcast instance is not active!");
            },
            true);

    JobFailedException fault = shut.fault().orElseThrow();

    assertFalse(fault instanceof CoordinatorLostException, "it must not try again in here");
    assertEquals(
        "the cluster was shut down under this process (Hazelcast instance is not active!); start"
            + " it again",
        fault.getMessage());
  }

  private Optional<JobFailedException> looks(int times) {
    Optional<JobFailedException> last = Optional.empty();
    for (int i = 0; i < times; i++) {
      last = view.fault();
    }
    return last;
  }
}
