package io.vertigrad.internal.worker;

import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.strategy.EvaluationPlan;

/** Shows readers the versions that the evaluator may ask for, and the last. */
final class SnapshotDuties implements ReplicaDuties {

  private final SnapshotServer snapshots;
  private final EvaluationPlan evaluations;
  private boolean fresh = true;

  SnapshotDuties(SnapshotServer snapshots, EvaluationPlan evaluations) {
    this.snapshots = snapshots;
    this.evaluations = evaluations;
  }

  @Override
  public FrameEndpoint endpoint() {
    return snapshots;
  }

  @Override
  public boolean fresh() {
    return fresh;
  }

  @Override
  public void reached(long version, float[] parameters, boolean last) {
    fresh = false;
    if (last || version == 0 || evaluations.isDue(version)) {
      snapshots.publish(version, parameters);
    }
  }

  @Override
  public void hold(long version, float[] parameters) {
    snapshots.publish(version, parameters);
  }

  @Override
  public void end(long version, float[] parameters) {
    snapshots.publish(version, parameters);
  }
}
