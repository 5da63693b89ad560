package io.vertigrad.launcher;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A tensor of a safetensors file: values of F32, or of I64 if they are whole. */
record Tensor(boolean whole, List<Integer> shape, double[] values) {

  static Tensor of(boolean whole, List<Integer> shape, double... values) {
    return new Tensor(whole, shape, values);
  }

  static Map<String, Tensor> read(Path file) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    byte[] head = new byte[(int) bytes.getLong()];
    bytes.get(head);
    JsonObject header = new JsonObject(new String(head, StandardCharsets.UTF_8));
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    for (String name : header.fieldNames()) {
      JsonObject entry = header.getJsonObject(name);
      boolean whole = entry.getString("dtype").equals("I64");
      List<Integer> shape = entry.getJsonArray("shape").stream().map(Integer.class::cast).toList();
      double[] values = new double[shape.stream().reduce(1, Math::multiplyExact)];
      for (int i = 0; i < values.length; i++) {
        values[i] = whole ? bytes.getLong() : bytes.getFloat();
      }
      tensors.put(name, new Tensor(whole, shape, values));
    }
    return tensors;
  }

  static Path write(Path file, Map<String, Tensor> tensors) throws IOException {
    JsonObject header = new JsonObject();
    ByteBuffer data = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);
    tensors.forEach(
        (name, tensor) -> {
          int begin = data.position();
          for (double value : tensor.values()) {
            if (tensor.whole()) {
              data.putLong((long) value);
            } else {
              data.putFloat((float) value);
            }
          }
          header.put(
              name,
              new JsonObject()
                  .put("dtype", tensor.whole() ? "I64" : "F32")
                  .put("shape", new JsonArray(tensor.shape()))
                  .put("data_offsets", new JsonArray().add(begin).add(data.position())));
        });
    byte[] head = header.encode().getBytes(StandardCharsets.UTF_8);
    ByteBuffer all =
        ByteBuffer.allocate(Long.BYTES + head.length + data.position())
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(head.length)
            .put(head)
            .put(data.flip());
    return Files.write(file, all.array());
  }
}
