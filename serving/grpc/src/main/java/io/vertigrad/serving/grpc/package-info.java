/**
 * Answers over gRPC, by the Open Inference Protocol and gRPC's protocols for health and reflection,
 * with Vert.x's gRPC server.
 *
 * <p>There are no generated classes. They would need {@code protoc}, a program for each processor
 * and system, in every build. They would also keep the elements of a tensor as objects before any
 * limit of memory is known, where a request of a few bytes may ask for many. {@link
 * io.vertigrad.serving.grpc.InferenceMessage} reads and writes the few messages with the streams of
 * {@code protobuf-java}: it counts elements before it takes memory for them, and hands tensors on
 * in the binary form that HTTP reads, so that both protocols make the same checks. Tests compare it
 * with the descriptors of the {@code .proto} files, and with Python's gRPC.
 *
 * <p>{@code services.desc} is for reflection: what {@code protoc --descriptor_set_out=services.desc
 * open_inference.proto health.proto reflection.proto} makes of the files beside it.
 */
package io.vertigrad.serving.grpc;
