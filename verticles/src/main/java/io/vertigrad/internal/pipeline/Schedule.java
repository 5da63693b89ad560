package io.vertigrad.internal.pipeline;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The work of every stage in one step, and its order.
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

  /**
   * Simulates a step in which all stages take equally long and transfers take no time.
   *
   * @param forward time of one micro-batch in one stage, forward
   * @param backward time of one micro-batch in one stage, backward
   * @throws IllegalArgumentException when stages wait for each other for ever
   */
  public Cost cost(double forward, double backward) {
    double busy = microBatches * (forward + backward);
    double length = new Simulation(this, forward, backward).length();
    return new Cost(1 - busy / length, stages.stream().map(Schedule::peak).toList());
  }

  private static int peak(List<Action> actions) {
    int kept = 0;
    int peak = 0;
    for (Action action : actions) {
      kept += action.kind() == Action.Kind.FORWARD ? 1 : -1;
      peak = Math.max(peak, kept);
    }
    return peak;
  }

  /**
   * One action of one stage in a step.
   *
   * @param kind the direction
   * @param microBatch index of the micro-batch, from 0
   */
  record Action(Kind kind, int microBatch) {

    /** The direction in which values go. */
    public enum Kind {
      /** Activations arrive and are kept; the activations for the next stage are sent. */
      FORWARD,
      /** The gradient of the stage's output arrives; the gradient of its input is sent back. */
      BACKWARD
    }

    static Action forward(int microBatch) {
      return new Action(Kind.FORWARD, microBatch);
    }

    static Action backward(int microBatch) {
      return new Action(Kind.BACKWARD, microBatch);
    }

    @Override
    public String toString() {
      return (kind == Kind.FORWARD ? "F" : "B") + microBatch;
    }
  }

  /**
   * The cost of a schedule.
   *
   * @param bubble share of the step in which a stage waits for others, 0 to 1
   * @param peaks most micro-batches whose input each stage keeps at a time, by stage
   */
  public record Cost(double bubble, List<Integer> peaks) {

    public Cost {
      peaks = List.copyOf(peaks);
    }
  }

  /** The simulation of one step. */
  private static final class Simulation {

    private final Schedule schedule;
    private final double[] times;
    private final double[][][] doneAt;
    private final int[] nextAction;
    private final double[] freeAt;

    Simulation(Schedule schedule, double forward, double backward) {
      int stages = schedule.stages().size();
      this.schedule = schedule;
      this.times = new double[] {forward, backward};
      this.doneAt = new double[2][stages][schedule.microBatches()];
      this.nextAction = new int[stages];
      this.freeAt = new double[stages];
    }

    double length() {
      boolean moved = true;
      while (moved) {
        moved = false;
        for (int stage = 0; stage < nextAction.length; stage++) {
          moved |= move(stage);
        }
      }
      List<Integer> blockedStages = new ArrayList<>();
      double length = 0;
      for (int stage = 0; stage < nextAction.length; stage++) {
        if (nextAction[stage] < schedule.stages().get(stage).size()) {
          blockedStages.add(stage);
        }
        length = Math.max(length, freeAt[stage]);
      }
      if (!blockedStages.isEmpty()) {
        throw new IllegalArgumentException("stages %s wait for ever".formatted(blockedStages));
      }
      return length;
    }

    private boolean move(int stage) {
      List<Action> actions = schedule.stages().get(stage);
      int before = nextAction[stage];
      while (nextAction[stage] < actions.size()
          && ready(stage, actions.get(nextAction[stage])) >= 0) {
        Action action = actions.get(nextAction[stage]++);
        int kind = action.kind().ordinal();
        freeAt[stage] = Math.max(freeAt[stage], ready(stage, action)) + times[kind];
        doneAt[kind][stage][action.microBatch()] = freeAt[stage];
      }
      return nextAction[stage] > before;
    }

    /**
     * Returns the time at which an action's input is available; negative if it is not available
     * yet.
     */
    private double ready(int stage, Action action) {
      boolean forward = action.kind() == Action.Kind.FORWARD;
      int from = forward ? stage - 1 : stage + 1;
      if (from < 0) {
        return 0;
      }
      double end =
          from < nextAction.length
              ? doneAt[action.kind().ordinal()][from][action.microBatch()]
              : doneAt[0][stage][action.microBatch()];
      return end > 0 ? end : -1;
    }
  }
}
