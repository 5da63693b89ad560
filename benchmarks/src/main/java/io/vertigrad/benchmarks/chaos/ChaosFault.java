package io.vertigrad.benchmarks.chaos;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * A defect that the checker has to find: a class of Vertigrad with one line changed. It is compiled
 * from its source and put before Vertigrad on the class path of the disturbed run.
 */
enum ChaosFault {
  /** No defect; for ordinary measurements. */
  NONE("", "", ""),

  /**
   * Servers recognise no repeated update; found with several servers, or when processes are
   * stopped.
   */
  NO_DEDUPLICATION(
      "internal/shard/PartitionLedger.java",
      "    LedgerSnapshot.Entry last = entries.get(id.worker());\n",
      "    LedgerSnapshot.Entry last = null;\n"),

  /**
   * Servers acknowledge one update in 97 without applying it; found with strategies without rounds.
   */
  LOST_UPDATE(
      "internal/shard/UpdateFilter.java",
      "    ExchangeId id = update.id();\n    if (strategy.appliesAtOnce()) {",
      "    ExchangeId id = update.id();\n"
          + "    if (id.step() % 97 == 50) {\n"
          + "      return answered(id, Outcome.APPLIED);\n"
          + "    }\n"
          + "    if (strategy.appliesAtOnce()) {"),

  /** The disturbed run trains with another seed; found where runs are repeatable. */
  OTHER_SEED("", "", "");

  private static final Path SOURCES = Path.of("verticles/src/main/java/io/vertigrad");

  private final String file;
  private final String line;
  private final String instead;

  ChaosFault(String file, String line, String instead) {
    this.file = file;
    this.line = line;
    this.instead = instead;
  }

  /** Returns the name on the command line. */
  String word() {
    return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }

  /**
   * Returns the fault with this name.
   *
   * @throws IllegalArgumentException naming all faults
   */
  static ChaosFault named(String word) {
    for (ChaosFault fault : values()) {
      if (fault.word().equals(word)) {
        return fault;
      }
    }
    throw new IllegalArgumentException(
        "--fault %s: expected one of %s"
            .formatted(word, List.of(values()).stream().map(ChaosFault::word).toList()));
  }

  /** Returns what the fault changes in the job. */
  JsonObject changes() {
    return this == OTHER_SEED ? new JsonObject().put("seed", 4_711) : new JsonObject();
  }

  /**
   * Compiles the changed class.
   *
   * @param root the repository
   * @param folder an empty folder for the class
   * @param classPath Vertigrad's class path
   * @return the class path with the changed class first
   * @throws IOException when the source no longer has the line, or does not compile
   */
  String plant(Path root, Path folder, String classPath) throws IOException {
    if (file.isEmpty()) {
      return classPath;
    }
    Path source = root.resolve(SOURCES).resolve(file);
    String text = Files.readString(source);
    if (!text.contains(line)) {
      throw new IOException("%s: expected the line to change: %s".formatted(source, line.strip()));
    }
    Path changed = folder.resolve(source.getFileName());
    Files.writeString(changed, text.replace(line, instead));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    if (compiler == null) {
      throw new IOException("planting a fault needs a JDK, not only a JRE");
    }
    int status =
        compiler.run(
            null,
            null,
            null,
            "-nowarn",
            "-proc:none",
            "-d",
            folder.toString(),
            "-cp",
            classPath,
            changed.toString());
    if (status != 0) {
      throw new IOException(changed + " does not compile");
    }
    return folder + System.getProperty("path.separator") + classPath;
  }
}
