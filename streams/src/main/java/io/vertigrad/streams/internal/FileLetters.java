package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.streams.Event.Original;
import io.vertx.core.json.JsonObject;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HashSet;
import java.util.Set;

/**
 * A file of dead letters, one JSON object in each line: {@code origin}, {@code reason}, and the
 * event as {@code text}, or as {@code base64} if it is no UTF-8. All workers append to the same
 * file. An event that is read again after a restart is not written again.
 */
final class FileLetters implements BadEvents.DeadLetters {

  private final Path file;
  private final FileChannel channel;

  /** Digests of the lines with an origin that the file has. */
  private final Set<String> known = new HashSet<>();

  FileLetters(Path file) {
    this.file = file;
    try {
      readKnown();
      channel =
          FileChannel.open(
              file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new DataException(
          "data.deadLetter is \"%s\", which cannot be opened: %s; expected a file that can be written"
              .formatted(file, e),
          e);
    }
  }

  private void readKnown() throws IOException {
    if (!Files.exists(file)) {
      return;
    }
    try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
      ByteArrayOutputStream line = new ByteArrayOutputStream();
      for (int next = in.read(); next >= 0; next = in.read()) {
        if (next == '\n') {
          known.add(digest(line.toByteArray()));
          line.reset();
        } else {
          line.write(next);
        }
      }
    }
  }

  @Override
  public void write(Original event, String reason) {
    JsonObject json =
        new JsonObject()
            .put("origin", event.origin().isEmpty() ? event.place() : event.origin())
            .put("reason", reason);
    putBytes(json, "key", event.key());
    if (event.bytes().length > 0) {
      putBytes(json, "text", event.bytes());
    }
    byte[] line = json.encode().getBytes(StandardCharsets.UTF_8);
    if (!event.origin().isEmpty() && !known.add(digest(line))) {
      return;
    }
    try {
      // A line that a killed process did not complete must not swallow this one.
      boolean torn = channel.size() > 0 && !endsWithNewline();
      ByteBuffer bytes = ByteBuffer.allocate(line.length + 2);
      if (torn) {
        bytes.put((byte) '\n');
      }
      bytes.put(line).put((byte) '\n').flip();
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    } catch (IOException e) {
      throw new DataException(
          "%s: an event that cannot be trained on (%s: %s) cannot be kept there: %s; make room there, or resume with --set data.deadLetter=FILE"
              .formatted(file, event.place(), reason, e),
          e);
    }
  }

  private boolean endsWithNewline() throws IOException {
    try (FileChannel read = FileChannel.open(file, StandardOpenOption.READ)) {
      ByteBuffer last = ByteBuffer.allocate(1);
      read.read(last, Math.max(0, read.size() - 1));
      return last.get(0) == '\n';
    }
  }

  private static void putBytes(JsonObject json, String name, byte[] bytes) {
    if (bytes.length == 0) {
      return;
    }
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      json.put(name, text);
    } catch (CharacterCodingException e) {
      json.put(name.equals("text") ? "base64" : name + "Base64", encoded(bytes));
    }
  }

  private static String encoded(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static String digest(byte[] line) {
    try {
      return encoded(MessageDigest.getInstance("SHA-256").digest(line));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public String name() {
    return file.toString();
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new DataException("%s: cannot be closed: %s".formatted(file, e), e);
    }
  }
}
