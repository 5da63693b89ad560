package io.vertigrad.benchmarks.marginal;

import io.vertigrad.job.TransportKind;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Workers that train one model with one strategy, in one JVM or in processes.
 *
 * @param model the model to train
 * @param workers number of workers
 * @param strategy name as in job files
 * @param placement {@link #ONE_JVM}, or the transport between the processes
 * @param engine name as in job files
 */
public record MarginalCase(
    Trained model, int workers, String strategy, String placement, String engine) {

  /** The placement of all members in one process. */
  public static final String ONE_JVM = "one JVM";

  /** The engine that the names of cases leave out. */
  public static final String DL4J = "dl4j";

  /** The engine that runs on libtorch. */
  public static final String PYTORCH = "pytorch";

  private static final int WORKERS = 2;

  /** So that the first fifth of a run has some rounds. */
  private static final int FEWEST_ROUNDS = 10;

  /** The models of {@code benchmarks/run marginal}. */
  private static final List<Trained> MODELS =
      List.of(Trained.CONVNET, Trained.MLP, Trained.MLP_25M);

  /** A model, with its batch size and its relative number of rounds. */
  public enum Trained {
    CONVNET("convnet", "convnet", 0, 128, 1),
    CONVNET_B32("convnet", "convnet", 0, 32, 1),
    MLP("mlp", "mlp", 512, 64, 1),
    MLP_B32("mlp", "mlp", 512, 32, 1),
    MLP_B256("mlp", "mlp", 512, 256, 0.5),
    /** An MLP with 25.04 million parameters. */
    MLP_25M("mlp25m", "mlp", 31_500, 64, 0.02),
    RESNET20("resnet20", "resnet20", 0, 64, 0.05);

    private final String label;
    private final String name;
    private final int hidden;
    private final int batch;
    private final double rounds;

    Trained(String label, String name, int hidden, int batch, double rounds) {
      this.label = label;
      this.name = name;
      this.hidden = hidden;
      this.batch = batch;
      this.rounds = rounds;
    }

    public int batch() {
      return batch;
    }

    /**
     * Returns the rounds to measure for this number of rounds of the MLP, so that large models do
     * not take too long.
     */
    int rounds(int ofMlp) {
      return (int) Math.max(FEWEST_ROUNDS, ofMlp * rounds);
    }

    /** Returns the model and its batch size: {@code mlp b64}. */
    @Override
    public String toString() {
      return label + " b" + batch;
    }
  }

  /** Returns all cases, by model and strategy, those of one JVM first. */
  static List<MarginalCase> all() {
    List<String> placements =
        Stream.concat(
                Stream.of(ONE_JVM),
                // AUTO selects one of the others.
                Stream.of(TransportKind.values())
                    .filter(kind -> kind != TransportKind.AUTO)
                    .map(kind -> kind.name().toLowerCase(Locale.ROOT)))
            .toList();
    List<MarginalCase> cases = new ArrayList<>();
    for (Trained model : MODELS) {
      for (String strategy : List.of("sync", "async", "allreduce", "dpsgd")) {
        placements.forEach(
            place -> cases.add(new MarginalCase(model, WORKERS, strategy, place, DL4J)));
      }
    }
    return cases;
  }

  boolean processes() {
    return !placement.equals(ONE_JVM);
  }

  /** Returns the part of the name that another program's figures share: {@code mlp, sync}. */
  String exchange() {
    return model.label + ", " + strategy;
  }

  /**
   * Returns the job file. It runs no evaluator, because that would be measured too.
   *
   * @param steps steps of each worker
   */
  JsonObject job(int steps) {
    JsonObject network = new JsonObject().put("name", model.name);
    if (model.hidden > 0) {
      network.put("hidden", model.hidden);
    }
    JsonObject job =
        new JsonObject()
            .put("engine", engine)
            .put("job", "marginal-%s-%s".formatted(model.label, strategy))
            .put("steps", steps)
            .put("model", network)
            .put(
                "data",
                new JsonObject().put("name", model == Trained.RESNET20 ? "shapes" : "digits"))
            .put("optimizer", new JsonObject().put("name", "sgd").put("learningRate", 0.01))
            .put("strategy", new JsonObject().put("name", strategy))
            .put("workers", new JsonObject().put("count", workers).put("batch", model.batch))
            .put("evaluator", new JsonObject().put("count", 0).put("every", 1_000_000));
    return processes() ? job.put("exchange", new JsonObject().put("transport", placement)) : job;
  }

  @Override
  public String toString() {
    return exchange() + ", " + placement + (engine.equals(DL4J) ? "" : ", " + engine);
  }
}
