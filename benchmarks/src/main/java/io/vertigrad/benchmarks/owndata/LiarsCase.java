package io.vertigrad.benchmarks.owndata;

import io.vertigrad.testkit.attack.Attack;
import io.vertigrad.testkit.attack.LabelFlip;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A reduction and what the liars do.
 *
 * @param reduction value of {@code strategy.reduction}
 * @param bucket value of {@code strategy.bucket}, 1 for none
 * @param lie what the liars send
 */
record LiarsCase(String reduction, int bucket, Lie lie) {

  static final int WORKERS = 25;
  static final int LIARS = 5;

  /** Share of the last momentum that a worker keeps. */
  static final double MOMENTUM = 0.9;

  /** Channels of the network's first convolution; the second has twice as many. */
  static final int CHANNELS = 16;

  private static final double CLIP_RADIUS = 10;

  /** What the liars send. */
  enum Lie {
    /** Nothing but the truth: all workers are honest, and their data are alike. */
    NONE("no liar, alike data"),
    /** The opposite of their own update. */
    BIT_FLIP("bit flip"),
    /** An update from labels {@code 9 - y}. */
    LABEL_FLIP("label flip"),
    /** The update of one honest worker, all the same. */
    MIMIC("mimic"),
    /** A tenth of the honest mean, in the other direction. */
    INNER_PRODUCT("inner product"),
    /** The honest mean, moved by a little of the honest deviation. */
    A_LITTLE("a little");

    private final String words;

    Lie(String words) {
      this.words = words;
    }

    /**
     * Returns what liars send in place of their own updates, in the first round; one for a run.
     *
     * @return empty if they send their own
     */
    Optional<Attack> attack() {
      return switch (this) {
        case NONE, LABEL_FLIP -> Optional.empty();
        case BIT_FLIP -> Optional.of(new Attack.SignFlip(1));
        case MIMIC -> Optional.of(new Attack.Mimic(1));
        case INNER_PRODUCT -> Optional.of(new Attack.InnerProduct(0.1));
        case A_LITTLE -> Optional.of(Attack.LittleIsEnough.of(WORKERS, LIARS));
      };
    }

    /** Returns whether a liar needs an update of its own samples. */
    boolean needsOwn() {
      return this == BIT_FLIP || this == LABEL_FLIP;
    }

    /** Returns the class that a liar takes for the true one. */
    int label(int label, int classes) {
      return this == LABEL_FLIP ? LabelFlip.MIRRORED.flip(label, classes) : label;
    }

    @Override
    public String toString() {
      return words;
    }
  }

  /** Returns the cells of the published table, and those without liars. */
  static List<LiarsCase> all() {
    List<LiarsCase> cases = new ArrayList<>();
    for (String reduction : List.of("mean", "krum", "median", "centredClipping")) {
      for (int bucket : reduction.equals("mean") ? new int[] {1} : new int[] {1, 2}) {
        for (Lie lie : Lie.values()) {
          if (lie != Lie.NONE) {
            cases.add(new LiarsCase(reduction, bucket, lie));
          }
        }
      }
    }
    for (String reduction :
        List.of(
            "mean",
            "median",
            "trimmedMean",
            "geometricMedian",
            "krum",
            "multiKrum",
            "centredClipping")) {
      cases.add(new LiarsCase(reduction, 1, Lie.NONE));
    }
    return cases;
  }

  /** Returns the section {@code strategy} of a job file that reduces in this way. */
  JsonObject strategy() {
    JsonObject strategy = new JsonObject().put("name", "robust").put("reduction", reduction);
    if (!reduction.equals("mean")) {
      strategy.put("liars", LIARS).put("bucket", bucket);
    }
    return reduction.equals("centredClipping") ? strategy.put("clipRadius", CLIP_RADIUS) : strategy;
  }

  /** Returns the reduction in words. */
  String rule() {
    return bucket == 1 ? reduction : reduction + ", buckets of " + bucket;
  }

  @Override
  public String toString() {
    return rule() + ", " + lie;
  }
}
