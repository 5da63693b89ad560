package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Model;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.PartitionClient.PullRound;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Loads a job's newest parameters into a model, for evaluators and for saving. Belongs to the
 * model's thread.
 */
@FunctionalInterface
public interface ParameterReader {

  /**
   * Loads parameters of at least this version into the model. Blocks.
   *
   * @param stop returns true when nobody wants them any more
   * @return empty if stopped, or if the reader is refused
   * @throws ExchangeException if the parameters are not available; the message names the member
   *     that did not answer
   */
  Optional<ParameterSnapshot> pull(long minimumVersion, BooleanSupplier stop);

  /** Pulls the current parameters. */
  default ParameterSnapshot pull() {
    return pull(0, () -> false)
        .orElseThrow(() -> new ExchangeException("parameters may not be read here: join first"));
  }

  /**
   * Returns a reader that pulls every partition from the server that owns it. A reader does not
   * have to join the job.
   */
  static ParameterReader of(
      PartitionClient client, JobConfig job, PartitionPlan plan, Model model) {
    return new ServerReader(
        client,
        plan,
        SenderIdentity.reader(job.addresses().jobHash()),
        model,
        new ModelPartitions(model, job.exchange().type()));
  }

  /**
   * The parameters that were loaded into a model.
   *
   * @param lowestVersion lowest version of any partition
   * @param highestVersion highest version of any partition; if it is above the lowest, training
   *     went on between two partitions and no worker ever had these parameters together
   * @param hash see {@link ParameterHash}
   */
  record ParameterSnapshot(long lowestVersion, long highestVersion, String hash) {

    /** Returns true if all partitions have the same version. */
    public boolean consistent() {
      return lowestVersion == highestVersion;
    }
  }

  /**
   * The hash of a model's parameters, as 16 hexadecimal digits: the first 64 bits of the SHA-256
   * over the exchange vector's little-endian float32 bytes. Equal hashes mean equal bits.
   */
  final class ParameterHash {

    private static final int CHUNK_ELEMENTS = 1 << 16;
    private static final int BYTES = 8;

    private ParameterHash() {}

    /** Returns the hash of the model's parameters. Call it on the model's thread. */
    public static String of(Model model) {
      MessageDigest digest = sha256();
      ByteBuffer chunk =
          ByteBuffer.allocate(CHUNK_ELEMENTS * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      int length = model.layout().length();
      for (int first = 0; first < length; first += CHUNK_ELEMENTS) {
        int count = Math.min(CHUNK_ELEMENTS, length - first);
        chunk.clear().limit(count * Float.BYTES);
        model.readParameters(first, chunk.asFloatBuffer());
        digest.update(chunk);
      }
      return HexFormat.of().formatHex(digest.digest(), 0, BYTES);
    }

    private static MessageDigest sha256() {
      try {
        return MessageDigest.getInstance("SHA-256");
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("this Java has no SHA-256, which every Java must have", e);
      }
    }
  }

  /** Pulls the newest parameters from the servers. */
  final class ServerReader implements ParameterReader {

    private final PartitionClient client;
    private final PartitionPlan plan;
    private final SenderIdentity identity;
    private final Model model;
    private final ModelPartitions partitions;
    private long pulls;

    /**
     * @param identity usually {@link SenderIdentity#reader(long)}
     */
    public ServerReader(
        PartitionClient client,
        PartitionPlan plan,
        SenderIdentity identity,
        Model model,
        ModelPartitions partitions) {
      this.client = client;
      this.plan = plan;
      this.identity = identity;
      this.model = model;
      this.partitions = partitions;
    }

    /**
     * Pulls every partition once it has reached a version. Blocks.
     *
     * @return empty if {@code stop} became true or a server asks the reader to join again
     * @throws ExchangeException if a shard does not answer, or refuses
     */
    @Override
    public Optional<ParameterSnapshot> pull(long minimumVersion, BooleanSupplier stop) {
      PartitionVersions versions = new PartitionVersions(plan);
      Ending ending =
          client.run(
              new PullRound(
                  plan,
                  partitions,
                  versions,
                  identity,
                  client.epoch(),
                  pulls++,
                  minimumVersion,
                  stop));
      return ending == Ending.COMPLETE
          ? Optional.of(
              new ParameterSnapshot(versions.lowest(), versions.highest(), ParameterHash.of(model)))
          : Optional.empty();
    }
  }
}
