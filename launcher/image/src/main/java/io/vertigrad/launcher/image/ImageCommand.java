package io.vertigrad.launcher.image;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Makes a container image from a release without a container daemon: the root file system, a Java
 * run time with the modules that are used, the libraries, and Vertigrad, each in its own layer. The
 * same input gives the same image.
 */
@Command(name = "image", mixinStandardHelpOptions = true, sortOptions = false)
final class ImageCommand implements Callable<Integer> {

  private static final int USER = 10_001;
  private static final String HOME = "/opt/vertigrad";
  private static final String JAVA = "/opt/java";
  private static final String LIBRARIES = "lib/(?!vertigrad-|classpath).*";
  private static final String PROGRAM =
      "bin/.*|conf/.*|lib/(vertigrad-.*|classpath)|LICENSE|NOTICE|sbom\\.json";

  /** Found with {@code jdeps}, and what the libraries load by name. */
  private static final String MODULES =
      "java.base,java.desktop,java.instrument,java.logging,java.management,java.naming,"
          + "java.net.http,java.prefs,java.rmi,java.security.jgss,java.security.sasl,java.sql,"
          + "java.xml,jdk.attach,jdk.crypto.ec,jdk.jcmd,jdk.jfr,jdk.management,jdk.naming.dns,"
          + "jdk.net,jdk.unsupported,jdk.zipfs";

  private static final String COMMANDS =
      "awk basename cat chmod cmp cp cut date df diff dirname du env expr false find free grep gunzip"
          + " gzip head hostname id kill less ln ls md5sum mkdir mktemp more mv nc netstat nice nproc"
          + " nslookup pgrep ping printf ps pwd readlink realpath rm rmdir sed seq sh sha256sum sleep"
          + " sort stat tail tar tee test timeout top touch tr true tty uname uniq vi wc wget which"
          + " whoami xargs yes";

  /** Runs in the container; {@code wget} of busybox is always there. */
  private static final String HEALTH =
      """
      #!/bin/sh
      # Succeeds while the page of a coordinator, or the port of a node (node --port), answers.
      # Without -T of wget, which ends the wget of Debian 12 with a segmentation fault.
      exec /usr/bin/busybox timeout 3 /usr/bin/busybox wget -q -O /dev/null \\
        "http://127.0.0.1:${VERTIGRAD_HEALTH_PORT:-8350}/health/live"
      """;

  @Spec private CommandSpec spec;

  @Option(
      names = "--release",
      required = true,
      paramLabel = "FILE",
      description = "The release, vertigrad-VERSION.tar.gz.")
  private Path release;

  @Option(names = "--version-of-image", required = true, paramLabel = "VERSION")
  private String version;

  @Option(
      names = "--time",
      required = true,
      paramLabel = "INSTANT",
      description = "The time of everything in the image, such as 2026-11-23T00:00:00Z.")
  private Instant time;

  @Option(
      names = "--folder",
      required = true,
      paramLabel = "DIR",
      description = "Where the image and intermediate files are written.")
  private Path folder;

  @Option(
      names = "--packages",
      paramLabel = "DIR",
      description =
          "The Debian packages; those that are missing are downloaded. Default: DIR/packages.")
  private Path packages;

  @Option(
      names = "--base",
      paramLabel = "TAR",
      description = "A root file system in place of Debian packages, as docker export writes it.")
  private Path base;

  @Option(
      names = "--jars",
      paramLabel = "DIR",
      description = "Further jars for the class path, such as those of the engine pytorch.")
  private Path jars;

  @Option(
      names = "--gpu",
      description =
          "For NVIDIA's container toolkit, with the engine pytorch; needs --jars and --base.")
  private boolean gpu;

  /** Makes the image and ends the JVM. */
  public static void main(String[] arguments) {
    System.exit(
        new CommandLine(new ImageCommand())
            .registerConverter(Instant.class, Instant::parse)
            .setExecutionExceptionHandler(
                (failure, line, parsed) -> {
                  line.getErr().println("image: " + failure.getMessage());
                  return failure instanceof IOException ? 1 : fail(failure);
                })
            .execute(arguments));
  }

  private static int fail(Exception defect) throws Exception {
    throw defect;
  }

  @Override
  public Integer call() throws IOException {
    if (gpu && (base == null || jars == null)) {
      throw new IOException(
          "--gpu: expected --base with CUDA and cuDNN, and --jars with the engine pytorch");
    }
    Files.createDirectories(folder);
    PrintWriter out = spec.commandLine().getOut();
    String tag = version + (gpu ? "-gpu" : "");
    List<String> versions = new ArrayList<>();
    List<Layer> layers = new ArrayList<>();
    layers.add(system(versions));
    layers.add(java());
    layers.add(ofRelease("libraries", LIBRARIES));
    layers.add(program());
    if (jars != null) {
      Layer more = new Layer("more jars");
      more.tree(HOME + "/more", jars);
      layers.add(more);
    }
    ImageArchive image = new ImageArchive("vertigrad", tag, time, settings(versions));
    if (base != null) {
      image.add("root file system", Blob.of(base));
    }
    for (int i = 0; i < layers.size(); i++) {
      Layer layer = layers.get(i);
      Path file = folder.resolve("layer-%s.tar.gz".formatted(i));
      image.add(layer.name(), layer.write(file, time));
      out.printf(
          Locale.ROOT,
          "%-18s %,6d KiB  %d files%n",
          layer.name(),
          Files.size(file) >> 10,
          layer.files().size());
    }
    Path file = folder.resolve("vertigrad-%s-image.tar".formatted(tag));
    String digest = image.write(file, architecture());
    out.printf(
        Locale.ROOT, "vertigrad:%s  %s%n%s (%,d MiB)%n", tag, digest, file, Files.size(file) >> 20);
    out.flush();
    return 0;
  }

  /** Returns the root file system, or only what is added to that of {@code --base}. */
  private Layer system(List<String> versions) throws IOException {
    Path from = packages == null ? folder.resolve("packages") : packages;
    Layer layer = new Layer(base == null ? "system" : "shell and folders");
    List<String> names = base == null ? DebianPackages.NAMES : List.of(DebianPackages.SHELL);
    DebianPackages found = DebianPackages.in(from, names);
    found.unpack(layer);
    versions.addAll(found.versions());
    layer.folder("work", 0755, USER);
    layer.folder("tmp", 01777, 0);
    if (base != null) {
      return layer;
    }
    for (String each : List.of("bin", "lib", "lib64", "sbin")) {
      layer.folder("usr/" + each, 0755, 0);
      layer.link(each, "usr/" + each);
    }
    for (String command : COMMANDS.split(" ")) {
      layer.link("usr/bin/" + command, "busybox");
    }
    for (String each : List.of("dev", "proc", "sys", "run", "var/tmp")) {
      layer.folder(each, each.equals("var/tmp") ? 01777 : 0755, 0);
    }
    layer.text(
        "etc/passwd",
        false,
        "root:x:0:0:root:/root:/bin/sh\nvertigrad:x:%1$s:%1$s::/work:/bin/sh\n".formatted(USER));
    layer.text("etc/group", false, "root:x:0:\nvertigrad:x:%s:\n".formatted(USER));
    layer.text("etc/nsswitch.conf", false, "passwd: files\ngroup: files\nhosts: files dns\n");
    return layer;
  }

  /**
   * Returns a run time of the Java that runs this. It has no class archive, because no two of them
   * are equal.
   */
  private Layer java() throws IOException {
    Path home = Path.of(System.getProperty("java.home"));
    Path made = folder.resolve("java");
    delete(made);
    Tool.run(
        folder,
        List.of(
            home.resolve("bin/jlink").toString(),
            "--add-modules",
            MODULES,
            "--no-header-files",
            "--no-man-pages",
            "--output",
            made.toAbsolutePath().toString()));
    Layer layer = new Layer("Java " + Runtime.version().feature());
    layer.tree(JAVA, made);
    return layer;
  }

  private Layer program() throws IOException {
    Layer layer = ofRelease("Vertigrad " + version, PROGRAM);
    layer.text(HOME + "/bin/health", true, HEALTH);
    layer.link("usr/bin/vertigrad", HOME + "/bin/vertigrad");
    return layer;
  }

  private Layer ofRelease(String name, String paths) throws IOException {
    Layer layer = new Layer(name);
    try (InputStream file = new GZIPInputStream(Files.newInputStream(release), 1 << 16)) {
      layer.tar(
          file,
          path -> {
            String inside = path.replaceFirst("^[^/]*/?", "");
            return inside.matches(paths) ? HOME + "/" + inside : null;
          });
    }
    if (layer.files().isEmpty()) {
      throw new IOException("%s: found none of %s, expected a release".formatted(release, paths));
    }
    return layer;
  }

  private JsonObject settings(List<String> versions) {
    Map<String, String> environment = new TreeMap<>();
    environment.put("HOME", "/work");
    environment.put("JAVA_HOME", JAVA);
    environment.put("LC_ALL", "C.UTF-8");
    environment.put("PATH", "/usr/local/bin:/usr/bin:/bin:" + JAVA + "/bin");
    environment.put("VERTIGRAD_COMMAND", "vertigrad");
    if (jars != null) {
      environment.put("VERTIGRAD_CLASSPATH", HOME + "/more/*");
      environment.put("VERTIGRAD_ENGINE", "pytorch");
    }
    if (gpu) {
      environment.put("NVIDIA_VISIBLE_DEVICES", "all");
      environment.put("NVIDIA_DRIVER_CAPABILITIES", "compute,utility");
    }
    JsonArray variables = new JsonArray();
    environment.forEach((name, value) -> variables.add(name + "=" + value));
    return new JsonObject()
        .put("User", "%1$s:%1$s".formatted(USER))
        .put("Env", variables)
        .put("Entrypoint", new JsonArray().add(HOME + "/bin/vertigrad"))
        .put("Cmd", new JsonArray().add("--help"))
        .put("WorkingDir", "/work")
        .put("StopSignal", "SIGTERM")
        .put(
            "ExposedPorts",
            new JsonObject()
                .put("8350/tcp", new JsonObject())
                .put("15701/tcp", new JsonObject())
                .put("15801/tcp", new JsonObject()))
        .put(
            "Healthcheck",
            new JsonObject()
                .put("Test", new JsonArray().add("CMD").add(HOME + "/bin/health"))
                .put("Interval", Duration.ofSeconds(10).toNanos())
                .put("Timeout", Duration.ofSeconds(5).toNanos())
                .put("StartPeriod", Duration.ofSeconds(60).toNanos())
                .put("Retries", 3))
        .put(
            "Labels",
            new JsonObject()
                .put("org.opencontainers.image.title", "Vertigrad")
                .put("org.opencontainers.image.version", version)
                .put("org.opencontainers.image.licenses", "Apache-2.0")
                .put("io.vertigrad.packages", String.join(" ", versions)));
  }

  /** Returns the processor's name in the words of images. */
  private static String architecture() {
    String name = System.getProperty("os.arch");
    return name.equals("aarch64") ? "arm64" : name;
  }

  private static void delete(Path tree) throws IOException {
    if (Files.exists(tree)) {
      try (Stream<Path> all = Files.walk(tree)) {
        for (Path each : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
          Files.delete(each);
        }
      }
    }
  }
}
