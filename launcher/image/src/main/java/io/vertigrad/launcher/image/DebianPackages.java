package io.vertigrad.launcher.image;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Debian packages as files in a folder, from which a root file system is made. Their scripts are
 * not run.
 */
final class DebianPackages {

  /** What Java, libtorch and ND4J's libraries load, and a shell. */
  static final List<String> NAMES =
      List.of(
          "base-files",
          "busybox-static",
          "libc-bin",
          "libc6",
          "libgcc-s1",
          "libgomp1",
          "libjpeg62-turbo",
          "liblcms2-2",
          "libstdc++6",
          "zlib1g");

  static final String SHELL = "busybox-static";

  /** The paths that are used of packages that hold much more. */
  private static final Map<String, String> USED =
      Map.of(
          "base-files",
          "etc/(debian_version|os-release)|usr/lib/os-release",
          "libc-bin",
          "usr/bin/locale|usr/lib/locale/.*",
          SHELL,
          "(usr/)?bin/busybox|usr/share/doc/.*/copyright");

  private static final String UNUSED =
      "usr/share/(man|lintian|locale|gcc|gdb|bug)(/.*)?|usr/lib/[^/]*/(gconv|audit)(/.*)?"
          + "|usr/share/doc/.*(?<!/copyright)";

  /** The folders that the packages of some releases have at the root. */
  private static final String MERGED = "(bin|sbin|lib|lib32|lib64|libx32)(/.*)?";

  private final List<Path> files;

  private DebianPackages(List<Path> files) {
    this.files = files;
  }

  /**
   * Finds packages in a folder, and downloads those that are missing with {@code apt-get}.
   *
   * @throws IOException when a package is neither there nor can be downloaded; the message says
   *     what to do
   */
  static DebianPackages in(Path folder, List<String> names) throws IOException {
    Files.createDirectories(folder);
    List<String> missing = new ArrayList<>();
    for (String name : names) {
      if (found(folder, name).isEmpty()) {
        missing.add(name);
      }
    }
    if (!missing.isEmpty()) {
      List<String> command =
          new ArrayList<>(List.of("apt-get", "-o", "APT::Sandbox::User=root", "-q", "download"));
      command.addAll(missing);
      try {
        Tool.run(folder, command);
      } catch (IOException unreachable) {
        throw new IOException(
            ("%s: found no package %s, and apt-get cannot download them (%s): run apt-get update,"
                    + " or put the .deb files there, or use --base or -Dimage.skip=true")
                .formatted(folder, String.join(", ", missing), unreachable.getMessage()),
            unreachable);
      }
    }
    List<Path> files = new ArrayList<>();
    for (String name : names) {
      List<Path> found = found(folder, name);
      if (found.size() != 1) {
        throw new IOException(
            "%s: found %s packages %s %s, expected one: remove the older ones"
                .formatted(folder, found.size(), name, found));
      }
      files.add(found.get(0));
    }
    return new DebianPackages(files);
  }

  /** Adds what the packages install, and their descriptions where scanners look for them. */
  void unpack(Layer layer) throws IOException {
    for (Path file : files) {
      String name = name(file);
      Process tar = Tool.start(List.of("dpkg-deb", "--fsys-tarfile", file.toString()));
      try (InputStream content = tar.getInputStream()) {
        layer.tar(content, path -> path(name, path));
      }
      Tool.await(tar, "dpkg-deb --fsys-tarfile " + file);
      layer.text("var/lib/dpkg/status.d/" + name, false, description(file));
    }
  }

  /** Returns each package with its version. */
  List<String> versions() throws IOException {
    List<String> versions = new ArrayList<>();
    for (Path file : files) {
      versions.add(Tool.output(List.of("dpkg-deb", "-W", file.toString())).replace('\t', '='));
    }
    return versions;
  }

  private static String path(String name, String path) {
    if (path.matches(UNUSED) || !path.matches(USED.getOrDefault(name, ".*"))) {
      return null;
    }
    return path.matches(MERGED) ? "usr/" + path : path;
  }

  private static String description(Path file) throws IOException {
    return Tool.output(List.of("dpkg-deb", "-f", file.toString())) + "\n";
  }

  private static String name(Path file) {
    return file.getFileName().toString().replaceFirst("_.*", "");
  }

  private static List<Path> found(Path folder, String name) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> file.toString().endsWith(".deb") && name(file).equals(name))
          .toList();
    }
  }
}
