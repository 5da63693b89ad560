package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor.Provides;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReader;
import java.lang.module.ModuleReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks the modules of the libraries that the launcher uses, and its own. */
class ModulesTest {

  private static final Path CLASS_PATH = Path.of("target", "tested-classpath");
  private static final Path OWN_CLASSES = Path.of("target", "classes");
  private static final String SERVICES = "META-INF/services/";

  /** What a module path does not take; docs/internals/architecture.md says why. */
  private static final Pattern CLASS_PATH_ONLY =
      Pattern.compile(".*(nd4j|dl4j|deeplearning4j|bytedeco).*");

  private static final Set<String> MODULES =
      Set.of(
          "io.vertigrad.codecs",
          "io.vertigrad.compute",
          "io.vertigrad.dashboard",
          "io.vertigrad.federated",
          "io.vertigrad.http",
          "io.vertigrad.launcher",
          "io.vertigrad.cluster",
          "io.vertigrad.launcher.tracking",
          "io.vertigrad.observability",
          "io.vertigrad.run",
          "io.vertigrad.serving",
          "io.vertigrad.strategies",
          "io.vertigrad.streams",
          "io.vertigrad.sweep",
          "io.vertigrad.verticles");

  @Test
  void shouldBeModulesWithoutAConflictWhenAllAreOnTheModulePath() throws IOException {
    ModuleFinder modules = modules();

    Configuration resolved =
        Configuration.resolve(
            modules,
            List.of(ModuleLayer.boot().configuration()),
            ModuleFinder.of(),
            own(modules).keySet());

    assertEquals(new TreeSet<>(MODULES), new TreeSet<>(own(modules).keySet()));
    for (String name : MODULES) {
      assertTrue(resolved.findModule(name).isPresent(), name);
    }
  }

  @Test
  void shouldProvideTheSameServicesOnTheModulePathAndOnTheClassPath() throws IOException {
    for (ModuleReference module : own(modules()).values()) {
      Map<String, Set<String>> provided =
          module.descriptor().provides().stream()
              .collect(
                  Collectors.toMap(
                      Provides::service,
                      provides -> new TreeSet<>(provides.providers()),
                      (first, second) -> first,
                      TreeMap::new));

      assertEquals(services(module), provided, module.descriptor().name());
    }
  }

  private static Map<String, ModuleReference> own(ModuleFinder modules) {
    return modules.findAll().stream()
        .filter(module -> module.descriptor().name().startsWith("io.vertigrad."))
        .filter(module -> !module.descriptor().isAutomatic())
        .collect(Collectors.toMap(module -> module.descriptor().name(), module -> module));
  }

  private static ModuleFinder modules() throws IOException {
    assertTrue(Files.exists(CLASS_PATH), () -> CLASS_PATH + " is missing: the build writes it");
    List<Path> files = new ArrayList<>(List.of(OWN_CLASSES));
    for (String file : Files.readString(CLASS_PATH).strip().split(File.pathSeparator)) {
      if (!CLASS_PATH_ONLY.matcher(file).matches()) {
        files.add(Path.of(file));
      }
    }
    return ModuleFinder.of(files.toArray(Path[]::new));
  }

  /** Returns the providers of the files in {@code META-INF/services}, by service. */
  private static Map<String, Set<String>> services(ModuleReference module) throws IOException {
    Map<String, Set<String>> services = new TreeMap<>();
    try (ModuleReader reader = module.open();
        Stream<String> names = reader.list()) {
      List<String> files =
          names.filter(name -> name.startsWith(SERVICES) && !name.endsWith("/")).toList();
      for (String file : files) {
        try (InputStream in = reader.open(file).orElseThrow()) {
          services.put(
              file.substring(SERVICES.length()),
              new String(in.readAllBytes(), StandardCharsets.UTF_8)
                  .lines()
                  .map(String::strip)
                  .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                  .collect(Collectors.toCollection(TreeSet::new)));
        }
      }
    }
    return services;
  }
}
