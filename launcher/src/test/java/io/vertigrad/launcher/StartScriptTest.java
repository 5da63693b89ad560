package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests {@code ./vertigrad} with a fake Java and a fake Maven that only record their calls. */
class StartScriptTest {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  /**
   * Archives classes only when the test allows it, and then writes the file that the option names.
   * Its version is 17.0.1 or what the test has written into the file {@code version}.
   */
  private static final String JAVA =
      """
      #!/bin/sh
      here=$(dirname "$0")/..
      echo "${LC_ALL:-none} ${LC_CTYPE:-none}" >"$here/locale"
      [ "$1" = -version ] || echo "$*" >"$here/words"
      echo "$CLASSPATH" >"$here/classpath"
      for word in "$@"; do
        case $word in -Duser.home=*) echo "${word#*=}" >"$here/user-home" ;; esac
      done
      case "$* $CLASSPATH" in
        *'node memory'*)
          sh -c "$(sed -n "s/^'-XX:OnOutOfMemoryError=\\(.*\\)'/\\1/p" "${1#@}")"
          exit 3
          ;;
        -version*) echo "openjdk version \\"$(cat "$here/version" 2>/dev/null || echo 17.0.1)\\"" >&2 ;;
        *launcher.ClassArchive*)
          echo archive >>"$here/calls"
          until [ -f "$here/go" ] || [ ! -d "$here" ]; do sleep 0.02; done
          for word in "$@"; do
            case $word in
              -XX:ArchiveClassesAtExit=* | -XX:AOTCacheOutput=*) echo classes >"${word#*=}" ;;
            esac
          done
          ;;
        *-sources.jar*) echo sources >>"$here/calls" ;;
        *SharedArchiveFile=*classes-17.0.1.jsa*) echo with >>"$here/calls" ;;
        *sun-misc-unsafe*AOTCache=*classes-25.0.1.aot*) echo cache >>"$here/calls" ;;
        *) echo without >>"$here/calls" ;;
      esac
      """;

  /** Waits until the test lets it continue, then writes the class path. */
  private static final String MAVEN =
      """
      #!/bin/sh
      here=$(dirname "$0")/..
      echo build >>"$here/calls"
      until [ -f "$here/go" ]; do sleep 0.02; done
      for module in codecs compute engines/dl4j verticles strategies federated sweep http serving streams dashboard/run \\
          dashboard/observability dashboard launcher/cluster launcher/tracking launcher engines/pytorch; do
        mkdir -p "$here/home/$module/target/classes"
      done
      cd "$here/home"
      [ -f launcher/target/vertigrad-launcher-1.jar ] || touch launcher/target/vertigrad-launcher-1.jar
      touch engines/pytorch/target/vertigrad-engine-1.jar
      for module in launcher engines/pytorch; do
        [ -f $module/target/classpath ] ||
          printf %s "$PWD/launcher/target/vertigrad-launcher-1.jar" >$module/target/classpath
      done
      """;

  /** Has the locales of the file {@code locales}. */
  private static final String LOCALE =
      """
      #!/bin/sh
      here=$(dirname "$0")/..
      case $1 in
        -a) cat "$here/locales" ;;
        charmap)
          case ${LC_ALL:-${LC_CTYPE:-${LANG:-C}}} in
            *.UTF-8 | *.utf8) echo UTF-8 ;;
            *) echo ANSI_X3.4-1968 ;;
          esac
          ;;
      esac
      """;

  @TempDir private Path folder;
  private final Map<String, String> environment = new HashMap<>();
  private Path home;

  @BeforeEach
  void makeTools() throws IOException {
    home = Files.createDirectories(folder.resolve("home"));
    Files.copy(Path.of("..", "vertigrad"), home.resolve("vertigrad"));
    Path options = Files.createDirectories(home.resolve("conf")).resolve("java.options");
    Files.copy(Path.of("../conf/java.options"), options);
    assertTrue(home.resolve("vertigrad").toFile().setExecutable(true));
    Path tools = Files.createDirectories(folder.resolve("bin"));
    for (String[] tool :
        new String[][] {{"java", JAVA}, {"javac", ""}, {"mvn", MAVEN}, {"locale", LOCALE}}) {
      Path file = Files.writeString(tools.resolve(tool[0]), tool[1]);
      assertTrue(file.toFile().setExecutable(true));
    }
  }

  /** Lets an archiving process end before its folder is removed. */
  @AfterEach
  void awaitArchive() throws IOException {
    go();
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> archiveFiles().stream().noneMatch(name -> name.matches(".*(lock|began)")));
  }

  @Test
  @Tag("slow")
  void shouldBuildAndArchiveOnceWhenThreeStartAtOnce() throws Exception {
    List<Process> starts = List.of(start("train"), start("train"), start("train"));
    await("build");
    go();
    for (Process start : starts) {
      assertEnds(0, start);
    }

    assertEnds(0, start("archive"));
    assertEnds(0, start("train"));

    List<String> calls = calls();
    assertEquals(1, calls.stream().filter("build"::equals).count(), calls.toString());
    assertEquals(1, calls.stream().filter("archive"::equals).count(), calls.toString());
    assertEquals(4, calls.stream().filter(call -> call.startsWith("with")).count());
    assertEquals("with", calls.get(calls.size() - 1));
  }

  @Test
  void shouldMakeTheArchiveBesideTheFirstStartAndUseItAfterwards() throws Exception {
    built();
    assertEnds(0, start("train"));
    await("archive");
    assertEnds(0, start("train"));
    Process waiting = start("archive");
    assertEquals(List.of("archive", "without", "without"), calls().stream().sorted().toList());
    assertTrue(waiting.isAlive(), "the command archive waits for the archive: " + said());

    go();
    assertEnds(0, waiting);
    assertEnds(0, start("train"));

    assertEquals("with", calls().get(3), "archived once: " + calls());
  }

  @Test
  void shouldMakeAnAotCacheForJava25() throws Exception {
    Files.writeString(folder.resolve("version"), "25.0.1");
    built();
    go();

    assertEnds(0, start("archive"));
    assertEnds(0, start("train"));

    assertEquals(List.of("archive", "cache"), calls());
  }

  @Test
  void shouldMakeAnAotCacheBesideTheFirstTrainingWhenAReleaseRunsOnJava25() throws Exception {
    Files.writeString(folder.resolve("version"), "25.0.1");
    Path script = release();

    assertEnds(0, process(script.toString(), "train", "--processes"));
    await("archive");
    assertEquals(List.of("archive", "without"), calls().stream().sorted().toList());
    go();
    Path cache = home.resolve("lib/classes-25.0.1.aot");
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> Files.exists(cache) && !Files.isSymbolicLink(home.resolve(cache + ".lock")));
    assertEnds(0, process(script.toString(), "train", "--processes"));

    assertEquals("cache", calls().get(2), "archived once: " + calls());
  }

  @Test
  void shouldDropAnArchiveWhoseJarsWereReplaced() throws Exception {
    built();
    assertEnds(0, start("node"));
    await("archive");
    replaceJar();
    go();

    Awaitility.await().atMost(LIMIT).until(() -> archiveFiles().isEmpty());
    assertEnds(0, start("predict"));
    assertEquals("without", calls().get(2));
  }

  @Test
  void shouldUseTheClassFoldersWhenAReleaseWasBuilt() throws Exception {
    built();
    Files.createFile(home.resolve("launcher/target/vertigrad-launcher-1-sources.jar"));
    Files.createFile(home.resolve("launcher/target/vertigrad-launcher-1-javadoc.jar"));

    assertEnds(0, start("doctor"));

    assertEquals(List.of("without"), calls());
  }

  /** Lists of processes show words; the class path of some hundred jars would hide them. */
  @Test
  void shouldPassTheClassPathByTheEnvironmentAndItsOptionsByAFile() throws Exception {
    built();
    Path own = Files.createDirectories(folder.resolve("own classes"));
    environment.put("VERTIGRAD_CLASSPATH", own + "/*:" + own);

    assertEnds(0, start("doctor", "some job.json"));

    assertEquals(
        home.toRealPath().resolve("launcher/target/vertigrad-launcher-1.jar")
            + ":%s:%s/*:%s"
                .formatted(
                    home.toRealPath() + "/launcher/target/vertigrad-launcher-1.jar", own, own),
        Files.readString(folder.resolve("classpath")).strip());
    String words = Files.readString(folder.resolve("words"));
    assertTrue(words.startsWith("@" + home.toRealPath().resolve("conf/java.options -X")), words);
    assertTrue(
        words.endsWith(" io.vertigrad.launcher.VertigradApplication doctor some job.json\n"),
        words);
    assertFalse(words.contains(".jar"), words);
    Files.delete(home.resolve("conf/java.options"));
    assertEnds(2, start("doctor"));
    assertTrue(said().contains("conf/java.options is missing: "), said());
  }

  @Test
  void shouldTakeOverTheLockOfAProcessThatHasEnded() throws Exception {
    built();
    go();
    Process ended = new ProcessBuilder("true").start();
    ended.waitFor();
    Path lock = home.resolve("launcher/target/classes-17.0.1.jsa.lock");
    Files.createSymbolicLink(lock, Path.of(String.valueOf(ended.pid())));
    Files.createFile(home.resolve("launcher/target/classes-17.0.1.jsa." + ended.pid()));

    assertEnds(0, start("archive"));
    assertEnds(0, start("train"));

    assertEquals(List.of("archive", "with"), calls());
    assertEquals(List.of("classes-17.0.1.jsa"), archiveFiles(), "a killed process's files go");
  }

  @Test
  void shouldKeepTheArchiveWhenAnotherEngineIsBuiltButNotWhenAJarHasChanged() throws Exception {
    built();
    go();
    assertEnds(0, start("archive"));
    assertEnds(0, start("train"));
    assertEnds(0, start("train", "--set", "engine=pytorch"));
    assertEquals(List.of("archive", "with", "build", "with"), calls());

    replaceJar();
    assertEnds(0, start("predict"));

    assertEquals("without", calls().get(4));
  }

  /** Maven cannot find a module of this project that it is not told to build. */
  @Test
  void shouldBuildEveryModuleThatTheLauncherDependsOn() throws Exception {
    String script = Files.readString(Path.of("../vertigrad"));
    Matcher built = Pattern.compile("modules='([^']+)'").matcher(script);
    Matcher besides = Pattern.compile("\\$modules ([a-z ]+)\" \\| tr").matcher(script);
    assertTrue(built.find() && besides.find(), "the script's modules");
    List<String> modules = new ArrayList<>(List.of(built.group(1).split(" ")));
    modules.addAll(List.of(besides.group(1).split(" ")));

    for (String module : modules) {
      String pom = Files.readString(Path.of("..", module, "pom.xml"));
      String dependencies = pom.substring(Math.max(0, pom.indexOf("<dependencies>")));
      Matcher needed =
          Pattern.compile("<artifactId>vertigrad-([a-z0-9-]+)</artifactId>").matcher(dependencies);
      while (needed.find()) {
        String artifact = needed.group(1).replace("engine-", "");
        assertTrue(
            modules.stream().anyMatch(folder -> Path.of(folder).endsWith(artifact)),
            module + " needs " + artifact);
      }
    }
  }

  @Test
  void shouldNameTheHeapAndTheRemedyWhenJavaRunsOutOfMemory() throws Exception {
    built();
    go();
    assertEnds(0, start("archive"));
    Files.delete(folder.resolve("said"));

    assertEnds(3, start("node", "memory"));

    assertTrue(
        said().startsWith("vertigrad: out of memory: this JVM had a heap of 300m. Give it more"),
        said());
    assertEquals(1, said().lines().count(), said());
  }

  /** What is set, what the machine has, and {@code LC_ALL} and {@code LC_CTYPE} of Java. */
  @ParameterizedTest
  @CsvSource({
    "LC_ALL=C, C POSIX C.utf8 de_DE.utf8, C.utf8 none",
    "LC_ALL=C, C POSIX de_DE.UTF-8 C.UTF-8 en_US.UTF-8, C.UTF-8 none",
    "LC_ALL=POSIX, C POSIX de_DE.iso88591 en_US.utf8 fr_FR.utf8, en_US.utf8 none",
    "X=, C POSIX C.utf8, none C.utf8",
    "LANG=de_DE.iso88591, C POSIX C.utf8 de_DE.iso88591, none C.utf8",
    "LANG=de_DE.utf8, C POSIX C.utf8 de_DE.utf8, none none",
    "LC_ALL=de_DE.UTF-8, C POSIX C.utf8 de_DE.utf8, de_DE.UTF-8 none",
    "LC_ALL=C, C POSIX, C none",
  })
  void shouldSetAUtf8LocaleWhereThereIsNone(String set, String locales, String expected)
      throws Exception {
    built();
    Files.write(folder.resolve("locales"), List.of(locales.split(" ")));
    String[] variable = set.split("=", 2);
    environment.put(variable[0], variable[1]);

    assertEnds(0, start("doctor"));

    assertEquals(expected, Files.readString(folder.resolve("locale")).strip());
    assertFalse(said().contains("setlocale"), said());
  }

  @Test
  void shouldNameTheHomeFolderOfAUserIdThatHasNoName() throws Exception {
    built();
    environment.put("HOME", folder.resolve("my home").toString());
    assertEnds(0, start("doctor"));
    assertFalse(Files.exists(folder.resolve("user-home")), "Java knows it by the user's name");
    Path id = Files.writeString(folder.resolve("bin/id"), "#!/bin/sh\nexit 1\n");
    assertTrue(id.toFile().setExecutable(true));

    assertEnds(0, start("doctor"));

    assertEquals(
        folder.resolve("my home").toString(),
        Files.readString(folder.resolve("user-home")).strip());
  }

  @Test
  void shouldFindItsFolderWhenCdSearchesOtherFolders() throws Exception {
    built();
    environment.put("CDPATH", ".:" + folder);
    // By a relative path: only then does cd search.
    Process start =
        process("sh", "-c", "cd \"$1\" >/dev/null && exec home/vertigrad doctor", "-", ".");

    assertEnds(0, start);

    assertEquals(List.of("without"), calls());
  }

  /** Java would end before its first line of the program, with a trace. */
  @Test
  void shouldNameTheLimitWhenItMayOpenFewerFilesThanThereAreJars() throws Exception {
    built();

    Process start =
        process("sh", "-c", "ulimit -n 32 && exec \"$1\" doctor", "-", home + "/vertigrad");

    assertEnds(2, start);
    assertTrue(
        said().contains("vertigrad: this process may open 32 files and connections at once"),
        said());
    assertFalse(Files.exists(folder.resolve("calls")), "Java was started");
  }

  @ParameterizedTest
  @CsvSource({"/own.jar, 0", "/*, 0", ":, 0", "/own.jar:FOLDER/absent.jar, 2", "/absent/*, 2"})
  void shouldNameWhatDoesNotExistOfTheOwnClassPath(String files, int status) throws Exception {
    built();
    Files.createFile(folder.resolve("own.jar"));
    environment.put("VERTIGRAD_CLASSPATH", folder + files.replace("FOLDER", folder.toString()));

    assertEnds(status, start("doctor"));

    boolean refused = said().contains("vertigrad: VERTIGRAD_CLASSPATH has '" + folder + "/absent");
    assertEquals(status > 0, refused, said());
    assertEquals(status == 0, Files.exists(folder.resolve("calls")), "Java was started");
  }

  @Test
  void shouldTakeTheRunThatWasStartedLastWhenACopyIsNewer() throws Exception {
    built();
    for (String[] run : new String[][] {{"new one", "2000", "pytorch"}, {"old", "1000", "dl4j"}}) {
      Path path = Files.createDirectories(folder.resolve("runs").resolve(run[0]));
      Files.writeString(path.resolve("launch.json"), "{\"startedMillis\" : " + run[1] + "}");
      Files.writeString(path.resolve("job.json"), "{\"engine\" : \"" + run[2] + "\"}");
    }
    go();

    assertEnds(0, start("evaluate", "last"));

    assertEquals("build", calls().get(0), "the engine of the newer run is not built yet");
  }

  @ParameterizedTest
  @ValueSource(strings = {"net.pt", "net.pt2", "net.pth"})
  void shouldBuildTheEngineWhenAModelOfPyTorchIsChecked(String model) throws Exception {
    built();
    go();

    assertEnds(0, start("check", model, "--with", "reference.safetensors"));

    assertEquals("build", calls().get(0), "the engine is not built yet");
  }

  /** Runs a build, so that later commands need none. */
  private void built() throws Exception {
    go();
    assertEnds(0, start("doctor"));
    Files.delete(folder.resolve("go"));
    Files.delete(folder.resolve("calls"));
  }

  /** Makes a release of the script; returns the script. */
  private Path release() throws IOException {
    Path script = Files.createDirectories(home.resolve("bin")).resolve("vertigrad");
    Files.copy(home.resolve("vertigrad"), script);
    Path lib = Files.createDirectories(home.resolve("lib"));
    Files.createFile(lib.resolve("vertigrad-launcher-1.jar"));
    Files.writeString(lib.resolve("classpath"), "./vertigrad-launcher-1.jar");
    return script;
  }

  private void go() throws IOException {
    Files.writeString(folder.resolve("go"), "");
  }

  private void replaceJar() throws IOException {
    Path jar = home.resolve("launcher/target/vertigrad-launcher-1.jar");
    Files.setLastModifiedTime(jar, FileTime.fromMillis(System.currentTimeMillis() + 10_000));
  }

  private Process start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(home.resolve("vertigrad").toString()));
    command.addAll(List.of(arguments));
    return process(command.toArray(String[]::new));
  }

  private Process process(String... command) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
    builder
        .environment()
        .keySet()
        .removeIf(name -> name.matches("JAVA_HOME|VERTIGRAD_.*|LC_.*|LANG"));
    builder.environment().putAll(environment);
    builder.environment().put("VERTIGRAD_JAVA_OPTS", "-Xss2m -Xmx300m");
    return builder
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("said").toFile()))
        .start();
  }

  private void assertEnds(int status, Process process) throws Exception {
    assertTrue(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), said());
    assertEquals(status, process.exitValue(), said());
  }

  private void await(String call) {
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> Files.exists(folder.resolve("calls")) && calls().contains(call));
  }

  private List<String> calls() throws IOException {
    return Files.readAllLines(folder.resolve("calls"));
  }

  private String said() throws IOException {
    return Files.readString(folder.resolve("said"));
  }

  /** Returns the names of the class archive and of what is there only while it is made. */
  private List<String> archiveFiles() throws IOException {
    Path target = home.resolve("launcher/target");
    if (!Files.exists(target)) {
      return List.of();
    }
    try (var files = Files.list(target)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith("classes-"))
          .toList();
    }
  }
}
