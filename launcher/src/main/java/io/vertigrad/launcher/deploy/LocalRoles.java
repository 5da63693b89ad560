package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.StrategyProviders;

/**
 * How many members of each role a command starts itself; the rest of a job joins from elsewhere.
 *
 * @param servers parameter servers
 * @param workers workers
 * @param evaluators 0 or 1
 */
public record LocalRoles(int servers, int workers, int evaluators) {

  /** Everyone a job asks for. */
  public static LocalRoles of(JobConfig job) {
    int servers =
        StrategyProviders.configure(job.strategy(), LocalRoles.class.getClassLoader())
            .servers(job.servers().count());
    return new LocalRoles(servers, job.workers().count(), job.evaluators());
  }

  /** The same with another number of workers. */
  public LocalRoles withWorkers(int count) {
    return new LocalRoles(servers, count, evaluators);
  }

  /** How many play this role. */
  public int count(Role role) {
    return switch (role) {
      case SERVER -> servers;
      case WORKER -> workers;
      case EVALUATOR -> evaluators;
    };
  }
}
