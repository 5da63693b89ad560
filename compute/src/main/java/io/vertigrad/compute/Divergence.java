package io.vertigrad.compute;

import io.vertx.core.json.JsonObject;
import java.util.Locale;

/**
 * Decides whether a training diverged, and words it, for all that follow a run: workers, stages,
 * results and pages.
 */
public final class Divergence {

  /** A worker gives up after so many gradients in sequence that were refused. */
  public static final int REFUSED_IN_SEQUENCE = 20;

  /** Good training never has a loss above this multiple of the first one. */
  private static final double WORSE = 1.5;

  /** A model that learned something has a loss below this share of the first one. */
  private static final double BETTER = 0.9;

  /** So many refused updates are no accident. */
  private static final long REFUSED = 5;

  private static final double USUAL_RATE = 0.01;

  private Divergence() {}

  /**
   * Decides by the losses, and by updates that were refused because they held NaN, infinity or
   * numbers that are too large. A model that has memorised its training set has a high test loss
   * too, but a low training loss.
   *
   * @param first loss before the first step, or of the first steps; NaN if it is not known
   * @param highest highest loss of a worker or a test; NaN if it is not known
   * @param training newest training loss; NaN if it is not known
   * @param model loss of the newest parameters in a test, or on training samples
   * @param refused number of updates that were refused of late
   * @return true if a loss is not a finite number, or far too high while the model is no better
   *     than the initial one, or if updates are refused while the loss is no lower
   */
  public static boolean isShownBy(
      double first, double highest, double training, double model, long refused) {
    boolean high = model > WORSE * first && !(training < first);
    boolean spoilt = highest > WORSE * first && model > BETTER * first;
    return !Double.isFinite(model)
        || high
        || spoilt && !(training < BETTER * first)
        || refused >= REFUSED && !(training < first);
  }

  /**
   * Words the end of a training that cannot go on.
   *
   * @param step step of the last gradient
   * @param loss its loss; NaN if it is not finite, or the stage of a pipeline does not know it
   * @param refused number of gradients in sequence that were refused; a pipeline ends with the
   *     first
   * @return a sentence without its full stop, such as {@code training diverged at step 19: the loss
   *     is not a finite number, and 20 gradients in sequence were refused}
   */
  public static String at(long step, double loss, int refused) {
    return refused == 1
        ? "training diverged at step %s: the gradient holds NaN or infinity%s"
            .formatted(step, Double.isNaN(loss) ? "" : ", the loss is " + loss(loss))
        : "training diverged at step %s: the loss is %s, and %s gradients in sequence were refused"
            .formatted(step, loss(loss), refused);
  }

  /**
   * Words how far a loss rose.
   *
   * @param first loss before the first step; NaN if it is not known
   * @param highest highest loss since; NaN if it is not known
   * @param last loss of the last test
   * @return such as {@code the loss rose from 2.354 before the first step to 20.72}
   */
  public static String rise(double first, double highest, double last) {
    return Double.isFinite(first) && Double.isFinite(highest) && Double.isFinite(last)
        ? "the loss rose from %s before the first step to %s".formatted(loss(first), loss(highest))
        : "the loss is " + loss(last);
  }

  /**
   * Returns what to try.
   *
   * @param job resolved job file
   * @param workers number of workers
   * @return a sentence without its full stop, with the key and its value
   */
  public static String remedy(JsonObject job, int workers) {
    JsonObject strategy = job.getJsonObject("strategy", new JsonObject());
    boolean undivided =
        "async".equals(strategy.getString("name"))
            && "none".equals(strategy.getString("damping", "none"))
            && workers > 1;
    String lower = undivided ? "Divide %s by workers.count" : "Lower %s, to a tenth";
    return lower.formatted(rate(job)) + noise(strategy);
  }

  /** Returns the other cause where updates are clipped and get noise; empty without noise. */
  private static String noise(JsonObject strategy) {
    double noise = strategy.getDouble("noise", 0.0);
    double clip = strategy.getDouble("clip", 0.0);
    return noise > 0
        ? "; or the noise of each element of an update is too large: its deviation is strategy.noise (%s) times strategy.clip (%s): lower one of them, or train more workers"
            .formatted(noise, clip)
        : "";
  }

  /**
   * Returns the key of the learning rate and its value.
   *
   * @param job resolved job file
   * @return such as {@code optimizer.learningRate (0.01)}
   */
  public static String rate(JsonObject job) {
    double rate =
        job.getJsonObject("optimizer", new JsonObject()).getDouble("learningRate", USUAL_RATE);
    return "optimizer.learningRate (%s)"
        .formatted(rate == Math.rint(rate) ? String.valueOf((long) rate) : String.valueOf(rate));
  }

  private static String loss(double value) {
    return Double.isFinite(value)
        ? String.format(Locale.ROOT, "%.4g", value)
        : "not a finite number";
  }
}
