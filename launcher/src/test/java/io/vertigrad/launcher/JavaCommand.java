package io.vertigrad.launcher;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts Vertigrad in a separate JVM, with this one's compiler options and class path. */
final class JavaCommand {

  private JavaCommand() {}

  /**
   * Returns the command's words.
   *
   * @param heap largest heap, as in {@code -Xmx512m}
   * @param arguments arguments of the main class
   */
  static List<String> of(String heap, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.matches("-XX:(Tiered|SharedArchive).*"))
        .forEach(command::add);
    command.addAll(List.of("-Xmx" + heap, "-cp", System.getProperty("java.class.path")));
    command.add(VertigradApplication.class.getName());
    command.addAll(List.of(arguments));
    return command;
  }
}
