package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Compares {@code docs/reference/wire-format.md} with the code. */
class WireFormatDocumentTest {

  private static final Set<HeaderField> ALWAYS =
      EnumSet.of(
          HeaderField.MAGIC,
          HeaderField.FORMAT_VERSION,
          HeaderField.KIND,
          HeaderField.PAYLOAD_LENGTH,
          HeaderField.CHECKSUM);

  private static List<String> document;

  @BeforeAll
  static void read() throws IOException {
    Path module = Path.of(System.getProperty("basedir", ""));
    document = Files.readAllLines(module.resolve("../docs/reference/wire-format.md"));
  }

  @Test
  void shouldListEveryFieldAtItsOffsetWhenRead() {
    List<String> expected = new ArrayList<>();
    for (HeaderField field : HeaderField.values()) {
      String type = field.type().toString().toLowerCase();
      expected.add(
          "%d|%d|%s|%s".formatted(field.offset(), field.type().bytes(), type, field.label()));
    }

    assertEquals(expected, columns("## Header", 4));
  }

  @Test
  void shouldCoverTheHeaderWithoutGapWhenFieldsAreLaidOut() {
    int end = 0;
    for (HeaderField field : HeaderField.values()) {
      assertEquals(end, field.offset(), field.label());
      end += field.type().bytes();
    }
    assertEquals(HeaderField.HEADER_BYTES, end);
    assertTrue(end + FrameLimits.MAX_PAYLOAD_BYTES <= FrameLimits.MAX_FRAME_BYTES);
  }

  @Test
  void shouldListEveryKindWhenRead() {
    List<String> expected =
        FrameCodecs.all().stream()
            .map(c -> "%d|`%s`|`%s`".formatted(c.kind(), c.name(), c.type().getSimpleName()))
            .toList();

    assertEquals(expected, columns("## Kinds", 3));
  }

  @Test
  void shouldListExactlyTheFieldsThatAKindUsesWhenRead() {
    for (String row : columns("## Kinds", 4)) {
      String[] cells = row.split("\\|", -1);
      Frame frame = Frames.ALL.get(Integer.parseInt(cells[0]) - 1);
      Set<HeaderField> listed = listed(cells[3]);
      for (HeaderField field : HeaderField.values()) {
        if (!listed.contains(field)) {
          assertEquals(field.label(), faultWhenSet(frame, field), frame.toString());
        }
      }
      assertEquals(frame, Frames.decode(frame, Frames.encode(frame)));
    }
  }

  @Test
  void shouldListEveryCodeWhenRead() {
    List<String> expected =
        Stream.of(
                codes("data type", DataType.values()),
                codes("encoding", Encoding.values()),
                codes("outcome", ParameterPartition.Outcome.values()),
                codes("reason", Refusal.Reason.values()))
            .flatMap(List::stream)
            .toList();

    assertEquals(expected, columns("## Codes", 3));
  }

  @Test
  void shouldStateEveryLimitWhenRead() {
    assertEquals(
        List.of(
            "frame, header included|%,d bytes (511.5 KiB)".formatted(FrameLimits.MAX_FRAME_BYTES),
            "payload|%,d bytes (511 KiB)".formatted(FrameLimits.MAX_PAYLOAD_BYTES),
            "float32 elements|%,d".formatted(FrameLimits.MAX_ELEMENTS),
            "float16 and bfloat16 elements|%,d"
                .formatted(FrameLimits.maxElements(DataType.BFLOAT16)),
            "elements by any encoding but `DENSE`|%,d"
                .formatted(Encoding.INT8.maxElements(DataType.FLOAT32)),
            "message of a refusal|%,d bytes".formatted(FrameLimits.MAX_MESSAGE_BYTES),
            "each text of a malformed frame's report|%,d bytes"
                .formatted(FrameLimits.MAX_DETAIL_BYTES)),
        columns("## Limits", 2));
  }

  @Test
  void shouldShowTheBytesOfTheExampleWhenRead() {
    byte[] bytes = Frames.encode(Frames.GRADIENT);
    List<String> dump = new ArrayList<>();
    for (int at = 0; at < bytes.length; at += 16) {
      byte[] line = Arrays.copyOfRange(bytes, at, Math.min(at + 16, bytes.length));
      dump.add("%03x  %s".formatted(at, HexFormat.ofDelimiter(" ").formatHex(line)));
    }
    int filter = document.indexOf("```");

    assertEquals(dump, document.subList(filter + 1, filter + 1 + dump.size()));
  }

  private static String faultWhenSet(Frame frame, HeaderField field) {
    byte[] bytes = Frames.encode(frame);
    bytes[field.offset()] = 1;
    Frame decoded = Frames.decode(frame, Frames.seal(bytes));
    return assertInstanceOf(Malformed.class, decoded, field + " of " + frame).field();
  }

  private static Set<HeaderField> listed(String cell) {
    String identity = "job, worker, incarnation, epoch, partition, step";
    List<String> labels = List.of(cell.replace("identity", identity).split(", "));
    Set<HeaderField> fields = EnumSet.copyOf(ALWAYS);
    for (HeaderField field : HeaderField.values()) {
      if (labels.contains(field.label())) {
        fields.add(field);
      }
    }
    return fields;
  }

  private static <E extends Enum<E> & Coded> List<String> codes(String field, E[] constants) {
    return Arrays.stream(constants)
        .map(constant -> "%s|%d|`%s`".formatted(field, constant.code(), constant))
        .toList();
  }

  /** Returns the first columns of the table below a heading, without its head, joined by a bar. */
  private static List<String> columns(String heading, int count) {
    return document.stream()
        .skip(document.indexOf(heading))
        .dropWhile(line -> !line.startsWith("|"))
        .takeWhile(line -> line.startsWith("|"))
        .skip(2)
        .map(line -> Arrays.stream(line.split("\\|")).skip(1).limit(count).map(String::strip))
        .map(cells -> String.join("|", cells.toList()))
        .toList();
  }
}
