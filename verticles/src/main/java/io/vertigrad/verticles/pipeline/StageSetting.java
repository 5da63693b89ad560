package io.vertigrad.verticles.pipeline;

import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.strategy.decentral.PeerStrategyFactory;
import io.vertigrad.verticles.timeline.Track;
import io.vertx.core.Vertx;
import java.util.function.LongSupplier;

/**
 * What a stage needs of its surroundings.
 *
 * @param plan how the model is cut
 * @param strategy how replicas of a stage step alike
 * @param sizes samples of each step's batch
 * @param checkpoints where its states are kept
 * @param trainingSamples size of the training set
 * @param lastVersion step after which the job ends
 * @param patience monotonic nanoseconds that limit how long it waits for others
 * @param track notes what the stage does
 */
record StageSetting(
    Vertx vertx,
    JobConfig job,
    StagePlan plan,
    PeerStrategyFactory strategy,
    BatchSizes sizes,
    StageCheckpoints checkpoints,
    long trainingSamples,
    long lastVersion,
    LongSupplier nanoClock,
    LongSupplier patience,
    Track track) {}
