package io.vertigrad.federated;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.LocalRule;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.testkit.attack.Attack;
import java.util.List;

/**
 * A strategy named {@code lying}: {@code federated}, in which worker 3 sends the tenfold negative
 * of how far it has moved.
 */
public final class LyingWorker implements StrategyProvider {

  static final int LIAR = 3;

  private static final Attack ATTACK = new Attack.SignFlip(10);

  /** Creates the provider; called by the {@code ServiceLoader}. */
  public LyingWorker() {}

  @Override
  public String name() {
    return "lying";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    StrategyFactory honest = new FederatedProvider().configure(settings);
    return honest.withLocalRule((job, layout) -> new Rule(honest.localRule(job, layout)));
  }

  private static final class Rule implements LocalRule {

    private final LocalRule rule;
    private boolean lies;
    private long version;

    Rule(LocalRule rule) {
      this.rule = rule;
    }

    @Override
    public long begin(Round round, float[] parameters) {
      lies = round.rank() == LIAR;
      version = round.version();
      return rule.begin(round, parameters);
    }

    @Override
    public boolean restartsOptimizer() {
      return rule.restartsOptimizer();
    }

    @Override
    public boolean adjusts() {
      return rule.adjusts();
    }

    @Override
    public void adjust(float[] parameters, float[] gradient) {
      rule.adjust(parameters, gradient);
    }

    @Override
    public void finish(float[] moved) {
      rule.finish(moved);
      if (lies) {
        System.arraycopy(ATTACK.update(moved, List.of(), version), 0, moved, 0, moved.length);
      }
    }

    @Override
    public float[] memory() {
      return rule.memory();
    }
  }
}
