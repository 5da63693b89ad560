package io.vertigrad.launcher;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Compares the packages with {@code packages.txt}. No class may use a package that the line of its
 * package does not name, and every package that a line names must be used.
 */
class PackagesTest {

  private static final Path PAGE = Path.of("../docs/internals/architecture.md");
  private static final Pattern DESCRIBED = Pattern.compile("^- `([a-z.0-9]+)`:", Pattern.MULTILINE);
  private static final String ROOT = "io.vertigrad.";
  private static final String INTERNAL_CLUSTER = "io.vertigrad.internal.cluster..";
  private static final String[] CLUSTER = {"io.vertigrad.cluster..", INTERNAL_CLUSTER};

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes =
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .withImportOption(location -> !location.contains("/testkit/"))
            .importPackages("io.vertigrad");
  }

  @Test
  void shouldUseTheListedPackagesWhenClassesAreCompiled() throws IOException {
    assertEquals(Files.readString(Path.of("src/test/resources/packages.txt")), text(arrows()));
  }

  @Test
  void shouldDescribeEveryPackageWhenThePageIsRead() throws IOException {
    String page = Files.readString(PAGE);
    String section = page.substring(page.indexOf("## Packages"), page.indexOf("## Seams"));
    SortedSet<String> described = new TreeSet<>();
    DESCRIBED.matcher(section).results().forEach(line -> described.add(line.group(1)));

    assertEquals(arrows().keySet(), described);
  }

  @Test
  void shouldHaveNoCyclesWhenPackagesUseEachOther() {
    ArchRule rule = slices().assignedFrom(new PackageSlices()).should().beFreeOfCycles();

    rule.check(classes);
  }

  @Test
  void shouldKeepInternalPackagesToTheirModuleWhenOtherModulesAreCompiled() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAnyPackage(
                "io.vertigrad.collective..",
                "io.vertigrad.dashboard..",
                "io.vertigrad.federated..",
                "io.vertigrad.launcher..",
                "io.vertigrad.observability..",
                "io.vertigrad.run..",
                "io.vertigrad.serving..",
                "io.vertigrad.strategies..")
            .should()
            .dependOnClassesThat(
                resideInAPackage("io.vertigrad.internal..")
                    .and(resideOutsideOfPackage(INTERNAL_CLUSTER)));

    rule.check(classes);
  }

  @Test
  void shouldKeepTheInsideOfANodeToTheLauncherWhenNodesAreStarted() {
    ArchRule rule =
        noClasses()
            .that()
            .resideOutsideOfPackages(CLUSTER)
            .and()
            .resideOutsideOfPackage("io.vertigrad.launcher..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage(INTERNAL_CLUSTER);

    rule.check(classes);
  }

  @Test
  void shouldKeepInternalsOfServingInsideWhenOthersPredict() {
    ArchRule rule =
        noClasses()
            .that()
            .resideOutsideOfPackage("io.vertigrad.serving..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.vertigrad.serving.internal..");

    rule.check(classes);
  }

  @Test
  void shouldExposeNoInternalTypeWhenMembersOfTheApiArePublic() {
    SortedSet<String> exposed = new TreeSet<>();
    for (JavaClass type : classes) {
      if (isApi(type)) {
        exposures(type).forEach(other -> exposed.add(type.getName() + " exposes " + other));
      }
    }

    assertTrue(exposed.isEmpty(), () -> String.join("\n", exposed));
  }

  @Test
  void shouldKeepTheBusOutOfComputeWhenModelsAreTrained() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAnyPackage("io.vertigrad.compute..", "io.vertigrad.engine..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.vertx.core.eventbus..");

    rule.check(classes);
  }

  @Test
  void shouldKeepDl4jInsideItsEngineWhenOthersCompute() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage("io.vertigrad..")
            .and()
            .resideOutsideOfPackage("io.vertigrad.engine.dl4j..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.nd4j..", "org.deeplearning4j..", "org.bytedeco..");

    rule.check(classes);
  }

  @Test
  void shouldKeepHazelcastInsideTheClusterStartWhenNodesJoin() {
    ArchRule rule =
        noClasses()
            .that()
            .resideOutsideOfPackages(CLUSTER)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("com.hazelcast..", "io.vertx.spi.cluster..");

    rule.check(classes);
  }

  /**
   * The page says why the cluster needs them, and why one class of http does. Vert.x exports {@code
   * io.vertx.core.internal}.
   */
  @Test
  void shouldKeepInnerClassesOfLibrariesInsideTheClusterStartWhenTheyAreUsed() {
    ArchRule rule =
        noClasses()
            .that()
            .resideOutsideOfPackages(CLUSTER)
            .and()
            .doNotHaveFullyQualifiedName("io.vertigrad.http.HttpConnections")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                "io.vertx..impl..", "io.netty..internal..", "sun..", "jdk.internal..");

    rule.check(classes);
  }

  @Test
  void shouldKeepMetersAndTracesInsideObservabilityWhenOthersReport() {
    ArchRule rule =
        noClasses()
            .that()
            .resideOutsideOfPackage("io.vertigrad.observability..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.micrometer..", "io.prometheus..");

    rule.check(classes);
  }

  @Test
  void shouldKeepTheBusOutOfStrategiesWhenTheyCombineUpdates() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAnyPackage(
                "io.vertigrad.strategy..",
                "io.vertigrad.strategies..",
                "io.vertigrad.federated..",
                "io.vertigrad.collective..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.vertx.core.eventbus..");

    rule.check(classes);
  }

  /**
   * Makes every package a slice; an engine and the packages that it builds use each other and are
   * one slice.
   */
  private static final class PackageSlices implements SliceAssignment {

    private static final Set<String> COMPUTE =
        Set.of("compute", "compute.optimizer", "compute.pipeline");

    @Override
    public SliceIdentifier getIdentifierOf(JavaClass type) {
      if (!type.getPackageName().startsWith(ROOT)) {
        return SliceIdentifier.ignore();
      }
      return SliceIdentifier.of(COMPUTE.contains(name(type)) ? "compute" : name(type));
    }

    @Override
    public String getDescription() {
      return "packages";
    }
  }

  /**
   * Returns true for public types outside internal packages, which other modules and users may use.
   */
  private static boolean isApi(JavaClass type) {
    return type.getModifiers().contains(JavaModifier.PUBLIC)
        && !type.getPackageName().startsWith(ROOT + "internal")
        && !type.getPackageName().startsWith(ROOT + "launcher");
  }

  /** Returns the internal types in signatures of a class's public and protected members. */
  private static Set<String> exposures(JavaClass type) {
    Set<JavaClass> seen = new HashSet<>();
    type.getMethods().stream()
        .filter(method -> visible(method.getModifiers()))
        .forEach(
            method -> {
              seen.addAll(method.getReturnType().getAllInvolvedRawTypes());
              method
                  .getParameterTypes()
                  .forEach(parameter -> seen.addAll(parameter.getAllInvolvedRawTypes()));
            });
    type.getConstructors().stream()
        .filter(constructor -> visible(constructor.getModifiers()))
        .forEach(
            constructor ->
                constructor
                    .getParameterTypes()
                    .forEach(parameter -> seen.addAll(parameter.getAllInvolvedRawTypes())));
    type.getFields().stream()
        .filter(field -> visible(field.getModifiers()))
        .forEach(field -> seen.addAll(field.getType().getAllInvolvedRawTypes()));
    return seen.stream()
        .map(JavaClass::getName)
        .filter(name -> name.startsWith(ROOT + "internal"))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static boolean visible(Set<JavaModifier> modifiers) {
    return modifiers.contains(JavaModifier.PUBLIC) || modifiers.contains(JavaModifier.PROTECTED);
  }

  /** Returns the packages that each package uses. */
  private static SortedMap<String, SortedSet<String>> arrows() {
    SortedMap<String, SortedSet<String>> arrows = new TreeMap<>();
    for (JavaClass type : classes) {
      String from = name(type);
      SortedSet<String> uses = arrows.computeIfAbsent(from, any -> new TreeSet<>());
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        JavaClass target = dependency.getTargetClass().getBaseComponentType();
        if (target.getPackageName().startsWith(ROOT) && !name(target).equals(from)) {
          uses.add(name(target));
        }
      }
    }
    return arrows;
  }

  private static String name(JavaClass type) {
    return type.getPackageName().substring(ROOT.length());
  }

  private static String text(SortedMap<String, SortedSet<String>> arrows) {
    return arrows.entrySet().stream()
        .map(row -> row.getKey() + " -> " + String.join(", ", row.getValue()) + "\n")
        .collect(Collectors.joining());
  }
}
