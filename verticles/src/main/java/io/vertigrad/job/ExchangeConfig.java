package io.vertigrad.job;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.Compression.Kind;
import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonObject;
import java.util.Locale;

/**
 * The settings of the exchange of partitions between workers and servers.
 *
 * @param type data type of gradients and parameters in frames
 * @param partitionElements elements per partition, at most one frame of float32
 * @param windowBytes limit of unanswered payload bytes of one worker
 * @param retryMillis without an answer for this long, the same frame is sent again
 * @param deadlineMillis after this long an exchange fails and names the member that did not answer;
 *     time in which the job itself waits for a member does not count
 * @param suspectMillis without a heartbeat for this long a member is suspected
 * @param evictMillis without a heartbeat for this long a member is evicted
 * @param stallMillis without a step of some worker for this long the job reports the missing one
 * @param orphanSeconds a member that the coordinator has not answered for this long stops
 * @param drainSeconds a member that is asked to leave has this time to hand its place over
 * @param compression how gradients are compressed
 * @param transport what carries frames between processes
 * @param maxMagnitude largest magnitude of an element of a gradient that is applied; {@code
 *     Float.MAX_VALUE} to accept all finite ones
 * @param sharedFolder folder of the memory that processes of one host share: a folder in memory,
 *     such as {@code /dev/shm}
 * @param sharedBytes limit of the memory that one process owns and shares with others
 * @param overlap whether the last layers' gradients are sent while those of earlier layers are
 *     computed
 */
public record ExchangeConfig(
    DataType type,
    int partitionElements,
    int windowBytes,
    long retryMillis,
    long deadlineMillis,
    long suspectMillis,
    long evictMillis,
    long stallMillis,
    int orphanSeconds,
    int drainSeconds,
    Compression compression,
    TransportKind transport,
    float maxMagnitude,
    String sharedFolder,
    long sharedBytes,
    boolean overlap) {

  private static final int MOST_ELEMENTS = 130_816;

  /**
   * 447 KiB. The bus collects incoming data in reads of 64 KiB, in a buffer that doubles. Such a
   * frame and one more read fit into 512 KiB; a full frame needs 1 MiB (12 % more processor time).
   */
  private static final int DEFAULT_ELEMENTS = 114_432;

  /** A member that does not answer is evicted before the members that wait for it give up. */
  private static final int BEYOND_EVICTION_MILLIS = 50_000;

  /** A frame is sent at least so often before its exchange fails. */
  private static final int RETRIES = 12;

  private static final int MOST_RETRY_MILLIS = 5_000;
  private static final int DEFAULT_STALL_MILLIS = 15_000;
  private static final int DEFAULT_ORPHAN_SECONDS = 600;

  /** Machines are often taken away 30 s after the signal. */
  private static final int DEFAULT_DRAIN_SECONDS = 25;

  /**
   * Far above gradients that train, and above the variance of a batch-norm layer behind bytes that
   * were not normalised. Far below the result of a flipped exponent bit.
   */
  private static final float DEFAULT_MAGNITUDE = 1e9f;

  private static final String DEFAULT_FOLDER = "/dev/shm";

  private static final int DEFAULT_SHARED_MIB = 512;

  /**
   * Returns the same settings without a limit of unanswered bytes.
   *
   * @return the changed copy
   */
  public ExchangeConfig withoutWindow() {
    return new ExchangeConfig(
        type,
        partitionElements,
        Integer.MAX_VALUE,
        retryMillis,
        deadlineMillis,
        suspectMillis,
        evictMillis,
        stallMillis,
        orphanSeconds,
        drainSeconds,
        compression,
        transport,
        maxMagnitude,
        sharedFolder,
        sharedBytes,
        overlap);
  }

  /**
   * Returns the settings of a job file without an exchange section.
   *
   * @return the defaults
   */
  public static ExchangeConfig usual() {
    return read(Settings.of("defaults", new JsonObject()));
  }

  /**
   * Returns the encoding of gradients in frames.
   *
   * @return one word, such as {@code float32} or {@code int8}
   */
  public String encoding() {
    return compression.isOn() ? compression.toString() : type.toString().toLowerCase(Locale.ROOT);
  }

  static ExchangeConfig read(Settings section) {
    Settings agreed = section.with(KeyTrait.AGREED);
    Settings changeable = section.with(KeyTrait.CHANGEABLE);
    Settings local = section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE);
    int evictMillis = changeable.integer("evictMillis", 10_000, 200, 3_600_000);
    int deadlineMillis =
        changeable.integer("deadlineMillis", evictMillis + BEYOND_EVICTION_MILLIS, 100, 86_400_000);
    String type = agreed.choice("type", "float32", "float32", "float16", "bfloat16");
    ExchangeConfig config =
        new ExchangeConfig(
            DataType.valueOf(type.toUpperCase(Locale.ROOT)),
            agreed.integer("partitionElements", DEFAULT_ELEMENTS, 1, MOST_ELEMENTS),
            changeable.integer("windowBytes", 4 << 20, 1, 1 << 30),
            Math.min(MOST_RETRY_MILLIS, deadlineMillis / RETRIES),
            deadlineMillis,
            changeable.integer("suspectMillis", 3_000, 100, 3_600_000),
            evictMillis,
            changeable.integer("stallMillis", DEFAULT_STALL_MILLIS, 100, 86_400_000),
            changeable.integer("orphanSeconds", DEFAULT_ORPHAN_SECONDS, 1, 86_400),
            changeable.integer("drainSeconds", DEFAULT_DRAIN_SECONDS, 1, 86_400),
            compression(agreed),
            transport(changeable),
            magnitude(section),
            local.string("sharedFolder", DEFAULT_FOLDER),
            (long) changeable.integer("sharedMebibytes", DEFAULT_SHARED_MIB, 1, 1 << 20) << 20,
            agreed.flag("overlap", false));
    if (config.evictMillis <= config.suspectMillis) {
      throw section.refuse(
          "evictMillis",
          "is %s, expected more than suspectMillis (%s)"
              .formatted(config.evictMillis, config.suspectMillis));
    }
    if (config.overlap && config.compression.isOn()) {
      throw section.refuse(
          "overlap",
          "is true, expected false with exchange.compression \"%s\": what it leaves out depends on"
                  .formatted(section.string("compression", ""))
              + " the whole gradient, and nothing is sent before");
    }
    section.refuseUnknown();
    return config;
  }

  /** 0 means that only the range of a float limits the magnitude. */
  private static float magnitude(Settings section) {
    double bound = section.number("maxMagnitude", DEFAULT_MAGNITUDE, 0, Float.MAX_VALUE);
    return bound == 0 ? Float.MAX_VALUE : Math.max((float) bound, Float.MIN_VALUE);
  }

  private static TransportKind transport(Settings section) {
    return TransportKind.valueOf(
        section
            .choice("transport", "auto", "auto", "shared", "stream", "bus")
            .toUpperCase(Locale.ROOT));
  }

  private static Compression compression(Settings section) {
    String name = section.choice("compression", "none", "none", "int8", "int4", "sign", "topk");
    double share =
        section.number("topShare", Compression.NONE.share(), 1e-9, Compression.LARGEST_SHARE);
    return new Compression(Kind.valueOf(name.toUpperCase(Locale.ROOT)), share);
  }
}
