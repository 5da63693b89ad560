package io.vertigrad.internal.checkpoint;

import io.vertx.core.json.JsonObject;

/**
 * The position of an array in a checkpoint file, as little-endian float32.
 *
 * @param offset byte offset from the start of the file
 * @param bytes length in bytes
 * @param crc32c CRC-32C of these bytes
 */
record Block(long offset, long bytes, int crc32c) {

  JsonObject toJson() {
    return new JsonObject().put("offset", offset).put("bytes", bytes).put("crc32c", crc32c);
  }

  static Block fromJson(JsonObject json) {
    return new Block(json.getLong("offset"), json.getLong("bytes"), json.getInteger("crc32c"));
  }

  /** Returns the number of elements. */
  int length() {
    return Math.toIntExact(bytes / Float.BYTES);
  }
}
