package io.vertigrad.serving.internal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonToken;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.FieldReader.Field;
import io.vertigrad.serving.internal.InferenceTensor.Type;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.LongConsumer;
import java.util.zip.CRC32;
import java.util.zip.GZIPInputStream;

/**
 * A request of the Open Inference Protocol, and the response to it.
 *
 * <p>A body is read twice: first what it says about its tensors, which is compared with the model;
 * then the elements, into arrays of the right size. So a request that is refused costs little.
 *
 * @param inputs the samples' inputs, sample after sample
 * @param id the sender's id, which the response repeats; empty if there is none
 * @param outputs by name of each requested output, whether it is sent in binary form
 */
record InferenceRequest(float[] inputs, Optional<String> id, Map<String, Boolean> outputs) {

  /** Name of the only input of a model whose values have no names. */
  static final String INPUT = "input";

  static final String OUTPUT = "output";
  static final String CLASS = "class";

  private static final String LENGTH = "Inference-Header-Content-Length";
  private static final String NAME = "name";
  private static final String SHAPE = "shape";
  private static final String DATATYPE = "datatype";
  private static final String PARAMETERS = "parameters";
  private static final String OUTPUTS = "outputs";
  private static final String BINARY_SIZE = "binary_data_size";
  private static final String BINARY_DATA = "binary_data";
  private static final String BINARY_OUTPUT = "binary_data_output";
  private static final int MOST_ID = 200;
  private static final JsonFactory FACTORY = new JsonFactory();

  /** Parameters of extensions that change what a request asks for, and that are not known here. */
  private static final List<String> OTHER_EXTENSIONS =
      List.of("classification", "shared_memory_region");

  /** A response. */
  record Response(Buffer body, OptionalInt headerBytes) {}

  /**
   * What the headers of a request say about its body.
   *
   * @param type the media type, in lower case; empty if there is none
   * @param headerBytes length of the JSON before binary data; 0 if there is only data, empty if
   *     there is only JSON
   * @param gzip whether the body is compressed
   */
  record Form(String type, OptionalInt headerBytes, boolean gzip) {

    private static final List<String> PICTURES =
        List.of("image/png", "image/jpeg", "image/gif", "image/bmp");
    private static final List<String> TENSORS =
        List.of("", "application/json", "application/octet-stream");
    private static final int GZIP_BYTES = 18;
    private static final int GZIP_BEGIN = 0x1F8B;

    /**
     * Reads the headers of a request, before its body.
     *
     * @throws Refusal if a body of this type or encoding is not read here
     */
    static Form of(MultiMap headers) {
      String[] content = one(headers, "Content-Type").split(";", 2);
      String type = content[0].strip().toLowerCase(Locale.ROOT);
      if (!PICTURES.contains(type) && !TENSORS.contains(type)) {
        throw unsupported(
            "Content-Type",
            content[0].strip(),
            "application/json, application/octet-stream or a picture: %s"
                .formatted(String.join(", ", PICTURES)));
      }
      String parameters = content.length < 2 ? "" : content[1].strip().toLowerCase(Locale.ROOT);
      if (parameters.startsWith("charset=")
          && !parameters.replace("\"", "").equals("charset=utf-8")) {
        throw unsupported("Content-Type", parameters, "charset=utf-8");
      }
      String encoding = one(headers, "Content-Encoding").strip().toLowerCase(Locale.ROOT);
      boolean gzip = encoding.equals("gzip") || encoding.equals("x-gzip");
      if (!gzip && !encoding.isEmpty() && !encoding.equals("identity")) {
        throw unsupported("Content-Encoding", encoding, "gzip, or none");
      }
      String length = one(headers, LENGTH);
      if (!length.isEmpty() && !length.matches("\\d{1,9}")) {
        throw Refusal.invalid(
            "%s: is %s, expected a number of bytes", LENGTH, SampleFormat.shown(length));
      }
      return new Form(
          type,
          length.isEmpty() ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(length)),
          gzip);
    }

    private static String one(MultiMap headers, String name) {
      List<String> all = headers.getAll(name);
      if (all.size() > 1) {
        throw Refusal.invalid("%s: is there %d times, expected once", name, all.size());
      }
      return all.isEmpty() ? "" : all.get(0);
    }

    private static Refusal unsupported(String header, String found, String expected) {
      return new Refusal(
          Code.UNSUPPORTED,
          "%s: is %s, expected %s".formatted(header, SampleFormat.shown(found), expected));
    }

    /** Returns whether the body is a picture. */
    boolean isPicture() {
      return PICTURES.contains(type);
    }

    /**
     * Returns a body's bytes, decompressed.
     *
     * @param mostBytes the most that they may be (serving.maxBytes)
     * @param memory is called with the number of bytes before they are taken; may refuse
     * @throws Refusal if the bytes are too many, or not what the headers say
     */
    byte[] content(Buffer body, int mostBytes, LongConsumer memory) {
      if (!gzip) {
        memory.accept(body.length());
        return body.getBytes();
      }
      return unpacked(body, "body", "Content-Encoding", mostBytes, memory);
    }

    /**
     * Unpacks one gzip file.
     *
     * @param what names the file in messages
     * @param header says that it is one
     * @param mostBytes the most that it may have (serving.maxBytes)
     * @param memory is called with the number of bytes before they are taken; may refuse
     * @throws Refusal if the bytes are too many, or not one whole file
     */
    static byte[] unpacked(
        Buffer packed, String what, String header, int mostBytes, LongConsumer memory) {
      boolean begins = packed.length() >= GZIP_BYTES && packed.getShort(0) == GZIP_BEGIN;
      // The last four bytes are the size, so no more than that is taken.
      long size = begins ? packed.getUnsignedIntLE(packed.length() - Integer.BYTES) : 0;
      if (size > mostBytes) {
        throw new Refusal(
            Code.TOO_LARGE,
            "%s: has %s bytes without gzip, expected at most %s (serving.maxBytes)"
                .formatted(what, size, mostBytes));
      }
      memory.accept(packed.length() + size);
      byte[] content = new byte[(int) size];
      try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(packed.getBytes()))) {
        boolean whole =
            in.readNBytes(content, 0, content.length) == content.length && in.read() < 0;
        CRC32 sum = new CRC32();
        sum.update(content);
        // The stream takes no notice of bytes behind its end.
        if (whole
            && sum.getValue() == packed.getUnsignedIntLE(packed.length() - 2 * Integer.BYTES)) {
          return content;
        }
      } catch (IOException notGzip) {
        // The message below says what was expected.
      }
      throw Refusal.invalid("%s: is not one whole gzip file, which %s says it is", what, header);
    }
  }

  /** Returns a request for all outputs in JSON. */
  static InferenceRequest of(float[] inputs, SampleFormat format) {
    return new InferenceRequest(inputs, Optional.empty(), all(format, false));
  }

  /**
   * Reads a request.
   *
   * @param body JSON, then the binary data of the inputs in their order
   * @param headerBytes length of the JSON; 0 if the body is the elements of the only input, empty
   *     if it is only JSON
   * @param mostBytes the largest body (serving.maxBytes), which also limits what it asks for
   * @param memory is called with numbers of bytes before they are taken; may refuse
   */
  static InferenceRequest read(
      byte[] body,
      OptionalInt headerBytes,
      SampleFormat format,
      int mostBytes,
      LongConsumer memory) {
    int header = headerBytes.orElse(body.length);
    if (header > body.length) {
      throw Refusal.invalid(
          "%s: is %d, expected at most the %d bytes of the body", LENGTH, header, body.length);
    }
    if (body.length == 0) {
      throw Refusal.invalid("body: is empty, expected a JSON object with \"inputs\"");
    }
    Reader reader = new Reader(body, format, mostBytes, memory);
    if (header == 0) {
      return new InferenceRequest(reader.raw(), Optional.empty(), all(format, true));
    }
    reader.readHeader(header);
    return new InferenceRequest(
        reader.inputs(), Optional.ofNullable(reader.id), reader.requested());
  }

  /** Reads one body. */
  private static final class Reader {

    private final byte[] body;
    private final SampleFormat format;
    private final int mostBytes;
    private final LongConsumer memory;

    /** By name of each input that a tensor may have, its field; -1 for one with all values. */
    private final Map<String, Integer> known = new HashMap<>();

    /** By name of each tensor, how errors name it. */
    private final Map<String, String> places = new HashMap<>();

    private final List<InferenceTensor> tensors = new ArrayList<>();
    private final Map<String, Optional<Boolean>> outputs = new LinkedHashMap<>();
    private Optional<Boolean> binaryOutput = Optional.empty();
    private String id;

    /** Where the binary data of the next tensor begin. */
    private int binaryAt;

    Reader(byte[] body, SampleFormat format, int mostBytes, LongConsumer memory) {
      this.body = body;
      this.format = format;
      this.mostBytes = mostBytes;
      this.memory = memory;
      known.put(INPUT, -1);
      List<Field> fields = fields();
      for (int i = 0; i < fields.size(); i++) {
        known.put(fields.get(i).name(), i);
      }
    }

    private List<Field> fields() {
      return format.fields().map(reader -> reader.fields()).orElse(List.of());
    }

    /** Reads what the JSON says, without the elements of tensors. */
    void readHeader(int header) {
      binaryAt = header;
      boolean hasInputs = false;
      try (RequestJson json = RequestJson.of(body, 0, header)) {
        if (json.next() != JsonToken.START_OBJECT) {
          throw Refusal.invalid(
              "body: is not a JSON object: %s",
              json.token() == null ? "is empty" : "is " + json.shown());
        }
        while (json.nextKey()) {
          switch (json.key()) {
            case "id" -> readId(json);
            case PARAMETERS -> binaryOutput = readFlag(json, PARAMETERS, BINARY_OUTPUT);
            case "inputs" -> {
              hasInputs = true;
              readTensors(json, header);
            }
            case OUTPUTS -> readOutputs(json);
            default -> json.skip();
          }
        }
        if (json.next() != null) {
          throw Refusal.invalid(
              "body: has %s behind its JSON object, expected its end", json.shown());
        }
      }
      if (!hasInputs) {
        throw Refusal.invalid("inputs: is null, expected an array of tensors");
      }
      if (binaryAt != body.length) {
        throw Refusal.invalid(
            "body: has %d bytes behind its tensors, expected none: does binary_data_size of an input fail?",
            body.length - binaryAt);
      }
    }

    private void readId(RequestJson json) {
      id = json.text();
      if (id == null && json.token() != JsonToken.VALUE_NULL) {
        throw Refusal.invalid("id: is %s, expected a text", json.shown());
      }
      if (id != null && id.length() > MOST_ID) {
        throw Refusal.invalid("id: has %d characters, expected at most %d", id.length(), MOST_ID);
      }
    }

    private void readTensors(RequestJson json, int header) {
      if (json.token() != JsonToken.START_ARRAY) {
        throw Refusal.invalid("inputs: is %s, expected an array of tensors", json.shown());
      }
      int most = Math.max(1, fields().size());
      while (json.next() != JsonToken.END_ARRAY) {
        if (tensors.size() == most) {
          throw Refusal.invalid(
              "inputs: has more than %d tensors, expected one for each input of the model", most);
        }
        tensors.add(readTensor(json, "inputs[%s]".formatted(tensors.size()), header));
      }
      if (tensors.isEmpty()) {
        throw Refusal.invalid("inputs: is empty, expected an array of tensors");
      }
    }

    private InferenceTensor readTensor(RequestJson json, String where, int header) {
      requireObject(json, where);
      String name = null;
      Type type = null;
      int[] shape = null;
      int data = -1;
      OptionalInt size = OptionalInt.empty();
      while (json.nextKey()) {
        switch (json.key()) {
          case NAME -> name = readName(json, where);
          case DATATYPE -> type = readType(json, where);
          case SHAPE -> shape = readShape(json, where);
          case PARAMETERS -> size = readSize(json, where);
          case "data" -> {
            if (json.token() == JsonToken.START_ARRAY) {
              data = json.offset() - 1;
            } else if (json.token() != JsonToken.VALUE_NULL) {
              throw Refusal.invalid("%s.data: is %s, expected an array", where, json.shown());
            }
            json.skip();
          }
          default -> json.skip();
        }
      }
      requireKey(name, where, NAME, "a text");
      requireKey(type, where, DATATYPE, "one of " + List.of(Type.values()));
      requireKey(shape, where, SHAPE, "an array of dimensions");
      if (data < 0 == size.isEmpty()) {
        throw Refusal.invalid(
            "%s: has %s, expected either data or binary_data_size in its parameters",
            where, size.isEmpty() ? "no data" : "both");
      }
      int from = size.isEmpty() ? data : binaryAt;
      binaryAt += size.orElse(0);
      InferenceTensor tensor =
          new InferenceTensor(
              where, name, type, shape, size.isPresent(), from, size.isEmpty() ? header : binaryAt);
      requireMetadata(tensor);
      return tensor;
    }

    private static void requireObject(RequestJson json, String where) {
      if (json.token() != JsonToken.START_OBJECT) {
        throw Refusal.invalid("%s: is %s, expected an object", where, json.shown());
      }
    }

    private static void requireKey(Object found, String where, String key, String expected) {
      if (found == null) {
        throw Refusal.invalid("%s.%s: is null, expected %s", where, key, expected);
      }
    }

    private String readName(RequestJson json, String where) {
      String name = json.text();
      if (name == null || !known.containsKey(name)) {
        throw Refusal.invalid(
            "%s.name: is %s, expected %s",
            where,
            json.shown(),
            fields().isEmpty()
                ? "\"input\""
                : "one of " + SampleFormat.cut(String.join(", ", names()), MOST_ID));
      }
      String before = places.putIfAbsent(name, where);
      if (before != null) {
        throw Refusal.invalid(
            "%s.name: is %s, as that of %s, expected each input once",
            where, SampleFormat.shown(name), before);
      }
      return name;
    }

    private List<String> names() {
      return fields().stream().map(Field::name).toList();
    }

    private static Type readType(RequestJson json, String where) {
      return Optional.ofNullable(json.text())
          .flatMap(Type::of)
          .orElseThrow(
              () ->
                  Refusal.invalid(
                      "%s.datatype: is %s, expected one of %s",
                      where, json.shown(), List.of(Type.values())));
    }

    private static int[] readShape(RequestJson json, String where) {
      if (json.token() != JsonToken.START_ARRAY) {
        throw Refusal.invalid(
            "%s.shape: is %s, expected an array of dimensions", where, json.shown());
      }
      int[] shape = new int[InferenceTensor.MOST_DIMENSIONS];
      int dimensions = 0;
      while (json.next() != JsonToken.END_ARRAY) {
        if (dimensions == shape.length) {
          throw Refusal.invalid(
              "%s.shape: has more than %d dimensions, expected at most so many",
              where, shape.length);
        }
        if (!json.isLong() || json.longValue() < 1 || json.longValue() > Integer.MAX_VALUE) {
          throw Refusal.invalid(
              "%s.shape: has %s, expected whole numbers from 1 to %d",
              where, json.shown(), Integer.MAX_VALUE);
        }
        shape[dimensions] = (int) json.longValue();
        dimensions++;
      }
      return Arrays.copyOf(shape, dimensions);
    }

    private OptionalInt readSize(RequestJson json, String where) {
      Optional<Integer> size =
          readParameters(
              json,
              where + "." + PARAMETERS,
              BINARY_SIZE,
              value -> {
                int left = body.length - binaryAt;
                if (!value.isLong() || value.longValue() < 0 || value.longValue() > left) {
                  throw Refusal.invalid(
                      "%s.%s.%s: is %s, expected at most the %d bytes that are left behind the JSON (%s)",
                      where, PARAMETERS, BINARY_SIZE, value.shown(), left, LENGTH);
                }
                return (int) value.longValue();
              });
      return size.map(OptionalInt::of).orElse(OptionalInt.empty());
    }

    private static Optional<Boolean> readFlag(RequestJson json, String where, String key) {
      return readParameters(
          json,
          where,
          key,
          value -> {
            if (!value.token().isBoolean()) {
              throw Refusal.invalid(
                  "%s.%s: is %s, expected true or false", where, key, value.shown());
            }
            return value.token() == JsonToken.VALUE_TRUE;
          });
    }

    /** Reads parameters, of which one is known. */
    private static <T> Optional<T> readParameters(
        RequestJson json, String where, String known, Function<RequestJson, T> value) {
      Optional<T> found = Optional.empty();
      if (json.token() == JsonToken.VALUE_NULL) {
        return found;
      }
      requireObject(json, where);
      while (json.nextKey()) {
        String key = json.key();
        if (key.equals(known)) {
          found = Optional.of(value.apply(json));
        } else if (OTHER_EXTENSIONS.contains(key)) {
          throw Refusal.invalid(
              "%s: has %s of an extension that is not here, expected only binary_tensor_data",
              where, key);
        } else if (!json.token().isScalarValue() || json.token() == JsonToken.VALUE_NULL) {
          throw Refusal.invalid(
              "%s: has %s for %s, expected a text, a number, or true or false",
              where, json.shown(), SampleFormat.shown(key));
        }
      }
      return found;
    }

    private void readOutputs(RequestJson json) {
      if (json.token() == JsonToken.VALUE_NULL) {
        return;
      }
      if (json.token() != JsonToken.START_ARRAY) {
        throw Refusal.invalid("outputs: is %s, expected an array of outputs", json.shown());
      }
      List<String> known = InferenceRequest.names(format);
      while (json.next() != JsonToken.END_ARRAY) {
        if (outputs.size() == known.size()) {
          throw Refusal.invalid(
              "outputs: has more than %d outputs, expected those of the model once: %s",
              known.size(), known);
        }
        String where = "outputs[%s]".formatted(outputs.size());
        requireObject(json, where);
        String name = null;
        Optional<Boolean> binary = Optional.empty();
        while (json.nextKey()) {
          switch (json.key()) {
            case NAME -> {
              name = json.text();
              if (name == null || !known.contains(name)) {
                throw Refusal.invalid(
                    "%s.name: is %s, expected one of %s", where, json.shown(), known);
              }
            }
            case PARAMETERS -> binary = readFlag(json, where + "." + PARAMETERS, BINARY_DATA);
            default -> json.skip();
          }
        }
        requireKey(name, where, NAME, "one of " + known);
        if (outputs.put(name, binary) != null) {
          throw Refusal.invalid("%s.name: is \"%s\" again, expected each output once", where, name);
        }
      }
    }

    /** Returns by name of each requested output whether it is sent in binary form. */
    Map<String, Boolean> requested() {
      boolean otherwise = binaryOutput.orElse(false);
      if (outputs.isEmpty()) {
        return all(format, otherwise);
      }
      Map<String, Boolean> requested = new LinkedHashMap<>();
      outputs.forEach((name, binary) -> requested.put(name, binary.orElse(otherwise)));
      return requested;
    }

    /** Compares a tensor's shape with the model's. */
    private void requireMetadata(InferenceTensor tensor) {
      List<Integer> sample = sampleShape(tensor);
      int[] shape = tensor.shape();
      boolean same = shape.length == 1 + sample.size();
      for (int i = 1; same && i < shape.length; i++) {
        same = shape[i] == sample.get(i - 1);
      }
      if (!same) {
        List<Integer> expected = new ArrayList<>(List.of(-1));
        expected.addAll(sample);
        throw Refusal.invalid(
            "%s.shape: is %s, expected %s, where -1 is the number of samples",
            tensor.where(), tensor.shown(), expected);
      }
      int first = tensors.isEmpty() ? shape[0] : tensors.get(0).shape()[0];
      if (shape[0] != first) {
        throw Refusal.invalid(
            "%s.shape: is %s, expected %d samples, as inputs[0] has",
            tensor.where(), tensor.shown(), first);
      }
      long bytes = Math.max(format.inputs(), (long) Float.BYTES * format.outputs());
      long most = Math.max(1, mostBytes / bytes);
      if (first > most) {
        throw Refusal.invalid(
            "%s.shape: has %d samples, expected at most %d of %d inputs and %d outputs (serving.maxBytes)",
            tensor.where(), first, most, format.inputs(), format.outputs());
      }
    }

    private List<Integer> sampleShape(InferenceTensor tensor) {
      return known.get(tensor.name()) >= 0
          ? List.of()
          : fields().isEmpty() ? format.shape() : List.of(fields().size());
    }

    /** Returns the inputs of a body that is only the elements of the only input. */
    float[] raw() {
      List<Field> fields = fields();
      if (fields.size() > 1 || fields.stream().anyMatch(Field::text)) {
        throw Refusal.invalid(
            "body: is raw data, expected JSON: this model has %d inputs%s",
            fields.size(), fields.size() > 1 ? "" : " of BYTES");
      }
      int each = Float.BYTES * (fields.isEmpty() ? format.inputs() : 1);
      if (body.length % each != 0) {
        throw Refusal.invalid(
            "body: has %d bytes, expected a multiple of %d, one sample in FP32", body.length, each);
      }
      String name = fields.isEmpty() ? INPUT : fields.get(0).name();
      List<Integer> sample = fields.isEmpty() ? format.shape() : List.of();
      int[] shape = new int[1 + sample.size()];
      shape[0] = body.length / each;
      for (int i = 1; i < shape.length; i++) {
        shape[i] = sample.get(i - 1);
      }
      InferenceTensor tensor =
          new InferenceTensor("body", name, Type.FP32, shape, true, 0, body.length);
      requireMetadata(tensor);
      tensors.add(tensor);
      return inputs();
    }

    /** Reads the elements of the tensors. */
    float[] inputs() {
      InferenceTensor first = tensors.get(0);
      int samples = first.shape()[0];
      int size = format.inputs();
      long bytes = (long) Float.BYTES * samples * size;
      for (InferenceTensor tensor : tensors) {
        bytes +=
            (tensor.decodingBytes() + (fields().isEmpty() ? 0 : Double.BYTES)) * tensor.count();
      }
      memory.accept(bytes);
      float[] inputs = new float[samples * size];
      if (fields().isEmpty()) {
        readInput(first, size, inputs);
      } else if (known.get(first.name()) < 0 && tensors.size() == 1) {
        readRows(first, inputs);
      } else {
        readColumns(inputs);
      }
      return inputs;
    }

    private void readInput(InferenceTensor tensor, int size, float[] inputs) {
      if (tensor.type() == Type.BYTES) {
        throw wrongType(tensor, "FP32 or another type of numbers");
      }
      if (format.isImage() && tensor.type() == Type.UINT8) {
        float[][] tables = format.tables().toArray(float[][]::new);
        int plane = size / tables.length;
        tensor.numbers(
            body, (index, value) -> inputs[index] = tables[index % size / plane][(int) value]);
        return;
      }
      tensor.numbers(body, (index, value) -> inputs[index] = (float) value);
      format.checkTokens(inputs, sample -> "%s, sample %s".formatted(tensor.where(), sample));
    }

    private static Refusal wrongType(InferenceTensor tensor, String expected) {
      return Refusal.invalid(
          "%s.datatype: is %s, expected %s", tensor.where(), tensor.type(), expected);
    }

    /** Reads samples that are rows of values, in the order of the fields. */
    private void readRows(InferenceTensor tensor, float[] inputs) {
      List<Field> fields = fields();
      IntFunction<Object> values = values(tensor, fields);
      readNamed(
          inputs,
          (sample, named) -> {
            for (int i = 0; i < fields.size(); i++) {
              named.put(fields.get(i).name(), values.apply(sample * fields.size() + i));
            }
          });
    }

    /** Reads samples of which each value is a tensor of its own, named after its field. */
    private void readColumns(float[] inputs) {
      List<IntFunction<Object>> columns = new ArrayList<>();
      for (InferenceTensor tensor : tensors) {
        int field = known.get(tensor.name());
        if (field < 0) {
          throw Refusal.invalid(
              "%s.name: is \"%s\" beside others, expected one tensor of rows or one for each of %s",
              tensor.where(), INPUT, SampleFormat.cut(String.join(", ", names()), MOST_ID));
        }
        columns.add(values(tensor, List.of(fields().get(field))));
      }
      readNamed(
          inputs,
          (sample, named) -> {
            for (int i = 0; i < columns.size(); i++) {
              named.put(tensors.get(i).name(), columns.get(i).apply(sample));
            }
          });
    }

    /** Puts the values of a sample into a map, by the names of their fields. */
    @FunctionalInterface
    private interface Named {
      void put(int sample, Map<String, Object> named);
    }

    private void readNamed(float[] inputs, Named values) {
      int size = format.inputs();
      Map<String, Object> named = new HashMap<>();
      for (int i = 0; i < inputs.length / size; i++) {
        values.put(i, named);
        int sample = i;
        format.readNamed(named, inputs, i * size, () -> "sample %s".formatted(sample));
      }
    }

    /** Returns the elements of a tensor as values of fields. */
    private IntFunction<Object> values(InferenceTensor tensor, List<Field> fields) {
      if (tensor.type() == Type.BYTES) {
        String[] texts = tensor.texts(body);
        return index -> texts[index];
      }
      boolean words = fields.stream().anyMatch(Field::text);
      if (words && !tensor.type().isWhole() && tensor.type() != Type.BOOL) {
        throw wrongType(tensor, "BYTES: its values are words");
      }
      double[] numbers = new double[tensor.count()];
      tensor.numbers(body, (index, value) -> numbers[index] = value);
      if (!words) {
        return index -> numbers[index];
      }
      return index -> {
        double number = numbers[index];
        return tensor.type() == Type.BOOL ? (Object) (number != 0) : (Object) (long) number;
      };
    }
  }

  private static Map<String, Boolean> all(SampleFormat format, boolean binary) {
    Map<String, Boolean> all = new LinkedHashMap<>();
    names(format).forEach(name -> all.put(name, binary));
    return all;
  }

  /** Returns the names of the outputs: all in one, then the class, or each label or value. */
  private static List<String> names(SampleFormat format) {
    if (format.targets().kind() == Targets.Kind.CLASS) {
      return List.of(OUTPUT, CLASS);
    }
    Set<String> names = new LinkedHashSet<>(List.of(OUTPUT));
    names.addAll(format.columns());
    // Without names of their own, columns have no tensors of their own.
    return names.size() == 1 + format.columns().size() ? List.copyOf(names) : List.of(OUTPUT);
  }

  /** Returns the response to this request. Takes long if there are many outputs. */
  Response response(String model, PredictionAnswer answer, SampleFormat format) {
    List<String> classes =
        outputs.containsKey(CLASS) ? format.classes(answer.outputs()) : List.of();
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    ByteArrayOutputStream binary = new ByteArrayOutputStream();
    try (JsonGenerator json = FACTORY.createGenerator(body)) {
      json.writeStartObject();
      json.writeStringField("model_name", model);
      json.writeStringField("model_version", Long.toString(answer.version()));
      if (id.isPresent()) {
        json.writeStringField("id", id.get());
      }
      json.writeObjectFieldStart(PARAMETERS);
      json.writeNumberField("age_millis", answer.ageMillis());
      json.writeEndObject();
      json.writeArrayFieldStart(OUTPUTS);
      for (Map.Entry<String, Boolean> output : outputs.entrySet()) {
        write(json, output.getKey(), output.getValue(), answer.outputs(), classes, format, binary);
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    int headerBytes = body.size();
    body.writeBytes(binary.toByteArray());
    return new Response(
        Buffer.buffer(body.toByteArray()),
        outputs.containsValue(true) ? OptionalInt.of(headerBytes) : OptionalInt.empty());
  }

  private static void write(
      JsonGenerator json,
      String name,
      boolean inBinary,
      float[] outputs,
      List<String> classes,
      SampleFormat format,
      ByteArrayOutputStream binary)
      throws IOException {
    boolean texts = name.equals(CLASS) && format.targets().kind() == Targets.Kind.CLASS;
    int column = name.equals(OUTPUT) || texts ? -1 : format.columns().indexOf(name);
    float[] numbers = column < 0 ? outputs : column(outputs, column, format.outputs());
    json.writeStartObject();
    json.writeStringField(NAME, name);
    json.writeStringField(DATATYPE, (texts ? Type.BYTES : Type.FP32).name());
    json.writeArrayFieldStart(SHAPE);
    json.writeNumber(outputs.length / format.outputs());
    for (int dimension : texts || column >= 0 ? positions(format) : outputShape(format)) {
      json.writeNumber(dimension);
    }
    json.writeEndArray();
    if (inBinary) {
      byte[] bytes = texts ? bytes(classes) : bytes(numbers);
      binary.writeBytes(bytes);
      json.writeObjectFieldStart(PARAMETERS);
      json.writeNumberField(BINARY_SIZE, bytes.length);
      json.writeEndObject();
    } else {
      json.writeArrayFieldStart("data");
      for (int i = 0; i < (texts ? classes.size() : numbers.length); i++) {
        if (texts) {
          json.writeString(classes.get(i));
        } else {
          json.writeNumber(numbers[i]);
        }
      }
      json.writeEndArray();
    }
    json.writeEndObject();
  }

  /** Returns one output of each sample. */
  private static float[] column(float[] outputs, int column, int each) {
    float[] found = new float[outputs.length / each];
    for (int i = 0; i < found.length; i++) {
      found[i] = outputs[i * each + column];
    }
    return found;
  }

  private static byte[] bytes(float[] values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(Math.multiplyExact(Float.BYTES, values.length))
            .order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return bytes.array();
  }

  private static byte[] bytes(List<String> texts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (String text : texts) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      all.writeBytes(
          ByteBuffer.allocate(Integer.BYTES)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putInt(bytes.length)
              .array());
      all.writeBytes(bytes);
    }
    return all.toByteArray();
  }

  private static List<Integer> positions(SampleFormat format) {
    return format.targets().positions() > 1 ? List.of(format.targets().positions()) : List.of();
  }

  private static List<Integer> outputShape(SampleFormat format) {
    List<Integer> shape = new ArrayList<>(positions(format));
    shape.add(format.targets().outputs());
    return shape;
  }

  /** Returns the description of a model. */
  static JsonObject metadata(String model, List<Long> served, SampleFormat format) {
    JsonArray inputs = new JsonArray();
    if (format.fields().isPresent()) {
      for (Field field : format.fields().get().fields()) {
        inputs.add(described(field.name(), field.text() ? Type.BYTES : Type.FP32, List.of()));
      }
    } else {
      inputs.add(described(INPUT, Type.FP32, format.shape()));
    }
    JsonObject all = described(OUTPUT, Type.FP32, outputShape(format));
    if (!format.outputNames().isEmpty()) {
      all.put(PARAMETERS, JsonObject.of("names", new JsonArray(format.outputNames())));
    }
    JsonArray outputs = new JsonArray().add(all);
    boolean classes = format.targets().kind() == Targets.Kind.CLASS;
    names(format).stream()
        .skip(1)
        .forEach(
            name ->
                outputs.add(described(name, classes ? Type.BYTES : Type.FP32, positions(format))));
    JsonArray versions = new JsonArray(served.stream().map(String::valueOf).toList());
    return new JsonObject()
        .put(NAME, model)
        .put("versions", versions)
        .put("platform", "vertigrad_model")
        .put("inputs", inputs)
        .put(OUTPUTS, outputs);
  }

  private static JsonObject described(String name, Type type, List<Integer> shape) {
    JsonArray dimensions = new JsonArray().add(-1);
    shape.forEach(dimensions::add);
    return new JsonObject().put(NAME, name).put(DATATYPE, type.name()).put(SHAPE, dimensions);
  }
}
