package io.vertigrad.verticles.coordinator;

import io.vertigrad.compute.ParameterLayout;
import java.util.stream.Collectors;

/** Whether a newcomer fits a job: the same settings, the same model, and a place to take. */
final class Gate {

  private final RosterConfig config;
  private ParameterLayout layout;

  Gate(RosterConfig config) {
    this.config = config;
  }

  /**
   * Lets the newcomer pass; the first one's layout becomes the job's.
   *
   * @throws JoinException naming the first thing that does not fit
   */
  void check(JoinRequest request, Attendance attendance) {
    String who = "%s at %s is refused: ".formatted(request.role().lower(), request.node());
    config
        .terms()
        .firstDifference(request.terms())
        .ifPresent(
            difference -> {
              throw new JoinException(
                  who + "its job file differs in " + difference + "; start it with the same file");
            });
    if (layout == null) {
      layout = request.layout();
    }
    layout
        .firstDifference(request.layout())
        .ifPresent(
            difference -> {
              throw new JoinException(
                  who + "its model differs in " + difference + "; start it with the same model");
            });
    checkCapacity(request, attendance, who);
  }

  /** Elements of the job's exchange vector; 0 before anyone came. */
  long parameters() {
    return layout == null ? 0 : layout.length();
  }

  private void checkCapacity(JoinRequest request, Attendance attendance, String who) {
    int capacity = config.capacity(request.role());
    if (attendance.count(request.role()) < capacity) {
      return;
    }
    String holders =
        attendance.of(request.role()).stream()
            .limit(4)
            .map(Attendee::describe)
            .collect(Collectors.joining(", "));
    throw new JoinException(
        who
            + "the job has all %d of its %ss (%s); it takes a place only when one is lost"
                .formatted(capacity, request.role().lower(), holders),
        true);
  }
}
