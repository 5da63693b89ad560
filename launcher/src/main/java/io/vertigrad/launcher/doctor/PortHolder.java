package io.vertigrad.launcher.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds the process that listens on a TCP port, as far as Linux lets this user see it. */
final class PortHolder {

  private static final Path PROC = Path.of("/proc");
  private static final String LISTENING = "0A";
  private static final int LOCAL_ADDRESS = 1;
  private static final int STATE = 3;
  private static final int INODE = 9;

  private PortHolder() {}

  /** Returns text such as {@code process 1234 (java)}; empty when the process is unknown. */
  static Optional<String> of(int port) {
    return Stream.of("net/tcp", "net/tcp6")
        .flatMap(table -> inode(PROC.resolve(table), port).stream())
        .flatMap(inode -> process("socket:[" + inode + "]").stream())
        .findFirst();
  }

  private static Optional<String> inode(Path table, int port) {
    String suffix = ":%04X".formatted(port);
    return lines(table).stream()
        .map(line -> line.strip().split("\\s+"))
        .filter(fields -> fields.length > INODE)
        .filter(fields -> fields[LOCAL_ADDRESS].endsWith(suffix) && fields[STATE].equals(LISTENING))
        .map(fields -> fields[INODE])
        .findFirst();
  }

  private static Optional<String> process(String socket) {
    return ProcessHandle.allProcesses()
        .filter(process -> holds(process.pid(), socket))
        .map(
            process ->
                "process %s (%s)"
                    .formatted(
                        process.pid(),
                        process.info().command().map(PortHolder::program).orElse("unknown")))
        .findFirst();
  }

  private static boolean holds(long pid, String socket) {
    try (Stream<Path> files = Files.list(PROC.resolve(pid + "/fd"))) {
      return files.anyMatch(file -> leadsTo(file, socket));
    } catch (IOException e) {
      return false;
    }
  }

  private static boolean leadsTo(Path file, String socket) {
    try {
      return Files.readSymbolicLink(file).toString().equals(socket);
    } catch (IOException e) {
      return false;
    }
  }

  private static String program(String command) {
    return Path.of(command).getFileName().toString();
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      return List.of();
    }
  }
}
