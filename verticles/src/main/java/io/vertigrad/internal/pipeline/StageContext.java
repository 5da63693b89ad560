package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.data.Dataset;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.ReplicaCheckpoints;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Vertx;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The job and services that a stage works with.
 *
 * @param plan how the model is cut
 * @param traits of the rule by which replicas of a stage take the same steps
 * @param sizes number of samples in each step's batch
 * @param checkpoints where the stage's states are kept
 * @param versions returns the state that all stages continue from, when all have asked
 * @param trainingSamples size of the training set
 * @param testSet opens the test set
 * @param events receives what the stages find out together
 * @param testedSamples counts the test samples that went through the stage
 * @param lastVersion step after which the job ends
 * @param waitClock monotonic nanoseconds that limit how long the stage waits for others
 * @param recorder records what the stage does
 */
record StageContext(
    Vertx vertx,
    JobConfig job,
    StagePlan plan,
    StrategyTraits traits,
    BatchSizes sizes,
    ReplicaCheckpoints checkpoints,
    Function<Candidates, Choice> versions,
    long trainingSamples,
    Supplier<Dataset> testSet,
    Consumer<TrainingEvent> events,
    AtomicLong testedSamples,
    long lastVersion,
    LongSupplier nanoClock,
    LongSupplier waitClock,
    SpanRecorder recorder) {}
