package io.vertigrad.job;

import io.vertigrad.compute.pipeline.Balance;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.settings.Settings;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The stages of a job whose model is spread over several members.
 *
 * @param stages how many
 * @param cuts layers with which all stages but the last end; empty to cut automatically
 * @param balance what an automatic split shares out evenly
 * @param microBatches into how many parts a batch is cut
 * @param schedule {@code gpipe} or {@code 1f1b}
 * @param replicas of every stage, each with its own share of the data
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

  /** Copies the cuts. */
  public PipelineConfig {
    cuts = List.copyOf(cuts);
  }

  /** Empty when the section names neither stages nor cuts. */
  static Optional<PipelineConfig> read(Settings section) {
    List<String> cuts = section.textList("cuts", List.of());
    int stages = section.integer("stages", cuts.isEmpty() ? 0 : cuts.size() + 1, 0, MOST);
    if (!cuts.isEmpty() && stages != cuts.size() + 1) {
      throw section.refuse(
          "stages",
          "is %d, expected %d: one more than pipeline.cuts; leave one of them out"
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
    return stages == 0 ? Optional.empty() : Optional.of(config);
  }

  /**
   * Stages and their replicas.
   *
   * @return stages times replicas
   */
  public int members() {
    return Math.multiplyExact(stages, replicas);
  }

  /**
   * The stage that a member of this rank computes.
   *
   * @param rank from 0
   * @return from 0
   */
  public int stageOf(int rank) {
    return rank % stages;
  }

  /**
   * The replica that a member of this rank belongs to.
   *
   * @param rank from 0
   * @return from 0
   */
  public int replicaOf(int rank) {
    return rank / stages;
  }

  /**
   * The rank of a stage of a replica.
   *
   * @param stage from 0
   * @param replica from 0
   * @return from 0
   */
  public int rank(int stage, int replica) {
    return replica * stages + stage;
  }

  /**
   * For people: {@code stage 1}, or {@code stage 1 of replica 0} where there are several.
   *
   * @param rank from 0
   * @return the name
   */
  public String name(int rank) {
    String stage = "stage " + stageOf(rank);
    return replicas == 1 ? stage : stage + " of replica " + replicaOf(rank);
  }

  /**
   * How every member cuts the model; measured times differ, so that those must be resolved.
   *
   * @param batch samples of a batch, which is cut into micro-batches
   * @return what {@code SplitModel} needs
   */
  public SplitConfig split(int batch) {
    return cuts.isEmpty()
        ? new SplitConfig(stages, cuts, balance, Math.max(1, batch / microBatches))
        : SplitConfig.after(cuts);
  }

  /**
   * True when the cuts are still to be measured by whoever starts the job.
   *
   * @return true before they were measured
   */
  public boolean undecided() {
    return stages > 1 && cuts.isEmpty() && balance == Balance.TIME;
  }
}
