package io.vertigrad.serving.grpc;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.DescriptorProtos.ServiceDescriptorProto;
import com.google.protobuf.WireFormat;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Describes the services to clients that do not have their files: gRPC's protocol for reflection,
 * of which both versions have the same messages. Immutable.
 */
final class ServerReflection {

  private static final String DESCRIPTORS = "services.desc";
  private static final int NOT_FOUND = 5;
  private static final int UNIMPLEMENTED = 12;

  private final List<String> services = new ArrayList<>();

  /** Encoded files, by their names and by the full names of what they declare. */
  private final Map<String, byte[]> files = new LinkedHashMap<>();

  ServerReflection() {
    try (InputStream in = ServerReflection.class.getResourceAsStream(DESCRIPTORS)) {
      FileDescriptorSet.parseFrom(in).getFileList().forEach(this::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void add(FileDescriptorProto file) {
    byte[] encoded = file.toByteArray();
    files.put(file.getName(), encoded);
    for (ServiceDescriptorProto service : file.getServiceList()) {
      String name = file.getPackage() + "." + service.getName();
      services.add(name);
      files.put(name, encoded);
      service.getMethodList().forEach(method -> files.put(name + "." + method.getName(), encoded));
    }
    file.getMessageTypeList().forEach(type -> add(file.getPackage(), type, encoded));
  }

  private void add(String within, DescriptorProto type, byte[] encoded) {
    String name = within + "." + type.getName();
    files.put(name, encoded);
    type.getNestedTypeList().forEach(inner -> add(name, inner, encoded));
    type.getEnumTypeList().forEach(inner -> files.put(name + "." + inner.getName(), encoded));
  }

  /** Returns the names of the described services. */
  List<String> services() {
    return List.copyOf(services);
  }

  /** Answers a {@code ServerReflectionRequest} with a {@code ServerReflectionResponse}. */
  Buffer answer(byte[] request) {
    int[] kind = {0};
    String[] asked = {""};
    InferenceMessage.read(
        "ServerReflectionRequest",
        InferenceMessage.stream(ByteBuffer.wrap(request)),
        (in, tag) -> {
          int field = WireFormat.getTagFieldNumber(tag);
          if (field < 3 || WireFormat.getTagWireType(tag) != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
            return false;
          }
          kind[0] = field;
          asked[0] = field == 5 ? "" : in.readStringRequireUtf8();
          return field != 5;
        });
    byte[] file = files.get(asked[0]);
    return Buffer.buffer(
        InferenceMessage.bytes(
            out -> {
              out.writeByteArray(2, request);
              switch (kind[0]) {
                case 3, 4 -> {
                  if (file == null) {
                    InferenceMessage.message(
                        out,
                        7,
                        error -> {
                          error.writeInt32(1, NOT_FOUND);
                          error.writeString(2, "not found: " + asked[0]);
                        });
                  } else {
                    InferenceMessage.message(out, 4, found -> found.writeByteArray(1, file));
                  }
                }
                case 7 ->
                    InferenceMessage.message(
                        out,
                        6,
                        list -> {
                          for (String service : services) {
                            InferenceMessage.message(list, 1, name -> name.writeString(1, service));
                          }
                        });
                default ->
                    InferenceMessage.message(
                        out,
                        7,
                        error -> {
                          error.writeInt32(1, UNIMPLEMENTED);
                          error.writeString(2, "there are no extensions");
                        });
              }
            }));
  }
}
