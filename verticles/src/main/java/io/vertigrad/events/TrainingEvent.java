package io.vertigrad.events;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;

/**
 * Something that happened in a run, as published on {@code vertigrad.<job>.events} and written to
 * {@code events.jsonl}, one JSON object per event with {@code type} and {@code timeMillis}.
 */
public sealed interface TrainingEvent {

  /**
   * Returns when it happened, for people; nothing is ever decided by it.
   *
   * @return wall-clock time in milliseconds since 1970
   */
  long timeMillis();

  /**
   * Every shard and enough workers are there; step 0 begins.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param strategy name of the strategy
   * @param workers how many workers take part
   * @param servers how many servers take part
   * @param parameters how many parameters the model has
   * @param steps how many steps each worker takes
   * @param lastVersion version at which the job ends
   * @param classes names of the classes, by class; empty where a class is only a number
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
     * @param strategy its name
     * @param workers that take part
     * @param servers that take part
     * @param parameters of the model
     * @param steps of each worker
     * @param lastVersion at which the job ends
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
     * Adds the names of the classes.
     *
     * @param names by class
     * @return the same event with them
     */
    public JobStarted withClasses(List<String> names) {
      return new JobStarted(
          timeMillis, strategy, workers, servers, parameters, steps, lastVersion, names);
    }
  }

  /** A member was admitted. */
  record MemberJoined(long timeMillis, String role, int rank, int incarnation, String node)
      implements TrainingEvent {}

  /** A member has been silent for longer than the suspect limit. */
  record MemberSuspected(long timeMillis, String role, int rank, int incarnation, long silentMillis)
      implements TrainingEvent {}

  /**
   * Some worker made no step for longer than the limit; told again once per limit.
   *
   * @param version highest that any member has reached
   * @param stillMillis the longest that a worker has made no step; 0 when the job itself holds
   *     workers back because too few are there
   * @param missing whom the servers wait for, and who is absent or silent; where nobody is, which
   *     workers are behind, at which step, for how long, and when they were last heard
   * @param waits which partition of which shard waits for which step; empty without servers
   * @param lastHeard what each member said last, and when, of the first 16
   */
  record StallFound(
      long timeMillis,
      long version,
      long stillMillis,
      String missing,
      String waits,
      String lastHeard)
      implements TrainingEvent {}

  /** A member left ({@code finished}, {@code stopped}) or was evicted, with the reason. */
  record MemberLeft(long timeMillis, String role, int rank, int incarnation, String reason)
      implements TrainingEvent {}

  /**
   * One worker's counters since it was admitted, a few times a second.
   *
   * @param step its own step, from 0
   * @param version highest version it has seen
   * @param loss mean training loss since the event before
   * @param accuracy likewise in percent, of the forward passes behind the gradients; NaN where the
   *     model cannot tell
   * @param secondsComputing time in gradients
   * @param secondsExchanging time from the last gradient byte ready to the next parameters there
   * @param bytesSaved by how much {@code bytesSent} is less than float32 would have been
   * @param staleness how many of its gradients were applied at which staleness
   * @param sentTo {@code bytesSent} by shard, or by worker in a job without servers; beyond a few
   *     of them the others together, as -1
   * @param receivedFrom {@code bytesReceived} likewise
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
      implements TrainingEvent {

    /**
     * Creates the counters of a model that cannot tell its training accuracy.
     *
     * @param timeMillis wall-clock time in milliseconds since 1970
     * @param rank the worker's rank
     * @param incarnation how many times the rank had been admitted before
     * @param step its own step, from 0
     * @param version highest version it has seen
     * @param epoch passes over its share of the training set
     * @param samples it has trained on
     * @param loss mean training loss since the event before
     * @param secondsComputing time in gradients
     * @param secondsExchanging time from the last gradient byte ready to the next parameters there
     * @param secondsWaitingForData time without a batch
     * @param bytesSent bytes of gradients
     * @param bytesSaved by how much {@code bytesSent} is less than float32 would have been
     * @param bytesReceived bytes of parameters
     * @param staleness how many of its gradients were applied at which staleness
     * @param sentTo {@code bytesSent} by shard, or by worker
     * @param receivedFrom {@code bytesReceived} likewise
     */
    public WorkerProgress(
        long timeMillis,
        int rank,
        int incarnation,
        long step,
        long version,
        int epoch,
        long samples,
        double loss,
        double secondsComputing,
        double secondsExchanging,
        double secondsWaitingForData,
        long bytesSent,
        long bytesSaved,
        long bytesReceived,
        Map<Integer, Long> staleness,
        Map<Integer, Long> sentTo,
        Map<Integer, Long> receivedFrom) {
      this(
          timeMillis,
          rank,
          incarnation,
          step,
          version,
          epoch,
          samples,
          loss,
          Double.NaN,
          secondsComputing,
          secondsExchanging,
          secondsWaitingForData,
          bytesSent,
          bytesSaved,
          bytesReceived,
          staleness,
          sentTo,
          receivedFrom);
    }
  }

  /** One shard's counters since its server started, a few times a second; per partition frame. */
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
      implements TrainingEvent {}

  /**
   * The newest parameters were tested on part of the test set, or at the end on the whole; version
   * 0 are the initial parameters.
   *
   * @param topK how many of the most probable classes count in {@code topAccuracy}; 0 for no such
   *     count
   * @param topAccuracy share of the samples whose class is among them, in percent; 0 without
   * @param parametersHash empty when the stages of a pipeline tested, of which none has them all
   * @param metric key of what people are told beside the loss; empty where it is the accuracy
   * @param metricValue its figure; 0 where it is the accuracy. Both are left out of the JSON then
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
      double metricValue)
      implements TrainingEvent {

    /**
     * Creates a test of a model that tells one class of each sample.
     *
     * @param timeMillis wall-clock time in milliseconds since 1970
     * @param version of the parameters that were tested
     * @param samples that were tested
     * @param loss mean loss over them
     * @param accuracy in percent
     * @param topK how many of the most probable classes count; 0 for no such count
     * @param topAccuracy share of the samples whose class is among them, in percent
     * @param wholeTestSet true when no test sample was left out
     * @param parametersHash of the parameters
     */
    public Evaluated(
        long timeMillis,
        long version,
        int samples,
        double loss,
        double accuracy,
        int topK,
        double topAccuracy,
        boolean wholeTestSet,
        String parametersHash) {
      this(
          timeMillis,
          version,
          samples,
          loss,
          accuracy,
          topK,
          topAccuracy,
          wholeTestSet,
          parametersHash,
          Metric.ACCURACY.key(),
          0);
    }

    /**
     * Creates a test without a count of the most probable classes.
     *
     * @param timeMillis wall-clock time in milliseconds since 1970
     * @param version of the parameters that were tested
     * @param samples that were tested
     * @param loss mean loss over them
     * @param accuracy in percent
     * @param wholeTestSet true when no test sample was left out
     * @param parametersHash of the parameters
     */
    public Evaluated(
        long timeMillis,
        long version,
        int samples,
        double loss,
        double accuracy,
        boolean wholeTestSet,
        String parametersHash) {
      this(timeMillis, version, samples, loss, accuracy, 0, 0, wholeTestSet, parametersHash);
    }

    /**
     * Creates what a test found, now.
     *
     * @param version of the parameters that were tested
     * @param score what was found
     * @param topK as the score was asked for
     * @param whole true when no test sample was left out
     * @param hash of the parameters
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
          score.metric() == Metric.ACCURACY ? 0 : score.metricValue());
    }

    /**
     * Returns the same test, of parameters with this hash.
     *
     * @param hash of the parameters
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
          metricValue);
    }

    /**
     * Tells what people are told of it beside the loss.
     *
     * @return the accuracy, unless the model's loss or data have another
     */
    public Metric kind() {
      return Metric.of(metric);
    }

    /**
     * Tells the test as people read it, without its loss.
     *
     * @param top what follows the accuracy, or nothing
     * @return such as {@code accuracy 95.10 %}
     */
    public String text(String top) {
      return kind().text(loss, accuracy, top);
    }
  }

  /**
   * One worker has seen its part of an epoch; of a pipeline the last stages tell.
   *
   * @param epoch how many have ended, from 1
   * @param version at which it ended
   * @param samples of this worker in the epoch that were applied
   * @param loss their mean training loss
   * @param accuracy their training accuracy in percent; NaN where the model cannot tell
   * @param seconds from each batch to the next parameters, added up over the epoch; time that the
   *     worker was held for a test or a pause is not in it
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
      implements TrainingEvent {}

  /**
   * Training goes on although a version was not tested that it waited for.
   *
   * @param reason names who is missing or does nothing
   */
  record EvaluationSkipped(long timeMillis, long version, String reason) implements TrainingEvent {}

  /**
   * All workers' parameters were averaged for a test, in a job without servers.
   *
   * @param version the lowest of any worker
   * @param workers whose parameters were averaged
   * @param consensusDistance {@code sqrt(sum_i |x_i - mean|^2 / N)}; 0 when all are equal
   * @param localAccuracy mean over the workers of their own accuracy in percent, on part of the
   *     test set; NaN when only the average was tested
   */
  record ReplicasAveraged(
      long timeMillis, long version, int workers, double consensusDistance, double localAccuracy)
      implements TrainingEvent {}

  /**
   * What one worker's exchange with the others has cost since it was admitted.
   *
   * @param epochs passes of all workers together over the training set
   * @param secondsExchanging from the start of each exchange until its last message had arrived
   * @param secondsWaited of these, not beside a gradient
   * @param hiddenShare the rest of them, 0 to 1
   * @param spectralGap how fast the workers approach each other, 1 where they always agree
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
      implements TrainingEvent {}

  /**
   * How a member and its process are, about once a second; members of one process tell the same of
   * it.
   *
   * @param node where it runs, for people; the same for members of one process
   * @param cores processors it kept busy since its heartbeat before
   * @param processors how many its machine has
   * @param offHeapBytes memory of the engine's arrays outside the heap
   * @param residentBytes physical memory of the process, heap included
   * @param roundTripMillis50 median time to the coordinator and back, of its last heartbeats
   * @param roundTripMillis99 the same, 99th percentile
   */
  record MemberVitals(
      long timeMillis,
      String role,
      int rank,
      int incarnation,
      String node,
      double cores,
      int processors,
      long heapBytes,
      long heapLimitBytes,
      long offHeapBytes,
      long residentBytes,
      double roundTripMillis50,
      double roundTripMillis99)
      implements TrainingEvent {}

  /**
   * What became of every update of one rank at one server, told once, at the end of a run, by each
   * server for each rank. An update is a gradient of one partition; it is known by rank, step and
   * partition, and counted once however often it was sent or undone. Without servers {@code shard}
   * is {@link #NO_SERVER}, and what is counted are the rank's steps.
   *
   * @param shard the server's, or {@link #NO_SERVER}
   * @param rank whose updates they are
   * @param sent updates that were dealt with or are missing
   * @param applied of these, that are in the parameters
   * @param late that came after their round, or after the last version
   * @param tooStale that were older than the strategy's bound
   * @param refused that were turned away for good, because they were not finite or too large
   * @param lost that nobody has dealt with although their step was completed
   * @param unexplained steps of the server's optimizer beyond the updates applied, of all ranks;
   *     told with its first rank
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
      implements TrainingEvent {

    /** In place of a shard where workers hold the model. */
    public static final int NO_SERVER = -1;
  }

  /** A gradient was turned away. */
  record UpdateRefused(
      long timeMillis, int shard, int rank, long step, int partition, String reason)
      implements TrainingEvent {}

  /**
   * A shard's parameters and optimizer state are safely on disk.
   *
   * @param millis how long that took, without the pauses for training
   */
  record CheckpointWritten(long timeMillis, int shard, long version, String file, long millis)
      implements TrainingEvent {}

  /** A checkpoint could not be written; training goes on, older ones are untouched. */
  record CheckpointFailed(long timeMillis, int shard, long version, String reason)
      implements TrainingEvent {}

  /**
   * A shard has a backup that can go on for its server, or has none any more and goes on alone;
   * only where {@code servers.replicas} is 1.
   *
   * @param complete true when nothing that anybody was answered would be lost with the server
   * @param reason who the backup is, or why there is none
   */
  record BackupChanged(long timeMillis, int shard, boolean complete, String reason)
      implements TrainingEvent {}

  /**
   * A shard goes on from an older version than the newest that any member knows of: the updates in
   * between are repeated, or, where workers do not move in rounds, count as lost.
   *
   * @param known the newest version that a server held or a worker had seen
   * @param version at which the shard goes on
   */
  record ShardRolledBack(long timeMillis, int shard, long known, long version)
      implements TrainingEvent {}

  /**
   * The process of a member died, and another was started in its place.
   *
   * @param process its name in the run's {@code logs}, such as {@code server-0}
   * @param restart how often that has happened to it, from 1
   * @param limit how often it may
   * @param reason how it ended
   */
  record ProcessRestarted(long timeMillis, String process, int restart, int limit, String reason)
      implements TrainingEvent {}

  /** From now on no worker begins another step; those that were begun are finished. */
  record JobPaused(long timeMillis) implements TrainingEvent {}

  /** Workers go on, after so long a pause. */
  record JobResumed(long timeMillis, long pausedMillis) implements TrainingEvent {}

  /**
   * The job has reached what it is to end at: workers finish the step they have begun, and no more.
   *
   * @param reason {@code accuracy}, {@code loss} or {@code minutes}
   * @param threshold that was asked for, of the key {@code stop.<reason>}
   * @param value that was found
   * @param version of the parameters it was found at
   */
  record JobEnding(long timeMillis, String reason, double threshold, double value, long version)
      implements TrainingEvent {}

  /** All workers reached the last version, or the one at which the job was to end. */
  record JobFinished(long timeMillis, long version, long samples) implements TrainingEvent {}

  /** Somebody ended the job before its end. */
  record JobStopped(long timeMillis, String reason) implements TrainingEvent {}

  /** The job cannot go on; the reason names the culprit. */
  record JobFailed(long timeMillis, String reason) implements TrainingEvent {}

  /**
   * Writes this event.
   *
   * @return one JSON object with {@code type} and {@code timeMillis}
   */
  default JsonObject toJson() {
    return TrainingEventJson.write(this);
  }

  /**
   * Reads an event back.
   *
   * @param json as {@link #toJson()} wrote it
   * @return the event; null for an unknown type, so that older readers survive newer writers
   */
  static TrainingEvent fromJson(JsonObject json) {
    return TrainingEventJson.read(json);
  }
}
