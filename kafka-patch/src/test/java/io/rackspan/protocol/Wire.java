// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.serialization.StringSerializer;

import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Reading and writing of messages by one variant. It is loaded twice, see {@link World}: linked to our client classes and to the
 * official ones, so nothing here but what both have. A message is named as in "PRODUCE request 9".
 */
public final class Wire {

    private static final int ACKNOWLEDGED_S = 60;

    private Wire() {
    }

    /** The origin of this variant's client classes. */
    public static String library() {
        return KafkaProducer.class.getProtectionDomain().getCodeSource().getLocation().toString();
    }

    /** Every version of every message that this variant knows. */
    public static List<String> messages() {
        List<String> messages = new ArrayList<>();
        for (ApiMessageType type : ApiMessageType.values()) {
            add(messages, type + " request ", type.requestSchemas());
            add(messages, type + " response ", type.responseSchemas());
        }
        return messages;
    }

    private static void add(List<String> messages, String name, Schema[] schemas) {
        for (int version = 0; schemas != null && version < schemas.length; version++)
            if (schemas[version] != null)
                messages.add(name + version);
    }

    /** Bytes of a message, see {@link WireSamples}. */
    public static byte[] sample(String message, boolean sparse, boolean unknownTags) {
        ApiMessageType type = type(message);
        Schema[] schemas = isRequest(message) ? type.requestSchemas() : type.responseSchemas();
        return new WireSamples(sparse, unknownTags).of(schemas[version(message)]);
    }

    /** All fields of a message that this variant knows, as JSON. */
    public static String fields(String message, byte[] bytes) throws ReflectiveOperationException {
        ApiMessage read = read(message, bytes);
        Class<?> converter = Class.forName(read.getClass().getName() + "JsonConverter", true, Wire.class.getClassLoader());
        return converter.getMethod("write", read.getClass(), short.class).invoke(null, read, version(message)).toString();
    }

    /** The bytes that this variant writes after it has read a message. */
    public static byte[] again(String message, byte[] bytes) {
        return bytes(MessageUtil.toByteBufferAccessor(read(message, bytes), version(message)).buffer());
    }

    private static ApiMessage read(String message, byte[] bytes) {
        ApiMessageType type = type(message);
        ApiMessage read = isRequest(message) ? type.newRequest() : type.newResponse();
        ByteBufferAccessor in = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
        read.read(in, version(message));
        if (in.remaining() > 0)
            throw new IllegalStateException(in.remaining() + " bytes of " + message + " are left");
        return read;
    }

    private static ApiMessageType type(String message) {
        return ApiMessageType.valueOf(message.split(" ")[0]);
    }

    private static boolean isRequest(String message) {
        return message.split(" ")[1].equals("request");
    }

    private static short version(String message) {
        return Short.parseShort(message.split(" ")[2]);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    /** A produce request as this variant's client builds and writes it. */
    public static byte[] produceRequest(short version) {
        ProduceRequestData data = new ProduceRequestData().setAcks((short) -1).setTimeoutMs(5000);
        data.topicData().add(new ProduceRequestData.TopicProduceData().setName("t").setTopicId(new Uuid(1, 2)).setPartitionData(List.of(
            new ProduceRequestData.PartitionProduceData().setIndex(1)
                .setRecords(MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(1L, "k".getBytes(), "v".getBytes()))))));
        return bytes(ProduceRequest.builder(data).build(version).serialize().buffer());
    }

    /** The partitions of a metadata response as a client reads them, one line each. */
    public static String cluster(short version, byte[] bytes) {
        MetadataResponse response = MetadataResponse.parse(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        return response.buildCluster().partitionsForTopic("t").stream().map(Wire::line).sorted().collect(Collectors.joining("\n"));
    }

    private static String line(PartitionInfo info) {
        return info.topic() + "-" + info.partition() + " leader " + info.leader() + " replicas " + ids(info.replicas()) + " ISR " + ids(info.inSyncReplicas());
    }

    private static String ids(Node[] nodes) {
        return Arrays.stream(nodes).map(Node::idString).collect(Collectors.toList()).toString();
    }

    /** The partitions of a produce response as a client reads them, one line each: code, its meaning, text. */
    public static String errors(short version, byte[] bytes) {
        ProduceResponse response = ProduceResponse.parse(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        return response.data().responses().stream().flatMap(topic -> topic.partitionResponses().stream())
            .map(p -> p.errorCode() + " " + Errors.forCode(p.errorCode()) + " " + p.errorMessage()).collect(Collectors.joining("\n"));
    }

    /** Sends records with this variant's producer, one after the other; returns the offsets it got. */
    public static List<Long> produce(String bootstrap, int records) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all", "enable.idempotence", false, "enable.metrics.push", false,
            "retry.backoff.ms", 10, "client.id", "producer of " + Wire.class.getClassLoader().hashCode() + " to " + bootstrap);
        List<Long> offsets = new ArrayList<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < records; i++) {
                Future<RecordMetadata> sent = producer.send(new ProducerRecord<>("t", "k", "v" + i));
                offsets.add(sent.get(ACKNOWLEDGED_S, TimeUnit.SECONDS).offset());
            }
        }
        return offsets;
    }

    /** Serves as a broker of this variant until the socket is closed, see {@link SmallBroker}. */
    public static void serve(ServerSocket socket, short produceVersion, short metadataVersion, boolean ours, Collection<byte[]> received) {
        new SmallBroker(produceVersion, metadataVersion, ours, received).serve(socket);
    }
}
