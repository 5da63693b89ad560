package io.vertigrad.internal.exchange;

import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.strategy.ExchangeException;

/**
 * A rule of the job's strategy has thrown. The job fails, because the rule may have done half of a
 * step, and would throw again.
 */
public final class RuleException extends ExchangeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the error of a rule.
   *
   * @param strategy the strategy's name in the job file
   * @param where the rule was, such as {@code partition 2, version 100}
   * @param thrown what it has thrown
   */
  public RuleException(String strategy, String where, Throwable thrown) {
    super(
        "strategy \"%s\" failed at %s: %s"
            .formatted(strategy, where, ComponentException.described(thrown)),
        thrown);
  }

  @Override
  public boolean failsJob() {
    return true;
  }
}
