package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A file of CSV with a header, or of JSON lines, read once in its order. In each round the ranks
 * take batches that follow each other in the file.
 */
public final class FileSource implements EventSource {

  static final String CSV = "csv";
  static final String JSON = "json";

  private static final int BLOCK_BYTES = 1 << 18;

  /** The settings of the source. */
  record FileConfig(Path path, String format, char separator) {

    static FileConfig read(Settings source) {
      source.string("kind", "file");
      Path path = Path.of(source.requiredString("path"));
      boolean csv = path.toString().toLowerCase(Locale.ROOT).endsWith(".csv");
      String format = source.choice("format", csv ? CSV : JSON, CSV, JSON);
      String separator = source.string("separator", ",");
      if (separator.length() != 1 || separator.charAt(0) > 127 || separator.charAt(0) == '"') {
        throw source.refuse(
            "separator", "is \"%s\", expected one character such as , or ;".formatted(separator));
      }
      source.refuseUnknown();
      return new FileConfig(path, format, separator.charAt(0));
    }

    FileConfig existing(Settings source) {
      if (!Files.isRegularFile(path)) {
        throw source.refuse(
            "path",
            "is \"%s\": there is no such file, expected one with events as %s"
                .formatted(path, format.equals(CSV) ? "CSV with a header" : "lines of JSON"));
      }
      return this;
    }
  }

  @Override
  public String kind() {
    return "file";
  }

  @Override
  public void scopes(Settings source) {
    source.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE).has("path");
  }

  @Override
  public void check(Settings source) {
    FileConfig.read(source).existing(source);
  }

  @Override
  public OptionalLong length(Settings source) {
    FileConfig config = FileConfig.read(source).existing(source);
    long lines = 0;
    boolean blank = true;
    byte[] block = new byte[BLOCK_BYTES];
    try (InputStream in = Files.newInputStream(config.path())) {
      for (int read = in.read(block); read >= 0; read = in.read(block)) {
        for (int i = 0; i < read; i++) {
          byte found = block[i];
          if (found == '\n') {
            lines += blank ? 0 : 1;
            blank = true;
          } else if (blank && found != '\r' && found != ' ' && found != '\t') {
            blank = false;
          }
        }
      }
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(config.path(), e), e);
    }
    lines += blank ? 0 : 1;
    long events = config.format().equals(CSV) ? lines - 1 : lines;
    if (events < 1) {
      throw new DataException(
          "%s: has no event, expected at least one line%s"
              .formatted(config.path(), config.format().equals(CSV) ? " below its header" : ""));
    }
    return OptionalLong.of(events);
  }

  /**
   * Reads fields of the first events, as far as they are well-formed: training reports the others.
   *
   * @param most most events to read
   * @return for each event a value of each field
   */
  static List<Object[]> first(Settings source, List<String> fields, int most) {
    FileConfig config = FileConfig.read(source).existing(source);
    List<Object[]> events = new ArrayList<>();
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(Files.newInputStream(config.path()), StandardCharsets.UTF_8))) {
      LineFormat format = config.format().equals(JSON) ? LineFormat.json(fields) : null;
      for (String line = reader.readLine();
          line != null && events.size() < most;
          line = reader.readLine()) {
        byte[] bytes = line.replace("\uFEFF", "").getBytes(StandardCharsets.UTF_8);
        if (line.isBlank()) {
          continue;
        }
        if (format == null) {
          List<String> columns =
              LineFormat.split(bytes, 0, bytes.length, (byte) config.separator());
          format = LineFormat.csv(columns, fields, config.separator());
        } else {
          events.add(format.read(bytes, 0, bytes.length));
        }
      }
    } catch (IOException | DataException unreadable) {
      return events;
    }
    return events;
  }

  @Override
  public EventReader open(Settings source, Reading reading, Optional<JsonObject> position) {
    return new FileReader(FileConfig.read(source).existing(source), reading, position);
  }
}
