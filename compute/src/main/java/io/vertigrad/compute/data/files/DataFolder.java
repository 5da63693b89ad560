package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The folder the user named and the subfolders in which a data set's files may lie instead.
 *
 * @param root the folder itself, looked into first
 * @param subfolders names looked into next, in this order
 * @param advice what to do when a file is missing
 */
record DataFolder(Path root, List<String> subfolders, String advice) {

  /** The folder of {@code config}, which must name one that exists. */
  static DataFolder of(DataConfig config, List<String> subfolders, String advice) {
    Path root =
        config
            .directory()
            .orElseThrow(
                () ->
                    new DataException(
                        "data set '%s' has no folder to read from; %s"
                            .formatted(config.name(), advice)));
    if (!Files.isDirectory(root)) {
      throw new DataException(
          "%s: %s, expected a folder with the files of data set '%s'; %s"
              .formatted(
                  root,
                  Files.exists(root) ? "is not a folder" : "no such folder",
                  config.name(),
                  advice));
    }
    return new DataFolder(root, subfolders, advice);
  }

  /** The file of this name or with {@code .gz} behind it, wherever it lies. */
  Optional<Path> find(String name) {
    return places()
        .flatMap(place -> Stream.of(place.resolve(name), place.resolve(name + ".gz")))
        .filter(Files::isRegularFile)
        .findFirst();
  }

  /** As {@link #find}, or an error that says what was looked for and where. */
  Path require(String name) {
    return find(name).orElseThrow(() -> missing(name));
  }

  DataException missing(String name) {
    return new DataException(
        "%s: has no %s or %s.gz, neither directly nor in %s; %s"
            .formatted(root, name, name, String.join("/, ", subfolders) + "/", advice));
  }

  /** Folders to look into, the root first. */
  Stream<Path> places() {
    return Stream.concat(Stream.of(root), subfolders.stream().map(root::resolve));
  }
}
