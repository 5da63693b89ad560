"""Asks a server by Python's gRPC, with messages that it learns from the server's reflection.

Usage: client.py PORT MODEL. Prints one line for each check that passed; fails at the first other.
"""

import gzip
import struct
import sys
import threading

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool

try:
    from google.protobuf.message_factory import GetMessageClass
except ImportError:  # protobuf before 4.22
    from google.protobuf.message_factory import MessageFactory

    GetMessageClass = MessageFactory().GetPrototype

SERVICE = "inference.GRPCInferenceService"


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def text_field(number, text):
    data = text.encode()
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    """Yields number and value of the fields of a message that has only texts and numbers."""
    at = 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = read()
        if tag & 7 == 2:
            size = read()
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            yield tag >> 3, read()


class Client:
    def __init__(self, target):
        self.channel = grpc.insecure_channel(
            target, options=[("grpc.max_send_message_length", -1)])
        self.pool = descriptor_pool.DescriptorPool()
        reflect = self.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            lambda data: data, lambda data: data)
        asked = [text_field(7, ""), text_field(4, SERVICE), text_field(4, "grpc.health.v1.Health"),
                 text_field(4, "no.Such")]
        answers = list(reflect(iter(asked), timeout=20))
        listed = dict(fields(answers[0]))[6]
        self.services = [dict(fields(each))[1].decode() for _, each in fields(listed)]
        for answer in answers[1:3]:
            encoded = dict(fields(dict(fields(answer))[4]))[1]
            self.pool.Add(descriptor_pb2.FileDescriptorProto.FromString(encoded))
        assert 7 in dict(fields(answers[3])), answers[3]

    def type(self, name):
        return GetMessageClass(self.pool.FindMessageTypeByName(name))

    def call(self, method, request, **options):
        service = self.pool.FindServiceByName(method.split("/")[0])
        known = service.FindMethodByName(method.split("/")[1])
        options.setdefault("timeout", 20)
        stub = self.channel.unary_unary(
            "/" + method,
            lambda message: message.SerializeToString(),
            GetMessageClass(known.output_type).FromString)
        return stub(request, **options)

    def ask(self, method, request=None, **options):
        if request is None:
            request = self.type("inference." + method + "Request")()
        return self.call(SERVICE + "/" + method, request, **options)


def refused(code, part, action):
    try:
        action()
    except grpc.RpcError as error:
        assert error.code() == code, (error.code(), error.details())
        assert part in error.details(), error.details()
        return
    raise AssertionError("expected " + str(code))


def main():
    client = Client("127.0.0.1:" + sys.argv[1])
    model = sys.argv[2]
    assert SERVICE in client.services and "grpc.health.v1.Health" in client.services
    print("reflection")

    assert client.ask("ServerLive").live
    assert client.ask("ServerReady").ready
    assert client.ask("ModelReady", client.type("inference.ModelReadyRequest")(name=model)).ready
    assert client.ask("ServerMetadata").name == "vertigrad"
    described = client.ask(
        "ModelMetadata", client.type("inference.ModelMetadataRequest")(name=model))
    assert described.name == model and described.platform == "vertigrad_model"
    assert [each.name for each in described.inputs] == ["input"]
    assert list(described.inputs[0].shape) == [-1, 1, 28, 28], described.inputs[0].shape
    assert [each.name for each in described.outputs] == ["output", "class"]
    print("metadata")

    infer = client.type("inference.ModelInferRequest")
    values = [(i % 13) / 13 for i in range(2 * 784)]

    def request(raw, **more):
        message = infer(model_name=model, id="seven", **more)
        tensor = message.inputs.add(name="input", datatype="FP32", shape=[2, 1, 28, 28])
        if raw:
            message.raw_input_contents.append(struct.pack("<1568f", *values))
        else:
            tensor.contents.fp32_contents.extend(values)
        return message

    raw = client.ask("ModelInfer", request(True))
    assert raw.model_name == model and raw.id == "seven"
    assert raw.model_version == described.versions[0]
    assert [(each.name, each.datatype, list(each.shape)) for each in raw.outputs] == [
        ("output", "FP32", [2, 10]), ("class", "BYTES", [2])], raw.outputs
    probabilities = struct.unpack("<20f", raw.raw_output_contents[0])
    assert abs(sum(probabilities[:10]) - 1) < 1e-4, probabilities
    assert raw.parameters["age_millis"].int64_param >= 0
    typed = client.ask("ModelInfer", request(False))
    assert tuple(typed.outputs[0].contents.fp32_contents) == probabilities
    assert not typed.raw_output_contents
    best = probabilities[:10].index(max(probabilities[:10]))
    assert typed.outputs[1].contents.bytes_contents[0] == str(best).encode()
    assert raw.raw_output_contents[1][4:5] == str(best).encode()
    print("inference")

    one = request(True)
    one.outputs.add(name="class")
    assert [each.name for each in client.ask("ModelInfer", one).outputs] == ["class"]
    pixels = infer(model_name=model, model_version=described.versions[0])
    pixels.inputs.add(name="input", datatype="UINT8", shape=[1, 1, 28, 28]) \
        .contents.uint_contents.extend([255] * 784)
    assert len(client.ask("ModelInfer", pixels).outputs[0].contents.fp32_contents) == 10
    zipped = client.ask("ModelInfer", request(True), compression=grpc.Compression.Gzip)
    assert zipped.raw_output_contents[0] == raw.raw_output_contents[0]
    print("forms")

    code = grpc.StatusCode
    refused(code.NOT_FOUND, "is not served here",
            lambda: client.ask("ModelInfer", infer(model_name="other")))
    refused(code.NOT_FOUND, "version 999999 is not served", lambda: client.ask(
        "ModelInfer", request(True, model_version="999999")))
    wrong = request(True)
    wrong.inputs[0].shape[:] = [2, 28, 28]
    refused(code.INVALID_ARGUMENT, "inputs[0].shape: is [2, 28, 28], expected [-1, 1, 28, 28]",
            lambda: client.ask("ModelInfer", wrong))
    short = request(True)
    short.raw_input_contents[0] = short.raw_input_contents[0][:-1]
    refused(code.INVALID_ARGUMENT, "has 6271 bytes of binary data, expected 6272",
            lambda: client.ask("ModelInfer", short))
    both = request(False)
    both.raw_input_contents.append(b"1234")
    refused(code.INVALID_ARGUMENT, "contents beside raw_input_contents",
            lambda: client.ask("ModelInfer", both))
    large = request(True)
    large.raw_input_contents[0] = bytes(9 << 20)
    refused(code.RESOURCE_EXHAUSTED, "serving.maxBytes", lambda: client.ask("ModelInfer", large))
    many = request(True)
    many.inputs[0].shape[0] = 100_000_000
    refused(code.INVALID_ARGUMENT, "expected at most", lambda: client.ask("ModelInfer", many))
    bomb = request(True)
    bomb.raw_input_contents[0] = bytes(64 << 20)
    refused(code.RESOURCE_EXHAUSTED, "without gzip",
            lambda: client.ask("ModelInfer", bomb, compression=grpc.Compression.Gzip))
    refused(code.UNIMPLEMENTED, "there is no such method", lambda: client.channel.unary_unary(
        "/inference.GRPCInferenceService/ModelStreamInfer")(b"", timeout=20))
    refused(code.INVALID_ARGUMENT, "is no ModelInferRequest", lambda: client.channel.unary_unary(
        "/" + SERVICE + "/ModelInfer")(b"\x2a\x7f\x01", timeout=20))
    print("refusals")

    check = client.type("grpc.health.v1.HealthCheckRequest")
    health = "grpc.health.v1.Health/Check"
    assert client.call(health, check()).status == 1
    assert client.call(health, check(service=SERVICE)).status == 1
    refused(code.NOT_FOUND, "service", lambda: client.call(health, check(service="other")))
    watch = client.channel.unary_stream(
        "/grpc.health.v1.Health/Watch", lambda message: message.SerializeToString(),
        client.type("grpc.health.v1.HealthCheckResponse").FromString)
    states = watch(check(), timeout=20)
    assert next(states).status == 1
    states.cancel()
    print("health")

    results = []

    def many_calls():
        for _ in range(25):
            results.append(client.ask("ModelInfer", request(True)).raw_output_contents[0])

    threads = [threading.Thread(target=many_calls) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 200, len(results)
    # Computed together with others, an output may be rounded differently.
    for result in results:
        for one, other in zip(struct.unpack("<20f", result), probabilities):
            assert abs(one - other) < 1e-5, (one, other)
    print("parallel calls")


main()
