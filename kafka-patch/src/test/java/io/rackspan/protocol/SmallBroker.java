// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.message.ProduceResponseData.PartitionProduceResponse;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.RequestUtils;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;

/**
 * As much of a broker as a producer to topic "t" needs, with one version of each request, which keeps what it is sent. It reads and
 * writes with the client classes of its variant; as ours it also sends our fields and refuses the first write for lack of racks.
 */
final class SmallBroker {

    static final Uuid TOPIC_ID = new Uuid(7, 8);

    private final short produceVersion;
    private final short metadataVersion;
    private final boolean ours;
    private final Collection<byte[]> received;
    private long end = 0;
    private boolean refused = false;

    SmallBroker(short produceVersion, short metadataVersion, boolean ours, Collection<byte[]> received) {
        this.produceVersion = produceVersion;
        this.metadataVersion = metadataVersion;
        this.ours = ours;
        this.received = received;
    }

    void serve(ServerSocket server) {
        try {
            while (true) {
                Socket client = server.accept();
                client.setTcpNoDelay(true);
                Thread thread = new Thread(() -> talk(client, server.getLocalPort()), "small broker");
                thread.setDaemon(true);
                thread.start();
            }
        } catch (SocketException closed) {
            return;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void talk(Socket client, int port) {
        try (client; DataInputStream in = new DataInputStream(client.getInputStream()); DataOutputStream out = new DataOutputStream(client.getOutputStream())) {
            while (true) {
                byte[] frame = in.readNBytes(in.readInt());
                received.add(frame);
                byte[] answer = answer(frame, port);
                out.writeInt(answer.length);
                out.write(answer);
            }
        } catch (EOFException | SocketException gone) {
            return;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private synchronized byte[] answer(byte[] frame, int port) {
        ByteBuffer buffer = ByteBuffer.wrap(frame);
        RequestHeader header = RequestHeader.parse(buffer);
        ApiKeys key = header.apiKey();
        short version = header.apiVersion();
        AbstractRequest request = AbstractRequest.parseRequest(key, version, new ByteBufferAccessor(buffer)).request;
        ApiMessage answer = key == ApiKeys.PRODUCE ? produce((ProduceRequestData) request.data()) : key == ApiKeys.METADATA ? metadata(port) : versions();
        return RequestUtils.serialize(header.toResponseHeader().data(), key.responseHeaderVersion(version), answer, version).array();
    }

    private ApiMessage versions() {
        ApiVersionsResponseData data = new ApiVersionsResponseData();
        data.apiKeys().add(new ApiVersionsResponseData.ApiVersion().setApiKey(ApiKeys.API_VERSIONS.id).setMaxVersion(ApiMessageType.API_VERSIONS.highestSupportedVersion(false)));
        data.apiKeys().add(new ApiVersionsResponseData.ApiVersion().setApiKey(ApiKeys.METADATA.id).setMinVersion(metadataVersion).setMaxVersion(metadataVersion));
        data.apiKeys().add(new ApiVersionsResponseData.ApiVersion().setApiKey(ApiKeys.PRODUCE.id).setMinVersion(produceVersion).setMaxVersion(produceVersion));
        return data;
    }

    private ApiMessage metadata(int port) {
        MetadataResponseTopic topic = new MetadataResponseTopic().setName("t").setTopicId(TOPIC_ID).setPartitions(List.of(
            new MetadataResponseData.MetadataResponsePartition().setPartitionIndex(0).setLeaderId(1).setLeaderEpoch(3).setReplicaNodes(List.of(1)).setIsrNodes(List.of(1))));
        if (ours && metadataVersion >= MinInSync.FIRST_VERSION)
            topic.unknownTaggedFields().addAll(MinInSync.of(1, 2).fields());
        MetadataResponseData data = new MetadataResponseData().setClusterId("small").setControllerId(1);
        data.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(1).setHost("localhost").setPort(port).setRack("a"));
        data.topics().add(topic);
        return data;
    }

    private ApiMessage produce(ProduceRequestData request) {
        PartitionProduceResponse answer = new PartitionProduceResponse().setIndex(0);
        if (ours && !refused) {
            refused = true;
            boolean known = KnownErrors.declaredIn(request) > KnownErrors.STOCK;
            answer.setErrorCode(known ? Errors.NOT_ENOUGH_RACKS.code() : Errors.NOT_ENOUGH_REPLICAS.code()).setErrorMessage("no rack b").setBaseOffset(-1);
        } else {
            answer.setBaseOffset(end++);
        }
        ProduceResponseData data = new ProduceResponseData();
        data.responses().add(new ProduceResponseData.TopicProduceResponse().setName("t").setTopicId(TOPIC_ID).setPartitionResponses(List.of(answer)));
        return data;
    }
}
