package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.MemberState;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.checkpoint.ResidualFiles;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.strategy.Replica;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that version 0.2 wrote, as resources. A run of that version can be resumed. */
class FormerFilesTest {

  private static final String SHARD = "shard-0-000000-incarnation-0-version-3.checkpoint";
  private static final String REPLICA = "shard-1-000000-incarnation-2-version-12.checkpoint";
  private static final String STAGE = "shard-2-000000-incarnation-0-version-12.checkpoint";
  private static final String RESIDUAL = "residual-1-odd";

  @TempDir private Path folder;

  /** Its optimizer has momentum, and its strategy a mean square. */
  @Test
  void shouldRestoreTheShardOfAServer() throws IOException {
    TestShard expected = shard(3);
    TestShard restored = shard(0);

    restored.internal().restore(read(SHARD, 0));

    assertEquals(3, restored.version());
    assertArrayEquals(update(expected, 3), update(restored, 3));
    assertEquals(expected.internal().updates(), restored.internal().updates());
  }

  @Test
  void shouldRestoreTheReplicaOfAWorker() throws IOException {
    assertReplica(REPLICA, 1, new float[] {7, 8});
  }

  @Test
  void shouldRestoreAStage() throws IOException {
    assertReplica(STAGE, 2, new float[0]);
  }

  private void assertReplica(String file, int rank, float[] memory) throws IOException {
    PartitionSnapshot from = read(file, rank).partitions().get(0);
    Replica vector = new Replica(new float[5], 4, 100);
    Optimizer optimizer = optimizer();

    float[] restored = ReplicaState.restore("worker", from, vector, List.of(optimizer));

    assertArrayEquals(memory, restored);
    assertArrayEquals(new float[] {1, 2, 3, 4, 5}, vector.parameters());
    assertEquals(12, vector.updates());
    assertEquals(96.25, vector.samples());
    FloatBuffer state = FloatBuffer.allocate(4);
    optimizer.readState(state);
    assertArrayEquals(new float[] {0.5f, 1.5f, 2.5f, 3.5f}, state.array());
  }

  @Test
  void shouldRestoreTheResidualOfAWorker() throws IOException {
    copy(RESIDUAL);
    try (ResidualFiles files = new ResidualFiles(folder, 1, 7, 5, 3)) {
      List<MemberState.Part> parts = List.of(part("residual", 4), part("optimizer", 1));
      PartitionSnapshot read = files.read(3).orElseThrow().divided(parts);

      assertArrayEquals(new float[] {1, 0, -2, 0.25f}, read.part("residual"));
      assertArrayEquals(new float[] {9}, read.part("optimizer"));
    }
  }

  private static MemberState.Part part(String name, int length) {
    return MemberState.Part.of(name, () -> length, to -> {}, from -> {});
  }

  private ShardSnapshot read(String name, int rank) throws IOException {
    copy(name);
    return new CheckpointFolder(folder, 3)
        .newestValid(rank, damaged -> assertEquals("", damaged))
        .orElseThrow();
  }

  private void copy(String name) throws IOException {
    String resource = "/io/vertigrad/internal/checkpoint/format1/" + name;
    try (var file = FormerFilesTest.class.getResourceAsStream(resource)) {
      Files.copy(file, folder.resolve(name));
    }
  }

  private static TestShard shard(int steps) {
    JsonObject strategy = new JsonObject().put("name", "async").put("compensation", "adaptive");
    TestShard shard = new TestJob(strategy, 8, 0, 20, 1, 4, 1).withMomentum(0.9f).shard();
    shard.membershipChanged(TestJob.workers(1));
    for (int step = 0; step < steps; step++) {
      update(shard, step);
    }
    return shard;
  }

  /** Returns the parameters after the step, of both partitions. */
  private static float[] update(TestShard shard, int step) {
    JsonObject strategy = new JsonObject().put("name", "async");
    TestJob job = new TestJob(strategy, 8, 0, 20, 1, 4, 1);
    float[] parameters = new float[8];
    for (int part = 0; part < 2; part++) {
      float[] gradient = {step + 0.5f, part - 1, 2, -step};
      ParameterPartition answer =
          (ParameterPartition) shard.handle(job.gradient(0, step, part, step, gradient)).result();
      answer.parameters().copyTo(parameters, 4 * part);
    }
    return parameters;
  }

  private static Optimizer optimizer() {
    JsonObject sgd = new JsonObject().put("momentum", 0.9);
    return Optimizer.of(
        new QuadraticEngine(), OptimizerConfig.read(Settings.of("job.json", sgd)), 4);
  }
}
