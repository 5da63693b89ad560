package io.vertigrad.federated;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.LocalRule;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.testkit.attack.Attack;
import java.util.List;

/**
 * A strategy named {@code lying}: {@code federated}, in which worker 3 sends the tenfold negative
 * of how far it has moved. In that named {@code spoilt} it sends NaN.
 */
public class LyingWorker implements StrategyProvider {

  static final int LIAR = 3;

  private final String name;
  private final Attack attack;

  /** Creates the provider; called by the {@code ServiceLoader}. */
  public LyingWorker() {
    this("lying", new Attack.SignFlip(10));
  }

  private LyingWorker(String name, Attack attack) {
    this.name = name;
    this.attack = attack;
  }

  /** The strategy named {@code spoilt}. */
  public static final class Spoilt extends LyingWorker {

    /** Creates the provider; called by the {@code ServiceLoader}. */
    public Spoilt() {
      super("spoilt", new Attack.NotANumber());
    }
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final StrategyFactory configure(Settings settings) {
    StrategyFactory honest = new FederatedProvider().configure(settings);
    return honest.withLocalRule((job, layout) -> new Rule(honest.localRule(job, layout), attack));
  }

  private static final class Rule implements LocalRule {

    private final LocalRule rule;
    private final Attack attack;
    private boolean lies;
    private long version;

    Rule(LocalRule rule, Attack attack) {
      this.rule = rule;
      this.attack = attack;
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
        System.arraycopy(attack.update(moved, List.of(), version), 0, moved, 0, moved.length);
      }
    }

    @Override
    public float[] memory() {
      return rule.memory();
    }
  }
}
