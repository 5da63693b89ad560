package io.vertigrad.strategies;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyFactory;
import java.util.Optional;

/**
 * Two levels of workers: those of a group take every step together, with all their gradients, and
 * the groups use {@link DiLoCo} among each other.
 *
 * @param groups the groups, such as one for each host
 * @param between what the groups do among each other
 */
record Hierarchy(WorkerGroups groups, DiLoCo.Config between) {

  private static final int MOST_GROUPS = 4_096;

  /**
   * Reads the keys {@code groups} and {@code between} of a strategy.
   *
   * @param sums whether a group steps with the sum of its gradients instead of their mean
   * @return empty when there is one group
   */
  static Optional<Hierarchy> read(Settings settings, boolean sums) {
    int groups = settings.integer("groups", 1, 1, MOST_GROUPS);
    boolean between = settings.has("between");
    if (between != groups > 1) {
      throw settings.refuse(
          between ? "groups" : "between",
          between
              ? "is 1 with between, expected at least 2 groups of workers"
              : "is missing with %s groups, expected { \"name\": \"diloco\" }".formatted(groups));
    }
    if (!between) {
      return Optional.empty();
    }
    Settings section = settings.section("between");
    section.choice("name", null, "diloco");
    return Optional.of(new Hierarchy(new WorkerGroups(groups, sums), DiLoCo.Config.read(section)));
  }

  /** Refuses a key that cannot have an effect within groups. */
  void refuse(Settings settings, String key, boolean set) {
    if (set) {
      throw settings.refuse(key, "is set with between, expected to be left out");
    }
  }

  /** Creates the rules of the workers; such a job has no servers. */
  StrategyFactory factory() {
    return StrategyFactory.besideWorkers(
            between.traits(), context -> new DiLoCo(between, Optional.of(groups), context))
        .checking(this::check);
  }

  private void check(JobConfig job) {
    int workers = job.workers().count();
    Settings section = job.settings().section("strategy");
    if (workers % groups.count() != 0) {
      throw section.refuse(
          "groups",
          "is %s, expected a divisor of workers.count (%s)".formatted(groups.count(), workers));
    }
    if (job.pipeline().isPresent()) {
      throw section.refuse("between", "is given with a pipeline, expected one of them");
    }
  }
}
