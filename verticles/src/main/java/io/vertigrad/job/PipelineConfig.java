package io.vertigrad.job;

import io.vertigrad.compute.pipeline.Balance;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.settings.Settings;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The pipeline of a job whose model is spread over several members.
 *
 * @param stages number of stages
 * @param cuts last layers of all stages but the last; empty to split automatically
 * @param balance what an automatic split distributes evenly
 * @param microBatches number of parts of a batch
 * @param schedule {@code gpipe} or {@code 1f1b}
 * @param replicas replicas of every stage, each with its own share of the data
 * @param evaluation who tests: the {@code stages} themselves, forward only, or an evaluator that
 *     has the model {@code assembled}
 */
public record PipelineConfig(
    int stages,
    List<String> cuts,
    Balance balance,
    int microBatches,
    String schedule,
    int replicas,
    String evaluation) {

  private static final int MOST = 1024;

  /**
   * Copies the cuts.
   *
   * @param stages number of stages
   * @param cuts last layers of all stages but the last
   * @param balance what an automatic split distributes evenly
   * @param microBatches number of parts of a batch
   * @param schedule {@code gpipe} or {@code 1f1b}
   * @param replicas replicas of every stage
   * @param evaluation who tests
   */
  public PipelineConfig {
    cuts = List.copyOf(cuts);
  }

  /** Returns the pipeline; empty if the section has neither stages nor cuts. */
  static Optional<PipelineConfig> read(Settings section) {
    List<String> cuts = section.textList("cuts", List.of());
    int stages = section.integer("stages", cuts.isEmpty() ? 0 : cuts.size() + 1, 0, MOST);
    if (!cuts.isEmpty() && stages != cuts.size() + 1) {
      throw section.refuse(
          "stages",
          "is %s, expected %s: one more than pipeline.cuts; leave one of them out"
              .formatted(stages, cuts.size() + 1));
    }
    PipelineConfig config =
        new PipelineConfig(
            stages,
            cuts,
            Balance.valueOf(
                section
                    .choice("balance", "parameters", "parameters", "time")
                    .toUpperCase(Locale.ROOT)),
            section.integer("microBatches", 4, 1, 1 << 20),
            section.choice("schedule", "1f1b", "1f1b", "gpipe"),
            section.integer("replicas", 1, 1, MOST),
            section.choice("evaluation", "stages", "stages", "assembled"));
    section.refuseUnknown();
    if (config.members() > WorkersConfig.MOST) {
      throw section.refuse(
          "replicas",
          "is %s, expected at most %s: %s stages of so many replicas are more than %s members"
              .formatted(config.replicas, WorkersConfig.MOST / stages, stages, WorkersConfig.MOST));
    }
    return stages == 0 ? Optional.empty() : Optional.of(config);
  }

  /**
   * Returns the number of members of the pipeline.
   *
   * @return stages times replicas
   */
  public int members() {
    return Math.multiplyExact(stages, replicas);
  }

  /**
   * Returns the stage that a member computes.
   *
   * @param rank the member's rank
   * @return the stage, from 0
   */
  public int stageOf(int rank) {
    return rank % stages;
  }

  /**
   * Returns the replica that a member belongs to.
   *
   * @param rank the member's rank
   * @return the replica, from 0
   */
  public int replicaOf(int rank) {
    return rank / stages;
  }

  /**
   * Returns the rank of the member that computes a stage of a replica.
   *
   * @param stage from 0
   * @param replica from 0
   * @return the rank
   */
  public int rank(int stage, int replica) {
    return replica * stages + stage;
  }

  /**
   * Returns a stage's name for messages.
   *
   * @param rank the member's rank
   * @return {@code stage 1}, or {@code stage 1 of replica 0} if there are several replicas
   */
  public String name(int rank) {
    String stage = "stage " + stageOf(rank);
    return replicas == 1 ? stage : stage + " of replica " + replicaOf(rank);
  }

  /**
   * Returns how every member splits the model. Measured times differ between members, so cuts by
   * time are chosen before; see {@code PipelinePlan}.
   *
   * @param batch samples of one batch
   * @return the configuration with which an engine splits the model
   */
  public SplitConfig split(int batch) {
    return cuts.isEmpty()
        ? new SplitConfig(stages, cuts, balance, Math.max(1, batch / microBatches))
        : SplitConfig.after(cuts);
  }

  /**
   * Returns whether the launcher still has to measure the cuts.
   *
   * @return true if it has to
   */
  public boolean undecided() {
    return stages > 1 && cuts.isEmpty() && balance == Balance.TIME;
  }
}
