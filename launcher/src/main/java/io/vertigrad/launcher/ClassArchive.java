package io.vertigrad.launcher;

import io.vertigrad.launcher.job.ExitStatus;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetServer;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Loads the classes that a training run loads, so that the JVM can archive them when it ends
 * ({@code -XX:ArchiveClassesAtExit}). JVMs that start with the archive ({@code
 * -XX:SharedArchiveFile}) find these classes parsed and verified. That is half of the time that a
 * process needs before its first step.
 *
 * <p>It trains a few steps on generated digits, with the cluster and the page's server open. Then
 * it loads the other Vertigrad classes and connects two sockets. It does not run a {@code node}
 * beside the training: Java 17 crashes while it archives classes that threads of two members have
 * linked at once. Java 25 and newer also keep the profiles of methods; for these it trains once
 * more, with processes of its own.
 */
public final class ClassArchive {

  private static final long LIMIT_SECONDS = 10;
  private static final String CLASS = ".class";
  private static final long THREADS_SECONDS = 3;
  private static final long LOOK_MILLIS = 20;
  private static final long REST_MILLIS = 300;

  /** The first Java whose archives keep profiles of methods. */
  private static final int PROFILES = 25;

  private ClassArchive() {}

  /** Runs the training and ends the JVM with one of the codes of {@link ExitStatus}. */
  public static void main(String[] arguments) throws Exception {
    CacheFolders.prepare();
    PrintStream out = System.out;
    System.setOut(new PrintStream(OutputStream.nullOutputStream()));
    Path folder = Files.createTempDirectory("vertigrad-classes");
    int status = ExitStatus.JOB_FAILED;
    try {
      status = train(folder);
      loadOwn();
      connect(folder);
    } finally {
      System.setOut(out);
      if (status != ExitStatus.OK) {
        // Nobody uses the archive; a process that was asked to end does not take seconds to write
        // it.
        Runtime.getRuntime().halt(status);
      }
      awaitThreads();
      System.exit(status);
    }
  }

  private static int train(Path folder) throws IOException {
    Path job = folder.resolve("job.json");
    JsonObject json =
        new JsonObject()
            .put("job", "classes")
            .put("steps", 4)
            .put("data", new JsonObject().put("name", "digits").put("train", 64).put("test", 32))
            .put("model", new JsonObject().put("name", "convnet"))
            .put("workers", new JsonObject().put("count", 1).put("batch", 8))
            .put("evaluator", new JsonObject().put("every", 2).put("samples", 32))
            .put("checkpoint", new JsonObject().put("seconds", 1))
            .put("dashboard", new JsonObject().put("port", 0))
            .put("cluster", new JsonObject().put("port", freePort()));
    Files.writeString(job, json.encode());
    int status = train(job, "--listen", folder.resolve("run"));
    if (status == ExitStatus.OK && Runtime.version().feature() >= PROFILES) {
      // Without these profiles the archive is good all the same.
      train(job, "--processes", folder.resolve("processes"));
    }
    return status;
  }

  private static int train(Path job, String option, Path run) {
    return VertigradCommand.execute("train", job.toString(), option, "--run-dir", run.toString());
  }

  /** Returns a port, so that a training that starts meanwhile gets the usual one. */
  private static int freePort() throws IOException {
    try (ServerSocket probe = new ServerSocket(0)) {
      return probe.getLocalPort();
    }
  }

  /** Loads every class in the jars named {@code vertigrad-*.jar}. */
  private static void loadOwn() throws IOException {
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path jar = Path.of(entry);
      if (jar.getFileName().toString().matches("vertigrad-.*\\.jar")) {
        try (JarFile opened = new JarFile(jar.toFile())) {
          opened.stream().map(JarEntry::getName).forEach(ClassArchive::load);
        }
      }
    }
  }

  private static void load(String file) {
    if (!file.endsWith(CLASS) || file.contains("-")) {
      return;
    }
    String name = file.substring(0, file.length() - CLASS.length()).replace('/', '.');
    try {
      Class.forName(name, false, ClassArchive.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError optional) {
      // Training does not load a class either when the library it needs is missing.
    }
  }

  /**
   * Loads the classes of Vert.x and Netty that streams between processes use, and removes the
   * folder of the training run.
   */
  private static void connect(Path folder) throws Exception {
    Vertx vertx = Vertx.vertx();
    vertx.fileSystem().deleteRecursiveBlocking(folder.toString());
    NetClient client = vertx.createNetClient();
    NetServer server =
        vertx.createNetServer().connectHandler(socket -> socket.handler(socket::write));
    server
        .listen(0, "127.0.0.1")
        .compose(open -> client.connect(open.actualPort(), "127.0.0.1"))
        .compose(
            socket -> {
              Promise<Void> echoed = Promise.promise();
              socket.handler(echo -> echoed.tryComplete());
              return socket.write(Buffer.buffer("x")).compose(sent -> echoed.future());
            })
        .toCompletionStage()
        .toCompletableFuture()
        .get(LIMIT_SECONDS, TimeUnit.SECONDS);
    client.close();
    Await.cleanUp(vertx.close(), LIMIT_SECONDS, "closing");
  }

  /**
   * Waits until other threads have ended. The JVM writes the archive while it ends, and a thread
   * that still loads classes can crash it.
   */
  private static void awaitThreads() throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(THREADS_SECONDS);
    while (System.nanoTime() < end
        && Thread.getAllStackTraces().keySet().stream().anyMatch(ClassArchive::goesOn)) {
      Thread.sleep(LOOK_MILLIS);
    }
    Thread.sleep(REST_MILLIS);
  }

  private static boolean goesOn(Thread thread) {
    return !thread.isDaemon() && thread != Thread.currentThread();
  }
}
