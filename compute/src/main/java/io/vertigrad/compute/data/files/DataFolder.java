package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The folder that the user named, and the subfolders that may hold a data set's files instead.
 *
 * @param root the folder itself, searched first
 * @param subfolders names of subfolders, searched next in this order
 * @param advice what to do when a file is missing
 */
record DataFolder(Path root, List<String> subfolders, String advice) {

  /** Returns the folder of {@code config}, which must name an existing one. */
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

  /**
   * Returns the file with this name, or with {@code .gz} appended, from the first folder that has
   * it.
   */
  Optional<Path> find(String name) {
    return places()
        .flatMap(place -> Stream.of(place.resolve(name), place.resolve(name + ".gz")))
        .filter(Files::isRegularFile)
        .findFirst();
  }

  /**
   * Returns the file as {@link #find} does, or throws an error that says what was searched for and
   * where.
   */
  Path require(String name) {
    return find(name).orElseThrow(() -> missing(name));
  }

  DataException missing(String name) {
    return new DataException(
        "%s: has no %s or %s.gz, neither directly nor in %s; %s"
            .formatted(root, name, name, String.join("/, ", subfolders) + "/", advice));
  }

  /** Returns the folders to search, the root first. */
  Stream<Path> places() {
    return Stream.concat(Stream.of(root), subfolders.stream().map(root::resolve));
  }
}
