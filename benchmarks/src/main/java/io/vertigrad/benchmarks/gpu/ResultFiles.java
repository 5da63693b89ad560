package io.vertigrad.benchmarks.gpu;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** Writes the result of a check: a table for people and the same for programs. */
final class ResultFiles {

  /** The table. */
  static final String TABLE = "result.md";

  private static final String JSON = "result.json";
  private static final int MOST_REMARK = 300;

  private final GpuCheckOptions options;
  private final Map<String, String> facts;

  /**
   * Creates the writer.
   *
   * @param facts the card, the driver, versions, date and revision, in the order of the table
   */
  ResultFiles(GpuCheckOptions options, Map<String, String> facts) {
    this.options = options;
    this.facts = facts;
  }

  /** Writes both files; readers never see half of one. */
  void write(List<RowResult> results) throws IOException {
    JsonArray rows = new JsonArray();
    results.forEach(result -> rows.add(result.toJson()));
    JsonObject about = new JsonObject();
    facts.forEach(about::put);
    JsonObject json =
        new JsonObject()
            .put("rehearsal", options.rehearsal())
            .put("quick", options.quick())
            .put("about", about)
            .put("rows", rows);
    Files.createDirectories(options.out());
    replace(options.out().resolve(JSON), json.encodePrettily());
    replace(options.out().resolve(TABLE), table(results));
  }

  /** Returns the table. */
  String table(List<RowResult> results) {
    StringBuilder text = new StringBuilder("# GPU check\n\n");
    if (options.rehearsal()) {
      text.append("**Processor: a rehearsal, no figures.**\n\n");
    } else if (options.quick()) {
      text.append("**Quick: too short to be quoted.**\n\n");
    }
    text.append("| | |\n| --- | --- |\n");
    facts.forEach((name, value) -> text.append("| %s | %s |%n".formatted(name, cell(value))));
    for (CheckRow.Group group : CheckRow.Group.ALL) {
      List<RowResult> own =
          results.stream().filter(result -> result.row().group() == group).toList();
      if (!own.isEmpty()) {
        text.append("%n## %s%n%n".formatted(group.title()));
        text.append("| what | unit | here | PyTorch | ratio | aim | outcome | remarks |\n");
        text.append("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
        own.forEach(result -> text.append(line(result)));
      }
    }
    return text.append("\nA ratio above 1 is faster than PyTorch.\n").toString();
  }

  private static String line(RowResult result) {
    return "| %s | %s | %s | %s | %s | %s | %s | %s |%n"
        .formatted(
            cell(result.row().name()),
            result.row().unit(),
            number(result.value()),
            number(result.peer()),
            number(result.ratio()),
            result.row().aim(),
            result.outcome(),
            cell(result.remark()));
  }

  private static String number(OptionalDouble value) {
    return value.isPresent() ? Aim.number(value.getAsDouble()) : "";
  }

  /** Returns a text that stays in its cell of the table. */
  private static String cell(String text) {
    String line = text.strip().replaceAll("\\s*\\R\\s*", " / ").replace("|", "\\|");
    return line.length() > MOST_REMARK ? line.substring(0, MOST_REMARK) + "..." : line;
  }

  private static void replace(Path file, String text) throws IOException {
    Path part = file.resolveSibling(file.getFileName() + ".part");
    Files.writeString(part, text);
    Files.move(part, file, StandardCopyOption.REPLACE_EXISTING);
  }
}
