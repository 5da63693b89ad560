package io.vertigrad.serving.grpc;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.function.Consumer;

/** Messages of the protocol, written and read by protobuf's own classes. */
public final class Messages {

  private static final FileDescriptor INFERENCE = inference();

  private Messages() {}

  static List<FileDescriptorProto> files() {
    try (InputStream in = InferenceMessage.class.getResourceAsStream("services.desc")) {
      return FileDescriptorSet.parseFrom(in).getFileList();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static FileDescriptor inference() {
    try {
      return FileDescriptor.buildFrom(files().get(0), new FileDescriptor[0]);
    } catch (DescriptorValidationException e) {
      throw new AssertionError(e);
    }
  }

  public static Descriptor type(String name) {
    return INFERENCE.findMessageTypeByName(name);
  }

  /** Returns an encoded message. */
  public static byte[] message(String type, Consumer<DynamicMessage.Builder> fields) {
    DynamicMessage.Builder message = DynamicMessage.newBuilder(type(type));
    fields.accept(message);
    return message.build().toByteArray();
  }

  public static void set(DynamicMessage.Builder message, String field, Object value) {
    message.setField(message.getDescriptorForType().findFieldByName(field), value);
  }

  public static void set(
      DynamicMessage.Builder message, String field, Consumer<DynamicMessage.Builder> fields) {
    set(message, field, (Object) inner(message, field, fields));
  }

  public static void append(DynamicMessage.Builder message, String field, Object value) {
    message.addRepeatedField(message.getDescriptorForType().findFieldByName(field), value);
  }

  public static void add(
      DynamicMessage.Builder message, String field, Consumer<DynamicMessage.Builder> fields) {
    append(message, field, inner(message, field, fields));
  }

  /** Adds an {@code InferParameter} to the map of parameters. */
  static void parameter(DynamicMessage.Builder message, String key, String kind, Object value) {
    add(
        message,
        "parameters",
        entry -> {
          set(entry, "key", key);
          set(entry, "value", choice -> set(choice, kind, value));
        });
  }

  private static DynamicMessage inner(
      DynamicMessage.Builder message, String field, Consumer<DynamicMessage.Builder> fields) {
    FieldDescriptor known = message.getDescriptorForType().findFieldByName(field);
    DynamicMessage.Builder inner = DynamicMessage.newBuilder(known.getMessageType());
    fields.accept(inner);
    return inner.build();
  }

  public static Object get(DynamicMessage message, String field) {
    return message.getField(message.getDescriptorForType().findFieldByName(field));
  }
}
