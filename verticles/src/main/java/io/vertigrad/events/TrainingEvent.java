package io.vertigrad.events;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.ValueErrors;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.internal.RecordJson.Inline;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;

/**
 * An event of a run, as published on {@code vertigrad.<job>.events} and written to {@code
 * events.jsonl}: one JSON object per event with {@code type} and {@code timeMillis}.
 */
public sealed interface TrainingEvent {

  /**
   * Returns the time of the event, for display only; nothing depends on it.
   *
   * @return wall-clock time in milliseconds since 1970
   */
  long timeMillis();

  /**
   * A report of running totals or of something that repeats. A slow subscriber may miss the older
   * ones; every other event is a landmark, which it gets.
   */
  sealed interface Progress extends TrainingEvent {}

  /**
   * Measurements, which curves and counters show. Every other event is one of the things that
   * happened, which logs and the page list.
   */
  sealed interface Figures extends TrainingEvent {}

  /**
   * Every shard and enough workers are present; step 0 begins.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param strategy name of the strategy
   * @param workers how many workers take part
   * @param servers how many servers take part
   * @param parameters how many parameters the model has
   * @param steps how many steps each worker takes
   * @param lastVersion version at which the job ends
   * @param classes names of the classes, by class; empty if classes are only numbers
   */
  record JobStarted(
      long timeMillis,
      String strategy,
      int workers,
      int servers,
      long parameters,
      long steps,
      long lastVersion,
      List<String> classes)
      implements TrainingEvent {

    /**
     * Copies the names of the classes.
     *
     * @param timeMillis wall-clock time in milliseconds since 1970
     * @param strategy name of the strategy
     * @param workers how many workers take part
     * @param servers how many servers take part
     * @param parameters how many parameters the model has
     * @param steps how many steps each worker takes
     * @param lastVersion version at which the job ends
     * @param classes names of the classes
     */
    public JobStarted {
      classes = List.copyOf(classes);
    }

    /**
     * Creates the start of a job whose classes have no names.
     *
     * @param timeMillis wall-clock time in milliseconds since 1970
     * @param strategy name of the strategy
     * @param workers how many workers take part
     * @param servers how many servers take part
     * @param parameters how many parameters the model has
     * @param steps how many steps each worker takes
     * @param lastVersion version at which the job ends
     */
    public JobStarted(
        long timeMillis,
        String strategy,
        int workers,
        int servers,
        long parameters,
        long steps,
        long lastVersion) {
      this(timeMillis, strategy, workers, servers, parameters, steps, lastVersion, List.of());
    }

    /**
     * Returns this event with the names of the classes.
     *
     * @param names the names, by class
     * @return the same event with the names
     */
    public JobStarted withClasses(List<String> names) {
      return new JobStarted(
          timeMillis, strategy, workers, servers, parameters, steps, lastVersion, names);
    }
  }

  /**
   * A member was admitted; {@code data} are its training samples if it is the first to show any, so
   * that all must have them, and empty otherwise.
   */
  record MemberJoined(
      long timeMillis, Role role, int rank, int incarnation, String node, String data)
      implements TrainingEvent {}

  /**
   * A worker with samples of its own begins, or begins again: what it has.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param rank the worker's rank
   * @param samples number of its samples
   * @param labels number of samples of each class, by class; empty if a sample has no single class,
   *     and with more than {@value #MOST_LABELS} classes
   */
  record SamplesCounted(long timeMillis, int rank, int samples, List<Integer> labels)
      implements TrainingEvent {

    /** With more classes, samples are not counted by class. */
    public static final int MOST_LABELS = 100;

    /** Scalar of a worker: loss of the parameters that it receives on samples of its own. */
    public static final String LOSS = "own.loss";

    /** Scalar of a worker: accuracy of these parameters there, in percent. */
    public static final String ACCURACY = "own.accuracy";

    /**
     * Copies the numbers.
     *
     * @param timeMillis wall-clock time in milliseconds since 1970
     * @param rank the worker's rank
     * @param samples number of its samples
     * @param labels number of samples of each class
     */
    public SamplesCounted {
      labels = List.copyOf(labels);
    }
  }

  /** A member has been silent for longer than the suspect limit. */
  record MemberSuspected(long timeMillis, Role role, int rank, int incarnation, long silentMillis)
      implements TrainingEvent {}

  /**
   * A worker took no step for longer than the limit; repeated once per limit.
   *
   * @param version highest version that any member has reached
   * @param stillMillis the longest time that a worker took no step; 0 when the job itself holds
   *     workers back because too few are present
   * @param missing members that the servers wait for, and members that are absent or silent; if
   *     there are none, which workers are behind, at which step, for how long, and when they were
   *     last heard
   * @param waits which partition of which shard waits for which step; empty without servers
   * @param lastHeard the last report of each of the first 16 members, and its age
   */
  record StallFound(
      long timeMillis,
      long version,
      long stillMillis,
      String missing,
      String waits,
      String lastHeard)
      implements TrainingEvent {}

  /**
   * A member was asked to leave while the job goes on.
   *
   * @param place what becomes of its place, in words: it waits for a successor, goes to a process,
   *     or stays empty
   */
  record MemberDraining(long timeMillis, Role role, int rank, int incarnation, String place)
      implements TrainingEvent {}

  /** A member left ({@code finished}, {@code stopped}) or was evicted; the reason says why. */
  record MemberLeft(long timeMillis, Role role, int rank, int incarnation, String reason)
      implements TrainingEvent {

    /** The reason of a member whose work is done. */
    public static final String FINISHED = "finished";

    /** The reason of a member that was undeployed or told to stop. */
    public static final String STOPPED = "stopped";

    /** How the reason of a member begins with which the job fails, before the cause. */
    public static final String FAILS_JOB = "fails the job: ";

    /** The reason of a worker that leaves its incarnation to join under the next one. */
    public static final String JOINS_AGAIN = "joins again";

    /**
     * Returns whether the member left because its work is done.
     *
     * @return true for the reason {@link #FINISHED}
     */
    public boolean finished() {
      return reason.equals(FINISHED);
    }

    /**
     * Returns whether the member left by itself.
     *
     * @return false when it failed or was evicted
     */
    public boolean inGoodOrder() {
      return finished() || reason.equals(STOPPED) || reason.equals(JOINS_AGAIN);
    }
  }

  /**
   * One worker's counters since it was admitted, a few times a second.
   *
   * @param step the next step of its rank, from 0 at the start of the job
   * @param version highest version it has seen
   * @param loss mean training loss since the previous event
   * @param accuracy mean training accuracy in percent since the previous event, from the forward
   *     passes of the gradients; NaN if the model does not report it
   * @param secondsComputing time spent on gradients
   * @param secondsExchanging time from the end of each gradient until the next parameters have
   *     arrived
   * @param bytesSaved how much smaller {@code bytesSent} is than with float32
   * @param staleness how many of its gradients were applied, by staleness
   * @param sentTo {@code bytesSent} by shard, or by worker in a job without servers; if there are
   *     many, the rest is summed under -1
   * @param receivedFrom {@code bytesReceived} in the same way
   */
  record WorkerProgress(
      long timeMillis,
      int rank,
      int incarnation,
      long step,
      long version,
      int epoch,
      long samples,
      double loss,
      double accuracy,
      double secondsComputing,
      double secondsExchanging,
      double secondsWaitingForData,
      long bytesSent,
      long bytesSaved,
      long bytesReceived,
      Map<Integer, Long> staleness,
      Map<Integer, Long> sentTo,
      Map<Integer, Long> receivedFrom)
      implements Progress, Figures {}

  /**
   * One shard's counters since its server started, a few times a second; updates are counted per
   * partition frame.
   */
  record ServerProgress(
      long timeMillis,
      int shard,
      int incarnation,
      long version,
      long samples,
      long applied,
      long late,
      long duplicate,
      long tooStale,
      long refused)
      implements Progress, Figures {}

  /**
   * The newest parameters were tested on part of the test set or, at the end, on all of it. Version
   * 0 is the initial parameters.
   *
   * @param topK how many of the most probable classes count in {@code topAccuracy}; 0 for no such
   *     count
   * @param topAccuracy share of the samples whose class is among them, in percent; 0 without such a
   *     count
   * @param parametersHash hash of the parameters; empty when the stages of a pipeline tested,
   *     because no stage has all parameters
   * @param metric key of the metric reported beside the loss; empty for the accuracy
   * @param metricValue value of the metric; 0 for the accuracy. Both are left out of the JSON then
   * @param errors errors of each value in its unit; empty, and left out, if there are none
   */
  record Evaluated(
      long timeMillis,
      long version,
      int samples,
      double loss,
      double accuracy,
      int topK,
      double topAccuracy,
      boolean wholeTestSet,
      String parametersHash,
      String metric,
      double metricValue,
      List<ValueErrors> errors)
      implements Figures {

    /**
     * Creates a test without a count of the most probable classes.
     *
     * @param timeMillis wall-clock time in milliseconds since 1970
     * @param version version of the tested parameters
     * @param samples number of tested samples
     * @param loss mean loss over them
     * @param accuracy accuracy in percent
     * @param wholeTestSet true when no test sample was left out
     * @param parametersHash hash of the parameters
     */
    public Evaluated(
        long timeMillis,
        long version,
        int samples,
        double loss,
        double accuracy,
        boolean wholeTestSet,
        String parametersHash) {
      this(
          timeMillis,
          version,
          samples,
          loss,
          accuracy,
          0,
          0,
          wholeTestSet,
          parametersHash,
          Metric.ACCURACY.key(),
          0,
          List.of());
    }

    /**
     * Creates the event of a test that has just ended.
     *
     * @param version version of the tested parameters
     * @param score the score
     * @param topK the count that the score was computed with
     * @param whole true when no test sample was left out
     * @param hash hash of the parameters
     * @return the event
     */
    public static Evaluated of(long version, Score score, int topK, boolean whole, String hash) {
      return new Evaluated(
          System.currentTimeMillis(),
          version,
          score.samples(),
          score.loss(),
          score.accuracy(),
          topK,
          score.topAccuracy(),
          whole,
          hash,
          score.metric().key(),
          score.metric() == Metric.ACCURACY ? 0 : score.metricValue(),
          score.errors());
    }

    /**
     * Returns the same test, with this parameter hash.
     *
     * @param hash hash of the parameters
     * @return the event
     */
    public Evaluated of(String hash) {
      return new Evaluated(
          timeMillis,
          version,
          samples,
          loss,
          accuracy,
          topK,
          topAccuracy,
          wholeTestSet,
          hash,
          metric,
          metricValue,
          errors);
    }

    /**
     * Returns the metric that is reported beside the loss.
     *
     * @return the accuracy, unless the model's loss or data have another metric
     */
    public Metric kind() {
      return Metric.of(metric);
    }

    /**
     * Returns the test as a text for people, without its loss.
     *
     * @param top text after the accuracy, or nothing
     * @return such as {@code accuracy 95.10 %}, or {@code RMSE of price 195,214 (MAE 120,331)}
     */
    public String text(String top) {
      return errors.isEmpty() ? kind().text(loss, accuracy, top) : ValueErrors.text(errors);
    }
  }

  /**
   * One worker has finished its part of an epoch; in a pipeline the last stages report it.
   *
   * @param epoch how many epochs have ended, from 1
   * @param version version at which it ended
   * @param samples samples of this worker in the epoch that were applied
   * @param loss their mean training loss
   * @param accuracy their training accuracy in percent; NaN if the model does not report it
   * @param seconds time from each batch to the next parameters, summed over the epoch, without the
   *     time that the worker was held for a test or a pause
   */
  record EpochTrained(
      long timeMillis,
      int rank,
      int incarnation,
      long epoch,
      long version,
      long samples,
      double loss,
      double accuracy,
      double seconds)
      implements Figures {}

  /**
   * The tests of a worker that reads a stream, each of a sample before the model was trained on it.
   * They count from the beginning of the run, over all incarnations of the rank.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param rank rank of the worker
   * @param incarnation incarnation of that rank
   * @param tests the tests, whose counters stand beside the other keys in JSON
   */
  record StreamTested(long timeMillis, int rank, int incarnation, @Inline StreamTests tests)
      implements Progress, Figures {}

  /**
   * A worker takes no step because its data have not come for some seconds. It waits; this is
   * reported once for each silence.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param rank rank of the worker
   * @param source what it waits for, such as {@code topic prices, partition 0 is silent}
   */
  record DataAwaited(long timeMillis, int rank, String source) implements Progress {}

  /**
   * A worker has found something about its stream that the user must know, and goes on: it left out
   * events, the source has lost some, or positions cannot be written.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param rank rank of the worker
   * @param message says where, what was found and what follows
   */
  record DataWarning(long timeMillis, int rank, String message) implements Progress {}

  /**
   * Training continues although it waited for the test of a version that was not tested.
   *
   * @param reason names the member that is missing or makes no progress
   */
  record EvaluationSkipped(long timeMillis, long version, String reason) implements TrainingEvent {}

  /**
   * All workers' parameters were averaged for a test, in a job without servers.
   *
   * @param version the lowest version of any worker
   * @param workers number of workers whose parameters were averaged
   * @param consensusDistance {@code sqrt(sum_i |x_i - mean|^2 / N)}; 0 when all are equal
   * @param localAccuracy mean of the workers' own accuracies in percent, on part of the test set;
   *     NaN when only the average was tested
   */
  record ReplicasAveraged(
      long timeMillis, long version, int workers, double consensusDistance, double localAccuracy)
      implements Figures {}

  /**
   * The cost of one worker's exchange with the others since it was admitted.
   *
   * @param epochs passes of all workers together over the training set
   * @param secondsExchanging time from the start of each exchange until its last message had
   *     arrived
   * @param secondsWaited the part of that time that did not overlap with a gradient
   * @param hiddenShare share of the exchange time that overlapped with a gradient, 0 to 1
   * @param spectralGap how fast the workers approach each other; 1 if they always agree
   * @param skipped gradients left out because they held NaN or infinity
   */
  record PeerExchange(
      long timeMillis,
      int rank,
      int incarnation,
      long version,
      double epochs,
      double secondsExchanging,
      double secondsWaited,
      double hiddenShare,
      double spectralGap,
      long skipped)
      implements Progress, Figures {}

  /**
   * The state of a member and its process, about once a second; members of one process report the
   * same process values.
   *
   * @param node name of the process, for display; the same for members of one process
   * @param vitals measurements of the process, which stand beside the other keys in JSON
   */
  record MemberVitals(
      long timeMillis, Role role, int rank, int incarnation, String node, @Inline Vitals vitals)
      implements Progress, Figures {}

  /**
   * The account of all updates of one rank at one server, reported once at the end of a run by each
   * server for each rank. An update is a gradient of one partition, identified by rank, step and
   * partition, and counted once however often it was sent or undone. Without servers {@code shard}
   * is {@link #NO_SERVER}, and the counts are the rank's steps.
   *
   * @param shard the server's shard, or {@link #NO_SERVER}
   * @param rank rank of the worker that sent the updates
   * @param sent updates that were processed or are missing
   * @param applied updates that are in the parameters
   * @param late updates that came after their round, or after the last version
   * @param tooStale updates that were older than the strategy's bound
   * @param refused updates that were refused for good, because they were not finite or too large
   * @param lost updates that were not processed although their step was completed
   * @param unexplained steps of the server's optimizer beyond the applied updates, of all ranks;
   *     reported with the server's first rank
   */
  record UpdatesCounted(
      long timeMillis,
      int shard,
      int rank,
      long sent,
      long applied,
      long late,
      long tooStale,
      long refused,
      long lost,
      long unexplained)
      implements Figures {

    /** Takes the place of a shard in a job without servers, where workers hold the model. */
    public static final int NO_SERVER = -1;
  }

  /**
   * A scalar of a strategy, a model or another verticle, as {@link Scalars} publishes it. Counts
   * are totals of the source since it was created.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param source who reports it, such as {@code worker 0}
   * @param name name of the scalar
   * @param version version of the parameters that the value belongs to
   * @param value the value; NaN or infinite if a value that it holds was not finite
   * @param reports number of values that the source has reported under this name, this one included
   * @param notFinite number of those that were not finite
   */
  record ScalarReported(
      long timeMillis,
      String source,
      String name,
      long version,
      double value,
      long reports,
      long notFinite)
      implements Progress, Figures {}

  /** A gradient was refused. */
  record UpdateRefused(
      long timeMillis, int shard, int rank, long step, int partition, String reason)
      implements Progress {}

  /**
   * A shard's parameters and optimizer state were written to disk.
   *
   * @param millis time taken, without the pauses for training
   */
  record CheckpointWritten(long timeMillis, int shard, long version, String file, long millis)
      implements TrainingEvent {}

  /** A checkpoint could not be written; training continues, and older checkpoints are unchanged. */
  record CheckpointFailed(long timeMillis, int shard, long version, String reason)
      implements TrainingEvent {}

  /**
   * Timed checkpoints are further apart than {@code checkpoint.seconds}; announced once.
   *
   * @param seconds time between two of them
   * @param wanted {@code checkpoint.seconds}
   * @param reason the cause
   */
  record CheckpointsDelayed(long timeMillis, double seconds, double wanted, String reason)
      implements TrainingEvent {}

  /**
   * A shard continues from a version older than the newest that any member knows. The updates in
   * between are repeated; if workers do not move in rounds, they count as lost.
   *
   * @param shard the shard; {@link UpdatesCounted#NO_SERVER} if all workers, which hold the model,
   *     go back
   * @param known the newest version that a server held or a worker had seen
   * @param version version from which the shard continues
   * @param reason why no later version could be restored; empty if nothing is known
   */
  record ShardRolledBack(long timeMillis, int shard, long known, long version, String reason)
      implements TrainingEvent {}

  /**
   * The replacement of a lost worker or stage goes on from a copy in memory, without a checkpoint.
   *
   * @param rank rank of the worker
   * @param version version that it goes on at
   * @param holder the rank that had the copy; {@code rank} if the process of the replacement had it
   */
  record StateTaken(long timeMillis, int rank, long version, int holder) implements TrainingEvent {}

  /**
   * The samples of a round are divided in another way from now on ({@code workers.balance}).
   *
   * @param version version of the parameters of the first such round
   * @param shares samples of a round by rank
   */
  record BatchesDivided(long timeMillis, long version, List<Integer> shares)
      implements TrainingEvent {}

  /**
   * The process of a member died, and another was started in its place.
   *
   * @param process its name in the run's {@code logs}, such as {@code server-0}
   * @param restart number of its restarts in the last ten minutes, this one included
   * @param limit largest number of restarts in ten minutes
   * @param reason how the process ended
   */
  record ProcessRestarted(long timeMillis, String process, int restart, int limit, String reason)
      implements TrainingEvent {}

  /**
   * Figures of one predictor, once a second while they change. Counters are totals since the
   * predictor was started.
   *
   * @param predictor id of the predictor, the same as long as it lives
   * @param version version of the parameters that it answers with; -1 before it has any
   * @param ageMillis time since these parameters were read, in milliseconds
   * @param swaps how often newer parameters took the place of older ones
   * @param requests requests that were answered
   * @param predictions samples in them
   * @param passes forward passes for them
   * @param overloaded requests that were refused because the queue was full
   * @param invalid requests that were refused because of what they hold
   * @param waiting samples in the queue now
   * @param latencyMillis50 median of the last 1,024 latencies, from the arrival of a request until
   *     its answer leaves, in milliseconds; 0 without any
   * @param latencyMillis99 99th percentile of the same
   * @param latencyMicrosSum sum of all latencies, in microseconds
   * @param latencies number of answered requests by bucket, as {@link TimeBuckets} has them
   */
  record PredictorProgress(
      long timeMillis,
      String predictor,
      long version,
      long ageMillis,
      long swaps,
      long requests,
      long predictions,
      long passes,
      long overloaded,
      long invalid,
      int waiting,
      double latencyMillis50,
      double latencyMillis99,
      long latencyMicrosSum,
      Map<Integer, Long> latencies)
      implements Progress, Figures {}

  /**
   * A predictor does not serve newer parameters, because the evaluator's last test is worse than
   * the best one by more than {@code serving.guard}. It is published once for each such test.
   *
   * @param predictor id of the predictor
   * @param version version that is not served
   * @param served version that is served instead; -1 for none
   * @param metric key of the metric that was compared: {@code accuracy}, or {@code loss} for models
   *     without accuracy
   * @param value value of the last test
   * @param best best value of any test
   */
  record VersionRefused(
      long timeMillis,
      String predictor,
      long version,
      long served,
      String metric,
      double value,
      double best)
      implements TrainingEvent {}

  /** From now on no worker begins another step; steps in progress are finished. */
  record JobPaused(long timeMillis) implements TrainingEvent {}

  /** Workers continue after a pause of this length. */
  record JobResumed(long timeMillis, long pausedMillis) implements TrainingEvent {}

  /**
   * The job has reached a target of its {@code stop} section: workers finish the step they have
   * begun, and take no more.
   *
   * @param reason {@code accuracy}, {@code loss} or {@code minutes}
   * @param threshold the configured value, of the key {@code stop.<reason>}
   * @param value the measured value
   * @param version version of the parameters with that value
   */
  record JobEnding(long timeMillis, String reason, double threshold, double value, long version)
      implements TrainingEvent {}

  /** All workers have reached the last version, or the version at which the job ends early. */
  record JobFinished(long timeMillis, long version, long samples) implements TrainingEvent {}

  /** The job was stopped early by a request. */
  record JobStopped(long timeMillis, String reason) implements TrainingEvent {

    /** The reason of a job whose command was interrupted. */
    public static final String INTERRUPTED = "interrupted";

    /**
     * Returns whether the job's command was interrupted.
     *
     * @return true for the reason {@link #INTERRUPTED}
     */
    public boolean interrupted() {
      return reason.equals(INTERRUPTED);
    }
  }

  /** The job cannot continue; the reason names the cause. */
  record JobFailed(long timeMillis, String reason) implements TrainingEvent {}

  /**
   * Converts this event to JSON.
   *
   * @return one JSON object with {@code type} and {@code timeMillis}
   */
  default JsonObject toJson() {
    return TrainingEventJson.write(this);
  }

  /**
   * Returns the value of {@code type} in the JSON of a kind of events.
   *
   * @param kind a record of this interface
   * @return the record's name with a small first letter
   */
  static String typeOf(Class<? extends TrainingEvent> kind) {
    return TrainingEventJson.type(kind);
  }

  /**
   * Reads an event from JSON.
   *
   * @param json the output of {@link #toJson()}
   * @return the event; null for an unknown type, so that older readers can skip events of newer
   *     writers
   */
  static TrainingEvent fromJson(JsonObject json) {
    return TrainingEventJson.read(json);
  }
}
