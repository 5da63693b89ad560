package io.vertigrad.testkit;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.strategy.Membership.Member;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A worker that pulls, then exchanges step after step, and repeats each request until it is
 * answered.
 */
final class SimulatedWorker {

  private static final int RETRY_MILLIS = 400;

  private final NetworkSimulator simulator;
  private final Member self;
  private final int partitions;
  private final Map<Integer, Frame> unanswered = new HashMap<>();
  private final long[] versions;
  private final float[][] parameters;
  private final Frame[] offered;
  private final List<Refusal> unexpectedRefusals = new ArrayList<>();
  private long step;
  private final List<Runnable> missed = new ArrayList<>();
  private boolean dead;
  private boolean stopped;

  SimulatedWorker(NetworkSimulator simulator, Member self) {
    this.simulator = simulator;
    this.self = self;
    this.partitions = simulator.job().plan.partitions().size();
    this.versions = new long[partitions];
    this.parameters = new float[partitions][];
    this.offered = new Frame[partitions];
    this.step = self.firstStep() - 1;
  }

  Member self() {
    return self;
  }

  /** Requests the parameters of its first round. */
  void start() {
    for (int part = 0; part < partitions; part++) {
      offer(new PullRequest(id(0, part), simulator.job().layout().hash(), self.activeFrom()));
    }
  }

  void kill() {
    dead = true;
  }

  /** Stops the worker until {@link #resume}; it will not notice that it was stopped. */
  void stop() {
    stopped = true;
  }

  /** Continues and handles the messages that arrived meanwhile. */
  void resume() {
    stopped = false;
    List<Runnable> now = List.copyOf(missed);
    missed.clear();
    now.forEach(Runnable::run);
  }

  /** Returns the number of answered steps of its rank, including those before its first one. */
  long completedSteps() {
    return step + 1;
  }

  boolean finished() {
    long least = Long.MAX_VALUE;
    for (long version : versions) {
      least = Math.min(least, version);
    }
    return !dead && unanswered.isEmpty() && least >= simulator.job().lastVersion();
  }

  /** Returns the refusals that a correct run does not have. */
  List<Refusal> unexpectedRefusals() {
    return unexpectedRefusals;
  }

  @Override
  public String toString() {
    return "worker %s%s at step %s, versions %s, waits for partitions %s"
        .formatted(
            self, dead ? " (dead)" : "", step, Arrays.toString(versions), unanswered.keySet());
  }

  private void nextStep() {
    step++;
    for (int part = 0; part < partitions; part++) {
      ExchangeId id = id(step, part);
      float[] gradient = simulator.slots().gradient(id, versions[part], parameters[part]);
      offered[part] = simulator.job().gradient(id, versions[part], 10, gradient);
      offer(offered[part]);
    }
  }

  private void offer(Frame frame) {
    ExchangeId id = idOf(frame);
    unanswered.put(id.partition(), frame);
    sendUntilAnswered(id.partition(), frame);
  }

  private void sendUntilAnswered(int part, Frame frame) {
    if (stopped) {
      missed.add(() -> sendUntilAnswered(part, frame));
      return;
    }
    if (dead || unanswered.get(part) != frame) {
      return;
    }
    if (frame instanceof GradientPartition && simulator.treatsAsDelivered()) {
      unanswered.remove(part);
      continueWhenAnswered();
      return;
    }
    simulator.toShard(part, frame, answer -> receive(part, frame, answer));
    simulator.network().after(RETRY_MILLIS, () -> sendUntilAnswered(part, frame));
  }

  private void receive(int part, Frame asked, Frame answer) {
    if (stopped) {
      missed.add(() -> receive(part, asked, answer));
      return;
    }
    if (dead || unanswered.get(part) != asked) {
      return;
    }
    if (answer instanceof ParameterPartition found) {
      accept(part, found);
    } else if (answer instanceof Refusal refusal) {
      handleRefusal(refusal);
    }
  }

  private void accept(int part, ParameterPartition found) {
    unanswered.remove(part);
    versions[part] = found.version();
    parameters[part] = TestJob.values(found);
    if (found.outcome() != Outcome.PULLED) {
      simulator.answered(found);
    }
    continueWhenAnswered();
  }

  private void continueWhenAnswered() {
    if (finished()) {
      simulator.finished(self);
    } else if (unanswered.isEmpty()) {
      nextStep();
    }
  }

  private void handleRefusal(Refusal refusal) {
    if (refusal.reason() == Reason.STALE_INCARNATION) {
      kill();
    } else if (refusal.reason() != Reason.UNAVAILABLE) {
      unexpectedRefusals.add(refusal);
    }
  }

  private ExchangeId id(long number, int part) {
    return new ExchangeId(
        TestJob.JOB, self.rank(), self.incarnation(), simulator.epoch(), number, part);
  }

  private static ExchangeId idOf(Frame frame) {
    return frame instanceof PullRequest pull ? pull.id() : ((GradientPartition) frame).id();
  }
}
