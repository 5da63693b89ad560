package io.vertigrad.benchmarks.slowlink;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.testkit.chaos.NetworkLink;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * The exchanges of {@code benchmarks/peers/gloo.py} over the same link, placed as Vertigrad's: rank
 * 0 and the server at the near end, rank 1 at the far end.
 */
final class GlooPeer {

  /** The strategies that {@code gloo.py} has. */
  static final List<String> STRATEGIES = List.of("sync", "allreduce", "dpsgd");

  private static final Path PROGRAM = Path.of("benchmarks/peers/gloo.py");
  private static final String ENVIRONMENT =
      "import json, sys; sys.path.insert(0, sys.argv[1]); import gloo;"
          + " print(json.dumps(gloo.environment()))";
  private static final int WORKERS = 2;
  private static final int MARKS = 4;
  private static final int FEW_ROUNDS = 4;
  private static final int MOST_ROUNDS = 5_000;
  private static final double BYTES_PER_MEGABIT = 125_000;

  private final String python;
  private final Path program;
  private final JsonObject environment;

  private GlooPeer(String python, Path program, JsonObject environment) {
    this.python = python;
    this.program = program.toAbsolutePath();
    this.environment = environment;
  }

  /**
   * Where ranks run.
   *
   * @param near makes a command one at the near end
   * @param far makes a command one at the far end
   * @param nearInterface name of the network interface there
   * @param farInterface name of the network interface there
   * @param bytes counts what was forwarded in each direction
   */
  record Ends(
      UnaryOperator<List<String>> near,
      UnaryOperator<List<String>> far,
      String nearInterface,
      String farInterface,
      Counter bytes) {

    static Ends of(NetworkLink link) {
      return new Ends(
          link::near, link::far, link.nearInterface(), link.farInterface(), link::forwardedBytes);
    }
  }

  /** Counts bytes since a start. */
  @FunctionalInterface
  interface Counter {
    long[] bytes() throws IOException, InterruptedException;
  }

  /**
   * A measured exchange.
   *
   * @param samplesPerSecond of both workers
   * @param limit samples a second at which the busier direction of the link would be full
   */
  record Measured(double samplesPerSecond, double limit) {}

  /**
   * Asks a Python for the environment in which ranks run.
   *
   * @throws IOException with the last line of what it says, for example because it has no PyTorch
   */
  static GlooPeer of(String python) throws IOException, InterruptedException {
    return of(python, PROGRAM);
  }

  static GlooPeer of(String python, Path program) throws IOException, InterruptedException {
    String folder = program.toAbsolutePath().getParent().toString();
    Path errors = Files.createTempFile("vertigrad-gloo-", ".err");
    try {
      Process process =
          new ProcessBuilder(python, "-c", ENVIRONMENT, folder)
              .redirectError(errors.toFile())
              .start();
      String printed = new String(process.getInputStream().readAllBytes(), UTF_8);
      if (process.waitFor() != 0) {
        throw new IOException("%s: %s".formatted(python, lastLine(Files.readString(errors))));
      }
      return new GlooPeer(python, program, new JsonObject(printed));
    } catch (DecodeException e) {
      throw new IOException(python + ": printed no environment: " + e.getMessage(), e);
    } finally {
      Files.delete(errors);
    }
  }

  /**
   * Measures a strategy: the time of a round without the first ones, and the bytes of a round as
   * the difference of a short and a long run.
   *
   * @param seconds about how long the measured rounds take
   * @param limitSeconds longest time of a run
   * @throws IOException naming the rank that failed, and what it said
   */
  Measured measure(
      Ends ends,
      String model,
      String strategy,
      int batch,
      int megabits,
      int seconds,
      long limitSeconds)
      throws IOException, InterruptedException {
    List<String> settings =
        List.of("--model", model, "--batch", "" + batch, "--strategy", strategy);
    Run few = run(ends, settings, strategy, FEW_ROUNDS, limitSeconds);
    int rounds =
        (int) Math.max(2 * FEW_ROUNDS, Math.min(MOST_ROUNDS, seconds / few.secondsPerRound));
    Run many = run(ends, settings, strategy, rounds, limitSeconds);
    double bytes = (double) (many.busiestBytes - few.busiestBytes) / (many.taken - few.taken);
    if (bytes <= 0) {
      throw new IOException("gloo %s: the link has forwarded nothing".formatted(strategy));
    }
    double samples = WORKERS * batch;
    return new Measured(
        samples / many.secondsPerRound, samples * megabits * BYTES_PER_MEGABIT / bytes);
  }

  private record Run(double secondsPerRound, int taken, long busiestBytes) {}

  private Run run(Ends ends, List<String> settings, String strategy, int rounds, long limitSeconds)
      throws IOException, InterruptedException {
    int world = WORKERS + (strategy.equals("sync") ? 1 : 0);
    Path folder = Files.createTempDirectory("vertigrad-gloo-");
    List<Process> ranks = new ArrayList<>();
    long[] before = ends.bytes.bytes();
    try {
      for (int rank = 0; rank < world; rank++) {
        List<String> words = new ArrayList<>(List.of(python, program.toString()));
        words.addAll(settings);
        words.addAll(List.of("--workers", "" + WORKERS, "--rounds", "" + rounds));
        words.addAll(List.of("--world", "" + world, "--rank", "" + rank));
        words.addAll(List.of("--meeting", folder.resolve("meeting").toString()));
        ranks.add(start(ends, rank, words, folder));
      }
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(limitSeconds);
      for (int rank = 0; rank < world; rank++) {
        await(ranks.get(rank), rank, end, limitSeconds, folder);
      }
      long[] after = ends.bytes.bytes();
      return new Run(
          secondsPerRound(Files.readString(folder.resolve("0.out")), rounds),
          rounds + rounds / 2,
          Math.max(after[0] - before[0], after[1] - before[1]));
    } finally {
      for (Process rank : ranks) {
        rank.destroyForcibly().waitFor();
      }
      TrainCommandLine.delete(folder);
    }
  }

  private Process start(Ends ends, int rank, List<String> words, Path folder) throws IOException {
    boolean far = rank == 1;
    ProcessBuilder builder =
        new ProcessBuilder((far ? ends.far : ends.near).apply(words))
            .redirectOutput(folder.resolve(rank + ".out").toFile())
            .redirectError(folder.resolve(rank + ".err").toFile());
    environment.forEach(one -> builder.environment().put(one.getKey(), one.getValue().toString()));
    builder.environment().put("GLOO_SOCKET_IFNAME", far ? ends.farInterface : ends.nearInterface);
    return builder.start();
  }

  private static void await(Process process, int rank, long end, long limitSeconds, Path folder)
      throws IOException, InterruptedException {
    if (!process.waitFor(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS)) {
      throw new IOException("gloo rank %s: not done after %s s".formatted(rank, limitSeconds));
    }
    if (process.exitValue() != 0) {
      throw new IOException(
          "gloo rank %s: found exit code %s, expected 0: %s"
              .formatted(
                  rank,
                  process.exitValue(),
                  lastLine(Files.readString(folder.resolve(rank + ".err")))));
    }
  }

  /**
   * Returns the seconds of a round from what a rank prints: a line at each of four marks, which
   * begins with a clock's seconds. The last two are {@code rounds} apart.
   */
  static double secondsPerRound(String printed, int rounds) throws IOException {
    List<String> lines = printed.lines().filter(line -> !line.isBlank()).toList();
    try {
      if (lines.size() == MARKS) {
        double seconds = clock(lines.get(MARKS - 1)) - clock(lines.get(MARKS - 2));
        if (seconds > 0 && Double.isFinite(seconds)) {
          return seconds / rounds;
        }
      }
    } catch (NumberFormatException none) {
      // What was found is said below.
    }
    throw new IOException(
        "gloo rank 0: printed '%s', expected %s lines of rising seconds"
            .formatted(String.join("; ", lines), MARKS));
  }

  private static double clock(String line) {
    return Double.parseDouble(line.strip().split("\\s+")[0]);
  }

  private static String lastLine(String text) {
    String[] lines = text.strip().split("\n");
    return lines[lines.length - 1];
  }
}
