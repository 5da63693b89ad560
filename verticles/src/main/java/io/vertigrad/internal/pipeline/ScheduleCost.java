package io.vertigrad.internal.pipeline;

import java.util.ArrayList;
import java.util.List;

/**
 * The cost of a schedule when all stages take equally long and transfers take no time.
 *
 * @param bubble share of the step in which a stage waits for others, 0 to 1
 * @param peaks most micro-batches whose input each stage keeps at a time, by stage
 */
public record ScheduleCost(double bubble, List<Integer> peaks) {

  public ScheduleCost {
    peaks = List.copyOf(peaks);
  }

  /**
   * Simulates a schedule.
   *
   * @param forward time of one micro-batch in one stage, forward
   * @param backward time of one micro-batch in one stage, backward
   * @throws IllegalArgumentException when stages wait for each other for ever
   */
  public static ScheduleCost of(Schedule schedule, double forward, double backward) {
    double busy = schedule.microBatches() * (forward + backward);
    double length = new Play(schedule, forward, backward).length();
    return new ScheduleCost(
        1 - busy / length, schedule.stages().stream().map(ScheduleCost::peak).toList());
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

  /** The simulation of one step. */
  private static final class Play {

    private final Schedule schedule;
    private final double[] times;
    private final double[][][] done;
    private final int[] next;
    private final double[] free;

    Play(Schedule schedule, double forward, double backward) {
      int stages = schedule.stages().size();
      this.schedule = schedule;
      this.times = new double[] {forward, backward};
      this.done = new double[2][stages][schedule.microBatches()];
      this.next = new int[stages];
      this.free = new double[stages];
    }

    double length() {
      boolean moved = true;
      while (moved) {
        moved = false;
        for (int stage = 0; stage < next.length; stage++) {
          moved |= move(stage);
        }
      }
      List<Integer> stuck = new ArrayList<>();
      double length = 0;
      for (int stage = 0; stage < next.length; stage++) {
        if (next[stage] < schedule.stages().get(stage).size()) {
          stuck.add(stage);
        }
        length = Math.max(length, free[stage]);
      }
      if (!stuck.isEmpty()) {
        throw new IllegalArgumentException("stages %s wait for ever".formatted(stuck));
      }
      return length;
    }

    private boolean move(int stage) {
      List<Action> actions = schedule.stages().get(stage);
      int before = next[stage];
      while (next[stage] < actions.size() && ready(stage, actions.get(next[stage])) >= 0) {
        Action action = actions.get(next[stage]++);
        int kind = action.kind().ordinal();
        free[stage] = Math.max(free[stage], ready(stage, action)) + times[kind];
        done[kind][stage][action.microBatch()] = free[stage];
      }
      return next[stage] > before;
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
          from < next.length
              ? done[action.kind().ordinal()][from][action.microBatch()]
              : done[0][stage][action.microBatch()];
      return end > 0 ? end : -1;
    }
  }
}
