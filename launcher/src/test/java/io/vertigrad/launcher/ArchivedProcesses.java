package io.vertigrad.launcher;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Makes a class archive for the processes that slow tests start, as the start script does; each
 * process then needs half of the processor time. An archive holds only classes from jars, so
 * folders of classes are packed into jars first. The tests' own folder comes after them on the
 * class path.
 *
 * <p>The archive stays in {@code target} until a class changes. Without an archive the tests are
 * only slower.
 */
public final class ArchivedProcesses implements BeforeAllCallback {

  /** The option that the module's {@code pom.xml} passes to the JVM of the tests. */
  private static final String OPTION = "-XX:SharedArchiveFile=";

  private static final String CLASS_PATH = "java.class.path";
  private static final long LIMIT_SECONDS = 120;
  private static boolean done;

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    if (context.getTags().contains("slow")) {
      once();
    }
  }

  private static synchronized void once() throws Exception {
    List<String> options = ManagementFactory.getRuntimeMXBean().getInputArguments();
    String archive =
        options.stream()
            .filter(option -> option.startsWith(OPTION))
            .map(option -> option.substring(OPTION.length()))
            .findFirst()
            .orElse(null);
    if (!done && archive != null) {
      done = true;
      Path file = Path.of(archive);
      Files.createDirectories(file.getParent());
      // The module's tests run in several JVMs; closing the channel releases the lock.
      try (FileChannel channel =
          FileChannel.open(
              file.resolveSibling("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        channel.lock();
        prepare(file, options);
      }
    }
  }

  private static void prepare(Path archive, List<String> options) throws Exception {
    List<String> jars = new ArrayList<>();
    List<String> folders = new ArrayList<>();
    for (String entry : System.getProperty(CLASS_PATH).split(File.pathSeparator)) {
      Path path = Path.of(entry);
      if (!Files.isDirectory(path)) {
        jars.add(entry);
      } else if (path.endsWith("test-classes")) {
        folders.add(entry);
      } else {
        jars.add(pack(path, archive.getParent()).toString());
      }
    }
    String archived = String.join(File.pathSeparator, jars);
    Path list = archive.resolveSibling("classpath");
    if (!Files.exists(archive)
        || !Files.readString(list).equals(archived)
        || jars.stream().anyMatch(jar -> isNewer(Path.of(jar), archive))) {
      make(archive, archived, options);
      Files.writeString(list, archived);
    }
    if (Files.exists(archive)) {
      System.setProperty(
          CLASS_PATH,
          Stream.of(archived, String.join(File.pathSeparator, folders))
              .filter(part -> !part.isEmpty())
              .reduce((one, other) -> one + File.pathSeparator + other)
              .orElseThrow());
    }
  }

  private static boolean isNewer(Path file, Path other) {
    try {
      return Files.exists(file)
          && Files.getLastModifiedTime(file).compareTo(Files.getLastModifiedTime(other)) > 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Packs a folder into a jar. An unchanged jar keeps its time, because the archive records it. */
  private static Path pack(Path folder, Path into) throws IOException {
    Path module = folder.getParent().getParent().getFileName();
    Path jar = into.resolve("vertigrad-%s-%s.jar".formatted(module, folder.getFileName()));
    List<Path> files;
    try (Stream<Path> walk = Files.walk(folder)) {
      files = walk.filter(Files::isRegularFile).sorted().toList();
    }
    if (Files.exists(jar) && files.stream().noneMatch(file -> isNewer(file, jar))) {
      return jar;
    }
    Path made = into.resolve(jar.getFileName() + ".new");
    try (OutputStream out = Files.newOutputStream(made);
        JarOutputStream packed = new JarOutputStream(out)) {
      for (Path file : files) {
        ZipEntry entry = new ZipEntry(folder.relativize(file).toString().replace('\\', '/'));
        entry.setLastModifiedTime(FileTime.fromMillis(0));
        packed.putNextEntry(entry);
        Files.copy(file, packed);
        packed.closeEntry();
      }
    }
    return Files.move(made, jar, StandardCopyOption.REPLACE_EXISTING);
  }

  private static void make(Path archive, String classPath, List<String> options)
      throws IOException, InterruptedException {
    Files.deleteIfExists(archive);
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    options.stream()
        .filter(option -> !option.startsWith(OPTION) && !option.startsWith("-javaagent"))
        .forEach(command::add);
    command.addAll(
        List.of(
            "-XX:ArchiveClassesAtExit=" + archive,
            "-XX:ErrorFile=" + archive + ".error",
            "-XX:-CreateCoredumpOnCrash",
            "-cp",
            classPath,
            ClassArchive.class.getName()));
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(archive.resolveSibling("archive.log").toFile())
            .start();
    if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      process.waitFor();
    }
    if (process.exitValue() != 0) {
      Files.deleteIfExists(archive);
    }
  }
}
