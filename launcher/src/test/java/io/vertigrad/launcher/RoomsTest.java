package io.vertigrad.launcher;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Who may import whom: codecs, then compute, then verticles, then launcher. */
class RoomsTest {

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes =
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.vertigrad");
  }

  @Test
  void shouldKeepCodecsFreeOfOtherRooms() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage("io.vertigrad.codecs..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                "io.vertigrad.compute..", "io.vertigrad.verticles..", "io.vertigrad.launcher..");

    rule.check(classes);
  }

  @Test
  void shouldLetComputeImportOnlyCodecs() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage("io.vertigrad.compute..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.vertigrad.verticles..", "io.vertigrad.launcher..");

    rule.check(classes);
  }

  @Test
  void shouldKeepTheBusOutOfCompute() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage("io.vertigrad.compute..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.vertx.core.eventbus..");

    rule.check(classes);
  }

  @Test
  void shouldKeepTheLauncherOutOfVerticles() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage("io.vertigrad.verticles..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.vertigrad.launcher..");

    rule.check(classes);
  }

  @Test
  void shouldKeepDl4jInsideItsEngine() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage("io.vertigrad..")
            .and()
            .resideOutsideOfPackage("io.vertigrad.compute.dl4j..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.nd4j..", "org.deeplearning4j..", "org.bytedeco..");

    rule.check(classes);
  }

  @Test
  void shouldKeepHazelcastInsideTheClusterStart() {
    ArchRule rule =
        noClasses()
            .that()
            .resideOutsideOfPackage("io.vertigrad.launcher.cluster..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("com.hazelcast..", "io.vertx.spi.cluster..");

    rule.check(classes);
  }

  @Test
  void shouldKeepTheBusOutOfStrategies() {
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage("io.vertigrad.verticles.strategy..")
            .and()
            .haveSimpleNameNotEndingWith("Verticle")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.vertx.core.eventbus..");

    rule.check(classes);
  }

  @Test
  void shouldHaveNoCyclesBetweenRooms() {
    ArchRule rule = slices().matching("io.vertigrad.(*)..").should().beFreeOfCycles();

    rule.check(classes);
  }

  @Test
  void shouldHaveNoCyclesInsideTheLauncher() {
    ArchRule rule = slices().matching("io.vertigrad.launcher.(*)..").should().beFreeOfCycles();

    rule.check(classes);
  }
}
