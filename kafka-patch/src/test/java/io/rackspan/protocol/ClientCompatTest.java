package io.rackspan.protocol;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData.PartitionProduceResponse;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest;
import org.apache.kafka.common.requests.WriteTxnMarkersResponse;
import org.apache.kafka.common.test.KafkaClusterTestKit;
import org.apache.kafka.common.test.TestKitNodes;
import org.apache.kafka.server.IntegrationTestUtils;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** One broker, and a topic that asks for two racks: every acks=all write is refused. */
final class ClientCompatTest {

    private static final String TEXT = "Partition orders-0 has in-sync replicas [0] in 1 rack(s) [a], but min.insync.racks is 2. " +
        "The assignment [0] spans 1 rack(s) only: reassign it to more racks, or lower the setting.";

    private static KafkaClusterTestKit cluster;
    private static int port;
    private static Uuid topicId;

    @BeforeAll
    static void start() throws Exception {
        TestKitNodes nodes = new TestKitNodes.Builder().setNumBrokerNodes(1).setNumControllerNodes(1)
            .setPerServerProperties(Map.of(0, Map.of("broker.rack", "a"))).build();
        cluster = new KafkaClusterTestKit.Builder(nodes).build();
        cluster.format();
        cluster.startup();
        cluster.waitForReadyBrokers();
        port = cluster.brokers().get(0).boundPort(nodes.brokerListenerName());
        try (Admin admin = cluster.admin()) {
            topicId = admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1).configs(Map.of("min.insync.racks", "2"))))
                .topicId("orders").get();
        }
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    private static ProduceRequestData request() {
        ProduceRequestData data = new ProduceRequestData().setAcks((short) -1).setTimeoutMs(5000);
        data.topicData().add(new ProduceRequestData.TopicProduceData().setName("orders").setTopicId(topicId).setPartitionData(List.of(
            new ProduceRequestData.PartitionProduceData().setIndex(0)
                .setRecords(MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("v".getBytes()))))));
        return data;
    }

    private static PartitionProduceResponse answer(ProduceRequest request) throws Exception {
        ProduceResponse response = IntegrationTestUtils.connectAndReceive(request, port);
        return response.data().responses().iterator().next().partitionResponses().get(0);
    }

    @Test
    void ourClientGetsTheCodeOfRackspan() throws Exception {
        for (short version = 9; version <= 13; version++) {
            PartitionProduceResponse answer = answer(ProduceRequest.builder(request()).build(version));
            assertEquals(Errors.NOT_ENOUGH_RACKS.code(), answer.errorCode(), "version " + version);
            assertEquals(TEXT, answer.errorMessage());
        }
    }

    @Test
    void othersGetTheStockCodeAndTheText() throws Exception {
        for (short version = 8; version <= 13; version++) {
            PartitionProduceResponse answer = answer(new ProduceRequest(request(), version));
            assertEquals(Errors.NOT_ENOUGH_REPLICAS.code(), answer.errorCode(), "version " + version);
            assertEquals(TEXT, answer.errorMessage());
        }
    }

    @Test
    void aTransactionMarkerIsAnsweredInStockCodes() throws Exception {
        WriteTxnMarkersRequest request = new WriteTxnMarkersRequest.Builder(List.of(new WriteTxnMarkersRequest.TxnMarkerEntry(
            7, (short) 0, 1, TransactionResult.ABORT, List.of(new TopicPartition("orders", 0)), (short) 1))).build((short) 1);
        WriteTxnMarkersResponse response = IntegrationTestUtils.connectAndReceive(request, port);
        Errors error = response.errorsByProducerId().get(7L).get(new TopicPartition("orders", 0));
        assertTrue(error == Errors.NOT_ENOUGH_REPLICAS, "got " + error);
    }
}
