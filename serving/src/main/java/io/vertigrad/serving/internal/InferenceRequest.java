package io.vertigrad.serving.internal;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.FieldReader.Field;
import io.vertigrad.serving.internal.InferenceTensor.Type;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A request of the Open Inference Protocol, and the response to it.
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

  private static final String PARAMETERS = "parameters";
  private static final String BINARY_SIZE = "binary_data_size";

  /** A response: JSON, and the binary data behind it, which may be empty. */
  record Response(JsonObject json, Buffer binary) {}

  /** Returns a request for all outputs in JSON. */
  static InferenceRequest of(float[] inputs, SampleFormat format) {
    return new InferenceRequest(inputs, Optional.empty(), all(format, false));
  }

  /**
   * Reads a request.
   *
   * @param body JSON, then the binary data of the inputs in their order
   * @param headerBytes length of the JSON; 0 if the body is the elements of the only input
   */
  static InferenceRequest read(Buffer body, int headerBytes, SampleFormat format) {
    if (headerBytes < 0 || headerBytes > body.length()) {
      throw Refusal.invalid(
          "Inference-Header-Content-Length: is %d, expected at most the %d bytes of the body",
          headerBytes, body.length());
    }
    if (headerBytes == 0) {
      return new InferenceRequest(raw(body, format), Optional.empty(), all(format, true));
    }
    JsonObject json = json(body.slice(0, headerBytes));
    float[] inputs = inputs(tensors(json, body.slice(headerBytes, body.length())), format);
    Object id = json.getValue("id");
    return new InferenceRequest(
        inputs, Optional.ofNullable(id).map(String::valueOf), outputs(json, format));
  }

  private static JsonObject json(Buffer text) {
    try {
      return new JsonObject(text);
    } catch (DecodeException | ClassCastException e) {
      throw Refusal.invalid(
          "body: is not a JSON object: %s", String.valueOf(e.getMessage()).split("\n")[0]);
    }
  }

  private static float[] raw(Buffer body, SampleFormat format) {
    if (format.fields().isPresent()) {
      throw Refusal.invalid("body: is raw data, expected JSON: this model's inputs have names");
    }
    int count = body.length() / Float.BYTES;
    if (count == 0 || count % format.inputs() != 0 || body.length() != Float.BYTES * count) {
      throw Refusal.invalid(
          "body: has %d bytes, expected a multiple of %d: float32, %d for each sample",
          body.length(), Float.BYTES * format.inputs(), format.inputs());
    }
    float[] inputs = new float[count];
    for (int i = 0; i < count; i++) {
      inputs[i] = Float.intBitsToFloat(body.getIntLE(Float.BYTES * i));
    }
    return inputs;
  }

  private static List<InferenceTensor> tensors(JsonObject json, Buffer binary) {
    if (!(json.getValue("inputs") instanceof JsonArray array) || array.isEmpty()) {
      throw Refusal.invalid(
          "inputs: is %s, expected an array of tensors",
          SampleFormat.shown(json.getValue("inputs")));
    }
    List<InferenceTensor> tensors = new ArrayList<>();
    int at = 0;
    for (int i = 0; i < array.size(); i++) {
      String where = "inputs[%d]".formatted(i);
      if (!(array.getValue(i) instanceof JsonObject tensor)) {
        throw Refusal.invalid(
            "%s: is %s, expected a tensor", where, SampleFormat.shown(array.getValue(i)));
      }
      Object size = parameters(where, tensor).getValue(BINARY_SIZE);
      Buffer part = null;
      if (size != null) {
        if (!(size instanceof Number number)
            || number.longValue() < 0
            || number.longValue() > binary.length() - at) {
          throw Refusal.invalid(
              "%s.parameters.binary_data_size: is %s, expected at most the %d bytes that are left",
              where, SampleFormat.shown(size), binary.length() - at);
        }
        part = binary.slice(at, at + number.intValue());
        at += number.intValue();
      }
      tensors.add(InferenceTensor.read(where, tensor, part));
    }
    if (at != binary.length()) {
      throw Refusal.invalid(
          "body: has %d bytes behind its tensors, expected none: does binary_data_size of an input fail?",
          binary.length() - at);
    }
    return tensors;
  }

  private static JsonObject parameters(String where, JsonObject of) {
    Object found = of.getValue(PARAMETERS);
    if (found != null && !(found instanceof JsonObject)) {
      throw Refusal.invalid(
          "%s.parameters: is %s, expected an object", where, SampleFormat.shown(found));
    }
    return found == null ? new JsonObject() : (JsonObject) found;
  }

  private static float[] inputs(List<InferenceTensor> tensors, SampleFormat format) {
    boolean only = tensors.size() == 1 && tensors.get(0).name().equals(INPUT);
    if (format.fields().isPresent() && !only) {
      return ofFields(tensors, format);
    }
    if (!only) {
      throw Refusal.invalid(
          "inputs: has %s, expected one named \"input\"",
          tensors.stream().map(InferenceTensor::name).toList());
    }
    InferenceTensor tensor = tensors.get(0);
    int each = format.fields().map(reader -> reader.fields().size()).orElse(format.inputs());
    int found = tensor.values().size();
    long first = tensor.shape().get(0);
    if (found % each != 0 || first != found / each && found != each) {
      throw Refusal.invalid(
          "inputs[0].shape: is %s, expected the number of samples, then %s",
          tensor.shape(), format.fields().isPresent() ? List.of(each) : format.shape());
    }
    return ofRows(tensor, found / each, each, format);
  }

  private static float[] ofRows(
      InferenceTensor tensor, int samples, int each, SampleFormat format) {
    float[] inputs = new float[Math.multiplyExact(samples, format.inputs())];
    boolean image = format.isImage() && tensor.type() == Type.UINT8;
    for (int i = 0; i < samples; i++) {
      List<Object> row = tensor.values().subList(i * each, (i + 1) * each);
      if (image) {
        byte[] bytes = new byte[each];
        for (int k = 0; k < each; k++) {
          bytes[k] = ((Number) row.get(k)).byteValue();
        }
        format.readBytes(bytes, 0, inputs, i * format.inputs());
      } else {
        format.read(row, inputs, i * format.inputs(), "inputs[0], sample %d".formatted(i));
      }
    }
    return inputs;
  }

  /** Reads samples of which each value is a tensor of its own, named after its field. */
  private static float[] ofFields(List<InferenceTensor> tensors, SampleFormat format) {
    int samples = tensors.get(0).values().size();
    Map<String, InferenceTensor> byName = new HashMap<>();
    for (int i = 0; i < tensors.size(); i++) {
      InferenceTensor tensor = tensors.get(i);
      if (tensor.values().size() != samples || tensor.shape().get(0) != samples) {
        throw Refusal.invalid(
            "inputs[%d].shape: is %s, expected [%d], as many values as the first",
            i, tensor.shape(), samples);
      }
      byName.put(tensor.name(), tensor);
    }
    float[] inputs = new float[Math.multiplyExact(samples, format.inputs())];
    for (int i = 0; i < samples; i++) {
      Map<String, Object> sample = new LinkedHashMap<>();
      int index = i;
      byName.forEach((name, tensor) -> sample.put(name, tensor.values().get(index)));
      format.readNamed(sample, inputs, i * format.inputs(), "sample %d".formatted(i));
    }
    return inputs;
  }

  private static Map<String, Boolean> all(SampleFormat format, boolean binary) {
    Map<String, Boolean> all = new LinkedHashMap<>();
    names(format).forEach(name -> all.put(name, binary));
    return all;
  }

  private static List<String> names(SampleFormat format) {
    return format.targets().kind() == Targets.Kind.CLASS ? List.of(OUTPUT, CLASS) : List.of(OUTPUT);
  }

  private static Map<String, Boolean> outputs(JsonObject json, SampleFormat format) {
    boolean binary =
        Boolean.TRUE.equals(parameters("request", json).getValue("binary_data_output"));
    if (!(json.getValue("outputs") instanceof JsonArray array) || array.isEmpty()) {
      return all(format, binary);
    }
    Map<String, Boolean> outputs = new LinkedHashMap<>();
    for (int i = 0; i < array.size(); i++) {
      Object name = array.getValue(i) instanceof JsonObject o ? o.getValue("name") : null;
      if (!(name instanceof String known) || !names(format).contains(known)) {
        throw Refusal.invalid(
            "outputs[%d].name: is %s, expected one of %s",
            i, SampleFormat.shown(name), names(format));
      }
      Object own =
          parameters("outputs[%d]".formatted(i), array.getJsonObject(i)).getValue("binary_data");
      outputs.put(known, own == null ? binary : Boolean.TRUE.equals(own));
    }
    return outputs;
  }

  /** Returns the response to this request. */
  Response response(String model, PredictionAnswer answer, SampleFormat format) {
    JsonArray tensors = new JsonArray();
    Buffer binary = Buffer.buffer();
    outputs.forEach(
        (name, inBinary) ->
            tensors.add(tensor(name, answer, format).write(inBinary ? binary : null)));
    JsonObject json =
        new JsonObject()
            .put("model_name", model)
            .put("model_version", Long.toString(answer.version()));
    id.ifPresent(text -> json.put("id", text));
    json.put(PARAMETERS, new JsonObject().put("age_millis", answer.ageMillis()));
    return new Response(json.put("outputs", tensors), binary);
  }

  private static InferenceTensor tensor(String name, PredictionAnswer answer, SampleFormat format) {
    long samples = answer.outputs().length / format.outputs();
    List<Long> shape = new ArrayList<>(List.of(samples));
    if (format.targets().positions() > 1) {
      shape.add((long) format.targets().positions());
    }
    List<Object> values = new ArrayList<>();
    if (name.equals(CLASS)) {
      values.addAll(format.classes(answer.outputs()));
      return new InferenceTensor(name, Type.BYTES, shape, values);
    }
    shape.add((long) format.targets().outputs());
    for (float value : answer.outputs()) {
      values.add(value);
    }
    return new InferenceTensor(name, Type.FP32, shape, values);
  }

  /** Returns the description of a model. */
  static JsonObject metadata(String model, long version, SampleFormat format) {
    JsonArray inputs = new JsonArray();
    if (format.fields().isPresent()) {
      for (Field field : format.fields().get().fields()) {
        inputs.add(described(field.name(), field.text() ? Type.BYTES : Type.FP32, List.of()));
      }
    } else {
      inputs.add(described(INPUT, Type.FP32, format.shape()));
    }
    List<Integer> positions =
        format.targets().positions() > 1 ? List.of(format.targets().positions()) : List.of();
    List<Integer> all = new ArrayList<>(positions);
    all.add(format.targets().outputs());
    JsonArray outputs = new JsonArray().add(described(OUTPUT, Type.FP32, all));
    if (format.targets().kind() == Targets.Kind.CLASS) {
      outputs.add(described(CLASS, Type.BYTES, positions));
    }
    JsonArray versions = version < 0 ? new JsonArray() : JsonArray.of(Long.toString(version));
    return new JsonObject()
        .put("name", model)
        .put("versions", versions)
        .put("platform", "vertigrad")
        .put("inputs", inputs)
        .put("outputs", outputs);
  }

  private static JsonObject described(String name, Type type, List<Integer> shape) {
    JsonArray dimensions = new JsonArray().add(-1);
    shape.forEach(dimensions::add);
    return new JsonObject().put("name", name).put("datatype", type.name()).put("shape", dimensions);
  }
}
