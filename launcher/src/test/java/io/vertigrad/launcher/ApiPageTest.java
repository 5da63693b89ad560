package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Compares {@code docs/reference/api.md} with the public types of the runtime's API packages. */
class ApiPageTest {

  private static final Path PAGE = Path.of("../docs/reference/api.md");

  /** An item {@code - `Type`, `Type`: what they are}. */
  private static final Pattern ITEM = Pattern.compile("(?m)^- (`\\w+`(?:,\\s+`\\w+`)*): ");

  private static final String[] PACKAGES = {
    "io.vertigrad.training",
    "io.vertigrad.job",
    "io.vertigrad.strategy",
    "io.vertigrad.collective",
    "io.vertigrad.events",
    "io.vertigrad.run",
    "io.vertigrad.verticles",
    "io.vertigrad.cluster",
    "io.vertigrad.serving",
    "io.vertigrad.sweep"
  };

  @Test
  void shouldNameEveryPublicTypeOnceAndNothingElseWhenThePageListsTheApi() throws IOException {
    List<String> named =
        ITEM.matcher(Files.readString(PAGE))
            .results()
            .flatMap(item -> Stream.of(item.group(1).replace("`", "").split(",\\s+")))
            .sorted()
            .collect(Collectors.toList());

    List<String> there =
        new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .importPackages(PACKAGES)
                .stream()
                .filter(JavaClass::isTopLevelClass)
                .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                .filter(type -> List.of(PACKAGES).contains(type.getPackageName()))
                .map(JavaClass::getSimpleName)
                .sorted()
                .collect(Collectors.toList());

    assertEquals(String.join("\n", there), String.join("\n", named));
  }
}
