package io.vertigrad.internal.checkpoint;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.UpdateCounts;
import io.vertigrad.compute.data.DataFingerprint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointFolderTest {

  private static final int KEEP = 3;

  @TempDir Path folder;

  @Test
  void shouldNameTheKeyWhenTheFolderCannotBeMade() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "x");

    IOException error =
        assertThrows(IOException.class, () -> new CheckpointFolder(file, KEEP).claim("first"));

    assertEquals(
        ("%s: this is no folder and cannot be made one (%s: there is a file of that name already),"
                + " expected a folder for checkpoints; name another one (checkpoint.directory)")
            .formatted(file, file),
        error.getMessage());
  }

  @Test
  void shouldReadEveryWrittenBit() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    Checkpoint written = snapshot(7);

    checkpoints.write(written, new WritePace());

    assertSame(written, newest(checkpoints, List.of()));
  }

  @Test
  void shouldNameItsShardIfItHasCheckpointsOfOneOnly() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    assertEquals(OptionalInt.empty(), checkpoints.onlyShard());

    Files.createFile(folder.resolve("shard-3-000001-incarnation-0-version-5.checkpoint"));
    Files.createFile(folder.resolve("shard-3-000002-incarnation-0-version-9.checkpoint"));
    assertEquals(OptionalInt.of(3), checkpoints.onlyShard());

    Files.createFile(folder.resolve("shard-0-000001-incarnation-0-version-5.checkpoint"));
    assertEquals(OptionalInt.empty(), checkpoints.onlyShard());
  }

  @Test
  void shouldBelongToTheRunThatClaimedIt() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    assertFalse(checkpoints.belongsTo("first"));
    assertFalse(checkpoints.claim("first"));
    checkpoints.write(snapshot(7), new WritePace());
    checkpoints.write(snapshot(8), new WritePace());

    assertTrue(new CheckpointFolder(folder, KEEP).claim("first"));
    assertEquals(List.of(8L, 7L), checkpoints.versions(0));
    assertSame(snapshot(7), checkpoints.valid(0, 7, text -> {}).orElseThrow());
    IOException another = assertThrows(IOException.class, () -> checkpoints.claim("second"));
    assertTrue(another.getMessage().contains(folder.toString()), another.getMessage());
    assertTrue(another.getMessage().contains("is \"first\", expected \"second\""));
    assertTrue(another.getMessage().contains("checkpoint.directory"), another.getMessage());
    assertEquals(List.of(8L, 7L), checkpoints.versions(0), "the first run's files are untouched");
  }

  @Test
  void shouldRefuseAFolderWhoseRunWasTrainedOnOtherData() throws IOException {
    assertFalse(new CheckpointFolder(folder, KEEP, data("aa")).claim("run"));

    IOException other =
        assertThrows(
            IOException.class, () -> new CheckpointFolder(folder, KEEP, data("bb")).claim("run"));

    assertEquals(
        folder
            + ": the run was trained on other data, trainingData: found 9 samples, expected 9"
            + " samples with other values or other classes; give it the same files, or start a new"
            + " run",
        other.getMessage());
    assertTrue(new CheckpointFolder(folder, KEEP, data("aa")).claim("run"));
    assertTrue(new CheckpointFolder(folder, KEEP).claim("run"), "nothing to compare");
  }

  @Test
  void shouldAcceptAFolderWhoseRunRecordedNoData() throws IOException {
    assertFalse(new CheckpointFolder(folder, KEEP).claim("run"));

    assertTrue(new CheckpointFolder(folder, KEEP, data("aa")).claim("run"));
  }

  private static Map<String, DataFingerprint> data(String hash) {
    return Map.of(
        "trainingData", new DataFingerprint("9 samples", hash, Optional.empty(), List.of()));
  }

  @Test
  void shouldRefuseAFolderWithCheckpointsOfNoNamedRun() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    checkpoints.write(snapshot(7), new WritePace());

    IOException unknown = assertThrows(IOException.class, () -> checkpoints.claim("run"));

    assertTrue(unknown.getMessage().contains("has checkpoints and no run.json"));
  }

  @Test
  void shouldFallBackToThePreviousCheckpointWhenTheNewestIsTruncated() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    Checkpoint before = snapshot(7);
    checkpoints.write(before, new WritePace());
    Path newest = checkpoints.write(snapshot(8), new WritePace());
    byte[] whole = Files.readAllBytes(newest);

    for (int length = 0; length < whole.length; length += length < whole.length - 40 ? 9 : 1) {
      Files.write(newest, Arrays.copyOf(whole, length));
      List<String> torn = new ArrayList<>();
      assertSame(before, checkpoints.allValid(0, torn::add).get(0));
      assertEquals(1, torn.size());
      assertTrue(torn.get(0).contains(newest.toString()), torn.get(0));
    }
  }

  @Test
  void shouldFallBackWhenAByteOfTheNewestIsChanged() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    Checkpoint before = snapshot(7);
    checkpoints.write(before, new WritePace());
    Path newest = checkpoints.write(snapshot(8), new WritePace());
    byte[] whole = Files.readAllBytes(newest);

    for (int i = 0; i < whole.length; i += 5) {
      byte[] changed = whole.clone();
      changed[i] ^= 0x10;
      Files.write(newest, changed);
      assertSame(before, checkpoints.allValid(0, torn -> {}).get(0));
    }
  }

  @Test
  void shouldRefuseAWholeFileOfAnotherFormat() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    checkpoints.write(snapshot(7), new WritePace());
    Path newest = checkpoints.write(snapshot(8), new WritePace());
    Files.write(newest, ofFormat(2, Files.readAllBytes(newest)));

    String message =
        assertThrows(IOException.class, () -> checkpoints.allValid(0, damaged -> {})).getMessage();

    assertEquals(
        newest
            + ": format is 2, expected 3: another version of Vertigrad wrote this checkpoint; resume"
            + " its run with that version, or start a new run",
        message);
    assertThrows(IOException.class, () -> checkpoints.valid(0, 8, damaged -> {}));
  }

  /** Changes the format in the manifest, whose length and CRC-32C follow it. */
  private static byte[] ofFormat(int format, byte[] file) {
    ByteBuffer changed = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    int trailer = file.length - 16;
    int length = changed.getInt(trailer);
    byte[] manifest = new byte[length];
    changed.get(trailer - length, manifest);
    manifest =
        new String(manifest, UTF_8).replace("\"format\":3", "\"format\":" + format).getBytes(UTF_8);
    CRC32C crc = new CRC32C();
    crc.update(manifest);
    changed.put(trailer - length, manifest).putInt(trailer + 4, (int) crc.getValue());
    return file;
  }

  @Test
  void shouldKeepTheLastCheckpointsOfEachShard() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    for (int version = 1; version <= 5; version++) {
      checkpoints.write(snapshot(version), new WritePace());
    }
    checkpoints.write(new Checkpoint(1, 1, 0, 2, List.of()), new WritePace());

    assertEquals(
        List.of(
            "shard-0-000002-incarnation-2-version-3.checkpoint",
            "shard-0-000003-incarnation-2-version-4.checkpoint",
            "shard-0-000004-incarnation-2-version-5.checkpoint",
            "shard-1-000000-incarnation-0-version-0.checkpoint"),
        names());
  }

  @Test
  void shouldPreferTheLaterFileAfterARestartAtAnOlderVersion() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    checkpoints.write(snapshot(9), new WritePace());
    checkpoints.write(snapshot(4), new WritePace());

    assertEquals(4, checkpoints.allValid(0, torn -> {}).get(0).version());
  }

  @Test
  void shouldWriteTheOthersWhenOneCannotBeWritten() throws IOException {
    Path blocked = Files.createFile(folder.resolve("not-a-folder"));

    assertThrows(
        IOException.class,
        () -> new CheckpointFolder(blocked, KEEP).write(snapshot(1), new WritePace()));
  }

  /** The owner goes on, and its checkpoint must not look like a whole one. */
  @Test
  void shouldWriteNoFileWhenTheOwnersThreadCouldNotMakeTheCopy() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);
    checkpoints.write(snapshot(1), new WritePace());
    SavedState.Part full =
        SavedState.Part.of(
            "optimizer",
            () -> 2,
            to -> {
              throw new InternalError("no memory is left");
            },
            from -> {});
    SavedState.Head head = snapshot(2).states().get(0).head();
    SavedState state = SavedState.begin(head, List.of(full), new CopyMemory());
    Checkpoint copy = new Checkpoint(-5, 0, 2, -9, List.of(state));

    state.make();
    IllegalStateException error =
        assertThrows(IllegalStateException.class, () -> checkpoints.write(copy, new WritePace()));

    assertEquals(
        "partition 0 could not be copied for a checkpoint: no memory is left", error.getMessage());
    assertEquals(List.of("shard-0-000000-incarnation-2-version-1.checkpoint"), names());
  }

  @Test
  void shouldCleanUpAfterACrash() throws IOException {
    Files.write(
        folder.resolve("shard-0-000000-incarnation-0-version-1.checkpoint.unfinished"),
        new byte[9]);
    CheckpointFolder checkpoints = new CheckpointFolder(folder, KEEP);

    assertTrue(checkpoints.allValid(0, torn -> {}).isEmpty());
    checkpoints.write(snapshot(1), new WritePace());

    assertEquals(List.of("shard-0-000000-incarnation-2-version-1.checkpoint"), names());
  }

  @Test
  void shouldFindNothingWhenThereIsNoFolder() throws IOException {
    CheckpointFolder checkpoints = new CheckpointFolder(folder.resolve("none"), KEEP);

    assertTrue(checkpoints.allValid(0, torn -> {}).isEmpty());
  }

  private static Checkpoint newest(CheckpointFolder checkpoints, List<String> expectedTorn)
      throws IOException {
    List<String> torn = new ArrayList<>();
    Checkpoint newest = checkpoints.allValid(0, torn::add).get(0);
    assertEquals(expectedTorn, torn);
    return newest;
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  private static Checkpoint snapshot(long version) {
    UpdateCounts counts = new UpdateCounts(version, 0, 1, 2, 0);
    LedgerSnapshot ledger =
        new LedgerSnapshot(
            2,
            List.of(
                new LedgerSnapshot.Entry(0, 1, version, counts, List.of()),
                new LedgerSnapshot.Entry(3, 0, 3, counts, List.of(4L, 5L))));
    float[] parameters = {version, -0f, Float.MIN_VALUE, 1e30f, 3.14f};
    return new Checkpoint(
        -5,
        0,
        2,
        -9,
        List.of(
            SavedState.of(
                new SavedState.Head(0, 0, version, 640.25, ledger),
                Map.of("parameters", parameters, "optimizer", new float[] {1, 2})),
            SavedState.of(
                new SavedState.Head(1, 5, version + 1, 641, LedgerSnapshot.EMPTY),
                Map.of("parameters", new float[] {version}, "memory", new float[0]))));
  }

  private static void assertSame(Checkpoint expected, Checkpoint found) {
    assertEquals(expected.job(), found.job());
    assertEquals(expected.rank(), found.rank());
    assertEquals(expected.incarnation(), found.incarnation());
    assertEquals(expected.layout(), found.layout());
    assertEquals(expected.states().size(), found.states().size());
    for (int i = 0; i < expected.states().size(); i++) {
      SavedState a = expected.states().get(i);
      SavedState b = found.states().get(i);
      assertEquals(a.head(), b.head());
      assertEquals(a.parts().keySet(), b.parts().keySet());
      a.parts().keySet().forEach(name -> assertArrayEquals(a.part(name), b.part(name), name));
    }
  }
}
