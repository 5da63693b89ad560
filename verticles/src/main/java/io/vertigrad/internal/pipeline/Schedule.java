package io.vertigrad.internal.pipeline;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What every stage does in one step, and in which order.
 *
 * <p>All schedules send micro-batches backward in the same order, so that the sum of the gradients
 * has the same bits with every schedule.
 *
 * @param microBatches number of micro-batches
 * @param stages each stage's actions, in order
 */
public record Schedule(int microBatches, List<List<Action>> stages) {

  public Schedule {
    stages = stages.stream().map(List::copyOf).toList();
  }

  /**
   * Returns a schedule by its name in job files: {@code gpipe} or {@code 1f1b}.
   *
   * @throws IllegalArgumentException for any other name
   */
  public static Schedule named(String name, int stages, int microBatches) {
    return switch (name) {
      case "gpipe" -> allForwardAllBackward(stages, microBatches);
      case "1f1b" -> oneForwardOneBackward(stages, microBatches);
      default ->
          throw new IllegalArgumentException(
              "schedule is \"%s\", expected one of 1f1b, gpipe".formatted(name));
    };
  }

  /**
   * Returns the schedule that sends all micro-batches forward, then all backward: Huang et al.,
   * "GPipe", 2019.
   */
  public static Schedule allForwardAllBackward(int stages, int microBatches) {
    List<Action> actions = new ArrayList<>();
    IntStream.range(0, microBatches).mapToObj(Action::forward).forEach(actions::add);
    IntStream.range(0, microBatches).mapToObj(Action::backward).forEach(actions::add);
    return new Schedule(
        microBatches, IntStream.range(0, stages).mapToObj(stage -> actions).toList());
  }

  /**
   * Returns the schedule in which a stage goes forward only as far ahead as the later stages need,
   * then alternates forward and backward: Narayanan et al., "PipeDream" (2019), with a flush after
   * each step.
   */
  public static Schedule oneForwardOneBackward(int stages, int microBatches) {
    return new Schedule(
        microBatches,
        IntStream.range(0, stages)
            .mapToObj(stage -> turns(Math.min(stages - 1 - stage, microBatches), microBatches))
            .toList());
  }

  private static List<Action> turns(int ahead, int microBatches) {
    List<Action> actions = new ArrayList<>();
    IntStream.range(0, ahead).mapToObj(Action::forward).forEach(actions::add);
    for (int m = ahead; m < microBatches; m++) {
      actions.add(Action.forward(m));
      actions.add(Action.backward(m - ahead));
    }
    IntStream.range(microBatches - ahead, microBatches)
        .mapToObj(Action::backward)
        .forEach(actions::add);
    return actions;
  }
}
