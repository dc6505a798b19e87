// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsResult;
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
import org.apache.kafka.test.TestUtils;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Broker 0 is up, broker 1 down. A topic requires the racks of both, another one more replicas than it has: acks=all is refused. */
final class ClientCompatTest {

    private static final String TEXT = "Partition orders-0 has in-sync replicas [0] in 1 rack(s) [a], but min.insync.racks is 2. " +
        "No replica is in sync in rack(s) [b].";
    private static final String FINAL_TEXT = "Partition narrow-0 has 1 replica(s) [0], but min.insync.replicas is 2: no write with acks=all " +
        "can ever meet that. Reassign the topic to more replicas, lower the setting, or set min.insync.replicas.inconsistent.action=clamp.";

    private static KafkaClusterTestKit cluster;
    private static int port;
    private static Map<String, Uuid> topicIds;

    @BeforeAll
    static void start() throws Exception {
        TestKitNodes nodes = new TestKitNodes.Builder().setNumBrokerNodes(2).setNumControllerNodes(1)
            .setPerServerProperties(Map.of(0, Map.of("broker.rack", "a"), 1, Map.of("broker.rack", "b"))).build();
        cluster = new KafkaClusterTestKit.Builder(nodes).build();
        cluster.format();
        cluster.startup();
        cluster.waitForReadyBrokers();
        port = cluster.brokers().get(0).boundPort(nodes.brokerListenerName());
        try (Admin admin = cluster.admin()) {
            CreateTopicsResult made = admin.createTopics(List.of(
                new NewTopic("orders", Map.of(0, List.of(0, 1))).configs(Map.of("min.insync.racks", "2")),
                new NewTopic("narrow", Map.of(0, List.of(0))).configs(Map.of("min.insync.replicas", "2"))));
            topicIds = Map.of("orders", made.topicId("orders").get(), "narrow", made.topicId("narrow").get());
            cluster.brokers().get(1).shutdown();
            TestUtils.waitForCondition(() -> admin.describeTopics(List.of("orders")).allTopicNames().get().get("orders").partitions().get(0)
                .isr().size() == 1, 30_000, "broker 1 did not leave the ISR");
        }
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    private static ProduceRequestData request(String topic) {
        ProduceRequestData data = new ProduceRequestData().setAcks((short) -1).setTimeoutMs(5000);
        data.topicData().add(new ProduceRequestData.TopicProduceData().setName(topic).setTopicId(topicIds.get(topic)).setPartitionData(List.of(
            new ProduceRequestData.PartitionProduceData().setIndex(0)
                .setRecords(MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("v".getBytes()))))));
        return data;
    }

    private static PartitionProduceResponse answer(ProduceRequest request) throws Exception {
        ProduceResponse response = IntegrationTestUtils.connectAndReceive(request, port);
        return response.data().responses().iterator().next().partitionResponses().get(0);
    }

    @Test
    void ourClientGetsTheCodesOfRackspan() throws Exception {
        for (short version = 9; version <= 13; version++) {
            PartitionProduceResponse answer = answer(ProduceRequest.builder(request("orders")).build(version));
            assertEquals(Errors.NOT_ENOUGH_RACKS.code(), answer.errorCode(), "version " + version);
            assertEquals(TEXT, answer.errorMessage());
            answer = answer(ProduceRequest.builder(request("narrow")).build(version));
            assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION.code(), answer.errorCode(), "version " + version);
            assertEquals(FINAL_TEXT, answer.errorMessage());
        }
    }

    @Test
    void othersGetTheStockCodesAndTheText() throws Exception {
        for (short version = 8; version <= 13; version++) {
            PartitionProduceResponse answer = answer(new ProduceRequest(request("orders"), version));
            assertEquals(Errors.NOT_ENOUGH_REPLICAS.code(), answer.errorCode(), "version " + version);
            assertEquals(TEXT, answer.errorMessage());
            answer = answer(new ProduceRequest(request("narrow"), version));
            assertEquals(Errors.INVALID_CONFIG.code(), answer.errorCode(), "version " + version);
            assertEquals(FINAL_TEXT, answer.errorMessage());
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
